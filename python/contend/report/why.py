"""Why the levels differ, as far as that was tried: the run folder in the run folder, in words."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from contend.findings import Said, study_of
from contend.findings.tried import (
    NO_ADVICE,
    CandidateTried,
    DifferenceTried,
    by_reason,
    more_repeats,
    tried_of,
    untested_of,
    why_decided,
)
from contend.probed import WhyFacts
from contend.sections.model import Shown, TextTable
from contend.store import RunFolder
from contend.store.folder import WITHIN
from contend.store.model import NotARunFolder


def why_of(folder: RunFolder) -> tuple[WhyFacts, DifferenceTried | None] | None:
    """What was to be tried, and what came of it; None if nothing was tried of this run."""
    try:
        with RunFolder.open(folder.path / WITHIN) as inner:
            study = study_of(inner, percentiles=False)
    except NotARunFolder:
        return None
    about = study.meta.facts.get("why")
    return None if about is None else (about, tried_of(study))


def why_section(folder: RunFolder) -> Shown | None:
    """The sentence, and a table of what was tried and what was not."""
    found = why_of(folder)
    if found is None:
        return None
    about, tried = found
    rows = [_row(one) for one in (tried.candidates if tried else ())]
    tables = []
    if rows:
        tables.append(
            TextTable(
                "What is left of the difference, in percent (intervals that hold together in 99 of "
                "100 comparisons)",
                (
                    *("cause", "verdict", "left at each dose", "left, whole dose", "left, placebo"),
                    *("both sides' pace, whole dose over placebo", "n"),
                ),
                tuple(rows),
            )
        )
    untested = by_reason(untested_of(about, tried))
    if untested:
        tables.append(TextTable("Not tried", ("cause", "because"), untested))
    return Shown("Why: what takes the difference away", sentence_of(tried), tuple(tables))


def sentence_of(tried: DifferenceTried | None) -> str:
    """What was found, in a sentence with its evidence."""
    if tried is None:
        return "The cause is unknown: nothing was measured yet."
    if not tried.candidates and (over := why_decided(tried)) is not None:
        return f"The cause is unknown: {over}."
    if not tried.certain:
        more = more_repeats([(tried.log_difference, 1.0)])
        would = "" if more is None or more > NO_ADVICE else f"; {_repeats(more)} would show one"
        return f"The cause is unknown: in these minutes no difference was certain{would}."
    found = sorted(
        (one for one in tried.candidates if one.verdict in _FOUND), key=lambda x: x.left.mean
    )
    if any(one.verdict == "confirmed" for one in found):
        return " ".join(map(_found, found))
    open_ = [one for one in tried.candidates if one.verdict == "not certain"]
    refuted = [one.record["candidate"] for one in tried.candidates if one.verdict == "refuted"]
    as_a_whole = " as a whole" if found else ""
    said = [f"The cause{as_a_whole} is unknown.", *map(_found, found)]
    if refuted:
        said.append(f"Refuted: {', '.join(refuted)}.")
    said += [_open(one, one.record["candidate"] in tried.aside) for one in open_]
    return Said.written(" ".join(said))


_FOUND = {"confirmed": "Confirmed", "a part": "A part of it"}


def _found(one: CandidateTried) -> str:
    record = one.record
    return (
        f"{_FOUND[one.verdict]}: {record['title']} ({record['candidate']}). Of the difference "
        f"{_interval(one)} % is left with {record['words'][record['doses'][-1]]}, and "
        f"{one.left_with_placebo * 100:.0f} % with the placebo (n = {one.left.n})."
    )


def _open(one: CandidateTried, is_aside: bool) -> str:
    name = one.record["candidate"]
    if is_aside:
        return f"Set aside after {one.left.n} repeats: {name}, which took less than others."
    if one.more is None:
        return f"Not certain: {name}, and how many more repeats it takes is not known."
    return f"Not certain: {name}, which takes {_repeats(one.more)}."


def _repeats(more: int) -> str:
    if more > NO_ADVICE:
        return f"more than {NO_ADVICE} more repeats"
    return f"about {more} more repeat{'s' if more > 1 else ''}"


def _interval(one: CandidateTried) -> str:
    left = one.left
    if not (math.isfinite(left.low) and math.isfinite(left.high)):
        return f"{left.mean * 100:.0f}"
    return f"{left.mean * 100:.0f} [{left.low * 100:.0f}, {left.high * 100:.0f}]"


def _row(one: CandidateTried) -> tuple[str, ...]:
    return (
        one.record["candidate"],
        one.verdict,
        ", ".join(f"{left * 100:.0f}" for left in one.left_at_doses.values()),
        _interval(one),
        f"{one.left_with_placebo * 100:.0f}",
        f"{math.expm1(one.both_faster) * 100:+.0f}",
        str(one.left.n),
    )


def why_as_json(folder: RunFolder) -> dict[str, Any] | None:
    """The same for programs."""
    found = why_of(folder)
    if found is None:
        return None
    about, tried = found
    return {
        "sentence": sentence_of(tried),
        "untested": untested_of(about, tried),
        "tried": None if tried is None else _finite(asdict(tried)),
    }


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
