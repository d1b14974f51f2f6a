"""Why the levels differ: the cause that the experiment names, and the difference that remained
under treatments (the run folder in the run folder)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from contend.findings import Compared, Figure, Study, cpu_count, study_of
from contend.metrics.probed import WhyFacts
from contend.sections.chart_style import HEIGHT, Spec, chart_title, frame
from contend.sections.model import Chart, Section, Shown, TextTable
from contend.sections.naming import Naming
from contend.sections.why_charts import Bar, curves, steps_chart
from contend.sections.words import increase_text, repeats_text, slug
from contend.store import RunFolder
from contend.store.folder import WITHIN
from contend.store.model import NotARunFolder
from contend.why.explain import Curves, Drawn, Evidence, StepBars
from contend.why.studies import STUDIES
from contend.why.tried import (
    NO_ADVICE,
    CandidateTried,
    DifferenceTried,
    by_reason,
    more_repeats,
    tried_of,
    untested_of,
    why_decided,
)


def cause_of(study: Study, naming: Naming, compared: Compared) -> Shown | None:
    """Why, if a difference is certain; else the figures that a cause would rest on. An unknown
    cause, from a newer contend, is not a failure."""
    candidate = STUDIES.get(study.experiment.explain or "")
    if candidate is None or candidate.look is None:
        return None
    found = candidate.look(Evidence(study, compared, cpu_count(study.meta.facts), naming))
    if found is None:
        return None
    tables = tuple(TextTable(one.caption, one.heads, one.rows) for one in found.tables)
    if not found.certain:
        return Shown("Figures for a cause", _why_not(study), tables)
    return Shown(
        candidate.title,
        found.lead,
        tables,
        tuple(chart for one in found.charts for chart in _charts(naming, one)),
        more=(*filter(None, found.paragraphs), f"What would refute it. {found.refuted_by}"),
        is_short=True,
        is_open=found.is_answer,
    )


def _why_not(study: Study) -> str:
    because = (
        "Nothing is decided before the run is finished"
        if not study.finished
        else "No difference is certain"
        if study.decides
        else "The metric was not named before the run"
    )
    return f"{because}, so no cause is reported. A cause would rest on these figures."


def _charts(naming: Naming, one: Drawn) -> list[Chart]:
    if isinstance(one, StepBars):
        bars: dict[bool, list[Bar]] = {True: [], False: []}
        for level, gain in one.steps:
            name = "all together" if level is None else naming.level(level)
            bars[level is None].append((name, gain.estimate, increase_text(gain.estimate)))
        title = one.steps[0][1].contrast.metric.title
        place = naming.place(one.cell, "cell")
        return [steps_chart(title, place, bars[False], next(iter(bars[True]), None))]
    if isinstance(one, Curves):
        return curves(naming.place(one.cell, "cell"), naming.level, one.runs)
    return [_visits_chart("" if not one.of else naming.place(one.of, "table"), one.parts)]


def _visits_chart(place: str, parts: Sequence[tuple[str, Figure]]) -> Chart:
    """Each segment's share of the visits, the most visited first."""
    shares = sorted(((name, figure.mean) for name, figure in parts), key=lambda one: -one[1])
    values = [
        {"rank": rank, "percent": share * 100, "tooltip": f"segment: {name}; share: {share:.1%}"}
        for rank, (name, share) in enumerate(shares, 1)
    ]
    kind = f"Visits to each of {len(shares)} segments"
    title = chart_title(kind, place)
    even = 100 / len(shares)
    bars: Spec = {
        "mark": {"type": "bar", "aria": True},
        "encoding": {
            "x": {
                "field": "rank",
                "type": "ordinal",
                "title": "segments, the most visited first",
                "axis": {"values": _rank_ticks(len(shares)), "labelAngle": 0},
            },
            "y": {"field": "percent", "type": "quantitative", "title": "share of visits, %"},
            "description": {"field": "tooltip", "type": "nominal"},
        },
    }
    line: Spec = {
        "mark": {"type": "rule", "strokeDash": [4, 3]},
        "encoding": {"y": {"datum": even, "type": "quantitative"}},
    }
    return Chart(
        id=f"segments-{slug(place)}",
        kind=kind,
        label=place,
        caption="Share of all key cache read requests, over all repeats; dashed: an even share.",
        alt=f"{title}: the most visited segment has {shares[0][1] * 100:.0f} % of all visits; an "
        f"even share would be {even:.1f} %.",
        spec=frame(title, values, [bars, line], height=HEIGHT * 2 // 3),
    )


def _rank_ticks(count: int) -> list[int]:
    """The first, and about four more, evenly spaced."""
    step = max(1, round(count / 4))
    return [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))


