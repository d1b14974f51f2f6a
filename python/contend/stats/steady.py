"""Is a server at its steady state? The first slices of an arm, looked at for a trend or a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

State = Literal["steady", "warming", "cooling", "cyclic", "none", "unknown"]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What the first slices of an arm say.

    state: steady; warming (it becomes faster), cooling (slower); cyclic; none: it changes in no
        such way, and the cell is marked; unknown: too few slices to tell.
    steady_from: index of the first slice from which on it is steady; None: not within these.
    period: slices of one cycle; None unless cyclic. Measure whole cycles.
    change: relative change of the speed from the first slices to the last, 0.2 for +20 %.
    why: one line.
    """

    state: State
    steady_from: int | None
    period: int | None
    change: float
    why: str


def look_for_trend(
    speeds: Sequence[float] | np.ndarray,
    *,
    half_width: float = 0.02,
    evidence: Mapping[str, Sequence[float] | np.ndarray] | None = None,
) -> Steadiness:
    """Judge successive slices of one arm.

    Args:
        speeds: (N,) throughput of each slice, not negative, in order.
        half_width: relative half-width that the experiment is after: a trend of less than half of
            it over these slices does not matter.
        evidence: what else was counted, per query and slice, by name ("key cache misses", "pages
            read"), each (N,) or shorter; where it falls, the server still warms up.

    Raises:
        ValueError: a speed is negative or not finite.
    """
    raise NotImplementedError
