"""What a server does when it writes: size of its log, flushes, doublewrite, asynchronous I/O."""

from __future__ import annotations

from contend.doctor.model import (
    LATENCY,
    WRITES,
    DoctorCheck,
    Result,
    SeenServer,
    Subject,
    fine,
    found,
    not_told,
    of_server,
)
from contend.units import format_size

_HOUR_S = 3600
_WRITTEN_MIN = 1 << 30
_LOG_SMALL, _LOG_VERY_SMALL = 1 << 30, 128 << 20


@of_server
def _log_size(server: SeenServer, _subject: Subject) -> Result:
    size = server.number("innodb_redo_log_capacity")
    if size is None:
        one = server.number("innodb_log_file_size")
        size = None if one is None else one * (server.number("innodb_log_files_in_group") or 1)
    if size is None:
        return not_told(server, "innodb_log_file_size")
    said, state = f"the redo log has {format_size(size)}", {"redo_log_bytes": size}
    written, up_s = server.counter("Innodb_os_log_written"), server.counter("Uptime")
    waits = server.counter("Innodb_log_waits")
    if waits:
        said += f"; statements waited {waits:.0f} times for room in its buffer"
    if written and up_s and written > _WRITTEN_MIN:
        lasts_s = size / (written / up_s)
        said += f", {lasts_s / 60:.0f} min of what is written on average"
        if lasts_s < _HOUR_S / 4:
            return found("warning", said, **state)
        return found("note", said, **state) if waits else fine(said, **state)
    if size < _LOG_VERY_SMALL:
        return found("warning", said, **state)
    return found("note", said, **state) if size < _LOG_SMALL else fine(said, **state)


@of_server
def _flush(server: SeenServer, _subject: Subject) -> Result:
    at_commit = server.variables.get("innodb_flush_log_at_trx_commit")
    if at_commit is None:
        return not_told(server, "innodb_flush_log_at_trx_commit")
    binlog = server.is_on("log_bin")
    sync = server.variables.get("sync_binlog", "")
    state = {"innodb_flush_log_at_trx_commit": at_commit, "sync_binlog": sync, "log_bin": binlog}
    said = f"innodb_flush_log_at_trx_commit={at_commit}"
    if binlog:
        said += f", binary log with sync_binlog={sync}"
    if at_commit != "1":
        return found("warning", f"{said}: a crash of the host loses commits", **state)
    if binlog and sync == "0":
        return found("warning", f"{said}: a crash may lose what replicas have", **state)
    return fine(f"{said}: what is committed is on the disk", **state)


@of_server
def _doublewrite(server: SeenServer, _subject: Subject) -> Result:
    value = server.variables.get("innodb_doublewrite")
    if value is None:
        return not_told(server, "innodb_doublewrite")
    state = {"innodb_doublewrite": value}
    if value.upper() in ("OFF", "0"):
        return found("warning", "innodb_doublewrite is OFF: a page half written is lost", **state)
    return fine(f"innodb_doublewrite is {value}", **state)


@of_server
def _native_aio(server: SeenServer, _subject: Subject) -> Result:
    is_on = server.is_on("innodb_use_native_aio")
    if is_on is None:
        return not_told(server, "innodb_use_native_aio")
    if not is_on:
        return found(
            "warning",
            "innodb_use_native_aio is OFF: threads wait for each request",
            innodb_use_native_aio=False,
        )
    return fine("innodb_use_native_aio is ON", innodb_use_native_aio=True)


CHECKS = (
    DoctorCheck(
        id="server-log-size",
        title="size of the redo log",
        why="When the log is full, pages must be written before anything can be changed. A log "
        "that holds about an hour of writes lets pages be changed many times before they are "
        "written once.",
        costs="Stalls of writes under load; none while little is written.",
        mend="SET GLOBAL innodb_redo_log_capacity = … (MySQL 8.0.30), SET GLOBAL "
        "innodb_log_file_size = … (MariaDB 10.9); before those in the option file",
        look=_log_size,
        touches=(WRITES,),
    ),
    DoctorCheck(
        id="server-flush",
        title="flushes at commit",
        why="They are what a commit costs, and what it promises. Two servers that differ here are "
        "not compared by anything else.",
        costs="One flush a commit, two with a binary log; commits of many connections share them.",
        mend="SET GLOBAL innodb_flush_log_at_trx_commit = 1; SET GLOBAL sync_binlog = 1",
        look=_flush,
        measure="fsync_us",
        touches=(WRITES,),
        variables=lambda _subject: {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"},
    ),
    DoctorCheck(
        id="server-doublewrite",
        title="doublewrite buffer",
        why="A page that was half written when the power failed cannot be mended by the log alone.",
        costs="With it, up to twice the bytes written; without it, a table.",
        mend="innodb_doublewrite=ON in the option file, and a restart",
        look=_doublewrite,
        touches=(WRITES,),
    ),
    DoctorCheck(
        id="server-native-aio",
        title="asynchronous I/O of InnoDB",
        why="It falls back to threads without a word to clients if the kernel had no room "
        "(aio-requests), or in some containers.",
        costs="Fewer writes under way at once.",
        mend="See aio-requests; then restart the server.",
        look=_native_aio,
        touches=(WRITES, LATENCY),
    ),
)
