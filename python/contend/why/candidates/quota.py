"""A control group stops the server for the rest of each period in which it has had its share."""

from __future__ import annotations

from contend.metrics import Metric, Run
from contend.why.candidate import Candidate, Pair, Proposal, Sign, Treatment
from contend.why.candidates._common import NOT_ROOT

_QUOTA = "place.server.cpu_quota"
_CLASS = "place.server.class"


def _has_quota(run: Run) -> float | None:
    """1 if the kernel says of the server's process that it has a quota."""
    placed = (run.probes.get("placement") or {}).get("server")
    return None if placed is None else float("cpu_quota" in placed)


HAS_QUOTA = Metric("server_has_quota", "Whether the server has a quota of CPU time", "", _has_quota)


def _propose(pair: Pair) -> Proposal | str:
    quota = pair.cells["slower"].values.get(_QUOTA)
    if quota is None:
        return "the quota is not contend's, which leaves what others set"
    if not pair.host.groups:
        return NOT_ROOT
    if quota >= pair.host.cpus:
        return f"a quota of {quota:g} CPUs is no less than this host has"
    more = (quota + pair.host.cpus) / 2
    return Proposal(
        doses=(
            Treatment(f"a quota of {more:g} CPUs", {_QUOTA: more}),
            Treatment(
                f"a quota of {pair.host.cpus} CPUs, which is all", {_QUOTA: float(pair.host.cpus)}
            ),
        ),
        placebo=Treatment("the same quota, and the usual class named as well", {_CLASS: "other"}),
        least=0.5,
    )


CANDIDATE = Candidate(
    name="quota",
    title="a quota of CPU time stops the server in each period",
    limit="queries a second: the quota over what a query takes of a CPU",
    signature=(Sign(HAS_QUOTA, "slower", least=1),),
    propose=_propose,
    refuted_by="a difference that stays if the quota is all CPUs",
)
