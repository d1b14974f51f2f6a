"""Percentiles over several runs: histograms are added, percentiles are never averaged.

The load generator sends each run's latencies as a HdrHistogram in its V2 form, deflated, base64.
Histograms of equal settings add without loss, and the percentile of the sum is exact to the three
digits that the buckets keep. It describes all queries of all runs. It does not show how far it
moves from run to run; that needs an interval over the runs' own percentiles.

The form: a head of two words (cookie, length), then zlib data: a head of 40 bytes and the counts of
the buckets in their order. The head holds cookie, length, offset, digits, least, most and ratio,
all big-endian. Each count is a ZigZag number in groups of seven bits, the lowest first; a negative
one stands for that number of empty buckets.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from contend.errors import WorkError

_LEAST, _MOST, _DIGITS = 1, 3_600_000_000_000, 3
_PACKED, _PLAIN = 0x1C849314, 0x1C849313
"""The cookies of the two heads."""

_PART_BITS = 11
"""A bucket has 2048 parts, enough for three digits. Except in the first, the lower half repeats
the bucket before, which is finer."""
_HALF = 1 << (_PART_BITS - 1)
_COUNTS = (_MOST.bit_length() - _PART_BITS + 2) * _HALF

_COUNT_BYTES_MAX = 8
"""More of them would be above 2 to the 55th."""


class HistogramError(WorkError):
    """A stored histogram that cannot be read."""


def merge_percentiles(hdr_base64: Iterable[str], quantiles: Sequence[float]) -> dict[float, float]:
    """Add histograms and read quantiles off the sum.

    Args:
        hdr_base64: HdrHistogram V2 with deflate in base64 (such text begins with `HIST`).
        quantiles: each from 0 to 1.

    Returns:
        The value that this share of all did not exceed, nanoseconds for latencies; NaN where
        nothing was recorded.

    Raises:
        HistogramError: one of them is damaged, or holds values above an hour of nanoseconds.
    """
    if any(not 0 <= quantile <= 1 for quantile in quantiles):
        raise ValueError("a quantile lies between 0 and 1")
    counts = _sum(hdr_base64)
    used = np.flatnonzero(counts)
    if not used.size:
        return dict.fromkeys(quantiles, math.nan)
    least, widths = _values(used)
    reached = np.cumsum(counts[used])

    def value_at(quantile: float) -> float:
        """The largest value of the bucket in which the quantile's rank falls, rounded up."""
        if quantile == 0:
            return float(least[0])
        at = int(np.searchsorted(reached, max(math.ceil(quantile * reached[-1]), 1)))
        return float(least[at] + widths[at] - 1)

    return {quantile: value_at(quantile) for quantile in quantiles}


def count_above(hdr_base64: str, limit: float) -> tuple[int, int]:
    """How many values of a histogram are above a limit, and how many it has.

    Raises:
        HistogramError: see `merge_percentiles`.
    """
    counts = _sum([hdr_base64])
    used = np.flatnonzero(counts)
    least, _widths = _values(used)
    return int(np.sum(counts[used][least > limit])), int(np.sum(counts))


def _sum(hdr_base64: Iterable[str]) -> np.ndarray:
    counts = np.zeros(_COUNTS, dtype=np.int64)
    for number, encoded in enumerate(hdr_base64, start=1):
        try:
            _add(counts, encoded)
        except (ValueError, binascii.Error, struct.error, zlib.error) as error:
            raise HistogramError(
                f"latency histogram {number} cannot be read: {error}",
                hint="The run folder was changed, or written by a different program.",
            ) from error
    return counts


def _values(indexes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least value of each count, and the number of values in it."""
    doublings = np.maximum((indexes >> (_PART_BITS - 1)) - 1, 0)
    parts = np.where(indexes < 2 * _HALF, indexes, (indexes & (_HALF - 1)) + _HALF)
    return parts << doublings, np.ones_like(parts) << doublings


def _add(counts: np.ndarray, encoded: str) -> None:
    """Add the counts of one histogram."""
    packed = base64.b64decode(encoded, validate=True)
    cookie, length = struct.unpack_from(">ii", packed)
    if cookie != _PACKED or length != len(packed) - 8:
        raise ValueError("it is not a complete HdrHistogram")
    plain = zlib.decompress(packed[8:])
    cookie, length, offset, digits, least = struct.unpack_from(">iiiiq", plain)
    if cookie != _PLAIN or length != len(plain) - 40:
        raise ValueError("it is not a complete HdrHistogram")
    if (offset, digits, least) != (0, _DIGITS, _LEAST):
        raise ValueError("its buckets are not those of contend-load")
    numbers = _numbers(np.frombuffer(plain, np.uint8, offset=40))
    steps = np.where(numbers < 0, -numbers, 1)
    # Added as floats, so that damage cannot pass the end unseen.
    if steps.sum(dtype=float) > len(counts):
        raise ValueError("it has values above one hour")
    held = numbers > 0
    counts[(np.cumsum(steps) - steps)[held]] += numbers[held]


def _numbers(data: np.ndarray) -> np.ndarray:
    """ZigZag numbers, seven bits per byte; all bytes but the last have the eighth bit set."""
    ends = np.flatnonzero(data < 0x80)
    if not data.size:
        return np.zeros(0, dtype=np.int64)
    if not ends.size or ends[-1] != data.size - 1:
        raise ValueError("its last count is cut off")
    begins = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - begins + 1
    if lengths.max() > _COUNT_BYTES_MAX:
        raise ValueError("a count is too large")
    shifts = 7 * (np.arange(data.size) - np.repeat(begins, lengths))
    numbers = np.add.reduceat((data & 0x7F).astype(np.int64) << shifts, begins)
    return (numbers >> 1) ^ -(numbers & 1)
