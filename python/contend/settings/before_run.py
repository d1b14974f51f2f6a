"""Statements that the server is sent before every run, such as one that empties its query cache."""

from __future__ import annotations

from dataclasses import dataclass

from contend.errors import ContendError, WorkError
from contend.settings.model import Setting, Target, Values
from contend.settings.values import Key, Refused, Texts


@dataclass(frozen=True)
class BeforeRun(Setting):
    """Applied before each run, after the caches were filled; nothing is undone."""

    def check(self, cell: Values) -> None:
        if any(not statement.strip() for statement in cell[self.path]):
            raise Refused("has an empty statement", hint="Leave it out.")

    def apply(self, target: Target, cell: Values) -> None:
        statements = cell[self.path]
        for number, statement in enumerate(statements, start=1):
            try:
                target.execute(statement)
            except ContendError as error:
                raise WorkError(
                    f"{self.path}, statement {number} of {len(statements)}: {error.message}",
                    hint=f"Correct it, or leave it out: --set {self.path}=[].",
                ) from error


SETTING = BeforeRun(
    "server",
    Key(
        "before_run",
        Texts(),
        [],
        "statements that are sent to the server before each run, after its caches were filled "
        "(in slices before each block, or before each turn of work that has an end), and are not "
        'undone: ["RESET QUERY CACHE"]',
    ),
    each_run=True,
    tried=True,
)
