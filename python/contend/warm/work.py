"""What a warm-up loads, how far it is, and what it came to. The journal of the server keeps the
work, so that it can be gone on with after whatever ended it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from contend.errors import WorkError
from contend.undo import Journal, JournalBroken

if TYPE_CHECKING:
    from contend.warm.parts import Piece


class WarmingBroke(WorkError):
    """The server or the load went away before everything was loaded."""


@dataclass(frozen=True, slots=True)
class WarmProgress:
    """How far a warm-up is.

    Args:
        done: name of each item -> bytes of it that were read, in the order of the plan.
        sizes: the same, bytes that are to be read.
        elapsed_s: since the first range.
        held: why it is held back now; None if it is not.
    """

    done: Mapping[str, float]
    sizes: Mapping[str, int]
    elapsed_s: float
    held: str | None = None


@dataclass(slots=True)
class WarmUpResult:
    """What a warm-up came to.

    Args:
        size: bytes of what was read.
        held_s: how long it was held back.
        refused: item -> why it was not loaded, or not all of it.
    """

    size: float = 0.0
    seconds: float = 0.0
    held_s: float = 0.0
    refused: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: WarmUpResult) -> WarmUpResult:
        return WarmUpResult(
            self.size + other.size,
            self.seconds + other.seconds,
            self.held_s + other.held_s,
            self.refused | other.refused,
        )


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
        ranges: dict[str, int] = {}
        for part in self.parts:
            count = part["keys"]["ranges"] if "keys" in part else 1
            ranges[part["name"]] = ranges.get(part["name"], 0) + count
        return ranges
