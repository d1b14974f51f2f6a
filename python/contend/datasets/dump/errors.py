"""What can be wrong with a dump."""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class DumpRefused(RequestError):
    """The dump is damaged, cut off, or would reach beyond its own database."""


class DumpFailed(WorkError):
    """The server refused a statement of the dump."""
