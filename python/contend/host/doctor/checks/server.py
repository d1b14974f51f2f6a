"""A server: tools that observe it, its build, and settings that distort its figures."""

from __future__ import annotations

from contend.host.doctor.model import NotChecked, Result, Subject, as_number, check, result
from contend.units import format_size


@check("server-slow-log")
def _slow_log(subject: Subject) -> Result:
    server = subject.named_server
    general, slow = server.is_on("general_log"), server.is_on("slow_query_log")
    limit_s = server.number("long_query_time")
    state = {"general_log": general, "slow_query_log": slow, "long_query_time": limit_s}
    if general:
        return result("severe", "general_log is on: every statement is logged", **state)
    if slow and limit_s is not None and limit_s < 0.1:
        return result(
            "warning", f"the slow log has statements over {limit_s:g} s (limit 0.1 s)", **state
        )
    if slow:
        return result("note", f"the slow log has statements over {limit_s or 0:g} s", **state)
    return result(None, "the general log and the slow log are off", **state)


@check("server-build")
def _build(subject: Subject) -> Result:
    server = subject.named_server
    words = f"{server.version} {server.variables.get('version_comment', '')}".lower()
    tools = [word for word in ("debug", "valgrind", "asan", "msan", "ubsan") if word in words]
    if tools:
        evidence = f"the server is a debug build ({', '.join(tools)})"
        return result("severe", evidence, build=server.version)
    if not server.version:
        raise NotChecked("the server does not report its version")
    return result(None, f"an ordinary build, {server.version}", build=server.version)


@check("server-where")
def _where(subject: Subject) -> Result:
    server = subject.named_server
    if not server.is_here:
        return Result(
            "note",
            "the server is on another host; memory, disk, kernel and limits shown are this host's",
            {"is_here": False},
            mend="Run `contend doctor --json > FILE` on both, then `contend doctor --compare A B`.",
        )
    if server.pid is None:
        return Result(
            "note",
            "the server is on this host, but its process is not visible",
            {"is_here": True},
            mend="Connect to its socket: --server socket:/PATH",
        )
    return result(None, f"the server is process {server.pid} on this host", is_here=True)


@check("server-swapped")
def _swapped(subject: Subject) -> Result:
    pid = subject.named_server.pid
    if pid is None:
        raise NotChecked("the server's process is not visible from here")
    for line in (subject.tree.text(f"proc/{pid}/status") or "").splitlines():
        words = line.split()
        kib = as_number(words[1]) if words[:1] == ["VmSwap:"] and len(words) == 3 else None
        if kib is not None:
            evidence = f"{format_size(int(kib) * 1024)} of the server is swapped out (limit 1 MiB)"
            return result("severe" if kib > 1024 else None, evidence)
    raise NotChecked(f"/proc/{pid}/status has no VmSwap")


@check("server-flush")
def _flush(subject: Subject) -> Result:
    server = subject.named_server
    at_commit = server.text("innodb_flush_log_at_trx_commit")
    binlog = server.is_on("log_bin") if "log_bin" in server.variables else None
    sync = server.variables.get("sync_binlog", "")
    state = {"innodb_flush_log_at_trx_commit": at_commit, "sync_binlog": sync, "log_bin": binlog}
    evidence = f"innodb_flush_log_at_trx_commit={at_commit}"
    if binlog:
        evidence += f", binary log with sync_binlog={sync}"
    if at_commit != "1":
        return result("warning", f"{evidence}: a crash of the host loses commits", **state)
    if binlog and sync == "0":
        return result("warning", f"{evidence}: a crash may lose what replicas have", **state)
    return result(None, f"{evidence}: committed data is on disk", **state)


@check("server-query-cache")
def _query_cache(subject: Subject) -> Result:
    server = subject.named_server
    kind = server.variables.get("query_cache_type")
    if kind is None:
        return result(None, "this server has no query cache")
    size = server.number("query_cache_size") or 0
    state = {"query_cache_type": kind, "query_cache_size": size}
    if kind.upper() in ("OFF", "0") or size == 0:
        return result(None, "the query cache is off", **state)
    return result("warning", f"the query cache is on ({kind}, {size / 1048576:.0f} MiB)", **state)
