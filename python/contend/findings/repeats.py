"""What is counted in runs, as a mean over repeats.

What is independent is the repeat: its runs share their servers, whichever columns and blocks they
are of, and so they count once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from contend.findings.study import Study
from contend.stats import Estimate, estimate
from contend.store import RunRecord

Read = Callable[[RunRecord], float | None]


def means_of_repeats(runs: Iterable[RunRecord], read: Read) -> list[float]:
    """The mean of each repeat's runs; repeats in which nothing could be read are left out."""
    of_repeat: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        value = read(run)
        if value is not None:
            of_repeat[run.repeat].append(value)
    return [sum(values) / len(values) for values in of_repeat.values()]


def over_repeats(study: Study, runs: Iterable[RunRecord], read: Read) -> Estimate | None:
    """The mean over the repeats, and n is their number; None if nothing could be read."""
    means = means_of_repeats(runs, read)
    return estimate(means, study.experiment.compare.confidence) if means else None
