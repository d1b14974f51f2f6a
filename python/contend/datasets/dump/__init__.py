"""Dumps of mysqldump, mariadb-dump or anybody's own hand, read as a stream.

split     a file of a dump, unpacked while it is read; its statements
look      what shows before a server is started: which files, whether they are whole
rules     what the client has to do about a statement, and what it is run as, by its words
account   who loads it: an account that may do nothing outside the database
load      the statements, one by one, into a server
"""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class DumpRefused(RequestError):
    """The dump is damaged, cut off, or would reach beyond its own database."""


class DumpFailed(WorkError):
    """The server refused a statement of the dump."""
