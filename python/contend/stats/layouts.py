"""Do server processes that are alike in everything differ, and is it worth matching them?

Processes may differ for life by where their memory happens to lie (Mytkowicz et al. 2009; Curtsinger
& Berger 2013). Whether they do here, and by how much beyond the noise of their slices, is the
variance between units: an F test of it, its interval, and its part in the noise of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from contend.stats.components import Components

PART_THAT_PAYS = 1 / 3
"""Part of the answer's noise from which on matching is worth its trouble: without it a third of
the time would do no more than average over layouts."""

Layout = Literal["matched", "system"]


@dataclass(frozen=True, slots=True)
class LayoutSpread:
    """How much an answer varies over server processes, beyond the noise of their slices.

    advice: "matched" if the processes differ (p below 5 %) and that makes at least a third of the
        noise; otherwise "system", as the system starts them.
    sd: standard deviation of log ratios between units beyond the noise; NaN if not known.
    low, high: its interval; 0 and inf if not known.
    p_none: p of "processes differ by no more than their slices".
    share: of the processes in the noise of a table's mean, 0 to 1; NaN if not known.
    """

    advice: Layout
    sd: float
    low: float
    high: float
    p_none: float
    share: float

    def words(self) -> str:
        """One line for the report."""
        raise NotImplementedError


def layout_spread(components: Components, *, part: float = PART_THAT_PAYS) -> LayoutSpread:
    """Judge the processes of a pilot or of a whole experiment."""
    raise NotImplementedError
