"""On which line each key of a TOML text stands.

The standard parser keeps no positions, and an error without a line sends the reader searching.
This scanner runs over text that the standard parser has already accepted, so it only needs to
know where keys, strings, arrays and tables begin and end; it never judges the text.
"""

from __future__ import annotations

import bisect
import re
import tomllib

Path = tuple[str | int, ...]
"""Keys from the top of the document; an int is the index of an array's element."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def key_lines(text: str) -> dict[Path, int]:
    """Line (from 1) of every key and array element of `text`, which must be valid TOML."""
    return _Scanner(text).document()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [i for i, c in enumerate(text) if c == "\n"]
        self._lines: dict[Path, int] = {}
        self._array_tables: dict[Path, int] = {}

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._take("[["):
                table = self._array_table_header()
            elif self._take("["):
                table = self._resolve(self._key())
                self._take("]")
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._lines

    def _array_table_header(self) -> Path:
        keys = self._key()
        array = (*self._resolve(keys[:-1]), keys[-1])
        index = self._array_tables.get(array, -1) + 1
        self._array_tables[array] = index
        self._mark(array)
        self._mark((*array, index))
        self._take("]]")
        return (*array, index)

    def _resolve(self, keys: list[str]) -> Path:
        """The path of a header; one that enters an array of tables means its last element."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            self._mark(path)
            if path in self._array_tables:
                path = (*path, self._array_tables[path])
        return path

    def _pair(self, table: Path) -> None:
        start = self._at
        path = table
        for key in self._key():
            path = (*path, key)
            self._mark(path, start)
        self._take("=")
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            if (match := _STRING.match(self._text, self._at)) is not None:
                keys.append(str(tomllib.loads(f"k = {match.group()}")["k"]))
            elif (match := _BARE_KEY.match(self._text, self._at)) is None:
                raise ValueError("not TOML: a key was expected")
            else:
                keys.append(match.group())
            self._at = match.end()
            self._skip(_SPACE)
            if not self._take("."):
                return keys

    def _value(self, path: Path) -> None:
        if (match := _STRING.match(self._text, self._at)) is not None:
            self._at = match.end()
        elif self._take("["):
            self._array(path)
        elif self._take("{"):
            self._skip(_BLANK)
            while not self._take("}"):
                self._pair(path)
                self._separator()
        else:
            self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        index = 0
        self._skip(_BLANK)
        while not self._take("]"):
            element = (*path, index)
            self._mark(element)
            self._value(element)
            self._separator()
            index += 1

    def _separator(self) -> None:
        self._skip(_BLANK)
        self._take(",")
        self._skip(_BLANK)
        if self._at >= len(self._text):
            raise ValueError("not TOML: a value does not end")

    def _mark(self, path: Path, at: int | None = None) -> None:
        offset = self._at if at is None else at
        self._lines.setdefault(path, bisect.bisect_left(self._newlines, offset) + 1)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()

    def _take(self, token: str) -> bool:
        if self._text.startswith(token, self._at):
            self._at += len(token)
            return True
        return False
