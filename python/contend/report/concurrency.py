"""Why a list of statements takes longer with more clients: CPU time that is shared out, or queries
that get dearer.

A server whose CPUs are full makes each client wait its turn, and the time grows with their number.
If besides a query costs more CPU time the more clients there are, they get into each other's way:
locks, caches, or memory that belongs to another processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from contend.findings import Compared, Study
from contend.metrics import DISTURBANCES
from contend.report.causes import Explanation
from contend.report.model import Cause, Layout, Panel, TextTable
from contend.report.provenance import cpu_count
from contend.report.words import estimate_text, level_phrase, significant
from contend.stats import Estimate

FULL = 0.9
"""Share of the CPUs in use from which they count as full."""

DEARER = 1.25
"""A query whose CPU time grows by less than a quarter has not changed its nature."""


NEIGHBOURS = 0.1
"""Share of the CPU time that others may take before they are a cause themselves."""


class Concurrency(Explanation):
    """The analysis of a sweep over connections."""

    def cause(
        self, study: Study, layout: Layout, panels: tuple[Panel, ...], compared: Compared
    ) -> Cause | None:
        del compared
        cpus = cpu_count(study.meta.facts)
        columns = study.roles.columns
        if columns is None or cpus is None or len(columns.levels) < 2 or not panels:
            return None
        busy = _row(panels[0], "cpus_busy")
        cost = _row(panels[0], "server_cpu_us_per_query")
        if len(busy) < 2 or len(cost) < 2:
            return None
        phrases = [level_phrase(columns.path, level) for level in columns.levels]
        return Cause(
            title="Why the time grows with the clients",
            lead=_lead(busy, phrases, cpus, _neighbours(study)),
            paragraphs=(_cost(cost, phrases), placement(study)),
            tables=(_table(panels[0], layout),),
            charts=(),
            refutation=(
                "Idle CPUs while clients wait would refute that CPU time is what is short. A query "
                "that costs more CPU time with many clients, on a machine with one memory node "
                "and a server without the query cache, would ask for another cause than these."
            ),
        )


def _row(panel: Panel, key: str) -> list[tuple[int, Estimate]]:
    """The figures of the panel's first level that are known, with their columns."""
    table = panel.metric(key)
    estimates = table.rows[0].estimates if table is not None else ()
    return [(at, one) for at, one in enumerate(estimates) if one is not None]


def _neighbours(study: Study) -> float:
    """The share of the CPUs' time that other processes of the machine took, on average."""
    shares = [one for run in study.measured if (one := DISTURBANCES["neighbours"](run)) is not None]
    return sum(shares) / len(shares) if shares else 0.0


def _lead(
    busy: Sequence[tuple[int, Estimate]], phrases: Sequence[str], cpus: float, neighbours: float
) -> str:
    full = next(((at, one) for at, one in busy if one.mean >= FULL * cpus), None)
    if full is None:
        at, most = max(busy, key=lambda one: one[1].mean)
        figures = (
            f"Server and client together keep at most {estimate_text(most)} of {cpus:g} CPUs busy, "
            f"at {phrases[at]}"
        )
        if neighbours > NEIGHBOURS:
            return (
                f"{figures}, and other processes of this machine used {neighbours * 100:.0f} % of "
                "the CPU time. So clients wait for those too, and nothing is certain of what the "
                "server would do with CPUs of its own: measure again when they are gone."
            )
        return (
            f"{figures}: the CPUs are never full. What clients wait for is not CPU time: look for "
            "locks, storage and the limits of connections."
        )
    at, one = full
    return (
        f"From {phrases[at]} on there is no CPU time left: server and client together keep "
        f"{estimate_text(one)} of {cpus:g} CPUs busy (n = {one.n}). Every client more waits for "
        "its turn, and the time grows in proportion to their number."
    )


def _cost(cost: Sequence[tuple[int, Estimate]], phrases: Sequence[str]) -> str:
    (first_at, first), (last_at, last) = cost[0], cost[-1]
    figures = (
        f"A query costs the server {estimate_text(_ms(first))} ms of CPU time at "
        f"{phrases[first_at]} and {estimate_text(_ms(last))} ms at {phrases[last_at]}"
    )
    if last.low > first.high and last.mean > first.mean * DEARER:
        return (
            f"{figures}, {significant(last.mean / first.mean, 2)} times as much: clients get into "
            "each other's way. Locks that are waited for in a loop, caches that are too small for "
            "all, memory of another processor and answers of the query cache that are missed "
            "because all clients ask at the same time do that."
        )
    if last.high < first.low and last.mean * DEARER < first.mean:
        return (
            f"{figures}: less, since more of them are answered from what an earlier one left, "
            "such as the query cache."
        )
    return (
        f"{figures}: no difference that is certain and large. So clients do not get into each "
        "other's way; they share what CPU time there is."
    )


def _ms(estimate: Estimate) -> Estimate:
    scaled = (estimate.mean / 1000, estimate.low / 1000, estimate.high / 1000)
    return Estimate(*scaled, estimate.n, estimate.confidence)


def placement(study: Study) -> str:
    """Whether the study's own answer, placement on memory nodes, can be the answer here."""
    nodes = (study.meta.facts.get("numa") or {}).get("node_count")
    study_said = (
        "On the study's machine with two memory nodes placement was the answer: with 64 clients "
        "16.3 s bound to one node, 27.2 s unbound, 28.7 s interleaved"
    )
    if nodes is None:
        return f"{study_said}. How many nodes this machine has is not known."
    if nodes == 1:
        return f"{study_said}. This machine has one node, so placement cannot be the cause here."
    return (
        f"{study_said}. This machine has {nodes} nodes, so try it: --set "
        '\'server.wrap=["", "numactl --cpunodebind=0 --membind=0", '
        '"numactl --interleave=all"]\' --set \'compare.baseline={ "server.wrap" = "" }\'.'
    )


_COLUMNS = (
    ("cpus_busy", "CPUs busy", 1.0),
    ("server_cpu_us_per_query", "server CPU per query, ms", 1000.0),
    ("client_cpu_us_per_query", "client CPU per query, ms", 1000.0),
    ("switches_per_query", "switches per query", 1.0),
)


def _table(panel: Panel, layout: Layout) -> TextTable:
    tables = [panel.metric(key) for key, _, _ in _COLUMNS]
    rows = []
    for at, column in enumerate(layout.columns):
        cells = []
        for table, (_, _, scale) in zip(tables, _COLUMNS, strict=True):
            one = table.rows[0].estimates[at] if table is not None else None
            cells.append("not recorded" if one is None else estimate_text(_scaled(one, scale)))
        rows.append((column, *cells))
    return TextTable(
        caption="What the clients cost (intervals after ±)",
        columns=(layout.columns_label, *(name for _, name, _ in _COLUMNS)),
        rows=tuple(rows),
    )


def _scaled(one: Estimate, scale: float) -> Estimate:
    return Estimate(one.mean / scale, one.low / scale, one.high / scale, one.n, one.confidence)
