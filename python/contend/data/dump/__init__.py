"""Dumps of mysqldump or mariadb-dump, or written by hand, read as a stream.

split     the files of a dump, unpacked while they are read, and their statements
rules     the first words of a statement decide how the client treats it
load      the statements, one by one, by an account with no rights outside the database
"""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class DumpRefused(RequestError):
    """The dump is damaged, cut off, or would reach beyond its own database."""


class DumpFailed(WorkError):
    """The server refused a statement of the dump."""
