"""Reads option files (`my.cnf`) by the rules of the servers and of their clients.

`entries` splits a text and has no effects; only `read_option_lines` opens files, for `!include`.
The rules are those that MariaDB 10.11 and MySQL 9.7 show with `--print-defaults`:

- `#` begins a comment anywhere outside quotes; `;` only at the beginning of a line.
- One pair of quotes around a value is removed, others are part of it.
- The name of a group is compared without case. What follows its `]` does not count.
- A relative path is read from the working directory of the server, and a missing file is skipped.
  contend cannot know either, so it refuses both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contend.errors import RequestError

_BLANKS = " \t\r\v\f"
_CODE = re.compile(r"""(?:[^'"#]|'(?:\\.|[^'])*+(?:'|\Z)|"(?:\\.|[^"])*+(?:"|\Z))*+""")
"""A line up to its comment."""
_ESCAPE = re.compile(r"""\\([btnrs"'\\])""")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " "}

INCLUDE, INCLUDE_FOLDER = "!include", "!includedir"
_SUFFIX = ".cnf"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that is neither blank, nor a comment, nor the beginning of a group.

    Args:
        number: of the line, from 1.
        group: in lower case; None before the first.
        name: of the option, as written; a directive with its `!`; or a wrong beginning of a group.
        value: None without `=`; of a directive the rest of the line.
    """

    number: int
    group: str | None
    name: str
    value: str | None


def entries(text: str) -> Iterator[Entry]:
    group: str | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(_BLANKS)
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            name, *rest = re.split(f"[{_BLANKS}]+", line, maxsplit=1)
            yield Entry(number, group, name, "".join(rest))
        elif line[0] == "[":
            name, end, _ = line[1:].partition("]")
            group = name.rstrip(_BLANKS).lower() if end else None
            if not end:
                yield Entry(number, None, line, None)
        else:
            code = _CODE.match(line)
            assert code is not None, "it matches an empty text"
            name, equals, value = code[0].partition("=")
            yield Entry(number, group, name.rstrip(_BLANKS), _value(value) if equals else None)


def _value(raw: str) -> str:
    text = raw.strip(_BLANKS)
    if len(text) > 1 and text[0] in "'\"" and text[0] == text[-1]:
        text = text[1:-1]
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


@dataclass(frozen=True, slots=True)
class OptionLine:
    """An option as a file sets it.

    Args:
        place: its file and line.
        group: in lower case.
        name: as written.
        value: None without `=`.
    """

    place: str
    group: str
    name: str
    value: str | None


def read_option_lines(path: Path, within: tuple[Path, ...] = ()) -> list[OptionLine]:
    """The options of every group of a file and of the files that it includes, in their order.

    Args:
        within: the files that include this one, resolved.

    Raises:
        RequestError: a file cannot be read, or the servers would not read it whole.
    """
    within = (*within, path.resolve())
    lines: list[OptionLine] = []
    for entry in entries(_text(path)):
        place = f"{path}:{entry.number}"
        if entry.name.startswith("!"):
            for included in _included(entry, place):
                if included.resolve() in within:
                    raise RequestError(f"{place}: {included} includes itself", hint="Remove it.")
                lines += read_option_lines(included, within)
        elif entry.name.startswith("["):
            raise RequestError(f"{place}: the group {entry.name} has no ]")
        elif entry.group is None:
            raise RequestError(
                f"{place}: {entry.name} is in no group", hint="Put [mysqld] above it."
            )
        elif not entry.name:
            raise RequestError(f"{place}: = has no option before it")
        else:
            lines.append(OptionLine(place, entry.group, entry.name, entry.value))
    return lines


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise RequestError(f"there is no option file {path}") from None
    except UnicodeDecodeError:
        raise RequestError(f"the option file {path} is not UTF-8 text") from None
    except OSError as error:
        raise RequestError(f"the option file {path} cannot be read: {error.strerror}") from None


def _included(entry: Entry, place: str) -> list[Path]:
    """The files that a directive names; of a folder those that the servers read, by their names."""
    if entry.name not in (INCLUDE, INCLUDE_FOLDER):
        raise RequestError(
            f"{place}: unknown directive {entry.name}, which the servers ignore",
            hint=f"Write {INCLUDE} or {INCLUDE_FOLDER}.",
        )
    path = Path(entry.value or "")
    if "#" in str(path):
        raise RequestError(
            f"{place}: {entry.name} has a comment, which MariaDB takes for a part of the path",
            hint="Put the comment on a line of its own.",
        )
    if not path.is_absolute():
        raise RequestError(
            f"{place}: {entry.name} needs an absolute path, not '{entry.value}': the servers read "
            "a relative one from their working directory",
            hint="Write the whole path.",
        )
    if entry.name == INCLUDE:
        if not path.exists():
            raise RequestError(
                f"{place}: there is no file {path}", hint="Remove the line, or copy the file here."
            )
        return [path]
    try:
        names = sorted(one.name for one in path.iterdir() if one.name.endswith(_SUFFIX))
    except OSError as error:
        raise RequestError(
            f"{place}: the folder {path} cannot be read: {error.strerror}",
            hint="Remove the line, or copy the folder here.",
        ) from None
    return [path / name for name in names if (path / name).is_file()]
