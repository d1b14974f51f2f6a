"""Where the machine itself bounds the gain. Says what was measured there, and no more."""

from __future__ import annotations

from contend.metrics import THROUGHPUT
from contend.report.gains import headline
from contend.report.host_facts import cpu_count
from contend.report.labels import cell_phrase
from contend.report.model import CellComparison, Layout, Panel
from contend.report.numbers import estimate_text, gain_text
from contend.report.study import Study
from contend.stats import Estimate

_FULL = 0.95
"""Share of the CPUs in use from which a machine counts as full."""


def bounds_of(
    study: Study,
    layout: Layout,
    panels: tuple[Panel, ...],
    comparisons: tuple[CellComparison, ...],
) -> tuple[str, ...]:
    """What the machine's CPUs did at the largest gain; nothing where that was not measured."""
    cpus = cpu_count(study.meta.facts)
    best = headline(comparisons)
    if best is None or best.tone != "better" or best.metric.name != THROUGHPUT or cpus is None:
        return ()
    found = _busy_at(panels, best)
    if found is None:
        return ()
    before, after = found
    texts = [
        f"At the largest gain ({gain_text(best.comparison)} % at {cell_phrase(best.cell)}) server "
        f"and client, which share this machine, kept {estimate_text(after)} of its {cpus:g} CPUs "
        f"busy (n = {after.n} runs); at the baseline ({layout.baseline}) it was "
        f"{estimate_text(before)}."
    ]
    if after.mean >= _FULL * cpus:
        texts.append(
            "That is all the CPU time there is: at that place this machine, and not only the "
            "thing compared, bounds the gain. More CPUs may show more."
        )
    else:
        texts.append(
            f"{_idle(cpus, after)} of the CPU time was left idle there, so CPU time alone did not "
            "bound the gain."
        )
    return tuple(texts)


def _busy_at(panels: tuple[Panel, ...], best: CellComparison) -> tuple[Estimate, Estimate] | None:
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


def _idle(cpus: float, busy: Estimate) -> str:
    return f"{(1 - busy.mean / cpus) * 100:.0f} %"
