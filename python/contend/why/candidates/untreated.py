"""Candidates with signs that contend cannot treat; each has the reason."""

from __future__ import annotations

from contend.metrics import DISTURBANCES, Metric, Run, read
from contend.why.candidate import Candidate, Sign, more_of

_OTHERS = "it is the work of others, which contend does not stop; run it again without them"

_READ_ROWS = "status.Handler_read_rnd_next_per_query"
_WRITTEN_ROWS = "status.Handler_write_per_query"


def _questions(run: Run) -> float | None:
    """All questions for each measured query. contend's own questions before those are among them,
    and are the same share on both sides."""
    asked = (run.probes.get("status") or {}).get("Questions")
    measured = run.done.get("queries") if run.done else None
    return asked / measured if asked and measured else None


def _stalled(run: Run) -> float | None:
    host = run.probes.get("host")
    return None if host is None else host["stall_share"].get("io.some")


def _bytes(run: Run) -> float | None:
    used = read.server(run)
    if used is None or run.done is None or not run.done["queries"]:
        return None
    came, went = used["read_bytes"], used["write_bytes"]
    return None if came is None or went is None else (came + went) / run.done["queries"]


_ASKED = Metric("questions_per_query", "Questions of all per query of ours", "", _questions)
_STALL_SHARE = Metric("host_disk_stall_share", "Time that tasks waited for disks", "", _stalled)
_DISK_BYTES = Metric("server_disk_bytes_per_query", "What the server reads and writes", "", _bytes)
_STEAL_SHARE = Metric("host_steal_share", "Stolen CPU time", "", DISTURBANCES["steal"])

CANDIDATES = (
    Candidate(
        "bandwidth",
        title="answers fill the network",
        limit="queries a second: bytes that the network carries over bytes of an answer",
        signature=(
            Sign("status.Bytes_sent_per_query", "slower", least=8192),
            Sign("server_cpu_us_per_query", "over", most=1.1),
            Sign("response_us_mean", "over", least=1.1),
        ),
        treat="shorter answers are other queries, which take less of everything else as well: "
        "what went could not be told apart",
        refuted_by="a difference that stays if answers are short",
    ),
    Candidate(
        "superfluous-index",
        title="rows are written into indexes that nobody asks by",
        limit="rows a second: as many as all their indexes take",
        signature=(
            Sign(_WRITTEN_ROWS, "slower", least=0.1),
            Sign("status.Innodb_buffer_pool_write_requests_per_query", "over", least=1.3),
        ),
        treat="which index nobody asks by, contend does not know; as a step of `setup` that is "
        "compared, an experiment tells what it costs",
        refuted_by="a difference that stays if the index is dropped",
    ),
    Candidate(
        "scan-beside",
        title="others read whole tables of the server meanwhile (a backup, a badly written query)",
        limit="queries a second: what is left of CPUs and caches",
        signature=(
            *more_of(_READ_ROWS, 10, 3),
            Sign("status.Select_scan_per_query", "slower", most=0.2),
        ),
        treat=_OTHERS,
        refuted_by="a difference that stays without them",
    ),
    Candidate(
        "bulk-load-beside",
        title="others write many rows to the server meanwhile",
        limit="queries a second: what is left of CPUs, caches and disk",
        signature=(
            *more_of(_WRITTEN_ROWS, 1, 3),
            Sign("status.Com_insert_per_query", "slower", most=0.2),
        ),
        treat=_OTHERS,
        refuted_by="a difference that stays without them",
    ),
    Candidate(
        "burst-beside",
        title="others ask the server more meanwhile (a burst of load)",
        limit="queries a second: what is left of CPUs, and of each lock",
        signature=more_of(_ASKED, 1.3, 1.3),
        treat=_OTHERS,
        refuted_by="a difference that stays without them",
    ),
    Candidate(
        "disk-beside",
        title="others keep the disk busy meanwhile",
        limit="reads and flushes a second: what is left of the disk",
        signature=(*more_of(_STALL_SHARE, 0.1, 1.5), Sign(_DISK_BYTES, "over", most=1.2)),
        treat="it is the work of other processes, which contend does not stop; run it without them",
        refuted_by="a difference that stays without them",
    ),
    Candidate(
        "mitigations",
        title="the kernel's mitigations make each system call and each switch dearer",
        limit="queries a second: as many as system calls and switches allow",
        signature=(
            Sign("server_cpu_us_per_query", "over", least=1.05),
            Sign("client_cpu_us_per_query", "over", least=1.05),
            Sign("switches_per_query", "either", least=0.5),
            Sign("switches_per_query", "over", least=0.8, most=1.25),
        ),
        treat="it takes a start of the host with another line of boot parameters (mitigations=off)",
        refuted_by="a difference that stays without them",
    ),
    Candidate(
        "steal",
        title="the hypervisor gives the CPUs to others",
        limit="queries a second: what is left of the CPUs",
        signature=(Sign(_STEAL_SHARE, "either", least=0.03),),
        treat="only the host of this virtual machine can give it more CPU time",
        refuted_by="a difference that stays on a host of its own",
    ),
)
