"""The seam to contend-load: start it, hand it a plan, read its outcomes.

The lab sees only the `Load` protocol, so its tests run against `FakeLoad` and no process.
"""

from contend.load.engine import Engine, ask_engine
from contend.load.errors import LoadFailed
from contend.load.fake import FakeLoad
from contend.load.fill import FillProcess
from contend.load.plan import Address, plan_of
from contend.load.process import Load, LoadProcess
from contend.load.script import ScriptProcess
from contend.program import find_program

__all__ = [
    "Address",
    "Engine",
    "FakeLoad",
    "FillProcess",
    "Load",
    "LoadFailed",
    "LoadProcess",
    "ScriptProcess",
    "ask_engine",
    "find_program",
    "plan_of",
]
