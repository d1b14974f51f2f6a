"""Two runs that share no unit: two hosts, two days, two versions of a server.

Runs that were not interleaved may differ by minute and by host, which no interval from within the
runs includes. Their units give Welch's interval (1947): two means with their own scatter and their
own number of units, degrees of freedom by Satterthwaite. The difference between sessions of a host,
beyond their own errors, adds to the variance of each side (`stats.sessions`). If it is not known,
the finding says so, and has no verdict.

Units are of the highest tier that both drew independently (repeats: freshly started servers). So
slices and sets of connections within them only make a unit's figure more precise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contend.errors import RequestError
from contend.experiment import Level, same_level
from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.findings.study import Study
from contend.metrics import Metric
from contend.metrics.probed import EarlierSession
from contend.stats import Between, Session, between, welch
from contend.units import fact

MISSING = "how far sessions of {whose} differ is not known, and not in the interval"


@dataclass(frozen=True, slots=True)
class Side:
    """One run of two.

    name: its name.
    logs: ln of the figure, or of a level's gain over its baseline, unit by unit.
    sessions: the difference between sessions of its host; None if unknown.
    of_sessions: each value is that of a whole session, so that their scatter is in the logs.
    """

    name: str
    logs: Sequence[float]
    sessions: Between | None = None
    of_sessions: bool = False


def sessions_before(
    study: Study, metric: Metric, level: Level
) -> tuple[int, Between | None] | None:
    """A level's history as the run recorded it when it began: the number of usable earlier
    sessions of it on this host, and their joint result. None if the run recorded none."""
    known: Sequence[EarlierSession] | None = fact(study.meta.facts, "sessions.earlier")
    if known is None:
        return None
    usable = [
        Session(one["log_ratio"], one["se"], one["df"])
        for session in known
        for one in session["wholes"]
        if one["metric"] == metric.name and same_level(one["level"], level)
    ]
    usable = [one for one in usable if one.tells]
    return len(usable), between(usable)


def run_over_run(
    metric: Metric,
    cell: Mapping[str, Level],
    one: Side,
    other: Side,
    family: Family,
    *,
    members: int = 1,
    margin: float = 0.02,
) -> Finding:
    """How `one` differs from `other`, the reference.

    Args:
        members: contrasts of the family, fixed beforehand, that hold together (Bonferroni).

    Raises:
        RequestError: a side has fewer than two units.
    """
    for side in (one, other):
        if len(side.logs) < 2:
            raise RequestError(
                f"{side.name} has {len(side.logs)} of the two units of {metric.name} it needs.",
                hint="Compare runs of at least two repeats.",
            )
    unknown = [side.name for side in (one, other) if side.sessions is None and not side.of_sessions]
    change = welch(
        one.logs,
        other.logs,
        sessions=tuple(side.sessions for side in (one, other) if side.sessions is not None),
        margin=margin,
        confidence=1 - (1 - family.confidence) / members,
        decides=family.decides and not unknown,
    )
    units = "sessions" if one.of_sessions and other.of_sessions else "repeats"
    contrast = Contrast("runs", metric, dict(cell), one.name, other.name, family, units)
    without = MISSING.format(whose=" and ".join(unknown)) if unknown else ""
    return Finding(contrast, change, margin, without=without)
