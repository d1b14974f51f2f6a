"""Candidates whose signs contend knows and that it cannot treat, each with the reason."""

from __future__ import annotations

from contend.metrics import DISTURBANCES, Metric, Run, read
from contend.why.candidate import Candidate, Sign, more_of

_OTHERS = "contend does not stop the work of others; run the experiment again without it"

_READ_ROWS = "status.Handler_read_rnd_next_per_query"
_WRITTEN_ROWS = "status.Handler_write_per_query"


def _questions(run: Run) -> float | None:
    """Questions from all clients per measured query. They include contend's own before the
    measurement, the same share on both sides."""
    questions = (run.probes.get("status") or {}).get("Questions")
    measured = run.done.get("queries") if run.done else None
    return questions / measured if questions and measured else None


def _stalled(run: Run) -> float | None:
    host = run.probes.get("host")
    return None if host is None else host["stall_share"].get("io.some")


def _bytes(run: Run) -> float | None:
    used = read.server(run)
    if used is None or run.done is None or not run.done["queries"]:
        return None
    came, went = used["read_bytes"], used["write_bytes"]
    return None if came is None or went is None else (came + went) / run.done["queries"]


_ALL_QUERIES = Metric("questions_per_query", "All questions per measured query", "", _questions)
_STALL_SHARE = Metric("host_disk_stall_share", "Share of time waiting for disks", "", _stalled)
_DISK_BYTES = Metric("server_disk_bytes_per_query", "Disk bytes of the server", "", _bytes)
_STEAL_SHARE = Metric("host_steal_share", "Stolen CPU time", "", DISTURBANCES["steal"])

CANDIDATES = (
    Candidate(
        "bandwidth",
        title="query results fill the network",
        limit="queries per second: the network's bytes per second divided by the bytes of a result",
        signature=(
            Sign("status.Bytes_sent_per_query", "slower", least=8192),
            Sign("server_cpu_us_per_query", "over", most=1.1),
            Sign("response_us_mean", "over", least=1.1),
        ),
        treat="shorter results need different queries, which cost less of everything else too: "
        "the effects could not be separated",
        refuted_by="a difference that remains when results are short",
    ),
    Candidate(
        "superfluous-index",
        title="rows are written to indexes that no query uses",
        limit="rows per second: the rate at which all their indexes are written",
        signature=(
            Sign(_WRITTEN_ROWS, "slower", least=0.1),
            Sign("status.Innodb_buffer_pool_write_requests_per_query", "over", least=1.3),
        ),
        treat="contend does not know which index is unused; to measure its cost, compare dropping "
        "it as a step of `setup`",
        refuted_by="a difference that remains when the index is dropped",
    ),
    Candidate(
        "scan-beside",
        title="other clients scan whole tables at the same time (a backup, a badly written query)",
        limit="queries per second: the remaining CPU time and caches",
        signature=(
            *more_of(_READ_ROWS, 10, 3),
            Sign("status.Select_scan_per_query", "slower", most=0.2),
        ),
        treat=_OTHERS,
        refuted_by="a difference that remains without that work",
    ),
    Candidate(
        "bulk-load-beside",
        title="other clients write many rows at the same time",
        limit="queries per second: the remaining CPU time, caches and disk",
        signature=(
            *more_of(_WRITTEN_ROWS, 1, 3),
            Sign("status.Com_insert_per_query", "slower", most=0.2),
        ),
        treat=_OTHERS,
        refuted_by="a difference that remains without that work",
    ),
    Candidate(
        "burst-beside",
        title="other clients send more queries at the same time (a burst of load)",
        limit="queries per second: the remaining time of the CPUs and of each lock",
        signature=more_of(_ALL_QUERIES, 1.3, 1.3),
        treat=_OTHERS,
        refuted_by="a difference that remains without that work",
    ),
    Candidate(
        "disk-beside",
        title="other processes keep the disk busy at the same time",
        limit="reads and flushes per second: the remaining time of the disk",
        signature=(*more_of(_STALL_SHARE, 0.1, 1.5), Sign(_DISK_BYTES, "over", most=1.2)),
        treat=_OTHERS,
        refuted_by="a difference that remains without that work",
    ),
    Candidate(
        "mitigations",
        title="the kernel's mitigations make system calls and context switches more costly",
        limit="queries per second: the rate of system calls and switches",
        signature=(
            Sign("server_cpu_us_per_query", "over", least=1.05),
            Sign("client_cpu_us_per_query", "over", least=1.05),
            Sign("switches_per_query", "either", least=0.5),
            Sign("switches_per_query", "over", least=0.8, most=1.25),
        ),
        treat="it needs a reboot of the host with a different boot parameter (mitigations=off)",
        refuted_by="a difference that remains without mitigations",
    ),
    Candidate(
        "steal",
        title="the hypervisor gives the CPUs to other guests",
        limit="queries per second: the remaining CPU time",
        signature=(Sign(_STEAL_SHARE, "either", least=0.03),),
        treat="only the host of this virtual machine can give it more CPU time",
        refuted_by="a difference that remains on a dedicated host",
    ),
)
