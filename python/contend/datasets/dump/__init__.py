"""Dumps of mysqldump, mariadb-dump or anybody's own hand, read as a stream.

files     one file of a dump: unpacked while it is read, counted and hashed
split     bytes in, statements out: knows quotes, comments and DELIMITER
tokens    the words of one statement, and which names are of another database
rules     what a statement would do beyond its own database, and what it is run as
load      the statements, one by one, into a server
"""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class DumpRefused(RequestError):
    """The dump is damaged, cut off, or would reach beyond its own database."""


class DumpFailed(WorkError):
    """The server refused a statement of the dump."""
