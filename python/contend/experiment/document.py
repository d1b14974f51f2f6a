"""The raw tables of an experiment file: the position of each key, and the overrides applied to it.

The standard parser keeps no positions, and an error without a line leaves the reader searching. The
scanner runs over text that the standard parser has already accepted, so it only needs to find where
keys, strings, arrays and tables begin and end; it never validates the text.
"""

from __future__ import annotations

import bisect
import copy
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from contend.errors import did_you_mean
from contend.experiment.keys import VARIANTS, PathTarget, can_be_factor, known_paths, resolve
from contend.experiment.model import SpecError
from contend.experiment.settings.tables import Nested
from contend.experiment.settings.values import Choice, Key, Refused, shown

Path = tuple[str | int, ...]
"""Keys from the top of the document; an int is the index of an array's element."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
STRING = re.compile(
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
            if (match := STRING.match(self._text, self._at)) is not None:
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
        if (match := STRING.match(self._text, self._at)) is not None:
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


_DEEPEST = 16
"""An experiment nests four deep. A much deeper document is not one, and could exhaust the stack of
code that walks it."""

_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Document:
    """Nested tables in TOML's form, mutable until the experiment is built from them.

    Args:
        origins: for generated text, which has no user-written lines: path -> where it comes from.
    """

    def __init__(self, text: str, file: str, origins: Mapping[Path, str] | None = None) -> None:
        self.text = text
        self.file = file
        self.tree = _parse(text, file)
        self._lines = key_lines(text) if origins is None else {}
        self._origins: dict[Path, str] = dict(origins or {})

    def copy(self) -> Document:
        """An independent document, to try a variant without side effects."""
        twin = copy.copy(self)
        twin.tree = copy.deepcopy(self.tree)
        twin._origins = dict(self._origins)
        return twin

    def where(self, path: Path) -> str:
        """`file:line` of the key, or of the nearest table around it, or the override's name."""
        for end in range(len(path), 0, -1):
            if (origin := self._origins.get(path[:end])) is not None:
                return origin
            if (line := self._lines.get(path[:end])) is not None:
                return f"{self.file}:{line}"
        return self.file

    def refuse(self, path: Path, sentence: str, *, hint: str | None = None) -> NoReturn:
        """Raise the SpecError of a fault at `path`."""
        raise SpecError(f"{self.where(path)}: {sentence}", hint=hint)

    def read(self, path: Path, key: Key, value: object) -> object:
        """The value at `path`, as read by its key; raises SpecError."""
        try:
            return key.kind.read(value)
        except Refused as refused:
            self.refuse_value(path, refused)

    def refuse_value(self, path: Path, refused: Refused) -> NoReturn:
        """Raise the SpecError of a value at `path` that its key refused."""
        place = (*path, *refused.at)
        name = ".".join(map(str, place))
        sentence = refused.reason if refused.whole else f"{name} {refused.reason}"
        hint = refused.hint
        if hint is None and isinstance(self._at(place), list) and can_be_factor(name):
            hint = f'A list of levels goes under [factors]: "{name}" = […].'
        self.refuse(place, sentence, hint=hint)

    def _at(self, path: Path) -> object:
        """The value at `path`; None if there is none."""
        node: object = self.tree
        for key in path:
            if isinstance(node, list) and isinstance(key, int):
                node = node[key]
            else:
                node = node.get(key) if isinstance(node, dict) else None
        return node

    def target(
        self, place: Path, path: str, about: str = "", known: Iterable[str] = ()
    ) -> PathTarget:
        """The target of `path`, which is at `place` in the file; raises SpecError."""
        try:
            return resolve(path)
        except Refused as refused:
            close = did_you_mean(path, known) or refused.hint
            self.refuse(place, f"{about}{refused.reason}", hint=close)

    def only(self, place: Path, names: Iterable[str], called: str = "") -> None:
        """Refuse keys of the table at `place` that are not among `names`."""
        known = list(names)
        found = self._at(place)
        for name in found if isinstance(found, dict) else ():
            if name not in known:
                where = called or ".".join(map(str, place))
                elsewhere = [path for path in known_paths() if path.endswith(f".{name}")]
                close = (
                    f'Did you mean "{elsewhere[0]}"?' if elsewhere else did_you_mean(name, known)
                )
                self.refuse((*place, name), f'unknown key "{name}" in [{where}]', hint=close)

    def table(self, path: tuple[str, ...]) -> dict[str, object]:
        """The table at `path`, empty if there is none."""
        node: object = self.tree
        for depth, key in enumerate(path, start=1):
            node = node.get(key, {}) if isinstance(node, dict) else {}
            if not isinstance(node, dict):
                name = ".".join(path[:depth])
                self.refuse(path[:depth], f"[{name}] must be a table, not {shown(node)}")
        assert isinstance(node, dict)
        return node

    def use_variant(self, variant: str) -> None:
        """Apply the overrides of `[quick]` or `[full]`."""
        if variant == "default":
            return
        if variant not in VARIANTS:
            known = ", ".join(("default", *VARIANTS))
            raise SpecError(
                f'"{variant}" is not a variant of an experiment', hint=f"The variants are {known}."
            )
        if variant not in self.tree:
            raise SpecError(
                f"{self.file} has no [{variant}] table",
                hint=f"Run it without --{variant}, or add the table with its overrides.",
            )
        for path, value in self.table((variant,)).items():
            self._put(path, value, self.where((variant, path)))

    def override(self, setting: str) -> None:
        """Apply one `--set path=value`."""
        path, equals, text = setting.partition("=")
        if not equals:
            raise SpecError(
                f'--set "{setting}" has no "="', hint="Write --set load.connections=8, for example."
            )
        path = path.strip()
        # It has an option of its own.
        origin = "--goal" if path == "goal.hold" else f"--set {path}"
        self._put(path, _override_value(text.strip(), setting), origin)

    def _put(self, path: str, value: object, origin: str) -> None:
        """A list of levels makes its path a factor; a single value fixes it."""
        if path in ("compare.baseline", "compare.metric"):
            # A table and a list of names: neither is a list of levels.
            self._store(("compare", path.removeprefix("compare.")), value, origin)
            return
        try:
            target = resolve(path)
        except Refused as refused:
            raise SpecError(f"{origin}: {refused.reason}", hint=refused.hint) from None
        factors = self.table(("factors",))
        spelling = next((name for name in factors if _same_path(name, target.path)), target.path)
        if isinstance(value, list) and target.can_vary:
            self._store(("factors", spelling), value, origin)
            return
        factors.pop(spelling, None)
        if self._put_in_list(target, value, origin):
            return
        self._drop_other_spellings(target)
        self._store(target.steps, value, origin)

    def _put_in_list(self, target: PathTarget, value: object, origin: str) -> bool:
        """Set a path that leads into a list, whose tables are identified by name."""
        setting = target.setting
        if setting is None or not isinstance(setting.key.default, list):
            return False
        inner = target.steps[len(setting.steps) :]
        if not inner or not isinstance(setting.key.kind, Nested):
            return False
        table = self.table(setting.steps[:-1])
        try:
            put = setting.key.kind.put(table.get(setting.key.name, []), inner, value)
        except Refused as refused:
            raise SpecError(f"{origin}: {refused.reason}", hint=refused.hint) from None
        self._store(setting.steps, put, origin)
        return True

    def _drop_other_spellings(self, target: PathTarget) -> None:
        """`key-buffer-size` and `key_buffer_size` are the same option."""
        table = self.table(target.steps[:-1])
        around = ".".join(target.steps[:-1])
        for spelled in [n for n in table if _same_path(f"{around}.{n}", target.path)]:
            del table[spelled]

    def _store(self, steps: tuple[str, ...], value: object, origin: str) -> None:
        node: object = self.tree
        for depth, key in enumerate(steps[:-1], start=1):
            assert isinstance(node, dict)
            node = node.setdefault(key, {})
            if not isinstance(node, dict):
                self.refuse(steps[:depth], f"[{'.'.join(steps[:depth])}] must be a table")
        assert isinstance(node, dict)
        node[steps[-1]] = value
        self._origins[steps] = origin


