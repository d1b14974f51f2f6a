"""Ctrl-C, SIGTERM and SIGHUP: the first one ends the work, and the cleanup is completed.

The cleanup stops servers and reverts changes, each within its own time limit. So further signals
are counted but not raised, however fast they come. To avoid waiting for all of these limits, send a
third signal: it limits the current step to `LIMIT_S`. After that, contend gives up on this server
and tries the next.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

LIMIT_S = 20.0
ENOUGH = 3
"""Signals after which the current step has `LIMIT_S` left."""

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class _Seen:
    """The signals so far.

    Args:
        shields: number of active, nested shields.
        is_raised: the work is ending.
        is_limited: the alarm is set.
        alarm: the previous handler of the alarm.
        is_told: the user knows why the end takes a moment.
    """

    signals: int = 0
    shields: int = 0
    is_raised: bool = False
    is_limited: bool = False
    is_told: bool = False
    alarm: Any = None


_seen = _Seen()


@contextlib.contextmanager
def watched(*, is_all: bool = False) -> Iterator[None]:
    """Handle every stop this way, including those from a terminal that closes or a service manager.
    Ignored signals, such as a hang-up under nohup, stay ignored.

    Args:
        is_all: the process does nothing else, so later stops do not matter after the first.
    """
    global _seen
    stops = [stop for stop in _STOPS if signal.getsignal(stop) != signal.SIG_IGN]
    before, _seen = _seen, _Seen()
    handlers = [signal.signal(stop, _stop) for stop in stops]
    try:
        yield
    finally:
        if _seen.alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, _seen.alarm)
        for stop, handler in zip(stops, handlers, strict=True):
            signal.signal(stop, signal.SIG_IGN if is_all and _seen.is_raised else handler)
        _seen = before


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """A part that is always completed: a stop during it is raised afterwards.

    Raises:
        KeyboardInterrupt: a stop came, or `ENOUGH` came and the part was not done in time. An error
            of the part is its cause.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Signals are only handled in the main thread.
        return
    seen = _seen
    seen.shields += 1
    try:
        try:
            yield
        finally:
            seen.shields -= 1
    except Exception as error:
        if _is_due(seen):
            raise KeyboardInterrupt from error
        raise
    if _is_due(seen):
        raise KeyboardInterrupt


def _is_due(seen: _Seen) -> bool:
    """Whether to raise a stop now, which happens once."""
    if seen.shields or seen.is_raised or not seen.signals:
        return False
    seen.is_raised = True
    return True


def _stop(_signal: int, _frame: FrameType | None) -> None:
    _seen.signals += 1
    if _is_due(_seen):
        raise KeyboardInterrupt
    if not _seen.is_told:
        _seen.is_told = True
        _say(f"cleaning up before it stops; a third stop limits each step to {LIMIT_S:g} s")
    if _seen.signals >= ENOUGH and not _seen.is_limited:
        _seen.is_limited = True
        # Only now: until then the alarm may belong to other code.
        before = signal.signal(signal.SIGALRM, _give_up)
        _seen.alarm = before if _seen.alarm is None else _seen.alarm
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)


def _give_up(_signal: int, _frame: FrameType | None) -> None:
    _seen.is_limited = False
    _seen.is_raised = True
    raise KeyboardInterrupt


def _say(words: str) -> None:
    # Directly to the descriptor: the signal may interrupt the writing of a line.
    with contextlib.suppress(OSError):
        os.write(2, f"contend: {words}\n".encode())
