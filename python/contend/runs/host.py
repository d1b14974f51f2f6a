"""The state of a run's host, as one value a run."""

from __future__ import annotations

import math
from collections import Counter

from contend.findings import Study
from contend.metrics.read import ln_distance, name_of


def distance_of(study: Study) -> float | None:
    """ln of how far apart the CPUs were, in ns, mean of all looks; None if nobody looked."""
    logs = [one for run in study.measured if (one := ln_distance(run)) is not None]
    return math.fsum(logs) / len(logs) if logs else None


def state_of(study: Study) -> str:
    """near or far if all blocks were, changed if there were both; empty if it is not known."""
    states = (run.probes.get("state") for run in study.measured)
    names = Counter(name for one in states if one and (name := name_of(one)))
    return "changed" if len(names) > 1 else next(iter(names), "")
