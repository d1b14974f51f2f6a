"""How far sessions of this host differ, by what a run folder knows of the earlier ones.

An interval is of the minutes in which it was measured. No verdict goes by what is said here.
"""

from __future__ import annotations

import math
from datetime import datetime

from contend.findings import Analysis, Study, sessions_before
from contend.report.model import Sessions
from contend.report.words import significant
from contend.spec import Level
from contend.stats import SESSIONS_MIN, Between
from contend.units import format_duration

_MINUTE_S = (45, 90)


def sessions_of(study: Study, analysis: Analysis, level: Level) -> Sessions | None:
    """What this run was told of a level when it began; None if nobody looked."""
    known = sessions_before(study, analysis.table.metric, level)
    if known is None:
        return None
    n, together = known
    beside = "" if together is None else f"on this host {_differ(study, together)}"
    return Sessions(level, n, together, beside)


def in_the_sentence(study: Study, earlier: Sessions | None) -> str:
    """After a claim: ` (measured in this minute; on this host sessions differ by ±4 %, from 5 of
    them)`."""
    if earlier is None or not earlier.beside or not study.decides:
        return ""
    return f" (measured in {_minutes_of(study)}; {earlier.beside})"


def in_the_basis(study: Study, earlier: Sessions | None) -> list[str]:
    """What the interval does not hold, and what earlier sessions say of it."""
    if earlier is None:
        return []
    of_now = f"The intervals are of {_minutes_of(study)}"
    found = earlier.together
    if found is None:
        were = ("there was none", "there was 1")
        known = were[earlier.n] if earlier.n < len(were) else f"there were {earlier.n}"
        return [
            f"{of_now}: how far sessions of this host differ is not known. That takes "
            f"{SESSIONS_MIN} earlier runs of the same, and {known}."
        ]
    low, high = (_percent(one) for one in (found.low, found.high))
    gain = 100 * math.expm1(found.mean)
    return [
        f"{of_now}. The {found.n} earlier sessions on this host have a mean of {gain:+.1f} % "
        f"(±{_percent(found.half_width)}) and a standard deviation of {_percent(found.tau)} "
        f"({low} to {high}) beyond their own errors; {found.confidence * 100:g} % of sessions lie "
        f"within ±{_percent(found.spread)} of that mean."
    ]


def _minutes_of(study: Study) -> str:
    """When it was measured: `this minute`, `these 12 min`."""
    begun = min(datetime.fromisoformat(one.started_at) for one in study.measured)
    ended = max(datetime.fromisoformat(one.ended_at) for one in study.measured)
    seconds = (ended - begun).total_seconds()
    least, most = _MINUTE_S
    return "this minute" if least <= seconds < most else f"these {format_duration(seconds)}"


def _differ(study: Study, found: Between) -> str:
    several = len(study.roles.table_contexts()) * len(study.roles.column_levels) > 1
    where = " over all cells" if several else ""
    if not found.tau > 0:
        return f"{found.n} sessions differ by no more than their own errors{where}"
    return f"sessions differ by ±{_percent(found.spread)}{where}, from {found.n} of them"


def _percent(log: float) -> str:
    return f"{significant(100 * math.expm1(log), 2)} %" if log < 1 else f"{math.exp(log):.1f}x"
