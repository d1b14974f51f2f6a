"""What a look did to the speed, of which half of the rounds are without it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from contend.stats import Estimate, estimate

Rounds = Sequence[Mapping[str, Any]]
"""Each with its `qps`, and with `look` if it was looked at: two of every four."""


def speed_of(rounds: Rounds) -> Estimate:
    """Queries a second with the look over those without it."""
    return _ratio([*_logs_of_speed(rounds).values()])


def effect_of(rounds: Rounds, base: Rounds) -> Estimate:
    """What the look did to the ratio of the two."""
    logs, others = _logs_of_speed(rounds), _logs_of_speed(base)
    return _ratio([log - others[first] for first, log in logs.items() if first in others])


def _logs_of_speed(rounds: Rounds) -> dict[int, float]:
    """Of each group of four rounds, two of which were looked at, the logarithm of queries a second
    with the look over without it, by its first round."""
    logs = {}
    for first in range(0, len(rounds) - 3, 4):
        four = rounds[first : first + 4]
        looked = [one["qps"] for one in four if one.get("look")]
        plain = [one["qps"] for one in four if not one.get("look")]
        if len(looked) == len(plain) == 2 and min(*looked, *plain) > 0:
            logs[first] = sum(map(math.log, looked)) / 2 - sum(map(math.log, plain)) / 2
    return logs


def _ratio(logs: Sequence[float]) -> Estimate:
    return estimate([math.exp(log) for log in logs], log_scale=True)
