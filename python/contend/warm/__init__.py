"""Warm caches: choose what a server should hold in memory, and load it. For `contend warm`, and for
the lab before a run.

The room may import `data`, `store` and the rooms below. Start in `plan.py`: what a server has, how
much of it is loaded, in which order, and what does not fit. Then `survey` reads tables, indexes and
caches; `coverage` says how warm a server is; `scan` makes and runs the statements; `warm_up` loads
the plan, throttled, and reports progress.
"""
