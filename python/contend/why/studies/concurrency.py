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

COSTLIER = 1.25
"""Growth of the CPU time per query below a quarter does not count."""

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
        "The cost of the clients (intervals after ±)",
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
            "From {full:column} on hardly any CPU time is left: server and client together keep "
            "{full} of {cpus} CPUs busy (n = {full:count}). Every additional client waits its "
            "turn, and the time grows in proportion to their number.",
            full=full,
            cpus=Constant(cpus),
        )
    others = _neighbours(evidence)
    return evidence.say(
        "Server and client together keep at most {most} of {cpus} CPUs busy, at {most:column}"
        + (
            ". Other processes of this machine used {others:.0f} % of the CPU time, so clients "
            "wait for those too. It is unknown what the server would do with CPUs of its own: "
            "measure again without these processes."
            if others > NEIGHBOURS
            else ": the CPUs are never full, so CPU time alone does not limit the clients. Look "
            "for locks, storage and connection limits."
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
    if change.verdict == "higher" and change.ratio >= COSTLIER:
        verdict = (
            ", {ratio:times} times as much: clients get in each other's way. Possible causes are "
            "spin locks, caches too small for all clients, memory of a different processor, and "
            "query cache misses because all clients send the query at the same time."
        )
    elif change.verdict == "lower" and 1 / change.ratio >= COSTLIER:
        verdict = ": less, since earlier queries answer more of them, as with the query cache."
    else:
        verdict = ": no difference that is certain and large."
        if change.high < COSTLIER:
            verdict += " So clients hardly get in each other's way; they share the CPU time."
    return evidence.say(
        "A query costs the server {first:ms} ms of CPU time at {first:column} and {last:ms} ms at "
        "{last:column}" + verdict,
        first=cost[0],
        last=cost[-1],
        ratio=ratio,
    )


def _placement(evidence: Evidence) -> ReportText:
    """Whether the study's answer, placement on memory nodes, can be the answer here too."""
    numa = evidence.study.meta.facts.get("numa") or {}
    nodes = numa.get("node_count")
    # A node without memory cannot host a server's.
    bare = sum(one.get("memory_bytes") == 0 for one in numa.get("nodes") or ())
    nodes = None if nodes is None else nodes - bare
    if nodes is None:
        here = ". The number of nodes of this machine is unknown."
    elif nodes == 1:
        here = ". This machine has one node, so placement cannot be the cause here."
    else:
        here = ". This machine has {nodes} nodes, so try it: {how}."
    return evidence.say(
        "On the study's machine with two memory nodes, placement was the answer: with 64 clients "
        "16.3 s bound to one node, 27.2 s unbound, 28.7 s interleaved" + here,
        nodes=Constant(nodes or 0),
        how='--set \'server.wrap=["", "numactl --cpunodebind=0 --membind=0", '
        '"numactl --interleave=all"]\' --set \'compare.baseline={ "server.wrap" = "" }\'',
    )


CANDIDATE = Candidate(
    "concurrency",
    title="Why the time grows with the clients",
    look=_look,
    refuted_by="Idle CPUs while clients wait would refute that CPU time is short. A query that "
    "costs more CPU time with many clients, on a machine with one memory node and a server without "
    "the query cache, would need a different explanation.",
)
