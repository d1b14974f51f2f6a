"""The kernel's mitigations of flaws of the CPU make each way into it dearer."""

from __future__ import annotations

from contend.why.candidate import Candidate, Pair, Sign


def _propose(pair: Pair) -> str:
    del pair
    return "it takes a start of the host with another line of boot parameters (mitigations=off)"


CANDIDATE = Candidate(
    name="mitigations",
    title="the kernel's mitigations make each system call and each switch dearer",
    limit="queries a second: as many as system calls and switches allow",
    signature=(
        Sign("server_cpu_us_per_query", "over", least=1.05),
        Sign("client_cpu_us_per_query", "over", least=1.05),
        Sign("switches_per_query", "either", least=0.5),
        Sign("switches_per_query", "over", least=0.8, most=1.25),
    ),
    propose=_propose,
    refuted_by="a difference that stays without them",
)
