"""The limits of a gate: how they are written, and the metrics that they are of.

One percentage is the limit of the metric that decides. Several are a list, each after its metric,
or a table of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contend.errors import did_you_mean
from contend.experiment.goal import SHORT_NAMES, full_name
from contend.experiment.settings.plan_keys import METRICS
from contend.experiment.settings.values import BaseKind, Refused, is_number, shown
from contend.metrics import EVENTS, FIXED, UnknownMetric, metric_of

DECIDING = ""
"""Stands for the metric that decides, in a gate that names none."""

RATE_OF_WORKLOAD = "throughput"
"""Stands for the rate of the workload: queries, events or new orders."""

_EXAMPLE = 'Write 3 %, or "throughput 3 %, p99 10 %".'
_PART = re.compile(r"\s*(?:([A-Za-z][\w.\-]*?)[\s=:]+)?(-?\d+(?:\.\d+)?)\s*(%?)\s*")


class GateKind(BaseKind):
    """Read as slowdowns by metric, in their order, as shares of the baseline's figure."""

    def read(self, value: object) -> dict[str, float]:
        if isinstance(value, Mapping):
            parts = [(str(name), self._percent(str(name), one)) for name, one in value.items()]
        elif is_number(value):
            parts = list(self._listed(str(value)))
        elif isinstance(value, str):
            parts = list(self._listed(value))
        else:
            raise self.wrong(value, _EXAMPLE)
        if not parts:
            raise self.wrong(value, _EXAMPLE)
        found: dict[str, float] = {}
        for name, share in parts:
            metric = _metric(name)
            if metric in found:
                raise Refused(f"names {shown(name)} twice", hint="Give each metric one limit.")
            found[metric] = share
        return found

    def _listed(self, text: str) -> Iterator[tuple[str, float]]:
        parts = text.split(",")
        for part in parts:
            found = _PART.fullmatch(part)
            if found is None:
                raise self.wrong(text, _EXAMPLE)
            name, number, sign = found.groups()
            if name is None and len(parts) > 1:
                raise Refused(f"has {shown(part.strip())} without a metric", hint=_EXAMPLE)
            if not sign and (name is not None or float(number) >= 1):
                wanted = f"{name} {number} %" if name else f"{number} %"
                raise Refused(f"has no % after {number}", hint=f"Write {wanted}.")
            yield name or DECIDING, _share(name, float(number) / (100 if sign else 1))

    def _percent(self, name: str, value: object) -> float:
        if is_number(value):
            return _share(name, float(value))
        if isinstance(value, Mapping):
            inner = name
            while isinstance(value, Mapping):
                first = next(iter(value), "…")
                inner, value = f"{inner}.{first}", value.get(first)
            raise Refused(f"needs {inner} in quotes", hint=f'Write "{inner}" = "3 %".')
        found = _PART.fullmatch(value) if isinstance(value, str) else None
        if found is None or found[1] is not None or not found[3]:
            raise Refused(
                f"gives {shown(name)} no slowdown in percent: {shown(value)}",
                hint=f'Write "{name}" = "3 %".',
            )
        return _share(name, float(found[2]) / 100)

    def expected(self) -> str:
        return 'a slowdown such as "3 %", or one for each metric'

    def schema(self) -> dict[str, Any]:
        share = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
        text = {"type": "string", "pattern": "%"}
        table = {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [text, share]},
        }
        return {"anyOf": [text, share, table]}


def _share(name: str, share: float) -> float:
    if not 0 < share < 1:
        of = f" of {name}" if name else ""
        raise Refused(f"needs a slowdown{of} above 0 and below 100 %, not {share * 100:g} %")
    return share


def _metric(name: str) -> str:
    if name in (DECIDING, RATE_OF_WORKLOAD):
        return name
    try:
        return metric_of(full_name(name)).name
    except UnknownMetric as unknown:
        known = unknown.known
        # A single one is the name that a different tool means, which may lack the unit.
        meant, usual = (known[0], FIXED) if len(known) == 1 else (name, [*SHORT_NAMES, *known])
        near = did_you_mean(meant, [RATE_OF_WORKLOAD, *usual])
        raise Refused(f"names {shown(name)}, which is not a metric", hint=near) from None


def rate_of(kinds: Iterable[str]) -> str:
    """The rate of these kinds of workload; if theirs differ, their events."""
    metrics = {METRICS[kind] for kind in kinds}
    return metrics.pop() if len(metrics) == 1 else EVENTS


def limits_of(read: Mapping[str, float], deciding: str, rate: str) -> dict[str, float]:
    """The limits by the names of metrics, each in place of what stands for it.

    Raises:
        Refused: two of them are one metric.
    """
    stands_for = {DECIDING: deciding, RATE_OF_WORKLOAD: rate}
    found: dict[str, float] = {}
    for name, share in read.items():
        metric = stands_for.get(name, name)
        if metric in found:
            raise Refused(f"names {metric} twice", hint="Give each metric one limit.")
        found[metric] = share
    return found
