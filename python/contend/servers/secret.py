"""A password that does not show: not in a repr, not in a log, not in a traceback's locals."""

from __future__ import annotations


class Password:
    """Holds a password. Only `reveal()` gives it, so every place that uses one can be found."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Password('***')" if self._text else "Password('')"

    __str__ = __repr__
