"""What a gain would be on a machine that is not at hand.

    predict_run(folder, program, wanted, connections, on_step)   # foretell.py

The key cache in virtual time (`contend-load model-run`) is fitted to what a run measured (`fit.py`,
from `measured.py`), and placed on a described machine (`machine.py`, `machines/`): a band, and its
parts (`band.py`). `stored.py` keeps it in the run folder for the report, and imports none of the
others. Start in `foretell.py`. The room may import `experiment`, `findings`, `host`, `load`,
`stats` and `store`.
"""
