"""Why levels differ: candidates, their treatments and verdicts, and explanations of studies.

The room may import `findings` and the rooms below; the lab runs its experiments, and
`report/why.py` writes its texts. Start in `candidate.py`; `plan.py` chooses the candidates,
`tried.py` judges them, and `explain.py` is for experiments that name a study.
"""
