"""How far earlier sessions of the same experiment on this host differ.

An interval is of the minutes in which it was measured. This section is part of the answer and of
its basis; it does not affect a verdict, and has no separate place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contend.experiment import Level
from contend.findings import Analysis, Constant, ReportText, Study, leading_level, sessions_before
from contend.sections.model import Inputs, Section
from contend.sections.words import duration_text, spread_text
from contend.stats import SESSIONS_MIN, Between


@dataclass(frozen=True, slots=True)
class Sessions:
    """Earlier sessions of the same experiment on this host, for a level as a whole.

    n: number of usable sessions; together: their joint result, None if they are too few. `note`
    is printed with the intervals; empty if nothing is known.
    """

    level: Level
    n: int
    together: Between | None
    note: ReportText


_MINUTE_S = (45, 90)


def sessions_of(study: Study, analysis: Analysis, level: Level) -> Sessions | None:
    """The history of a level that the run recorded when it began; None if it recorded none."""
    known = sessions_before(study, analysis.table.metric, level)
    if known is None:
        return None
    n, together = known
    note = (
        ReportText("")
        if together is None
        else ReportText("on this host {}", _differ(study, together))
    )
    return Sessions(level, n, together, note)


def in_the_sentence(study: Study, earlier: Sessions | None) -> ReportText:
    """After a claim: ` (measured in this minute; on this host sessions differ by ±4 %, from 5 of
    them)`."""
    if earlier is None or not earlier.note or not study.decides:
        return ReportText("")
    return ReportText(" (measured in {}; {})", _minutes_of(study), earlier.note)


def in_the_basis(study: Study, earlier: Sessions | None) -> list[str]:
    """The part that the interval omits, and the results of earlier sessions on it."""
    if earlier is None:
        return []
    of_now = f"The intervals describe {_minutes_of(study)} only"
    found = earlier.together
    if found is None:
        were = ("there was none", "there was 1")
        known = were[earlier.n] if earlier.n < len(were) else f"there were {earlier.n}"
        return [
            f"{of_now}. How far sessions of this host differ is not known: that takes "
            f"{SESSIONS_MIN} earlier runs of the same experiment, and {known}."
        ]
    low, high = (spread_text(one) for one in (found.low, found.high))
    gain = 100 * math.expm1(found.mean)
    return [
        f"{of_now}. The {found.n} earlier sessions on this host have a mean of {gain:+.1f} % "
        f"(±{spread_text(found.half_width)}) and a standard deviation of {spread_text(found.tau)} "
        f"({low} to {high}) beyond their own errors; {found.confidence * 100:g} % of sessions lie "
        f"within ±{spread_text(found.spread)} of that mean."
    ]


def _minutes_of(study: Study) -> ReportText:
    """When it was measured: `this minute`, `these 12 min`."""
    begun = min(datetime.fromisoformat(one.started_at) for one in study.measured)
    ended = max(datetime.fromisoformat(one.ended_at) for one in study.measured)
    seconds = (ended - begun).total_seconds()
    least, most = _MINUTE_S
    if least <= seconds < most:
        return ReportText("this minute")
    return ReportText("these {}", duration_text(seconds))


def _differ(study: Study, found: Between) -> ReportText:
    several = len(study.roles.table_contexts()) * len(study.roles.column_levels) > 1
    where = " over all cells" if several else ""
    if not found.tau > 0:
        return ReportText(
            "{} sessions show no difference beyond their own errors{}", Constant(found.n), where
        )
    return ReportText(
        "sessions differ by ±{}{}, from {} of them",
        spread_text(found.spread),
        where,
        Constant(found.n),
    )


def _read(inputs: Inputs) -> Sessions | None:
    first = inputs.first
    if first is None or not first.compared.wholes:
        return None
    return sessions_of(inputs.study, first, leading_level(first.compared))


def _json(found: Sessions, _inputs: Inputs) -> dict[str, Any]:
    """Logarithms of ratios; null with too few usable sessions."""
    names = ("tau", "low", "high", "spread", "mean", "half_width")
    together = found.together
    figures = {name: None if together is None else getattr(together, name) for name in names}
    return {"level": found.level, "n": found.n, **figures}


SECTION = Section("sessions", "Earlier sessions", _read, lambda _found, _inputs: None, _json)
