"""Percentiles over several runs: histograms are added, percentiles are never averaged.

The load generator sends each run's latencies as a HdrHistogram in its V2 form, deflated, base64.
Histograms of equal settings add without loss, and the percentile of the sum is exact to the three
digits that the buckets keep. It describes all queries of all runs; how far it would move from run
to run is not in it, and needs an interval over the runs' own percentiles.
"""

from __future__ import annotations

import binascii
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hdrh import codec
from hdrh.histogram import HdrHistogram

from contend.errors import WorkError

_LEAST, _MOST, _DIGITS = 1, 3_600_000_000_000, 3
_DAMAGE = (
    codec.HdrCookieException,
    codec.HdrLengthException,
    codec.HdrHistogramSettingsException,
    binascii.Error,
    zlib.error,
    struct.error,
    ValueError,
    IndexError,
    OverflowError,
    MemoryError,
)


class HistogramError(WorkError):
    """A stored histogram that cannot be read."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Several histograms as one. Values are in their unit, which is nanoseconds for latencies.

    quantiles: each quantile asked for (0 to 1) and the value that this share of all did not
        exceed. All values are NaN where nothing was recorded.
    """

    count: int
    min: float
    mean: float
    max: float
    quantiles: dict[float, float]


def merge(hdr_base64: Iterable[str], quantiles: Sequence[float]) -> Merged:
    """Add histograms and read quantiles off the sum.

    Args:
        hdr_base64: HdrHistogram V2 with deflate in base64 (such text begins with `HIST`).
        quantiles: each from 0 to 1.

    Raises:
        HistogramError: one of them is damaged, or holds values above an hour of nanoseconds.
    """
    if any(not 0 <= quantile <= 1 for quantile in quantiles):
        raise ValueError("a quantile lies between 0 and 1")
    total = HdrHistogram(_LEAST, _MOST, _DIGITS)
    counts = np.ctypeslib.as_array(total.counts)
    for index, encoded in enumerate(hdr_base64, start=1):
        try:
            _add(counts, encoded)
        except _DAMAGE as error:
            raise HistogramError(
                f"latency histogram {index} cannot be read: {error or type(error).__name__}",
                hint="The run folder was changed, or written by another program.",
            ) from error
    used = np.flatnonzero(counts)
    if not used.size:
        nothing = dict.fromkeys(quantiles, math.nan)
        return Merged(0, math.nan, math.nan, math.nan, nothing)
    count = int(counts.sum())
    total.set_internal_tacking_values(int(used[0]), int(used[-1]), count)
    # The library rounds ranks to the nearest; contend-load, like HdrHistogram itself, rounds up.
    reached = np.cumsum(counts)
    highest = float(total.get_max_value())
    return Merged(
        count=count,
        min=float(total.get_min_value()),
        mean=_mean(total, used, count),
        max=highest,
        quantiles={q: min(_value_at(total, reached, q), highest) for q in quantiles},
    )


def _add(counts: np.ndarray, encoded: str) -> None:
    """Add what one histogram counted. The library adds every bucket, most of which are empty; of
    thousands of histograms that takes longer than reading them."""
    one = codec.HdrHistogramEncoder.decode(encoded)
    head = one.payload
    if (head.significant_figures, head.lowest_trackable_value) != (_DIGITS, _LEAST):
        raise ValueError("its buckets are not those of contend-load")
    held = one.init_counts(len(counts))
    if held["total"]:
        used = slice(held["min_nonzero_index"], held["max_nonzero_index"] + 1)
        counts[used] += np.frombuffer(one.counts, counts.dtype)[used]


def _mean(total: HdrHistogram, used: np.ndarray, count: int) -> float:
    """The middles of the buckets, weighted. The library walks every empty bucket for it, which
    for a spread-out histogram takes longer than all the rest."""
    counts = np.ctypeslib.as_array(total.counts)
    # As `get_value_from_index` has it: buckets double in width, each has so many parts.
    bucket = (used >> total.sub_bucket_half_count_magnitude) - 1
    part = (used & (total.sub_bucket_half_count - 1)) + total.sub_bucket_half_count
    first = bucket < 0
    part[first] -= total.sub_bucket_half_count
    bucket[first] = 0
    shift = bucket + total.unit_magnitude
    middles = (part << shift) + ((1 << shift) >> 1)
    return float(np.dot(counts[used], middles.astype(float))) / count


def _value_at(total: HdrHistogram, reached: np.ndarray, quantile: float) -> float:
    """The largest value of the bucket in which the quantile's rank falls."""
    if quantile == 0:
        return float(total.get_min_value())
    rank = max(math.ceil(quantile * int(reached[-1])), 1)
    index = int(np.searchsorted(reached, rank))
    return float(total.get_highest_equivalent_value(total.get_value_from_index(index)))


def merge_percentiles(hdr_base64: Iterable[str], quantiles: Sequence[float]) -> dict[float, float]:
    """The quantiles of the sum of histograms; see `merge`."""
    return merge(hdr_base64, quantiles).quantiles
