"""Why a list of statements takes longer with more clients: CPU time that is shared out, or queries
that get dearer.

A server whose CPUs are full makes each client wait its turn, and the time grows with their number.
If besides a query costs more CPU time the more clients there are, they get into each other's way:
locks, caches, or memory that belongs to another processor.
"""

from contend.findings.sentence import Given, Sentence, say
from contend.metrics import DISTURBANCES
from contend.why.evidence import (
    Cause,
    Certainly,
    Evidence,
    Pick,
    Ratio,
    Rule,
    figures_table,
)

FULL = 0.9
"""Share of the CPUs in use from which they count as full."""

DEARER = 1.25
"""A query whose CPU time grows by less than a quarter has not changed its nature."""

NEIGHBOURS = 0.1
"""Share of the CPU time that others may take before they are a cause themselves."""

_COST = (
    "A query costs the server {first:ms} ms of CPU time at {first:column} and {last:ms} ms at "
    "{last:column}"
)

_COSTS_MORE = Rule(
    picks={
        "first": Pick("cost", "first"),
        "last": Pick("cost", "last"),
        "ratio": Ratio("cost"),
    },
    cases=(
        (
            Certainly("ratio", "higher", DEARER),
            f"{_COST}, {{ratio:times}} times as much: clients get into each other's way. Locks "
            "that are waited for in a loop, caches that are too small for all, memory of another "
            "processor and answers of the query cache that are missed because all clients ask at "
            "the same time do that.",
        ),
        (
            Certainly("ratio", "lower", DEARER),
            f"{_COST}: less, since more of them are answered from what an earlier one left, such "
            "as the query cache.",
        ),
        (
            None,
            f"{_COST}: no difference that is certain and large. So clients do not get into each "
            "other's way; they share what CPU time there is.",
        ),
    ),
)


def _lead(evidence: Evidence) -> Sentence | None:
    columns = evidence.study.roles.columns
    if columns is None or evidence.cpus is None or len(columns.levels) < 2:
        return None
    if len(evidence.along("busy")) < 2 or len(evidence.along("cost")) < 2:
        return None
    cpus = Given(evidence.cpus)
    full = evidence.pick(Pick("busy", "full", FULL))
    if full is not None:
        return say(
            "From {full:column} on there is no CPU time left: server and client together keep "
            "{full} of {cpus} CPUs busy (n = {full:count}). Every client more waits for its turn, "
            "and the time grows in proportion to their number.",
            full=full,
            cpus=cpus,
        )
    most = max(evidence.along("busy"), key=lambda one: one.mean)
    figures = "Server and client together keep at most {most} of {cpus} CPUs busy, at {most:column}"
    others = _neighbours(evidence)
    if others > NEIGHBOURS:
        return say(
            f"{figures}, and other processes of this machine used {{others:.0f}} % of the CPU "
            "time. So clients wait for those too, and nothing is certain of what the server would "
            "do with CPUs of its own: measure again when they are gone.",
            most=most,
            cpus=cpus,
            others=Given(100 * others),
        )
    return say(
        f"{figures}: the CPUs are never full. What clients wait for is not CPU time: look for "
        "locks, storage and the limits of connections.",
        most=most,
        cpus=cpus,
    )


def _neighbours(evidence: Evidence) -> float:
    """The share of the CPUs' time that other processes of the machine took, on average."""
    read = DISTURBANCES["neighbours"]
    shares = [one for run in evidence.study.measured if (one := read(run)) is not None]
    return sum(shares) / len(shares) if shares else 0.0


def _placement(evidence: Evidence) -> Sentence:
    """Whether the study's own answer, placement on memory nodes, can be the answer here."""
    numa = evidence.study.meta.facts.get("numa") or {}
    nodes = numa.get("node_count")
    # One without memory is no place for a server's.
    bare = sum(one.get("memory_bytes") == 0 for one in numa.get("nodes") or ())
    nodes = None if nodes is None else nodes - bare
    study_said = (
        "On the study's machine with two memory nodes placement was the answer: with 64 clients "
        "16.3 s bound to one node, 27.2 s unbound, 28.7 s interleaved"
    )
    if nodes is None:
        return say(f"{study_said}. How many nodes this machine has is not known.")
    if nodes == 1:
        return say(
            f"{study_said}. This machine has one node, so placement cannot be the cause here."
        )
    return say(
        study_said + ". This machine has {nodes} nodes, so try it: {how}.",
        nodes=Given(nodes),
        how='--set \'server.wrap=["", "numactl --cpunodebind=0 --membind=0", '
        '"numactl --interleave=all"]\' --set \'compare.baseline={ "server.wrap" = "" }\'',
    )


CONCURRENCY = Cause(
    name="concurrency",
    title="Why the time grows with the clients",
    looks={
        "busy": "cpus_busy",
        "cost": "server_cpu_us_per_query",
        "client": "client_cpu_us_per_query",
        "switches": "switches_per_query",
    },
    of_growth=True,
    lead=_lead,
    says=(_COSTS_MORE, _placement),
    tables=(
        figures_table(
            "What the clients cost (intervals after ±)",
            (
                ("CPUs busy", "busy", ""),
                ("server CPU per query, ms", "cost", "ms"),
                ("client CPU per query, ms", "client", "ms"),
                ("switches per query", "switches", ""),
            ),
            along=True,
        ),
    ),
    refuted_by="Idle CPUs while clients wait would refute that CPU time is what is short. A query "
    "that costs more CPU time with many clients, on a machine with one memory node and a server "
    "without the query cache, would ask for another cause than these.",
)
