"""Estimates with error and n, comparisons, merged histograms. Arrays in, frozen objects out."""

from contend.stats.compare import Comparison, Verdict, compare, compare_family, verdict
from contend.stats.components import Component, Components, estimate_components
from contend.stats.estimate import Estimate, estimate, finite
from contend.stats.histogram import HistogramError, Merged, merge, merge_percentiles
from contend.stats.layouts import LayoutSpread, layout_spread
from contend.stats.multiple import holm
from contend.stats.planning import (
    Costs,
    Plan,
    TooShort,
    plan_for_time,
    plan_for_width,
    units_for_width,
)
from contend.stats.power import minimal_detectable_effect
from contend.stats.ratios import ratio_of_ratios
from contend.stats.robust import hodges_lehmann, sign_flip_p
from contend.stats.steady import Steadiness, look_for_trend
from contend.stats.stopping import Progress, StoppingRule, progress

__all__ = [
    "Comparison",
    "Component",
    "Components",
    "Costs",
    "Estimate",
    "HistogramError",
    "LayoutSpread",
    "Merged",
    "Plan",
    "Progress",
    "Steadiness",
    "StoppingRule",
    "TooShort",
    "Verdict",
    "compare",
    "compare_family",
    "estimate",
    "estimate_components",
    "finite",
    "hodges_lehmann",
    "holm",
    "layout_spread",
    "look_for_trend",
    "merge",
    "merge_percentiles",
    "minimal_detectable_effect",
    "plan_for_time",
    "plan_for_width",
    "progress",
    "ratio_of_ratios",
    "sign_flip_p",
    "units_for_width",
    "verdict",
]
