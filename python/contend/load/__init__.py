"""The seam to contend-load: start it, hand it a plan, read its outcomes.

The lab sees only the `Load` protocol, so its tests run against `FakeLoad` and no process.
"""

from contend.load.engine import Engine, ask_engine
from contend.load.errors import LoadFailed
from contend.load.fake import FakeLoad
from contend.load.fill import FillProcess
from contend.load.outcome import Done, Outcome
from contend.load.plan import Address, plan_of
from contend.load.process import Load, LoadProcess, find_program
from contend.load.script import ScriptProcess

__all__ = [
    "Address",
    "Done",
    "Engine",
    "FakeLoad",
    "FillProcess",
    "Load",
    "LoadFailed",
    "LoadProcess",
    "Outcome",
    "ScriptProcess",
    "ask_engine",
    "find_program",
    "plan_of",
]
