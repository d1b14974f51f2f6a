"""Do server processes that are alike in everything differ, and is it worth matching them?

Processes may differ for life by where their memory happens to lie (Mytkowicz et al. 2009;
Curtsinger & Berger 2013). Whether they do here, and by how much beyond the noise of their slices,
is the variance between units: an F test of it, its interval, and its part in the answer's noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from contend.stats.components import Components

PART_THAT_PAYS = 1 / 3
"""Part of the answer's noise from which on matching is worth its trouble: the most it could save is
as much of the time."""

Layout = Literal["matched", "system"]


@dataclass(frozen=True, slots=True)
class LayoutSpread:
    """How much an answer varies over server processes, beyond the noise of their slices.

    advice: "matched" if the processes differ (p below 1 - confidence) and that makes at least a
        third of the noise; otherwise "system", as the system starts them.
    sd: standard deviation of log ratios between units beyond the noise; NaN if not known.
    low, high: its interval; 0 and inf if not known.
    p_none: p of "processes differ by no more than their slices"; 1 if not known.
    share: of the processes in the noise of a cell's answer, 0 to 1; NaN if not known.
    """

    advice: Layout
    sd: float
    low: float
    high: float
    p_none: float
    share: float
    confidence: float

    @property
    def certain(self) -> bool:
        """Whether processes differ by more than their slices' noise."""
        return self.p_none < 1 - self.confidence

    def words(self) -> str:
        """One line for the report."""
        if math.isnan(self.sd):
            return "how much server processes differ is not known: that takes two of them a level"
        if self.certain:
            return (
                f"the answer varies by {_percent(self.sd)} (standard deviation; "
                f"{_percent(self.low)} to {_percent(self.high)}) from one start of the servers "
                "to the next, beyond the noise of the slices"
            )
        return (
            "server processes differ by no more than the noise of their slices shows "
            f"(standard deviation below {_percent(self.high)})"
        )


def layout_spread(components: Components, *, part: float = PART_THAT_PAYS) -> LayoutSpread:
    """Judge the processes of a pilot or of a whole experiment."""
    unit = components.get("unit")
    slices = components.get("round")
    share = components.shares().get("unit", math.nan)
    if unit is None or not unit.known or slices is None or not slices.known:
        return LayoutSpread("system", math.nan, 0.0, math.inf, 1.0, share, components.confidence)
    pays = unit.p_none < 1 - components.confidence and share >= part
    return LayoutSpread(
        advice="matched" if pays else "system",
        sd=unit.sd,
        low=math.sqrt(unit.low),
        high=math.sqrt(unit.high),
        p_none=unit.p_none,
        share=share,
        confidence=components.confidence,
    )


def _percent(sd_log: float) -> str:
    return f"{100 * math.expm1(sd_log):.1f} %" if sd_log < 1 else f"{math.exp(sd_log):.1f}x"
