"""What shows of a dump before a server is started for it: its files, and whether they are whole."""

from __future__ import annotations

import contextlib
import re
import shlex
import stat
from pathlib import Path

from contend.datasets.dump import DumpRefused
from contend.datasets.dump.split import SOURCE, DumpFile, Splitter, Statement, unreadable

DUMPED = re.compile(rb"^-- (MySQL|MariaDB) dump ", re.MULTILINE)
COMPLETED = b"-- Dump completed"
_TAIL_BYTES = 4096
_CUT_OFF = "Copy it again from where it was made, or make it again."

_LIST_BYTES_MAX = 1 << 20
"""A file that is longer holds rows, and does not only name the files that do."""

_OF_THIS_PROCESS = re.compile(r"/dev/(stdin|fd/\d+)|/proc/.*")


def dump_files(path: Path) -> list[Path]:
    """The files of a dump: the file itself and those that a file without rows names.

    Raises:
        DumpRefused: one is missing, cannot be read again later, is not a dump in SQL, or is cut
            off.
    """
    found = [path]
    for file in found:
        _require_file(file)
        # A list of files may grow while it is gone through; a circle is found when it is loaded.
        found += [other for other in _named_in(file) if other not in found]
    return found


def named_file(path: Path, statement: Statement) -> Path:
    """The file that `source` in a file of a dump reads.

    Raises:
        DumpRefused: it is in another folder, or not there.
    """
    named = Path(statement.text.decode("utf-8", "replace"))
    other = path.parent / named
    inside = not named.is_absolute() and ".." not in named.parts
    if not (inside and other.is_file()):
        where = "is not beside it" if inside else "is outside of its folder"
        raise DumpRefused(
            f"{path}, line {statement.line}: it reads {named}, which {where}",
            hint=f"Put {named.name} into {other.parent if inside else path.parent}"
            + ("." if inside else ", and name it without its folder."),
        )
    return other


def cut_off(path: Path) -> DumpRefused:
    return DumpRefused(
        f'{path} is cut off: it begins as a dump and does not end with "-- Dump completed"',
        hint=f"{_CUT_OFF} One that was made with --skip-comments says neither.",
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
            f"{path} is {kind}, and a dump must stay where it is: contend reads it again when "
            "another server or other options need it",
            hint="Give a file that stays; it may be packed with gzip, bzip2 or xz.",
        )
    with DumpFile(path):
        pass
    with path.open("rb") as file:
        head = file.read(_TAIL_BYTES)
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        if DUMPED.search(head) and COMPLETED not in file.read():
            raise cut_off(path)


def _why_not_again(path: Path, mode: int) -> str | None:
    """What it is, if a later process cannot read it."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if not stat.S_ISREG(mode):
        return "not a regular file"
    return "open in this process only" if _OF_THIS_PROCESS.fullmatch(str(path)) else None


def _folder(path: Path) -> DumpRefused:
    if not any(path.glob("*-schema.sql*")):
        return DumpRefused(
            f"{path} is a folder, not a dump",
            hint="Give the file that mysqldump or mariadb-dump wrote.",
        )
    return DumpRefused(
        f"{path} is a folder of mydumper's, and contend reads a dump from one file",
        hint="Unpack its files if they are packed, and put them into one, tables first: "
        f"`(cd {shlex.quote(str(path))} && cat *-schema.sql $(ls *.sql | grep -v -e -schema)) "
        "> shop.sql`",
    )


def _named_in(path: Path) -> list[Path]:
    if path.stat().st_size > _LIST_BYTES_MAX:
        return []
    sources = []
    # How quotes are read is known only to the server that loads it: what cannot be split may be
    # right.
    with DumpFile(path) as file, contextlib.suppress(DumpRefused):
        if file.packed:
            return []
        for statement in Splitter(file.read, str(path)):
            if statement.command == SOURCE:
                sources.append(statement)
    return [named_file(path, statement) for statement in sources]
