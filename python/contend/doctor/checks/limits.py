"""Limits of a process: open files, threads, asynchronous requests."""

from __future__ import annotations

from contend.doctor.model import (
    DoctorCheck,
    Fine,
    Found,
    Result,
    Subject,
    Unseen,
    fine,
    found,
    missing,
)
from contend.host import limits

_FILES_SEVERE, _FILES_ENOUGH = 4096, 16384
_PROCESSES_ENOUGH = 4096
_AIO_FREE_MIN = 10_000


def _limit(subject: Subject, name: str) -> int | str | Unseen:
    pair = limits(subject.tree, subject.pid).get(name)
    if pair is None:
        return missing(subject, f"proc/{subject.pid}/limits")
    # A process may raise its soft limit to the hard one, and servers do.
    return pair["hard"]


def _judged(subject: Subject, name: str, what: str, severe: int, enough: int) -> Result:
    limit = _limit(subject, name)
    if isinstance(limit, Unseen):
        return limit
    said = f"{subject.whose} may have {limit} {what}"
    if isinstance(limit, str) or limit >= enough:
        return Fine(said, {name: limit})
    return Found("severe" if limit < severe else "warning", said, {name: limit})


def _open_files(subject: Subject) -> Result:
    return _judged(subject, "open_files", "open files", _FILES_SEVERE, _FILES_ENOUGH)


def _processes(subject: Subject) -> Result:
    return _judged(subject, "processes", "processes and threads", 1024, _PROCESSES_ENOUGH)


def _aio(subject: Subject) -> Result:
    most, used = subject.number("proc/sys/fs/aio-max-nr"), subject.number("proc/sys/fs/aio-nr")
    if most is None or used is None:
        path = "aio-max-nr" if most is None else "aio-nr"
        return missing(subject, f"proc/sys/fs/{path}")
    said = f"{used} of {most} asynchronous requests of the host are taken"
    if most - used >= _AIO_FREE_MIN:
        return fine(said, aio_max_nr=most)
    return found("warning", said, aio_max_nr=most)


CHECKS = (
    DoctorCheck(
        id="open-files",
        title="limit of open files",
        why="A server has a file open for each table and a socket for each connection. With a low "
        "limit it lowers table_open_cache and max_connections at its start, and says so only in "
        "its log.",
        costs="Tables are closed and opened again for other statements; connections are refused.",
        mend="ulimit -n 65536 before contend is started; for a server of systemd "
        "`systemctl edit mariadb` with [Service] LimitNOFILE=65536",
        look=_open_files,
    ),
    DoctorCheck(
        id="processes",
        title="limit of processes and threads",
        why="Each connection is a thread; one that cannot be made is a refused connection.",
        costs="Nothing until it is reached; then connections fail.",
        mend="ulimit -u 65536 before contend is started; for a server of systemd LimitNPROC and "
        "TasksMax",
        look=_processes,
    ),
    DoctorCheck(
        id="aio-requests",
        title="asynchronous requests to the disk",
        why="InnoDB asks the kernel for room for its asynchronous reads and writes when it starts. "
        "Without room it falls back to threads that wait, and says so only in its log.",
        costs="Slower writes of dirty pages; not measured.",
        mend="sysctl fs.aio-max-nr=1048576",
        look=_aio,
        files=lambda _subject: {"proc/sys/fs/aio-max-nr": "1048576"},
    ),
)
