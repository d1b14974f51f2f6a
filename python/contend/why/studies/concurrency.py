"""Why a list of statements takes longer with more clients: they share CPU time, or queries become
more costly.

A server whose CPUs are full makes each client wait its turn, and the time grows with their number.
If the CPU time per query also grows with the clients, they interfere with each other: locks,
caches, or memory that belongs to a different processor.
"""

from collections.abc import Sequence

from contend.findings import Constant, Figure, ReportText
from contend.metrics import DISTURBANCES
from contend.why.candidate import Candidate
from contend.why.explain import Evidence, Explanation

FULL = 0.9
"""Share of the CPUs in use from which they count as full."""

DEARER = 1.25
"""A query whose CPU time grows by less than a quarter has not changed its nature."""

NEIGHBOURS = 0.1
"""Share of the CPU time that others may take before they are a cause themselves."""

_BUSY, _COST = "cpus_busy", "server_cpu_us_per_query"


def _look(evidence: Evidence) -> Explanation | None:
    columns = evidence.study.roles.columns
    if columns is None or evidence.cpus is None or len(columns.levels) < 2:
        return None
    busy, cost = evidence.along(_BUSY), evidence.along(_COST)
    if len(busy) < 2 or len(cost) < 2:
        return None
    table = evidence.table_of(
        "What the clients cost (intervals after ±)",
        (
            ("CPUs busy", _BUSY, ""),
            ("server CPU per query, ms", _COST, "ms"),
            ("client CPU per query, ms", "client_cpu_us_per_query", "ms"),
            ("switches per query", "switches_per_query", ""),
        ),
        along=True,
    )
    return Explanation(
        _lead(evidence, busy, evidence.cpus),
        (_costs_more(evidence, cost), _placement(evidence)),
        (table,),
        refuted_by=CANDIDATE.refuted_by,
        certain=evidence.is_growth_certain,
    )


def _lead(evidence: Evidence, busy: Sequence[Figure], cpus: float) -> ReportText:
    full = next((one for one in busy if one.mean >= FULL * cpus), None)
    if full is not None:
        return evidence.say(
            "From {full:column} on there is no CPU time left: server and client together keep "
            "{full} of {cpus} CPUs busy (n = {full:count}). Every client more waits for its turn, "
            "and the time grows in proportion to their number.",
            full=full,
            cpus=Constant(cpus),
        )
    others = _neighbours(evidence)
    return evidence.say(
        "Server and client together keep at most {most} of {cpus} CPUs busy, at {most:column}"
        + (
            ", and other processes of this machine used {others:.0f} % of the CPU time. So clients "
            "wait for those too, and nothing is certain of what the server would do with CPUs of "
            "its own: measure again when they are gone."
            if others > NEIGHBOURS
            else ": the CPUs are never full. What clients wait for is not CPU time: look for "
            "locks, storage and the limits of connections."
        ),
        most=max(busy, key=lambda one: one.mean),
        cpus=Constant(cpus),
        others=Constant(100 * others),
    )


def _neighbours(evidence: Evidence) -> float:
    """The share of the CPUs' time that other processes of the machine took, on average."""
    read = DISTURBANCES["neighbours"]
    shares = [one for run in evidence.study.measured if (one := read(run)) is not None]
    return sum(shares) / len(shares) if shares else 0.0


def _costs_more(evidence: Evidence, cost: Sequence[Figure]) -> ReportText | None:
    ratio = evidence.last_over_first(_COST)
    if ratio is None:
        return None
    change = ratio.change
    if change.verdict == "higher" and change.ratio >= DEARER:
        verdict = (
            ", {ratio:times} times as much: clients get into each other's way. Locks that are "
            "waited for in a loop, caches that are too small for all, memory of another processor "
            "and answers of the query cache that are missed because all clients ask at the same "
            "time do that."
        )
    elif change.verdict == "lower" and 1 / change.ratio >= DEARER:
        verdict = (
            ": less, since more of them are answered from what an earlier one left, such as the "
            "query cache."
        )
    else:
        verdict = (
            ": no difference that is certain and large. So clients do not get into each other's "
            "way; they share what CPU time there is."
        )
    return evidence.say(
        "A query costs the server {first:ms} ms of CPU time at {first:column} and {last:ms} ms at "
        "{last:column}" + verdict,
        first=cost[0],
        last=cost[-1],
        ratio=ratio,
    )


def _placement(evidence: Evidence) -> ReportText:
    """Whether the study's own answer, placement on memory nodes, can be the answer here."""
    numa = evidence.study.meta.facts.get("numa") or {}
    nodes = numa.get("node_count")
    # A node without memory cannot host a server's.
    bare = sum(one.get("memory_bytes") == 0 for one in numa.get("nodes") or ())
    nodes = None if nodes is None else nodes - bare
    if nodes is None:
        here = ". How many nodes this machine has is not known."
    elif nodes == 1:
        here = ". This machine has one node, so placement cannot be the cause here."
    else:
        here = ". This machine has {nodes} nodes, so try it: {how}."
    return evidence.say(
        "On the study's machine with two memory nodes placement was the answer: with 64 clients "
        "16.3 s bound to one node, 27.2 s unbound, 28.7 s interleaved" + here,
        nodes=Constant(nodes or 0),
        how='--set \'server.wrap=["", "numactl --cpunodebind=0 --membind=0", '
        '"numactl --interleave=all"]\' --set \'compare.baseline={ "server.wrap" = "" }\'',
    )


CANDIDATE = Candidate(
    "concurrency",
    title="Why the time grows with the clients",
    look=_look,
    refuted_by="Idle CPUs while clients wait would refute that CPU time is what is short. A query "
    "that costs more CPU time with many clients, on a machine with one memory node and a server "
    "without the query cache, would ask for another cause than these.",
)
