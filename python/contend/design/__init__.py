"""From factors and levels to the order in which the cells run. No effects; the seed decides."""

from contend.design.cells import contexts, need_of
from contend.design.order import PlannedRun, planned_load_s, planned_runs

__all__ = [
    "PlannedRun",
    "contexts",
    "need_of",
    "planned_load_s",
    "planned_runs",
]
