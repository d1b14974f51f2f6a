"""One local page over a folder of runs: a list, each report, two side by side, history, progress.

    serve(Path("contend-runs"), 0, print)     # loopback, any free port, a token in the address

Starlette and uvicorn come with `contend[serve]`; only `app` and `run` need them.
"""
