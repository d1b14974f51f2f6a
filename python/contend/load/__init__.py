"""The interface to contend-load: start it, hand it a plan, read its outcomes.

The lab sees only the `LoadDriver` protocol, so its tests need no process. The room also owns loads
from several hosts (`hosts/`) and calibration. It may import `experiment`, `host` and `stats`. Start
in `process.py`.
"""

from contend.files import find_program
from contend.load.ask import (
    FillProcess,
    ScriptProcess,
    ask_engine,
    cpu_calls,
    cpu_state,
    cpus_together,
    memory_nodes,
    model_runs,
)
from contend.load.far import LineFailed, Lines, MemberLines, together
from contend.load.hosts import Cluster, Fleet
from contend.load.plan import Address, ArmSpec, AskedMember, plan_in_slices, plan_of, plan_of_arm
from contend.load.process import LoadDriver, LoadFailed, LoadProcess
