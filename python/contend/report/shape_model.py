"""How a figure grows along the columns, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from contend.metrics import Metric
from contend.stats import Change


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """How many times the figure of the first column each column's is: with intervals if it was
    measured here, as plain numbers if it was published.

    Of one machine over another, column by column, `is_growth` is false.
    """

    label: str
    measured: tuple[Change | None, ...] = ()
    published: tuple[float | None, ...] = ()
    is_growth: bool = True


@dataclass(frozen=True, slots=True)
class ShapePanel:
    title: str
    rows: tuple[ShapeRow, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a figure grows along the columns, ours beside the published."""

    metric: Metric
    title: str
    lead: str
    panels: tuple[ShapePanel, ...]
