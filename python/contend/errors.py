"""The error tree, suggestions for misspelt names, and removing secrets from user input.

Every error meant for users is a ContendError. All others are bugs.

    ContendError
    ├─ RequestError   the request is wrong     exit 2
    └─ WorkError      the work failed          exit 1

Packages derive their own classes from these, so that a caller can catch one kind of error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import ClassVar


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

    def told_of(self, where: str) -> None:
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
        return f"Known are {', '.join(known)}."
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
