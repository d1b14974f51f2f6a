"""Why levels differ: candidates, their treatments and verdicts, and explanations of studies.

It imports findings and what is below findings; the lab runs its experiments, and `report/why.py`
writes its texts. Start in `candidate.py`; `plan.py` chooses what to try, `tried.py` judges it, and
`explain.py` is for experiments that name a study.
"""
