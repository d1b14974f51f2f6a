"""Others keep the disk busy meanwhile: a copy of files, another server, a job that writes."""

from __future__ import annotations

from contend.findings.candidate import Candidate, Pair, Sign
from contend.metrics import Metric, Run


def _propose(pair: Pair) -> str:
    del pair
    return "it is the work of other processes, which contend does not stop; run it without them"


def _stalled(run: Run) -> float | None:
    host = run.probes.get("host")
    return None if host is None else host["stall_share"].get("io.some")


def _bytes(run: Run) -> float | None:
    server = run.done["server"] if run.done else None
    if not run.done or not server or not run.done["queries"]:
        return None
    read, written = server["read_bytes"], server["write_bytes"]
    return None if read is None or written is None else (read + written) / run.done["queries"]


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
