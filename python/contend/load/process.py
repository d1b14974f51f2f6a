"""contend-load as a process: a plan in, outcomes out, never longer than planned, never left behind.

The program writes JSON documents to its standard output, one per line, and messages to its standard
error; the end of the latter is kept for the error message. It has a process group of its own, so
that Ctrl-C reaches only the lab, which decides. The kernel kills it if the lab dies in any way.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from contend.errors import WorkError, shielded
from contend.files import PROGRAM
from contend.host.placement import Placed, Placement, look
from contend.host.placement.groups import grouped
from contend.load.plan import answers_s, planned_s, visit_s
from contend.metrics.outcome import Done, Outcome
from contend.metrics.plan import Plan

OUTCOME_VERSION = 1
OnEvent = Callable[[Outcome], None]
OnAsked = Callable[[int, int], None]
"""Called with the statements asked so far, and all of them."""

GRACE_S = 20.0
"""Time allowed beyond the planned one: connecting, the last answers, the summary."""


class LoadDriver(Protocol):
    """Drives load: the process, or a fake of it."""

    def run(
        self,
        plan: Plan,
        *,
        env: Mapping[str, str],
        on_event: OnEvent,
        placed: Placed | None = None,
    ) -> Done: ...

    def ask(
        self,
        plan: Mapping[str, Any],
        *,
        env: Mapping[str, str],
        on_progress: OnAsked,
        placed: Placed | None = None,
    ) -> dict[str, Any]: ...


class LoadProcess:
    """contend-load at `program`, run once per plan."""

    def __init__(self, program: Path, *, grace_s: float = GRACE_S) -> None:
        self.program = program
        self.grace_s = grace_s

    def run(
        self,
        plan: Plan,
        *,
        env: Mapping[str, str],
        on_event: OnEvent,
        placed: Placed | None = None,
    ) -> Done:
        """Run `plan` to its end and return the `done` outcome.

        Args:
            env: added to the environment, for a password.
            on_event: called with every outcome as it arrives, the last one too.
            placed: the requested placement of the program; receives the actual one.

        Raises:
            LoadFailed: the run was refused, broke, or did not end in its time.
        """
        connect_s = float(plan["server"].get("connect_timeout_s", 10.0))
        patience_s = connect_s + answers_s(plan) + self.grace_s
        in_slices = "slices" in plan["load"]
        last: dict[str, Any] | None = None
        with contextlib.ExitStack() as stack:
            requested = Placement() if placed is None else placed.placement
            placement = stack.enter_context(grouped(requested))
            child = stack.enter_context(Child([str(self.program), "run", "-"], env, placement))
            child.send(json.dumps(plan).encode())
            # A line follows each slice, after an unknown time for its last answers.
            lines = (
                child.lines(silence_s=visit_s(plan) + patience_s)
                if in_slices
                else child.lines(limit_s=planned_s(plan) + patience_s)
            )
            for line in lines:
                last = parse(line)
                if placed is not None and last["type"] not in ("hello", "done", "error"):
                    # Its threads do not exist yet when it sends hello.
                    placed.seen = placed.seen or look.seen(child.pid)
                on_event(cast(Outcome, last))
            code = child.wait()
            tail = child.stderr_tail()
        return cast(Done, judge(last, code, tail))

    def ask(
        self,
        plan: Mapping[str, Any],
        *,
        env: Mapping[str, str],
        on_progress: OnAsked,
        placed: Placed | None = None,
    ) -> dict[str, Any]:
        """Ask the statements of a recording on all arms of `plan` (`ask_plan.schema.json`), and
        return the last line of `contend-load recording ask`.

        Args:
            env, placed: see `run`.

        Raises:
            LoadFailed: it was refused, broke, or did not end in its time.
        """
        # An arm kills a statement at the limit, and connects again if that does not help.
        silence_s = self.grace_s + 2 * len(plan["arms"]) * float(plan["limit_s"])
        last: dict[str, Any] | None = None
        with contextlib.ExitStack() as stack:
            requested = Placement() if placed is None else placed.placement
            placement = stack.enter_context(grouped(requested))
            argv = [str(self.program), "recording", "ask", "-"]
            child = stack.enter_context(Child(argv, env, placement))
            child.send(json.dumps(plan).encode())
            for line in child.lines(silence_s=silence_s):
                last = parse(line)
                if last["type"] == "ask_progress":
                    if placed is not None:
                        placed.seen = placed.seen or look.seen(child.pid)
                    on_progress(int(last["asked"]), int(last["of"]))
            code = child.wait()
            tail = child.stderr_tail()
        return judge(last, code, tail, done="ask_done")


_SCRIPTED = ("done", "prepared")
"""Outcomes that a script may influence."""


def judge(
    last: dict[str, Any] | None, code: int, tail: str, *, done: str = "done"
) -> dict[str, Any]:
    """The outcome of type `done`; raises the reason if there is none."""
    kind = last.get("type") if last else None
    if last is not None and kind == done and code == 0:
        return last
    if last is not None and kind == "error":
        raise LoadFailed(
            str(last.get("message", "the run failed")),
            hint=last.get("hint"),
            code=last.get("code"),
            sqlstate=last.get("sqlstate"),
            statement=last.get("statement"),
        )
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    hint = (
        "If a script calls os.exit(), remove the call." if code == 0 and done in _SCRIPTED else None
    )
    raise LoadFailed(f"{PROGRAM} ended with {how} and no result", hint=hint, detail=tail or None)


def parse(line: bytes) -> dict[str, Any]:
    try:
        outcome = json.loads(line)
    except ValueError:
        outcome = None
    if not isinstance(outcome, dict) or "type" not in outcome:
        raise LoadFailed(
            f"{PROGRAM} wrote a line that is not an outcome",
            detail=line[:200].decode(errors="replace"),
        )
    if outcome["type"] == "hello" and outcome.get("version") != OUTCOME_VERSION:
        raise LoadFailed(
            f"{PROGRAM} writes outcome version {outcome.get('version')}, but this contend reads "
            f"{OUTCOME_VERSION}",
            hint="Install both from the same version of contend.",
        )
    return outcome


class LoadFailed(WorkError):
    """A run gave no result.

    Attributes:
        code, sqlstate, statement: of the server's refusal, if there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        detail: str | None = None,
        code: int | None = None,
        sqlstate: str | None = None,
        statement: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.code = code
        self.sqlstate = sqlstate
        self.statement = statement