def _parse(text: str, file: str) -> dict[str, object]:
    try:
        tree = tomllib.loads(text)
        _check_depth(tree)
        return tree
    except RecursionError:
        raise SpecError(f"{file}: tables and lists are nested too deeply") from None
    except ValueError as error:
        reason, at = _fault(error)
        at = str(text.count("\n") + 1) if at == "end" else at
        raise SpecError(
            f"{file}:{at}: not valid TOML: {reason}" if at else f"{file}: not valid TOML: {reason}",
            hint="Text needs quotes, a list needs brackets, and each table appears once.",
        ) from None


def _override_value(text: str, setting: str) -> object:
    """Parsed as TOML if valid, else used as bare text: `--set data.engine=Aria`."""
    if "\n" in text:
        raise SpecError(f"--set {shown(setting)} has a line break in its value")
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
        _check_depth(value)
    except RecursionError:
        raise SpecError(f"--set {shown(setting)} is nested too deeply") from None
    except ValueError as error:
        if text[:1] in ("", "[", "{", '"', "'"):
            reason = _fault(error)[0] if text else "nothing follows the ="
            raise SpecError(
                f"--set {setting}: not a value: {reason}",
                hint="Write a list as [1, 8, 64], and text with spaces in quotes.",
            ) from None
        return text
    return value


