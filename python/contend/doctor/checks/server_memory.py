"""Memory of a server: buffer pool, key buffer, what is held twice, what was swapped out."""

from __future__ import annotations

from contend.doctor.model import (
    DoctorCheck,
    Result,
    SeenServer,
    Subject,
    Unseen,
    fine,
    found,
    not_told,
    of_server,
)
from contend.host.kernel import meminfo
from contend.host.machine import memory_limit
from contend.units import format_size

_TOO_MUCH, _TOO_LITTLE = 0.85, 0.25
_MISS_SHARE = 0.01
_REQUESTS_MIN = 100_000
_SMALL = 256 << 20


@of_server
def _pool(server: SeenServer, subject: Subject) -> Result:
    pool = server.number("innodb_buffer_pool_size")
    if pool is None:
        return not_told(server, "innodb_buffer_pool_size")
    state = {"innodb_buffer_pool_size": pool}
    memory = _memory(subject) if server.is_here else None
    reads = server.counter("Innodb_buffer_pool_reads")
    requests = server.counter("Innodb_buffer_pool_read_requests")
    said = f"the buffer pool has {format_size(pool)}"
    if memory is not None:
        said += f" of {format_size(memory)} of memory"
        if pool > _TOO_MUCH * memory:
            return found("severe", f"{said}: with connections and files it does not fit", **state)
    if requests and reads is not None and requests >= _REQUESTS_MIN:
        share = reads / requests
        said += f"; {share:.2%} of its requests read the disk"
        if share > _MISS_SHARE:
            return found("warning", said, **state)
    if memory is not None and pool < _TOO_LITTLE * memory and pool < _SMALL:
        return found("warning", said, **state)
    if memory is None:
        return fine(f"{said}; the memory of its host cannot be seen from here", **state)
    return fine(said, **state)


def _memory(subject: Subject) -> int | None:
    total = meminfo(subject.tree).get("MemTotal")
    limit = memory_limit(subject.tree)
    known = [size for size in (total, limit) if size]
    return min(known, default=None)


@of_server
def _key_buffer(server: SeenServer, _subject: Subject) -> Result:
    size = server.number("key_buffer_size")
    reads, requests = server.counter("Key_reads"), server.counter("Key_read_requests")
    if size is None or reads is None or requests is None:
        return not_told(server, "key_buffer_size")
    state = {"key_buffer_size": size}
    said = f"the key buffer has {format_size(size)}"
    if requests < _REQUESTS_MIN:
        return fine(f"{said}, and hardly anything asks it", **state)
    said += f"; {reads / requests:.2%} of its requests missed"
    return (
        found("warning", said, **state) if reads / requests > _MISS_SHARE else fine(said, **state)
    )


@of_server
def _twice(server: SeenServer, _subject: Subject) -> Result:
    method = server.variables.get("innodb_flush_method")
    buffered = server.is_on("innodb_data_file_buffering")
    if buffered is not None and not method:
        said = f"innodb_data_file_buffering is {'ON' if buffered else 'OFF'}"
        if buffered:
            return found("warning", said, innodb_data_file_buffering=True)
        return fine(said, innodb_data_file_buffering=False)
    if method is None:
        return not_told(server, "innodb_flush_method")
    state = {"innodb_flush_method": method}
    if "DIRECT" in method.upper():
        return fine(f"innodb_flush_method is {method}: pages are in the buffer pool only", **state)
    return found(
        "warning",
        f"innodb_flush_method is {method or 'empty'}: pages are in the buffer pool and in the page "
        "cache",
        **state,
    )


@of_server
def _swapped(server: SeenServer, subject: Subject) -> Result:
    if server.pid is None:
        return Unseen("the process of the server cannot be seen from here")
    status = subject.tree.text(f"proc/{server.pid}/status") or ""
    for line in status.splitlines():
        words = line.split()
        if words[:1] == ["VmSwap:"] and len(words) == 3 and words[1].isdecimal():
            size = int(words[1][:15]) * 1024
            said = f"{format_size(size)} of the server are swapped out"
            return found("severe", said) if size > 1 << 20 else fine(said)
    return Unseen(f"/proc/{server.pid}/status does not say")


CHECKS = (
    DoctorCheck(
        id="server-buffer-pool",
        title="buffer pool against memory",
        why="What does not fit into the pool is read from the disk; a pool that does not fit into "
        "memory is swapped out or gets the server killed.",
        costs="A read of the disk a miss; `contend run buffer-pool-size` measures yours.",
        mend="SET GLOBAL innodb_buffer_pool_size = …; half to three quarters of the memory of a "
        "host that has nothing else",
        look=_pool,
    ),
    DoctorCheck(
        id="server-key-buffer",
        title="key buffer of MyISAM",
        why="Index pages that it does not hold are read by system calls, or from the disk.",
        costs="A system call or a read of the disk a miss.",
        mend="SET GLOBAL key_buffer_size = …, as large as the indexes",
        look=_key_buffer,
    ),
    DoctorCheck(
        id="server-double-buffering",
        title="pages held twice",
        why="Without O_DIRECT each page of InnoDB lies in the pool and in the page cache, and "
        "writes go through both.",
        costs="Up to as much memory as the pool has; copies at each read and write.",
        mend="innodb_flush_method=O_DIRECT in the option file, and a restart",
        look=_twice,
    ),
    DoctorCheck(
        id="server-swapped",
        title="memory of the server in swap",
        why="A page of the pool that is swapped out is read from the disk to be used.",
        costs="A read of the disk for a page that counts as cached.",
        mend="Lower innodb_buffer_pool_size, then swapoff -a && swapon -a.",
        look=_swapped,
        measure="swapped_pages",
    ),
)
