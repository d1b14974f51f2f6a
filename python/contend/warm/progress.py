"""How far a warm-up is and what it came to. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contend.errors import WorkError


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
