"""Whether the client was at its limit: then the server could have answered more than it was asked.

Three signs, any of which marks a run:

- its busiest thread computed over 85 % of the time;
- it asked over half of what it reaches against a server without work, over as many connections;
- the same, with its ceiling lowered where a query cost it over 10 % more CPU than there: what
  comes on top lengthens its time for each query by just that much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

THREAD_SHARE_MAX = 0.85
"""A worker thread that computes longer than this share of the time cannot ask faster."""

CEILING_SHARE_MAX = 0.5
"""Below half of its ceiling the client is no cause of what the server reaches."""

CPU_TOLERANCE = 0.1
"""By so much a query may cost the client more than in the calibration without a consequence."""


def against_ceiling(ceiling: Mapping[str, Any], done: Mapping[str, Any]) -> dict[str, Any]:
    """The ceiling as a run's record keeps it, with how near the run came to it.

    Args:
        ceiling: `qps`, `cpu_us_per_query` and `workers` of the calibration.
        done: the outcome of the run.

    Returns:
        `ceiling`, and `cpu_ratio` (the run's CPU per query over the calibration's), `qps_here`
        (the ceiling at that cost) and `share` (of it that was asked).
    """
    queries = float(done["queries"])
    cpu_us = float(done["client"]["cpu_us"]) / queries if queries else 0.0
    usual_us = float(ceiling["cpu_us_per_query"])
    ratio = cpu_us / usual_us if usual_us > 0 else 1.0
    extra_us = cpu_us - usual_us if ratio > 1 + CPU_TOLERANCE else 0.0
    time_us = 1e6 / float(ceiling["qps"]) + extra_us / float(ceiling["workers"])
    here = 1e6 / time_us
    return {
        **ceiling,
        "cpu_ratio": ratio,
        "qps_here": here,
        "share": float(done["qps"]) / here,
    }


def client_limited(done: Mapping[str, Any], probes: Mapping[str, Any]) -> str | None:
    """Why a run is client-limited, in words; None where it is not.

    `probes` has what `against_ceiling` gave as its `calibration`, where the host is calibrated.
    """
    reasons = []
    share = float(done["client_busiest_thread_share"])
    if share > THREAD_SHARE_MAX:
        reasons.append(f"the busiest thread of contend-load computed {share:.0%} of the time")
    ceiling = probes.get("calibration")
    if ceiling is not None and float(ceiling["share"]) > CEILING_SHARE_MAX:
        reasons.append(_too_near(ceiling, float(done["qps"])))
    if not reasons:
        return None
    return f"{'; '.join(reasons)}: the server may be able to answer more than it was asked"


def _too_near(ceiling: Mapping[str, Any], qps: float) -> str:
    here, ratio = float(ceiling["qps_here"]), float(ceiling["cpu_ratio"])
    cost = f" where a query costs it {ratio:.1f} times the CPU" if here < ceiling["qps"] else ""
    return (
        f"{qps:,.0f} queries a second are {float(ceiling['share']):.0%} of the {here:,.0f} that "
        f"contend-load reaches against a server without work{cost}"
    )
