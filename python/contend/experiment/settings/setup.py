"""Statements that run before a cell, for example to compare an index."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from contend.errors import ContendError, RequestError, WorkError, did_you_mean
from contend.experiment.settings.model import EVERY_CACHE, Need, Setting, Target, Values
from contend.experiment.settings.tables import Inside, TomlTables
from contend.experiment.settings.values import BaseKind, Flag, Key, Refused, Text

_STATEMENT = Text(r"[\s\S]*\S[\s\S]*", "a statement in quotes")
_NAME = Text(r"[A-Za-z0-9_-]+", "letters, digits, '_' and '-'")


STEP = (
    Key("do", _STATEMENT, None, "statement that runs before a cell", required=True),
    Key("undo", _STATEMENT, None, "statement that undoes it (default: a new copy of the data)"),
    Key("name", _NAME, None, "name of the step; the path setup.NAME turns it on and off"),
    Key("on", Flag(), True, "whether it runs"),
)


@dataclass(frozen=True, slots=True)
class Steps(BaseKind):
    """A list of steps. The path of a named step decides whether it is run."""

    def read(self, value: object) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not all(isinstance(step, dict) for step in value):
            raise self.wrong(value)
        return TomlTables(STEP).read(value)

    def inside(self, rest: str) -> Inside | None:
        if re.fullmatch(_NAME.pattern or "", rest) is None:
            return None
        return (rest,), Key(rest, Flag(), True, f"whether the step {rest} runs")

    def put(self, value: Any, steps: tuple[str, ...], level: object) -> list[dict[str, Any]]:
        (name,) = steps
        names = [str(step["name"]) for step in value if step.get("name") is not None]
        if name not in names:
            hint = did_you_mean(name, names) or "Give a step of setup that name."
            raise Refused(f'no step of setup is named "{name}"', hint=hint, whole=True)
        return [{**step, "on": level} if step.get("name") == name else step for step in value]

    def paths(self) -> tuple[str, ...]:
        return ()

    def expected(self) -> str:
        return "a list of tables, { do = …, undo = … }"

    def schema(self) -> dict[str, Any]:
        return TomlTables(STEP).schema()


_OF_STATISTICS = re.compile(r"\bANALYZE\b|_STATS?\b|\bSTATS_", re.IGNORECASE)

Sizes = Mapping[str, int]


def changed_sizes(before: Sizes, after: Sizes) -> dict[str, list[int]] | None:
    """Bytes before and after of each table whose size a step changed, 0 for one that does not
    exist; None if the server does not tell sizes."""
    if not before and not after:
        return None
    both = {name: [before.get(name, 0), after.get(name, 0)] for name in {**before, **after}}
    return {name: sizes for name, sizes in both.items() if sizes[0] != sizes[1]}


@dataclass(frozen=True)
class Setup(Setting):
    """Steps in their order; the successful ones are undone in reverse."""

    def between(self, before: Values, after: Values) -> Need:
        return Need.NOTHING if self._run(before) == self._run(after) else self.need

    def refuse(self, cell: Values, *, own: bool) -> None:
        for step in self._run(cell):
            if step["undo"] is None and not own:
                raise RequestError(
                    f"setup runs {step['do']!r} without an undo, on a server that contend did not "
                    "start",
                    hint="Give the step an undo, or leave --server out to use a private server.",
                )

    def apply(self, target: Target, cell: Values) -> None:
        done = []
        steps = self._run(cell)
        # Leave the statistics alone if a step is about them.
        analyse = not any(_OF_STATISTICS.search(step["do"]) for step in steps)
        is_named = any(step["name"] for step in steps)
        sizes = target.table_sizes(analyse=analyse) if is_named else {}
        for number, step in enumerate(steps, start=1):
            try:
                at = datetime.now(UTC).isoformat()
                seconds = target.change(step["do"], step["undo"])
                record = {"do": step["do"], "seconds": seconds, "at": at}
                if step["name"]:
                    before, sizes = sizes, target.table_sizes(analyse=analyse)
                    record |= {"name": step["name"], "tables": changed_sizes(before, sizes)}
                done.append(record)
            except ContendError as error:
                name = f" ({step['name']})" if step["name"] else ""
                raise WorkError(
                    f"setup, step {number} of {len(steps)}{name}: {error.message}",
                    hint="The steps before it were undone.",
                ) from error
        if done:
            target.note(self.path, done)

    def disturbs(self, before: Values, after: Values) -> frozenset[str]:
        return frozenset({EVERY_CACHE} if self.between(before, after) else ())

    def _run(self, cell: Values) -> list[Mapping[str, Any]]:
        return [step for step in cell[self.path] if step["on"]]


SETTING = Setup.of(
    "",
    "setup",
    Steps(),
    [],
    "statements that run before a cell, and how each is undone",
    need=Need.IN_PLACE,
    lasts=Need.DATA,
    tried=True,
)
