"""CPU headroom: the use of the CPUs where the gain is most certain: does the machine limit it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from contend.findings import Constant, Finding, ReportText, Study, cpu_count, surest
from contend.metrics import EVENTS, SECONDS, THROUGHPUT
from contend.sections.model import Inputs, Panel, Section, Shown
from contend.sections.naming import Naming
from contend.sections.words import cell_phrase, change_text, estimate_text, repeats_text, share_text
from contend.stats import Estimate
from contend.units import fact

_FULL = 0.95
"""Share of the CPUs in use from which a machine counts as full."""

_OF_THEIR_OWN = 0.85
"""Share of the speed of one CPU alone; with less, the CPUs do not have a core each."""


_TITLE = "CPU headroom"


def _read(inputs: Inputs) -> tuple[ReportText, ...] | None:
    found = bounds_of(
        inputs.study,
        inputs.naming,
        inputs.panels,
        inputs.compared[0].comparisons,
        has_cause=inputs.has_cause,
    )
    return found or None


def bounds_of(
    study: Study,
    naming: Naming,
    panels: Sequence[Panel],
    comparisons: Sequence[Finding],
    *,
    has_cause: bool,
) -> tuple[ReportText, ...]:
    """What limits the server where a gain of throughput, or of the time for the work, is certain.
    If the report explains no cause either: what limits it at its highest throughput. Nothing if
    the CPUs were not measured."""
    cpus = cpu_count(study.meta.facts)
    best = surest(comparisons)
    if cpus is None or study.metrics[0].name not in (THROUGHPUT, EVENTS, SECONDS):
        return ()
    if best is None or best.tone != "better":
        return () if has_cause or not study.decides else _of_the_server(study, panels, cpus)
    found = _busy_at(panels, best)
    if found is None:
        return ()
    before, after = found
    noun = "change" if best.metric.less_is_better else "gain"
    many = len(comparisons) > 1
    template = "{} is most certain at {} ({})" if many else "{} at {} is {}"
    where = ReportText(
        "The {}. There, server and client together used {} of this machine's {} CPUs (n = {}); at "
        "the baseline ({}), {}.",
        ReportText(template, noun, cell_phrase(best.cell), change_text(best.change)),
        estimate_text(after),
        Constant(cpus),
        repeats_text(after.n),
        naming.baseline,
        estimate_text(before),
    )
    match _is_full(after, cpus):
        case True:
            bound = ReportText(
                "The CPUs were saturated, so this machine also limits the {}. More CPUs may show "
                "more.",
                noun,
            )
        case False:
            bound = ReportText(
                "{} of the CPU time there was idle, so CPU time alone did not limit the {}.",
                _idle(after, cpus),
                noun,
            )
        case None:
            bound = ReportText(
                "{} of the CPU time there was idle. {} does not decide whether CPU time limits "
                "the {}.",
                _idle(after, cpus),
                _repeats(after),
                noun,
            )
    return (where, bound, *_together(study, cpus))


def _is_full(busy: Estimate, cpus: float) -> bool | None:
    """Whether all CPUs were busy; None if the repeats cannot exclude some idle time."""
    if busy.low >= _FULL * cpus:
        return True
    return False if busy.high < _FULL * cpus else None


def _repeats(busy: Estimate) -> str:
    return "One repeat" if busy.n < 2 else "This number of repeats"


def _idle(busy: Estimate, cpus: float) -> ReportText:
    mean, high, low = (1 - one / cpus for one in (busy.mean, busy.low, busy.high))
    return share_text(replace(busy, mean=mean, low=low, high=high))


def is_full_at(
    study: Study, panels: Sequence[Panel], comparisons: Sequence[Finding]
) -> tuple[Finding, float] | None:
    """The cell that certainly gains most, and how many CPUs there are, if certainly all of them
    were busy there."""
    cpus, best = cpu_count(study.meta.facts), surest(comparisons)
    if best is None or best.tone != "better" or cpus is None:
        return None
    found = _busy_at(panels, best)
    return (best, cpus) if found is not None and _is_full(found[1], cpus) else None


def _of_the_server(study: Study, panels: Sequence[Panel], cpus: float) -> tuple[ReportText, ...]:
    """The use of the CPUs in the cell with the most queries answered."""
    found = []
    for panel in panels:
        speeds, busy = panel.metric(THROUGHPUT), panel.metric("cpus_busy")
        if speeds is None or busy is None:
            continue
        for row, level in enumerate(study.roles.levels):
            for at, column in enumerate(study.roles.column_levels):
                speed, used = speeds.rows[row].estimates[at], busy.rows[row].estimates[at]
                if speed is not None and used is not None:
                    cell = study.roles.cell(panel.context, column, level)
                    found.append((speed.mean, speed, used, cell))
    if not found:
        return ()
    _, speed, used, cell = max(found, key=lambda one: one[0])
    rate = ReportText("{} queries per second", estimate_text(speed))
    where = (
        ReportText("The highest throughput was {}, at {}. There,", rate, cell_phrase(cell))
        if len(found) > 1
        else ReportText("At {},", rate)
    )
    figures = ReportText(
        "{} server and client together used {} of this machine's {} CPUs (n = {}).",
        where,
        estimate_text(used),
        Constant(cpus),
        repeats_text(used.n),
    )
    return (figures, _verdict(used, cpus), *_together(study, cpus))


def _verdict(used: Estimate, cpus: float) -> ReportText:
    is_full = _is_full(used, cpus)
    if is_full:
        return ReportText("The CPUs were saturated, so CPU time limits the throughput.")
    idle = _idle(used, cpus)
    if is_full is None:
        template = "{} of the CPU time was idle. {} does not decide whether CPU time limits it."
        return ReportText(template, idle, _repeats(used))
    return ReportText(
        "{} of the CPU time was idle, so CPU time alone does not limit the throughput: check "
        "storage, locks and the number of clients.",
        idle,
    )


def _together(study: Study, cpus: float) -> list[ReportText]:
    """The speed of the CPUs together if they do not have a core each."""
    together = fact(study.meta.facts, "cpu.together")
    if not isinstance(together, int | float) or together >= _OF_THEIR_OWN * cpus:
        return []
    return [
        ReportText(
            "Its {} CPUs together do {:.1f} times the work of one alone (measured before the run). "
            "So they share cores, whatever the machine reports, or other programs use them too. A "
            "waiting thread then leaves its share of the core to the others, and a change that "
            "ends the wait gains less than where each CPU is a core.",
            Constant(cpus),
            Constant(together),
        )
    ]


def _busy_at(panels: Sequence[Panel], best: Finding) -> tuple[Estimate, Estimate] | None:
    """CPUs busy at the baseline and at the level, at the place of a comparison."""
    for panel in panels:
        table = panel.metric("cpus_busy")
        for row in panel.gains:
            if table is None or best not in row.gains:
                continue
            column = row.gains.index(best)
            before = table.rows[0].estimates[column]
            own = next(each for each in table.rows if each.label == row.label)
            after = own.estimates[column]
            return None if before is None or after is None else (before, after)
    return None


SECTION = Section("bounds", _TITLE, _read, lambda found, _inputs: Shown(_TITLE, " ".join(found)))