def _fault(error: ValueError) -> tuple[str, str]:
    """What is wrong, and where: `3:14`, `end` of the text, or nothing if it is not known.

    The parser reports both in one sentence. A different error comes from a number with thousands of
    digits, which Python refuses to read.
    """
    message = str(error)
    match = _TOML_PLACE.search(message)
    if match is None:
        return message[:1].lower() + message[1:], ""
    reason, (line, column) = message[: match.start()], match.groups()
    return reason[:1].lower() + reason[1:], f"{line}:{column}" if line else "end"


def _check_depth(value: object) -> None:
    """Raise RecursionError before other code does."""
    level = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for node in level:
            if isinstance(node, dict):
                inner.extend(node.values())
            elif isinstance(node, list):
                inner.extend(node)
        level = inner
        if not level:
            return
    raise RecursionError


def _same_path(name: str, path: str) -> bool:
    try:
        return resolve(name).path == path
    except Refused:
        return False


def with_overrides(document: Document, variant: str, sets: Sequence[str]) -> Document:
    """A copy of `document` with the variant and then each `--set` applied."""
    result = document.copy()
    result.use_variant(variant)
    for setting in sets:
        result.override(setting)
    return result


_STRING_OR_COMMENT = re.compile(rf"(?:{STRING.pattern})|(?P<comment>#[^\n]*)", re.DOTALL)
HIDDEN = "***"
"""Replaces a password in a run folder."""

_DSN_PASSWORD = re.compile(
    # A password may contain any character; the nearest end that keeps the text intact counts.
    r"""(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)(?:[^\s"'/]+|[^\s"']+|\S+)@""",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""(\b(?:password|passwd|pwd|secret)["']?\s*[=:]\s*)(["'])(?!\2).+?\2""", re.IGNORECASE
)
"""`password = "…"`, as in an experiment file."""


def without_dsn_passwords(text: str) -> str:
    """`text` with the passwords of addresses hidden: `mysql://root:***@host`."""
    return _DSN_PASSWORD.sub(rf"\g<1>{HIDDEN}@", text)


def hide_in_comments(text: str, secrets: Collection[str]) -> str:
    """`text`, which must be valid TOML, without the secrets in its comments, and without text that
    looks like a password.

    Its keys and values stay unchanged: a run uses them, and so does its resume.
    """
    known = sorted(filter(None, secrets), key=len, reverse=True)

    def hidden(part: re.Match[str]) -> str:
        comment = part["comment"]
        if comment is None:
            return part[0]
        for secret in known:
            comment = comment.replace(secret, HIDDEN)
        return _ASSIGNED.sub(rf"\g<1>\g<2>{HIDDEN}\g<2>", without_dsn_passwords(comment))

    return _STRING_OR_COMMENT.sub(hidden, text)


def place_of_secret(text: str, secrets: Collection[str]) -> str | None:
    """Where `text`, which must be valid TOML, has one of the secrets as a word of a value:
    `workload.text (line 8)`; None if it has none.

    A value from a fixed list of contend's own reveals nothing.
    """
    document = Document(text, "")
    for path, value in _texts(document.tree, ()):
        if has_word(value, secrets) and not _is_choice(path):
            line = document.where(path).removeprefix(":")
            return f"{'.'.join(map(str, path))} (line {line})"
    return None


def has_word(text: str, secrets: Collection[str]) -> bool:
    """Whether one of the secrets is a word of the text."""
    found = (rf"(?<!\w){re.escape(secret)}(?!\w)" for secret in secrets if secret)
    return any(re.search(pattern, text) for pattern in found)


def _texts(node: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _texts(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _texts(value, (*path, index))


def _is_choice(path: Path) -> bool:
    names = [name for name in path if isinstance(name, str)]
    inner = names[1:] if names[0] in ("factors", *VARIANTS) else names
    try:
        return isinstance(resolve(".".join(inner)).key.kind, Choice)
    except Refused:
        return False
