"""Dumps of mysqldump, mariadb-dump or anybody's own hand, read as a stream.

split     the files of a dump, unpacked while they are read, and their statements
rules     what the client has to do about a statement, and what it is run as, by its words
load      the statements, one by one, by an account that may do nothing outside the database
"""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class DumpRefused(RequestError):
    """The dump is damaged, cut off, or would reach beyond its own database."""


class DumpFailed(WorkError):
    """The server refused a statement of the dump."""
