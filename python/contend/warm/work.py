"""What a warm-up loads, and how far it is. The journal of the server keeps it, so that the warm-up
can be gone on with after whatever ended it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from contend.undo import Journal, JournalBroken

if TYPE_CHECKING:
    from contend.warm.parts import Piece


@dataclass(slots=True)
class Work:
    """What a warm-up loads, and how far it is.

    Args:
        parts: as contend-load is told them.
        upto: ranges at the beginning that are done.
        total: ranges in all.
        asked: what was asked for; a resumed warm-up asks for the same.
        listed: what the server loads by a list of pages before that, by name, each as runs
            `[space, first page, count]`; empty when it is done.
    """

    parts: list[dict[str, Any]]
    total: int
    asked: dict[str, Any]
    upto: int = 0
    listed: dict[str, list[list[int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Iterable[Piece], asked: dict[str, Any], **more: Any) -> Self:
        """The work of these parts, none of it done."""
        work = cls([part.as_plan() for part in parts], 0, asked, **more)
        work.total = sum(work.ranges().values())
        return work

    @classmethod
    def noted(cls, journal: Journal) -> Self | None:
        """What is left of an earlier warm-up; None if nothing is. Raises JournalBroken."""
        if journal.work is None:
            return None
        try:
            return cls(**journal.work)
        except TypeError as error:
            raise JournalBroken(
                f"what the journal {journal.path} says of a warm-up cannot be read: {error}.",
                hint="Begin anew without --resume.",
            ) from error

    def note(self, journal: Journal) -> None:
        """Bring to the disk how far it is."""
        journal.work = asdict(self)
        journal.write()

    def ranges(self) -> dict[str, int]:
        """Ranges of each item, by name."""
        found: dict[str, int] = {}
        for part in self.parts:
            count = part["keys"]["ranges"] if "keys" in part else 1
            found[part["name"]] = found.get(part["name"], 0) + count
        return found
