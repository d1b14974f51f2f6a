"""The stage of an experiment that has more than one kind of server: one stage each, one at work."""

from __future__ import annotations

from collections.abc import Callable

from contend.errors import ContendError
from contend.lab.stage import Ready, Stage
from contend.spec import CellSpec


class StageOfEachKind:
    """Hands each cell to the stage of its server's kind.

    Args:
        open_stage: makes the stage of a kind; called at the first cell of that kind, and again
            when the kind comes back, because only one server runs at a time.
    """

    def __init__(self, open_stage: Callable[[str], Stage]) -> None:
        self._open_stage = open_stage
        self._kind: str | None = None
        self._stage: Stage | None = None

    def set(self, cell: CellSpec) -> Ready:
        if self._stage is None or cell.server.kind != self._kind:
            self.close()
            self._stage = self._open_stage(cell.server.kind)
            self._kind = cell.server.kind
        return self._stage.set(cell)

    def death(self) -> ContendError | None:
        return self._stage.death() if self._stage is not None else None

    def close(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()
