"""Switches between threads, traced by the kernel (`sched_switch` and `sched_waking` of tracefs).

Unless the host has tracefs mounted, it is mounted in a private mount namespace, so the host's
mounts stay unchanged. A private instance holds the events, so other tracers are not disturbed. Both
belong to a shell that waits for the end of its input. However contend ends, the shell removes the
instance, and the namespace disappears with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from contend.errors import WorkError

TRACEFS = "/sys/kernel/tracing"

BUFFER_KB = 32 * 1024
"""Maximum per CPU: about 300,000 events, of which a busy CPU has 100,000 per second."""

_MEMORY_SHARE = 0.05
"""Maximum share of the host's free memory for all buffers."""

_EVENTS = ("sched_switch", "sched_waking")

_HOLD = """
[ -d "$0/instances" ] || mount -t tracefs tracefs "$0" || exit 1
for old in "$0"/instances/contend-*; do
    [ -d "$old" ] && [ ! -d "/proc/${old##*-}" ] && rmdir "$old" 2> /dev/null
done
own="$0/instances/contend-$$"
mkdir "$own" || exit 1
echo ready
cat > /dev/null
rmdir "$own"
"""

_END_S = 20.0


def why_no_switch_trace() -> str | None:
    """Why switches cannot be traced here; None if it can be tried."""
    if os.geteuid() != 0:
        return "tracing switches needs root"
    if shutil.which("unshare") is None:
        return "unshare is not installed (util-linux)"
    if not Path(TRACEFS).is_dir():
        return f"this kernel has no tracefs ({TRACEFS})"
    return None


class SwitchTracer:
    """Traces threads from `begin` to `pause`, any number of times.

    Raises:
        WorkError: on entering, tracefs is not available, with its error message.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        if (why := why_no_switch_trace()) is not None:
            raise WorkError(why)
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HOLD, TRACEFS]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            _, output = self._process.communicate()
            lines = output.strip().splitlines()
            raise WorkError(f"tracefs is not available: {lines[0] if lines else 'no reason given'}")
        try:
            self._set_up()
        except OSError as error:
            self._end()
            raise WorkError(f"switches cannot be traced: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _set_up(self) -> None:
        self._write("tracing_on", "0")
        self._write("trace_clock", "mono")
        self._write("trace_options", "nooverwrite")
        self._write("buffer_size_kb", str(_buffer_kb()))

    def watch(self, threads: Iterable[int]) -> None:
        """From now on trace only events of these threads."""
        self._write("set_event_pid", " ".join(map(str, threads)))

    def begin(self) -> None:
        for event in _EVENTS:
            self._write(f"events/sched/{event}/enable", "1")
        self._write("tracing_on", "1")

    def pause(self) -> None:
        """Stop tracing, and its cost."""
        self._write("tracing_on", "0")
        for event in _EVENTS:
            self._write(f"events/sched/{event}/enable", "0")

    def lines(self) -> Iterable[str]:
        """The trace, in the order of time; seconds of the clock that `clock_s` reads."""
        with (self._folder / "trace").open(encoding="utf-8", errors="replace") as trace:
            yield from trace

    def lost(self) -> int:
        """Events lost because the buffer was full."""
        found = 0
        for stats in self._folder.glob("per_cpu/cpu*/stats"):
            for line in stats.read_text().splitlines():
                name, _, count = line.partition(":")
                if name in ("overrun", "dropped events"):
                    found += int(count)
        return found

    @property
    def _folder(self) -> Path:
        assert self._process is not None
        pid = self._process.pid
        return Path(f"/proc/{pid}/root{TRACEFS}/instances/contend-{pid}")

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)

    def _end(self) -> None:
        assert self._process is not None
        try:
            self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def clock_s() -> float:
    """Now, by the trace's clock: the host's monotonic one. In a time namespace `time.monotonic`
    differs from it by the offset that the kernel reports here."""
    try:
        text = Path("/proc/self/timens_offsets").read_text()
    except OSError:  # A kernel without time namespaces.
        return time.monotonic()
    shifts = {clock: int(s) + int(ns) / 1e9 for clock, s, ns in map(str.split, text.splitlines())}
    return time.monotonic() - shifts["monotonic"]


def threads_of(pids: Sequence[int]) -> dict[int, int]:
    """Each thread of these processes -> its process."""
    found = {}
    for pid in pids:
        try:
            names = [entry.name for entry in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:
            continue
        found.update({int(name): pid for name in names})
    return found


def _buffer_kb() -> int:
    cpus = os.cpu_count() or 1
    free_kb = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
    return max(512, min(BUFFER_KB, int(free_kb * _MEMORY_SHARE / cpus)))
