"""Reads a dump as a client does: unpacks its files while reading, counts and hashes the bytes, and
splits them into statements.

A statement ends at a delimiter outside quotes and comments. Lines such as `DELIMITER ;;` and
`source FILE` are client commands and reach no server.

A dump may have statements of many megabytes, so the scan is one pattern that never backtracks. It
consumes whole stretches of plain text, quoted text and comments. It stops at a delimiter or at an
element that is not closed yet, and continues there after more is read.
"""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import hashlib
import io
import lzma
import re
import shlex
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from contend.data.dump import DumpRefused

OnBytes = Callable[[int], None]
"""Called with the number of bytes of the file read since the last call."""


_UNPACK: tuple[tuple[bytes, Callable[[Any], io.BufferedIOBase]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
_ZSTD = b"\x28\xb5\x2f\xfd"
_NOT_TEXT = {
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"PGDMP": "a PostgreSQL dump",
    b"SQLite format 3": "an SQLite database",
    b"PK\x03\x04": "a zip archive",
    _ZSTD: "packed with zstd",
}
_HINTS = {
    "text in UTF-16": "Convert it: `iconv -f UTF-16 -t UTF-8 FILE > utf8.sql`.",
    "a zip archive": "Unpack it first.",
    "packed with zstd": "Unpack it first: `zstd -d FILE`.",
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CUT_OFF = "Copy it again from its origin, or dump it again."


class _Counted(io.RawIOBase):
    """The file on the disk, hashed and counted while it is read."""

    def __init__(self, path: Path, on_bytes: OnBytes) -> None:
        self._file = path.open("rb", buffering=0)
        self._on_bytes = on_bytes
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self.digest.update(memoryview(buffer)[:count])
        self._on_bytes(count)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class DumpFile:
    """A file of a dump, read once from its beginning to its end. A context manager.

    Args:
        path: plain, or packed with gzip, bzip2 or xz, with any suffix.

    Raises:
        DumpRefused: it cannot be read, or is not a dump.
    """

    def __init__(self, path: Path, on_bytes: OnBytes = lambda _count: None) -> None:
        self.path = path
        try:
            self._raw = _Counted(path, on_bytes)
            buffered = io.BufferedReader(self._raw, 1 << 20)
            head = buffered.peek(32)
        except OSError as error:
            raise unreadable(path, error) from None
        unpack = next((unpack for magic, unpack in _UNPACK if head.startswith(magic)), None)
        self.packed = unpack is not None
        self._file: Any = buffered
        if unpack is not None:
            self._file = unpack(buffered)
            # Reading the archive reports its error.
            with contextlib.suppress(EOFError, OSError, zlib.error, lzma.LZMAError):
                head = self._file.peek(32)
        for magic, kind in _NOT_TEXT.items():
            if head.startswith(magic):
                self._raw.close()
                raise DumpRefused(f"{path} is {kind}, not a dump in SQL", hint=_HINTS.get(kind))
        self._begun = False

    def read(self, size: int) -> bytes:
        """Up to `size` bytes of the dump; none at its end.

        Raises:
            DumpRefused: the file cannot be read, or its archive is damaged or cut off.
        """
        try:
            data: bytes = self._file.read(size)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise DumpRefused(
                f"{self.path} is cut off or damaged: {error}",
                hint=_CUT_OFF,
            ) from None
        except OSError as error:
            raise unreadable(self.path, error) from None
        if not self._begun:
            self._begun = True
            data = data.removeprefix(_BYTE_ORDER_MARK)
        return data

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read from the file on the disk."""
        return self._raw.digest.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()


def unreadable(path: Path, error: OSError) -> DumpRefused:
    if isinstance(error, FileNotFoundError):
        return DumpRefused(f"there is no file {path}")
    return DumpRefused(f"{path} cannot be read: {error.strerror or error}")


CHUNK_BYTES = 1 << 20
SOURCE = "source"
MESSAGE = "message"

_LINE_COMMENT = rb"(?:\#|--(?=[\x00-\x20]))[^\n]*+\n"
_LAST_LINE_COMMENT = rb"(?:\#|--(?=[\x00-\x20]|\Z))[^\n]*+(?:\n|\Z)"
_BLOCK_COMMENT = rb"/\*(?>.*?\*/)"
_NEVER_RUN = rb"/\*(?!M?!(?!999999))(?>.*?\*/)"
"""A comment that the server runs is kept: `/*!50003 … */`, `/*M!100616 … */`. mariadb-dump writes
one of version 999999 for its client alone."""

_COMMAND = re.compile(rb"(?i)(delimiter|source|\\\.)(?:[ \t]+([^\r\n]*?)[ \t]*)?\r?(?:\n|\Z)")
_PROGRAM = rb"(?:[a-z]:)?[\w./\\-]{1,60}:[ \t]"
_MESSAGE = re.compile(
    rb"(?i)(%b[ \t]*+(?!(?:begin|loop|while|repeat|for)\b|/\*)[^\r\n]+)\r?(?:\n|\Z)" % _PROGRAM
)
"""A line of a program's standard error, which a shell put there (`2>&1`): `mysqldump: [Warning] …`.
Only a statement with a label begins like this."""

_MAYBE_COMMAND = re.compile(rb"(?i)(?:delimiter|source)\b|\\\.|%b" % _PROGRAM)
_LONGEST_WORD = 64


_IS_POSSESSIVE = sys.version_info >= (3, 11, 5)
"""Python before 3.11.5 forgets a match if a possessive repeat holds alternatives (its issue
106052)."""


def _repeat(alternatives: bytes) -> bytes:
    """Repeat the alternatives as often as possible, without backtracking."""
    form = rb"(?:%b)*+" if _IS_POSSESSIVE else rb"(?>(?:%b)*)"
    return form % alternatives


@functools.cache
def _lead(*, last: bool) -> re.Pattern[bytes]:
    """Blanks and comments before a statement."""
    line = _LAST_LINE_COMMENT if last else _LINE_COMMENT
    return re.compile(_repeat(rb"\s++|%b|%b" % (line, _NEVER_RUN)), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Quotes:
    """How quotes are read.

    Args:
        backslash: it escapes the next character in quotes.
        names: double quotes hold a name, in which a backslash does not escape.
    """

    backslash: bool = True
    names: bool = False

    @property
    def backslash_in_double(self) -> bool:
        return self.backslash and not self.names


def _quoted(quote: bytes, backslash: bool) -> bytes:
    escaped = rb"|\\." if backslash else b""
    plain = rb"\\" if backslash else b""
    return quote + _repeat(rb"[^%b%b]++%b" % (quote, plain, escaped)) + quote


@functools.cache
def _body(delimiter: bytes, quotes: Quotes, *, last: bool) -> re.Pattern[bytes]:
    """The closed parts of a statement.

    Args:
        last: the file has no more bytes.
    """
    single, double = _quoted(b"'", quotes.backslash), _quoted(b'"', quotes.backslash_in_double)
    line = _LAST_LINE_COMMENT if last else _LINE_COMMENT
    first = re.escape(delimiter[:1])
    pieces = rb"[^'\"`\#/\-%b]++|%b|`[^`]*+`|(?!%b)(?:%b|%b|/(?!\*)|-(?!-[\x00-\x20]%b)|%b)" % (
        first,
        single + b"|" + double,
        re.escape(delimiter),
        line,
        _BLOCK_COMMENT,
        rb"|-\Z" if last else b"",
        b"(?![/\\-\\#'\"`])" + first,
    )
    return re.compile(_repeat(pieces), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without its delimiter, one client command, or a line that is neither.

    Args:
        text: from its first word to its last.
        line: of its first word, from 1.
        command: `source`: `text` is the file; `message`: `text` is a line that a program wrote to
            its standard error; None for a statement.
    """

    text: bytes
    line: int
    command: str | None = None


class Splitter:
    """The statements of one file, in their order; iterate over it once.

    Args:
        read: returns the next bytes, up to the given number; none at the end.

    Attributes:
        quotes: the caller changes it with the server's sql_mode, between two statements.
        head: the first bytes of the file.
        tail: comments after the last statement so far.
    """

    def __init__(self, read: Callable[[int], bytes], where: str) -> None:
        self._read = read
        self._where = where
        self._buffer = b""
        self._at = 0
        self._line = 1
        self._ended = False
        self._delimiter = b";"
        self.quotes = Quotes()
        self.head = b""
        self.tail = b""

    def __iter__(self) -> Iterator[Statement]:
        """Raises DumpRefused if the last statement is not closed."""
        self._fill()
        self.head = self._buffer[:4096]
        while self._skip_lead():
            statement = self._command() or self._statement()
            if statement is not None and statement.text:
                if statement.command != MESSAGE:
                    self.tail = b""
                yield statement

    # --- the buffer ---

    def _fill(self) -> None:
        """Read more, and drop the part that is done."""
        kept = self._buffer[self._at :]
        # A long buffer is extended in ever larger parts, so that it is copied less often.
        self._buffer = kept + self._next(max(CHUNK_BYTES, len(kept)))
        self._at = 0

    def _next(self, size: int) -> bytes:
        data = self._read(size)
        self._ended = not data
        return data

    def _mend(self) -> None:
        """Read on if the buffer ends within a delimiter or the beginning of a comment."""
        torn = b"-/" + self._delimiter
        while not self._ended and self._buffer[-1:] in torn:
            self._buffer += self._next(64)

    def _advance(self, to: int) -> bytes:
        """Move to a position in the buffer; returns the text passed."""
        passed = self._buffer[self._at : to]
        self._line += passed.count(b"\n")
        self._at = to
        return passed

    # --- parts of a dump ---

    def _skip_lead(self) -> bool:
        """Pass blanks and comments; whether text follows them."""
        while True:
            self._mend()
            match = _lead(last=self._ended).match(self._buffer, self._at)
            assert match is not None
            self.tail = (self.tail + self._advance(match.end()))[-4096:]
            left = len(self._buffer) - self._at
            if self._ended:
                if left and self._is_open_comment():
                    self._refuse_open(self._at, "a comment")
                return left > 0
            if left > _LONGEST_WORD and not self._is_open_comment():
                return True
            self._fill()

    def _is_open_comment(self) -> bool:
        """A comment that the pattern did not pass is not closed in the buffer."""
        head = self._buffer[self._at : self._at + 10]
        if head.startswith(b"/*"):
            return re.match(rb"/\*(?!M?!(?!999999))", head) is not None
        return head.startswith(b"#") or re.match(rb"--[\x00-\x20]", head) is not None

    def _command(self) -> Statement | None:
        """A client command, if there is one; that of DELIMITER is empty."""
        if _MAYBE_COMMAND.match(self._buffer, self._at) is None:
            return None
        while b"\n" not in self._buffer[self._at :] and not self._ended:
            self._fill()
        line = self._line
        message = _MESSAGE.match(self._buffer, self._at)
        if message is not None:
            self._advance(message.end())
            return Statement(message[1], line, MESSAGE)
        match = _COMMAND.match(self._buffer, self._at)
        if match is None:
            return None
        word, rest = match[1].lower(), match[2] or b""
        if word == b"delimiter":
            delimiter = rest.split()[0] if rest else b""
            if not delimiter or b"\\" in delimiter:
                problem = "DELIMITER needs a delimiter such as //"
                raise DumpRefused(f"{self._where}, line {line}: {problem}")
            self._delimiter = delimiter
            self._advance(match.end())
            return Statement(b"", line)
        name = rest.removesuffix(self._delimiter).strip()
        if not name:
            return None  # The server reports its error.
        self._advance(match.end())
        return Statement(name, line, SOURCE)

    def _statement(self) -> Statement:
        done = 0
        while True:
            self._mend()
            body = _body(self._delimiter, self.quotes, last=self._ended)
            match = body.match(self._buffer, self._at + done)
            assert match is not None
            end = match.end()
            if self._buffer.startswith(self._delimiter, end):
                line = self._line
                text = self._advance(end)
                self._at += len(self._delimiter)
                return Statement(text.rstrip(), line)
            if self._ended:
                self._refuse_open(end)
            done = end - self._at
            self._fill()

    def _refuse_open(self, at: int, element: str | None = None) -> None:
        """The file ends inside an element."""
        opened = self._buffer[at : at + 1]
        line = self._line + self._buffer.count(b"\n", self._at, at)
        if element is None:
            quote = {b"'": "a quote", b'"': "a quote", b"`": "a quoted name", b"/": "a comment"}
            element = quote.get(opened, "a statement")
        hint = f"It was cut off. {_CUT_OFF}"
        if element == "a statement":
            line = self._line
            end = self._delimiter.decode(errors="replace")
            hint += f" If it is complete, end its last statement with {end}"
        raise DumpRefused(
            f"{self._where} ends within {element} that begins in line {line}", hint=hint
        )


DUMPED = re.compile(rb"^-- (MySQL|MariaDB) dump ", re.MULTILINE)
COMPLETED = b"-- Dump completed"
_TAIL_BYTES = 4096

_LIST_BYTES_MAX = 1 << 20
"""A longer file holds rows, and does not only name the files that do."""

_OF_THIS_PROCESS = re.compile(r"/dev/(stdin|fd/\d+)|/proc/.*")


def dump_files(path: Path) -> list[Path]:
    """The files of a dump: the file itself and the files named by one without rows.

    Raises:
        DumpRefused: one is missing, cannot be read again later, is not a dump in SQL, or is cut
            off.
    """
    found = [path]
    for file in found:
        _require_file(file)
        # The list of files may grow during the loop; loading detects a circle.
        found += [other for other in _named_in(file) if other not in found]
    return found


def named_file(path: Path, statement: Statement) -> Path:
    """The file that `source` in a file of a dump reads.

    Raises:
        DumpRefused: it is in a different folder, or does not exist.
    """
    named = Path(statement.text.decode("utf-8", "replace"))
    other = path.parent / named
    inside = not named.is_absolute() and ".." not in named.parts
    if not (inside and other.is_file()):
        where = "does not exist" if inside else "is outside its folder"
        raise DumpRefused(
            f"{path}, line {statement.line}: it reads {named}, which {where}",
            hint=f"Put {named.name} into {other.parent if inside else path.parent}"
            + ("." if inside else ", and name it without its folder."),
        )
    return other


def cut_off(path: Path) -> DumpRefused:
    return DumpRefused(
        f'{path} is cut off: it begins as a dump and does not end with "-- Dump completed"',
        hint=f"{_CUT_OFF} A dump made with --skip-comments has neither line.",
    )


def _require_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise _folder(path)
    kind = _why_not_again(path, mode)
    if kind is not None:
        raise DumpRefused(
            f"{path} is {kind}, but contend reads a dump again if a different server or different "
            "options need it",
            hint="Use a regular file; it may be packed with gzip, bzip2 or xz.",
        )
    with DumpFile(path):
        pass
    with path.open("rb") as file:
        head = file.read(_TAIL_BYTES)
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        if DUMPED.search(head) and COMPLETED not in file.read():
            raise cut_off(path)


def _why_not_again(path: Path, mode: int) -> str | None:
    """The type of a path that a later process cannot read."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if not stat.S_ISREG(mode):
        return "not a regular file"
    return "open in this process only" if _OF_THIS_PROCESS.fullmatch(str(path)) else None


def _folder(path: Path) -> DumpRefused:
    if not any(path.glob("*-schema.sql*")):
        return DumpRefused(
            f"{path} is a folder, not a dump",
            hint="Name the file that mysqldump or mariadb-dump wrote.",
        )
    return DumpRefused(
        f"{path} is a folder written by mydumper, but contend reads a dump from one file",
        hint="Unpack its files if they are packed, and join them, tables first: "
        f"`(cd {shlex.quote(str(path))} && cat *-schema.sql $(ls *.sql | grep -v -e -schema)) "
        "> shop.sql`",
    )


def _named_in(path: Path) -> list[Path]:
    if path.stat().st_size > _LIST_BYTES_MAX:
        return []
    sources = []
    # Only the server that loads the dump knows how quotes are read: text that cannot be split may
    # be right.
    with DumpFile(path) as file, contextlib.suppress(DumpRefused):
        if file.packed:
            return []
        for statement in Splitter(file.read, str(path)):
            if statement.command == SOURCE:
                sources.append(statement)
    return [named_file(path, statement) for statement in sources]
