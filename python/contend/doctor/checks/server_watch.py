"""What watches a server, and what the server is: logs, performance_schema, builds, versions."""

from __future__ import annotations

from contend.doctor.dated import SOURCES, WRITTEN, end_of
from contend.doctor.model import (
    DoctorCheck,
    Found,
    Result,
    SeenServer,
    Subject,
    Unseen,
    fine,
    found,
    not_told,
    of_server,
)


@of_server
def _performance_schema(server: SeenServer, _subject: Subject) -> Result:
    is_on = server.is_on("performance_schema")
    if is_on is None:
        return not_told(server, "performance_schema")
    state = {"performance_schema": is_on}
    if is_on:
        return found(
            "note", "performance_schema is on: it counts and times in every statement", **state
        )
    return fine("performance_schema is off: it costs nothing, and tells nothing of waits", **state)


@of_server
def _slow_log(server: SeenServer, _subject: Subject) -> Result:
    general, slow = server.is_on("general_log"), server.is_on("slow_query_log")
    if general is None or slow is None:
        return not_told(server, "slow_query_log")
    limit_s = server.number("long_query_time")
    state = {"general_log": general, "slow_query_log": slow, "long_query_time": limit_s}
    if general:
        return found("severe", "general_log is on: every statement is written to a file", **state)
    if slow and limit_s is not None and limit_s < 0.1:
        return found("warning", f"the slow log is on from {limit_s:g} s: it may have many", **state)
    if slow:
        return found("note", f"the slow log is on from {limit_s or 0:g} s", **state)
    return fine("neither general nor slow log is on", **state)


@of_server
def _end(server: SeenServer, subject: Subject) -> Result:
    end = end_of(server.kind, server.version)
    dated = f"table of {WRITTEN.isoformat()}"
    name = f"{server.kind} {server.version.partition('-')[0]}"
    if end is None:
        return Unseen(f"until when {name} is maintained is not in the {dated}")
    state = {"version": server.version}
    source = f"{dated}, {SOURCES[server.kind]}"
    if end < subject.today:
        return found(
            "warning", f"{name} was maintained until {end.isoformat()} ({source})", **state
        )
    return fine(f"{name} is maintained until {end.isoformat()} ({source})", **state)


@of_server
def _build(server: SeenServer, _subject: Subject) -> Result:
    words = f"{server.version} {server.variables.get('version_comment', '')}".lower()
    what = [word for word in ("debug", "valgrind", "asan", "msan", "ubsan") if word in words]
    if what:
        return found(
            "severe",
            f"the server is a build for finding faults ({', '.join(what)})",
            build=server.version,
        )
    if not server.version:
        return Unseen("the server does not say its version")
    return fine(f"the server is an ordinary build, {server.version}", build=server.version)


@of_server
def _where(server: SeenServer, _subject: Subject) -> Result:
    if not server.is_here:
        return Found(
            "note",
            "the server is on another host: its memory, disk, kernel and limits cannot be seen "
            "from here, and what is told of a host is told of this one",
            {"is_here": False},
            mend="Run `contend doctor --json` there too, and lay the two side by side by "
            "`contend doctor --compare`.",
        )
    if server.pid is None:
        return Found(
            "note",
            "the server is on this host, and which process it is cannot be seen",
            {"is_here": True},
            mend="Name its socket: --server socket:/PATH",
        )
    return fine(f"the server is process {server.pid} of this host", is_here=True)


CHECKS = (
    DoctorCheck(
        id="server-performance-schema",
        title="performance_schema",
        why="It costs a few looks at the clock a statement, and without it nobody knows what a "
        "server waits for.",
        costs="Each event that is timed reads the clock twice.",
        mend="performance_schema=OFF in the option file, and a restart; measure before you do: "
        "`contend try performance_schema=OFF,ON`",
        look=_performance_schema,
        measure="clock_ns",
    ),
    DoctorCheck(
        id="server-slow-log",
        title="slow and general log",
        why="What is logged is written while the statement runs; the general log takes a lock for "
        "each.",
        costs="A write a statement; `contend try` of the option measures it.",
        mend="SET GLOBAL general_log = 0; SET GLOBAL long_query_time = 1",
        look=_slow_log,
        variables=lambda _subject: {"general_log": "0", "long_query_time": "1"},
    ),
    DoctorCheck(
        id="server-version-end",
        title="version past its end",
        why="Faults that are found from then on, also those that lose data, are not mended in it.",
        costs="Nothing in speed.",
        mend="Upgrade; `contend run server-versus-server` says what a newer one is worth to you.",
        look=_end,
        touches=(),
    ),
    DoctorCheck(
        id="server-build",
        title="build of the server",
        why="A debug build checks itself at every step; its figures say nothing of another.",
        costs="The time of the checks at every step.",
        mend="Install the ordinary package.",
        look=_build,
    ),
    DoctorCheck(
        id="server-where",
        title="where the server is",
        why="Limits, memory and disk are those of its host and of its process.",
        costs="Nothing.",
        mend="Run doctor on the server's host.",
        look=_where,
        touches=(),
    ),
)
