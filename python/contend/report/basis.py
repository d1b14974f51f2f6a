"""The basis of the answer: the comparison and its repeats, the tools, the sources of noise, why it
is finished, and what would change it.

It also reports how far sessions of this host differ, which does not affect the verdicts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from contend.experiment import Level, asks_twins
from contend.experiment.settings.load import ends_with_its_work
from contend.findings import (
    Analysis,
    Constant,
    Finding,
    ReportText,
    Study,
    leading_cell,
    noise_of,
)
from contend.sections.naming import named, place_of
from contend.sections.sessions import Sessions, in_the_basis
from contend.sections.words import SAYS_NOTHING, changed_text, detectable_text, duration_text
from contend.stats import layout_spread, units_to_reach
from contend.store import RunRecord

_NAMED = 3


def basis_of(
    study: Study, analysis: Analysis, level: Level, earlier: Sessions | None
) -> tuple[str, ...]:
    """One statement a line; `level` is the one that the answer is about, and `earlier` of it."""
    return (
        _how_often(study, analysis),
        _by_what(study),
        *_intervals(study, analysis),
        *in_the_basis(study, earlier),
        *_noise(study, analysis),
        *_adjusted(study, analysis),
        *_twins(study, analysis),
        *_why_finished(study),
        *_what_would_change_it(study, analysis),
        *_most(study, analysis, level),
    )


def _most(study: Study, analysis: Analysis, level: Level) -> list[str]:
    """The cell that gains most, if it is certain that it does."""
    most = leading_cell(study, analysis, level)
    if most is None or most.tone != "better":
        return []
    gain = changed_text(most.change, most.metric.changed(most.metric.better))
    return [
        f"Largest gain {place_of(study.roles, most)}: {gain}, certainly more than the mean of the "
        "other cells."
    ]


def _how_often(study: Study, analysis: Analysis) -> str:
    sizes = [one.change.n for one in analysis.compared.comparisons]
    times = _range(min(sizes), max(sizes))
    cells = len(analysis.table.rows) * len(analysis.table.columns)
    where = f"in each of {cells} cells" if cells > 1 else "in one cell"
    often = "once" if times == "1" else f"{times} times"
    if not study.in_slices:
        return (
            f"Compared {often}: each time one run of every level {where}, one after the other in "
            "random order."
        )
    started = " with freshly started servers" if study.way.get("own", True) else ""
    if asks_twins(study.experiment):
        return (
            f"Compared {often}{started}: each time a new sample of the recording's statements at "
            f"every level {where}."
        )
    cuts = [run.plan["load"].get("slices") for run in study.measured]
    known = [cut for cut in cuts if cut is not None]
    rounds = _range(*_ends([cut["rounds"] for cut in known]))
    connections = _range(*_ends([len(runs) for runs in _blocks(study)]))
    sets = "" if connections == "1" else f", over {connections} sets of connections"
    one, length = "slice", f"{_lengths([cut['slice_s'] for cut in known])} s"
    if any(ends_with_its_work(study.spec_of(run.cell).values) for run in study.measured):
        one, length = "turn", "all of the work"
    slices = f"1 {one}" if rounds == "1" else f"{rounds} {one}s"
    return (
        f"Compared {often}{started}: each time {slices} of {length} of every level {where}{sets}."
    )


def _lengths(seconds: Sequence[float]) -> str:
    least, most = min(seconds, default=0.0), max(seconds, default=0.0)
    return f"{least:.2g}" if least == most else f"{least:.2g} to {most:.2g}"


def _blocks(study: Study) -> Iterator[Sequence[RunRecord]]:
    for repeats in study.by_cell.values():
        yield from repeats.values()


def _ends(values: Sequence[int]) -> tuple[int, int]:
    return min(values, default=0), max(values, default=0)


def _range(least: int, most: int) -> str:
    return f"{most}" if least == most else f"{least} to {most}"


def _by_what(study: Study) -> str:
    if asks_twins(study.experiment):
        return (
            f"Each statement was sent to all levels in turn, {_on_which(study.way)}, with the same "
            "values."
        )
    if study.in_slices:
        return (
            f"In slices: all levels were measured in turn, {_on_which(study.way)}, with the same "
            f"queries.{_laid_out(study)}"
        )
    why = study.way.get("why")
    return "In separate runs, not in slices: " + (f"{why}." if why else "the experiment says so.")


def _on_which(way: Mapping[str, Any]) -> str:
    """The servers of a comparison in slices."""
    if way.get("servers") == 1:
        return "on one server that was switched between them while it was idle"
    if way.get("own", True):
        return "each on its own server"
    return "each on the server that it names"


def _laid_out(study: Study) -> str:
    """What the repeats show about differences between server processes by chance."""
    if not study.way.get("own", True):
        return (
            " The servers were not restarted: the intervals do not include how much their starts "
            "differ."
        )
    laid_out = {run.probes.get("layout", {}).get("padding_bytes") for run in study.measured}
    if laid_out == {None}:
        return ""
    if None not in laid_out:
        return " Their memory had the same layout, a new one for each repeat."
    return " Their memory had the same layout once that had proved useful."


def _intervals(study: Study, analysis: Analysis) -> list[str]:
    compare = study.experiment.compare
    between = [one for one in analysis.answer.pairs if one.cells]
    count = len(analysis.compared.findings) + len(between)
    kinds = "levels, columns, rows" + (", cells and pairs of levels" if between else " and cells")
    family = analysis.table.family
    confidence = f"{family.promises * 100:g} %"
    together = (
        f"All {count} intervals of this metric ({kinds}) hold together with {confidence}"
        if count > 1
        else f"± is the {confidence} interval"
    )
    if not study.finished:
        return [f"{together}; there are no verdicts before the run is finished."]
    if not family.decides:
        return [
            f"{together}; there are no verdicts, because the experiment did not name this metric "
            "before it was run."
        ]
    deciding, decides = compare.deciding, ""
    if len(deciding) > 1:
        decides = f" {', '.join(deciding[:-1])} and {deciding[-1]} decide together."
    elif len(study.metrics) > 1:
        decides = f" {analysis.compared.metric.name} decides."
    return [
        f"{together}, and each verdict depends only on its own (equivalent: within "
        f"±{compare.margin * 100:g} %).{decides}"
    ]


def _noise(study: Study, analysis: Analysis) -> list[str]:
    components = noise_of(study)
    if components is None:
        return []
    texts = [components.words(analysis.table.shape.contexts)]
    if components.known:
        texts.append(layout_spread(components).words())
    return [f"{text[0].upper()}{text[1:]}." for text in texts]


def _adjusted(study: Study, analysis: Analysis) -> list[str]:
    """The benefit of adjusting for disturbances."""
    allowed = analysis.table.allowed
    lines = [f"Not adjusted for {name}: {why}." for name, why in allowed.left_out.items()]
    bought = analysis.answer.adjustment
    if bought is None:
        return lines
    names = ", ".join(allowed.arrays)
    before, after = (
        f"{(math.exp(sd) - 1) * 100:.1f} %" for sd in (bought.sd_before, bought.sd_after)
    )
    usual = ", and the changes are those of the usual state of the host" if study.in_slices else ""
    return [
        f"Adjusted for {names}: a cell scatters by {after} from repeat to repeat, not {before}"
        f"{usual}.",
        *lines,
    ]


def _twins(study: Study, analysis: Analysis) -> list[str]:
    doubted = [one for one in analysis.compared.findings if one.change.twins_disagree]
    if not doubted:
        return []
    shown = [named(study.roles, one) for one in doubted[:_NAMED]]
    more = len(doubted) - len(shown)
    listed = "; ".join(shown) + (f"; and {more} more" if more > 0 else "")
    return [
        "Tests that assume less (sign-flip, Hodges-Lehmann) disagree with the t interval "
        f"at {len(doubted)} of {len(analysis.compared.findings)} places, most often because of one "
        f"outlying repeat: {listed}."
    ]


def _why_finished(study: Study) -> list[str]:
    why = study.meta.finished
    if not study.finished:
        return []
    return [f"Finished: {why or 'every planned run was made'}."]


def _what_would_change_it(study: Study, analysis: Analysis) -> list[str]:
    if not study.finished:
        return []
    cells = sorted(_shown(analysis.compared.comparisons))
    wholes = sorted(_shown(analysis.compared.wholes))
    if not cells or not wholes:
        return []
    single = detectable_text(cells[len(cells) // 2])
    over_all = detectable_text(wholes[-1])
    if max(cells[len(cells) // 2], wholes[-1]) >= SAYS_NOTHING:
        return [
            "It could hardly have shown any change: its few repeats vary too much. Four times the "
            "repeats halve the smallest change that shows."
        ]
    shown = (
        f"of {over_all} over all cells, and of {single} in a single one"
        if len(analysis.compared.comparisons) > 1
        else f"of {single}"
    )
    return [
        f"It would have shown a change {shown}, in 4 of 5 such experiments; four times the repeats "
        "halve that. A different machine, server version or dataset may change the answer itself."
    ]


def _shown(findings: Sequence[Finding]) -> list[float]:
    """The changes that the run could have detected, if known."""
    found = [one.change.detectable for one in findings]
    return [one for one in found if math.isfinite(one)]


def would_take(study: Study, analysis: Analysis, whole: Finding) -> ReportText:
    """The measurement that would narrow a level as a whole to the margin; follows `Next:`."""
    change, compare = whole.change, study.experiment.compare
    wanted = compare.width or compare.margin
    width = Constant(wanted * 100)
    if change.n < 2 or not change.sd_log > 0:
        return ReportText("at least two repeats; one alone says nothing about chance")
    p_each = next(one.p_each for one in analysis.answer.depths if one.depth == "whole")
    needed = units_to_reach(wanted, change, p_each)
    if needed is None:
        template = "something else; no acceptable time would narrow that to ±{} %"
        return ReportText(template, width)
    more = max(needed - change.n, 1)
    time = duration_text(repeat_s(study) * more)
    template = "more time; about {} more repeat{} ({}) would narrow that to ±{} %"
    return ReportText(template, Constant(more), "" if more == 1 else "s", time, width)


def repeat_s(study: Study) -> float:
    """The duration of a repeat, without the time between its blocks."""
    spans: dict[int, list[RunRecord]] = defaultdict(list)
    for record in study.measured:
        spans[record.block].append(record)
    seconds = [
        _time(max(one.ended_at for one in runs)) - _time(min(one.started_at for one in runs))
        for runs in spans.values()
    ]
    return sum(seconds) / max(1, len(study.repeats))


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