def why_of(folder: RunFolder) -> tuple[WhyFacts, DifferenceTried | None] | None:
    """The planned treatments and their results; None if nothing was tried for this run."""
    try:
        with RunFolder.open(folder.path / WITHIN) as inner:
            study = study_of(inner, percentiles=False)
    except NotARunFolder:
        return None
    about = study.meta.facts.get("why")
    return None if about is None else (about, tried_of(study))


def why_section(folder: RunFolder) -> Shown | None:
    """The sentence, and a table of the tried and untried candidates."""
    found = why_of(folder)
    if found is None:
        return None
    about, tried = found
    rows = [_row(one) for one in (tried.candidates if tried else ())]
    tables = []
    if rows:
        tables.append(
            TextTable(
                "Remaining difference, in percent (intervals that hold together in 99 of "
                "100 comparisons)",
                (
                    *("cause", "verdict", "left at each dose", "left, whole dose", "left, placebo"),
                    *("speed of both sides, whole dose over placebo", "n"),
                ),
                tuple(rows),
            )
        )
    untested = by_reason(untested_of(about, tried))
    if untested:
        tables.append(TextTable("Not tried", ("cause", "reason"), untested))
    return Shown(WHY.title, sentence_of(tried), tuple(tables))


def sentence_of(tried: DifferenceTried | None) -> str:
    """The result, in a sentence with its evidence."""
    if tried is None:
        return "The cause is unknown: nothing was measured yet."
    if not tried.candidates and (over := why_decided(tried)) is not None:
        return f"The cause is unknown: {over}."
    if not tried.certain:
        more = more_repeats([(tried.log_difference, 1.0)])
        would = "" if more is None or more > NO_ADVICE else f"; {_repeats(more)} would show one"
        return f"The cause is unknown: no difference was certain in this measurement{would}."
    found = sorted(
        (one for one in tried.candidates if one.verdict in _FOUND), key=lambda x: x.left.mean
    )
    if any(one.verdict == "confirmed" for one in found):
        return " ".join(map(_found, found))
    open_ = [one for one in tried.candidates if one.verdict == "not certain"]
    refuted = [one.record["candidate"] for one in tried.candidates if one.verdict == "refuted"]
    as_a_whole = " as a whole" if found else ""
    sentences = [f"The cause{as_a_whole} is unknown.", *map(_found, found)]
    if refuted:
        sentences.append(f"Refuted: {', '.join(refuted)}.")
    sentences += [_open(one, one.record["candidate"] in tried.aside) for one in open_]
    return " ".join(sentences)


_FOUND = {"confirmed": "Confirmed", "a part": "A part of it"}


def _found(one: CandidateTried) -> str:
    record = one.record
    return (
        f"{_FOUND[one.verdict]}: {record['title']} ({record['candidate']}). {_interval(one)} % of "
        f"the difference remains with {record['words'][record['doses'][-1]]}, and "
        f"{one.left_with_placebo * 100:.0f} % with the placebo (n = {one.left.n})."
    )


def _open(one: CandidateTried, is_aside: bool) -> str:
    name = one.record["candidate"]
    if is_aside:
        return f"Set aside after {repeats_text(one.left.n)}: {name}, because others removed more."
    if one.more is None:
        return f"Not certain: {name}; it is not known how many more repeats it needs."
    return f"Not certain: {name}, which needs {_repeats(one.more)}."


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


CAUSE = Section(
    "cause",
    "Why",
    lambda inputs: cause_of(inputs.study, inputs.naming, inputs.compared[0]),
    lambda shown, _inputs: shown,
)
WHY = Section(
    "why",
    "Why: what removes the difference",
    lambda inputs: why_section(inputs.folder),
    lambda shown, _inputs: replace(shown, is_short=True),
)
