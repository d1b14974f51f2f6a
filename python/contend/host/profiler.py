"""The functions in which a process spends its CPU time: perf, with the kernel's software clock.

Each thread is interrupted after a fixed amount of its own CPU time. Callers are known only if the
program keeps frame pointers, so the innermost function is certain, and its caller is not.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Self

from contend.errors import WorkError

STACKS_MAX = 1_000
"""Maximum stacks per run, by samples; samples of the rest count for their function."""

OTHERS = "(others)"
"""Stands for the callers that were dropped."""

_ATTACH_S = 20.0
_END_S = 60.0

_ENABLE = b"enable\n"

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_USER_ONLY = 2
"""From this level on only root may profile the kernel."""


def why_no_profiler() -> str | None:
    """Why processes cannot be profiled here; None if they can."""
    if shutil.which("perf") is None:
        return "perf is not installed (Debian: linux-perf, Red Hat: perf)"
    if os.geteuid() == 0:
        return None
    level = _paranoid()
    if level > _USER_ONLY:
        return f"{PARANOID} is {level}, so only root may use perf (2 allows every user)"
    return None


def _paranoid() -> int:
    try:
        return int(PARANOID.read_text())
    except (OSError, ValueError):
        return _USER_ONLY


class Profiler:
    """Samples a process and all its threads while its context is active.

    Args:
        pid: of the process.
        hz: samples per second of CPU time.

    Raises:
        WorkError: on entering, perf did not start or may not profile the process; on leaving, it
            recorded nothing.
    """

    def __init__(self, pid: int, hz: int) -> None:
        self.stacks: dict[str, int] = {}
        """Functions from the outermost to the innermost, separated by `;` -> samples."""
        in_kernel = os.geteuid() == 0 or _paranoid() < _USER_ONLY
        self._folder = tempfile.TemporaryDirectory(prefix="contend-profile-")
        self._file = Path(self._folder.name) / "perf.data"
        self._command = [
            *("perf", "record", "--freq", str(hz), "-g", "--pid", str(pid)),
            *("--event", "cpu-clock" if in_kernel else "cpu-clock:u"),
            *("--output", str(self._file), "--delay=-1"),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._control = -1

    def __enter__(self) -> Self:
        try:
            self._start()
        except WorkError:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            output = self._stop()
            if kind is None:
                self.stacks = kept(folded(self._script(output)))
        finally:
            self._folder.cleanup()

    def _start(self) -> None:
        """Return once it samples."""
        theirs, self._control = os.pipe()
        answered, answer = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*self._command, f"--control=fd:{theirs},{answer}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs, answer),
            )
        except OSError as error:
            os.close(self._control)
            os.close(answered)
            raise WorkError(f"perf could not be started: {error}") from error
        finally:
            os.close(theirs)
            os.close(answer)
        try:
            os.write(self._control, _ENABLE)
            ready, _, _ = select.select([answered], [], [], _ATTACH_S)
            began = bool(ready) and os.read(answered, 16).startswith(b"ack")
        except BrokenPipeError:
            began = False
        finally:
            os.close(answered)
        if not began:
            raise WorkError("perf did not start to sample the server", detail=self._stop() or None)

    def _stop(self) -> str:
        """End perf cleanly, so that it writes its samples; return the end of its output."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        try:
            _, output = self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, output = self._process.communicate()
        os.close(self._control)  # If closed earlier, perf would end with an error.
        return output.decode(errors="replace").strip()[-2_000:]

    def _script(self, output: str) -> str:
        if not self._file.is_file():
            raise WorkError("perf stored no samples", detail=output or None)
        command = ["perf", "script", "--input", str(self._file), "--fields", "comm,ip,sym,dso"]
        done = subprocess.run(
            [*command, "--no-inline"], capture_output=True, timeout=_END_S * 5, check=False
        )
        if done.returncode:
            detail = done.stderr.decode(errors="replace").strip()[-2_000:]
            raise WorkError("perf could not read its samples", detail=detail or None)
        return done.stdout.decode(errors="replace")


def folded(text: str) -> Counter[str]:
    """The output of `perf script --fields comm,ip,sym,dso`, as stacks with their samples.

    A sample is a line with the name of the thread, then one line per function, the innermost first,
    then an empty line. A truncated sample counts with the lines it has.
    """
    stacks: Counter[str] = Counter()
    frames: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith(("\t", " ")) and line.strip():
            frames.append(_function(line.strip()))
        elif not line.strip() and frames:
            stacks[";".join(reversed(frames))] += 1
            frames = []
    return stacks


_FRAME = re.compile(r"^[0-9a-f]+ (?P<symbol>.*?)(?: \((?P<file>[^()]*|\[[^]]*\])\))?$")
_KERNEL = ("[kernel", "[guest.kernel")


def _function(frame: str) -> str:
    found = _FRAME.match(frame)
    if found is None:
        return "[unknown]"
    symbol, file = found["symbol"].strip(), found["file"] or ""
    name = Path(file).name
    if not symbol or symbol == "[unknown]":
        return f"[{name}]" if name and "unknown" not in name else "[unknown]"
    plain = without_arguments(symbol).replace(";", ":")
    return f"{plain} [kernel]" if file.startswith(_KERNEL) else plain


def without_arguments(symbol: str) -> str:
    """A C++ function by its name alone: `trx_t::commit` for `trx_t::commit(mtr_t const*)`."""
    symbol = symbol.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "{call}")
    depth = 0
    for at, letter in enumerate(symbol):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth <= 0 and at:
            symbol = symbol[:at]
            break
    return symbol.replace("{call}", "operator()")


def kept(stacks: Counter[str]) -> dict[str, int]:
    """The stacks with the most samples; for the rest only their innermost function."""
    found = dict(stacks.most_common(STACKS_MAX))
    for stack, samples in stacks.most_common()[STACKS_MAX:]:
        short = f"{OTHERS};{stack.rpartition(';')[2]}"
        found[short] = found.get(short, 0) + samples
    return found
