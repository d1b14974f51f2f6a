"""Observations around a run: counters before and after it, and the warnings they give.

counters   a probe is two functions and one entry of `PROBES`
watches    observations during a run
checks     a check is one function and one entry of `CHECKS`
"""

from contend.lab.probes.checks import DRIFT_MAX, Expected, against_ceiling, warnings_of
from contend.lab.probes.counters import (
    Counters,
    Observed,
    ObservedMember,
    changes,
    costs_change,
    look,
    look_at_costs,
)
from contend.lab.probes.watches import ProfileWatch, QueryCacheWatch
