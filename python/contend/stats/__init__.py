"""Estimates with error and n, comparisons, merged histograms. Arrays in, frozen objects out."""

from contend.stats.compare import Comparison, Verdict, compare, compare_family, verdict
from contend.stats.estimate import Estimate, estimate, finite
from contend.stats.histogram import HistogramError, Merged, merge, merge_percentiles
from contend.stats.multiple import holm
from contend.stats.power import minimal_detectable_effect
from contend.stats.ratios import ratio_of_ratios
from contend.stats.robust import hodges_lehmann, sign_flip_p

__all__ = [
    "Comparison",
    "Estimate",
    "HistogramError",
    "Merged",
    "Verdict",
    "compare",
    "compare_family",
    "estimate",
    "finite",
    "hodges_lehmann",
    "holm",
    "merge",
    "merge_percentiles",
    "minimal_detectable_effect",
    "ratio_of_ratios",
    "sign_flip_p",
    "verdict",
]
