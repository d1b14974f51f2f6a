"""Others keep the disk busy meanwhile: a copy of files, another server, a job that writes."""

from __future__ import annotations

from contend.metrics import Metric, Run, read
from contend.why.candidate import Candidate, Pair, Sign


def _propose(pair: Pair) -> str:
    del pair
    return "it is the work of other processes, which contend does not stop; run it without them"


def _stalled(run: Run) -> float | None:
    host = run.probes.get("host")
    return None if host is None else host["stall_share"].get("io.some")


def _bytes(run: Run) -> float | None:
    used = read.server(run)
    if used is None or run.done is None or not run.done["queries"]:
        return None
    came, went = used["read_bytes"], used["write_bytes"]
    return None if came is None or went is None else (came + went) / run.done["queries"]


DISK_STALL_SHARE = Metric("host_disk_stall_share", "Time that tasks waited for disks", "", _stalled)
DISK_BYTES = Metric("server_disk_bytes_per_query", "What the server reads and writes", "", _bytes)

CANDIDATE = Candidate(
    name="disk-beside",
    title="others keep the disk busy meanwhile",
    limit="reads and flushes a second: what is left of the disk",
    signature=(
        Sign(DISK_STALL_SHARE, "slower", least=0.1),
        Sign(DISK_STALL_SHARE, "over", least=1.5),
        Sign(DISK_BYTES, "over", most=1.2),
    ),
    propose=_propose,
    refuted_by="a difference that stays without them",
)
