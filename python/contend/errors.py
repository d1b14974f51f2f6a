"""Errors and stops: everything that ends work early. And text from outside, made safe to print.

Every error that a user can meet is a ContendError; any other exception is a bug.

    ContendError
    ├─ RequestError   the request was wrong   exit 2
    └─ WorkError      the work failed         exit 1

Each package derives its own classes from these, so that a caller can catch one kind.

Ctrl-C, SIGTERM and SIGHUP: the first one ends the work. contend then stops its servers and reverts
its changes, each within a time limit of its own. Further signals during that are noted but not
raised. The third signal gives the current step `LIMIT_S` more seconds; then contend gives up that
server and tries the next one.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import signal
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, ClassVar


class ContendError(Exception):
    """An error that a user can fix: the problem, its place, and the remedy.

    Args:
        message: one sentence with the problem and its place (file, line, key, server).
        hint: the remedy, one sentence.
        detail: lines to show below, verbatim (for example the end of an error log).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail

    @property
    def in_full(self) -> str:
        """Message, detail and hint as one text."""
        return " ".join(filter(None, (self.message, self.detail, self.hint)))

    def add_place(self, where: str) -> None:
        """Put its place before the message; nothing if that is empty."""
        self.message = f"{where}: {self.message}" if where else self.message
        self.args = (self.message,)


class RequestError(ContendError):
    """The request is wrong."""

    exit_code = 2


class WorkError(ContendError):
    """The work failed."""

    exit_code = 1


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that `name` most likely meant; None if nothing is close.

    A path such as `workload.point` is close to `workload.points`, and so is the bare `points`.
    """
    folded = {k.lower().replace("-", "_"): k for k in names}
    wanted = name.lower().replace("-", "_")
    tails = {k.rsplit(".", 1)[-1]: original for k, original in folded.items()}
    for word, known, cutoff in ((wanted, folded, 0.6), (wanted.rsplit(".", 1)[-1], tails, 0.75)):
        for close in difflib.get_close_matches(word, known, n=3, cutoff=cutoff):
            if _are_alike(word, close):
                return known[close]
    return None


def _are_alike(one: str, other: str) -> bool:
    """Whether similar names stay so without their common first and last words: a long `innodb_`
    does not make two options similar. One name may have more words, or a wrong letter."""
    words, others = one.split("_"), other.split("_")
    for at in (0, -1):
        while words and others and words[at] == others[at]:
            del words[at], others[at]
    rest, others_rest = "_".join(words), "_".join(others)
    if not (rest and others_rest) or (rest, others_rest) == (one, other):
        return True
    return _likeness(rest, others_rest) >= 0.7 or _likeness(one, other) >= 0.9


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """The hint for an unknown name: the nearest one, or all names if they are few."""
    known = list(names)
    close = nearest(name, known)
    if close is not None:
        return f'Did you mean "{close}"?'
    if 0 < len(known) <= 12:
        return f"Known: {', '.join(known)}."
    return None


_HIDDEN = "***"
_SECRET_NAMES = re.compile(r"pas|pw|psw|secret", re.IGNORECASE)
"""An option or key with one of these in its name has a secret value."""
_DASHED = re.compile(r"--?[\w-]+$")
_NO_PORT = re.compile(r"""(://[^/:?'"`]*:)(?!\d*(?:[/?'"`]|$))[^'"`]+""")
"""Part of an address, cut off before its @."""
_ASSIGNMENT = re.compile(r"([^?&,;=]*)=[^?&,;]*")


def is_secret(name: str) -> bool:
    """Whether a name is that of a password, in any spelling."""
    return _SECRET_NAMES.search(name) is not None


def without_secrets(text: str) -> str:
    """User input, for people to read: passwords of options and of addresses are hidden."""
    shown: list[str] = []
    is_due = False
    for word in re.split(r"(\s+)", text):
        if not word or word.isspace():
            shown.append(word)
            continue
        shown.append(
            _HIDDEN if is_due and not word.startswith("-") else _word_without_secrets(word)
        )
        # The value of an option may be the next word.
        is_due = word == "-p" or (is_secret(word) and _DASHED.match(word) is not None)
    return "".join(shown)


def _word_without_secrets(word: str) -> str:
    before, at, host = word.rpartition("@")
    user_at = before.find("://") + 3 if "://" in before else 0
    if at and (colon := before.find(":", user_at)) >= 0:
        return f"{before[:colon]}:{_HIDDEN}@{_word_without_secrets(host)}"
    word = _NO_PORT.sub(rf"\g<1>{_HIDDEN}", word)
    word = _ASSIGNMENT.sub(
        lambda found: f"{found[1]}={_HIDDEN}" if is_secret(found[1]) else found[0], word
    )
    return re.sub(r"""^(['"`]?-p)[^'"`]+""", rf"\g<1>{_HIDDEN}", word)


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f"  # controls but tab and newline; delete
    r"\x80-\x9f"  # 8-bit forms of control sequences
    r"\u202a-\u202e\u2066-\u2069"  # reorder the text after them
    r"\ud800-\udfff]"  # halves of characters, such as in a path that is not UTF-8
)
_BREAK = re.compile(r"\s*[\n\u2028\u2029]\s*")


def clean(text: str) -> str:
    """The text without terminal control characters; its lines stay."""
    return _UNSAFE.sub(REPLACEMENT, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same on one line, so that no part of it looks like a line of contend's."""
    return _BREAK.sub(" ", clean(text.rstrip("\n")))


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
        is_announced: the user knows why the end takes a moment.
    """

    signals: int = 0
    shields: int = 0
    is_raised: bool = False
    is_limited: bool = False
    is_announced: bool = False
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
    if not _seen.is_announced:
        _seen.is_announced = True
        _say(f"cleaning up before stopping; a third signal limits each step to {LIMIT_S:g} s")
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


def _say(text: str) -> None:
    # Directly to the descriptor: the signal may interrupt the writing of a line.
    with contextlib.suppress(OSError):
        os.write(2, f"contend: {text}\n".encode())
