"""What can go wrong with a run of contend-load."""

from __future__ import annotations

from contend.errors import WorkError


class LoadFailed(WorkError):
    """A run gave no result.

    Attributes:
        code, sqlstate, statement: of the server's refusal, where there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        detail: str | None = None,
        code: int | None = None,
        sqlstate: str | None = None,
        statement: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.code = code
        self.sqlstate = sqlstate
        self.statement = statement
