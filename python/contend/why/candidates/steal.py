"""The hypervisor gives the host's CPUs to others."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Sign
from contend.why.candidates._common import STEAL_SHARE


def _propose(pair: Pair) -> str:
    del pair
    return "only the host of this virtual machine can give it more CPU time"


CANDIDATE = Candidate(
    name="steal",
    title="the hypervisor gives the CPUs to others",
    limit="queries a second: what is left of the CPUs",
    signature=(Sign(STEAL_SHARE, "either", least=0.03),),
    propose=_propose,
    refuted_by="a difference that stays on a host of its own",
)