END_GRACE_S = 3.0
"""Time to stop after a signal; then the process is killed."""

TICK_S = 0.2
LINE_BYTES_MAX = 64 * 1024 * 1024
STDERR_BYTES_KEPT = 4096


class Child:
    """A child process whose standard streams are read without a thread and within a deadline."""

    def __init__(
        self,
        argv: list[str],
        env: Mapping[str, str],
        placement: Placement | None = None,
        *,
        takes_input: bool = False,
    ) -> None:
        """`takes_input`: its standard input is contend's own."""
        prefix = () if placement is None else placement.prefix()
        self._process = subprocess.Popen(
            [*prefix, argv[0], f"--die-with={os.getpid()}", *argv[1:]],
            stdin=None if takes_input else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
            # A session is a group too, and has a niceness among sessions.
            start_new_session=bool(prefix),
            process_group=None if prefix else 0,
        )
        self._stderr = bytearray()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                # A program that died early leaves data that cannot be written to it.
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        # A program that refuses to start closes its input; its output has the reason.
        with contextlib.suppress(BrokenPipeError):
            stdin.write(data)
            stdin.close()

    def tell(self, data: bytes) -> None:
        """Like `send`, and more may follow."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError):
            stdin.write(data)
            stdin.flush()

    def lines(self, *, limit_s: float = math.inf, silence_s: float = math.inf) -> Iterator[bytes]:
        """The lines of standard output until it is closed.

        Args:
            limit_s: from now to the end.
            silence_s: between two lines.

        Raises:
            LoadFailed: the time is over.
        """
        started = last_output = time.monotonic()
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None and stderr is not None
        pending = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(TICK_S)
                now = time.monotonic()
                last_output = now if ready else last_output
                if now > started + limit_s or now > last_output + silence_s:
                    raise LoadFailed(
                        f"{PROGRAM} did not end in time and was stopped",
                        hint="If the server hangs, see its error log and process list.",
                        detail=self.stderr_tail() or None,
                    )
                for key, _ in ready:
                    chunk = os.read(key.fd, 65536)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is stderr:
                        self._stderr = (self._stderr + chunk)[-STDERR_BYTES_KEPT:]
                    else:
                        pending += chunk
                        if len(pending) > LINE_BYTES_MAX:
                            raise LoadFailed(f"{PROGRAM} wrote a line of over 64 MiB")
                        *whole, rest = pending.split(b"\n")
                        pending = bytearray(rest)
                        yield from (bytes(line) for line in whole if line.strip())
        if pending.strip():
            yield bytes(pending)

    def stderr_tail(self) -> str:
        return self._stderr.decode(errors="replace").strip()

    def wait(self) -> int:
        """The exit code; streams are closed already, so the process is about to end."""
        try:
            return self._process.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"{PROGRAM} closed its output but did not exit") from None

    def _end(self) -> None:
        """Stop the process, gently first. Does nothing if it has ended. A surviving one would
        switch the server after its changes were reverted."""
        with shielded():
            for stop in (signal.SIGTERM, signal.SIGKILL):
                if self._process.poll() is None:
                    self._process.send_signal(stop)
                    # A suspended one receives it when it goes on.
                    self._process.send_signal(signal.SIGCONT)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(END_GRACE_S)
