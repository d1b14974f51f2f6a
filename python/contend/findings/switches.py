"""How long a query slept for a thread that was off its CPU, from a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SWITCHES = "switches"

HELD_SHARE = 0.05
"""The share of the response time from which on preempted holders are reported as notable."""


def held_share(figures: Mapping[str, Any]) -> float | None:
    """Share of the response time that a query slept for a preempted thread; None without traces."""
    traced = [one for one in figures["rounds"] if one.get("look")]
    whole_us = float(sum(one["latency_us_mean"] * one["queries"] for one in traced))
    if whole_us <= 0:
        return None
    held_us = float(sum(one["look"]["by_holder_us"] for one in traced))
    return held_us / whole_us
