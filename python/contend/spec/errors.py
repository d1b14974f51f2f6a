"""What is wrong with an experiment."""

from __future__ import annotations

from contend.errors import RequestError


class SpecError(RequestError):
    """An experiment file, a recipe name or an override that cannot be used.

    What the file holds is quoted in the message, so characters that would break the line or
    steer a terminal are shown as escapes.
    """

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        shown = None if hint is None else _printable(hint)
        super().__init__(_printable(message), hint=shown, detail=detail)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
