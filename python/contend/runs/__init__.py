"""Runs of one experiment over time: series, change points, and what else changed at one.

history = build(["contend-runs"], environment=default_environment())
history.breaks[0].points[0].finding       # certain, in one family with all series of the page
history.breaks[0].altered                 # what was one thing before, and another after
"""

from contend.runs.document import as_json
from contend.runs.history import build
from contend.runs.model import RUNS_A_SIDE, Break, ChangePoint, History, PastRun, Series
from contend.runs.otava import NoOtava, default_environment, get, is_here
