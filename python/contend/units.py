"""Durations as people write them; durations, sizes and counts as people read them; and facts by
dotted name (`cpu.model`), with the nested form that is stored.

Inside contend a duration is seconds (float) and a size is bytes (int). Reading raises ValueError
with a phrase that names the accepted values; the caller knows the place and makes it a
ContendError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_DURATION_UNITS_S = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zµ]+)")


def parse_duration_s(value: str | int | float) -> float:
    """Seconds of `"2s"`, `"500ms"`, `"8m"`, `"1h 30m"` or a bare number, which is seconds."""
    if isinstance(value, bool):
        raise ValueError('a duration is a number with a unit, such as "2s"')
    seconds = _duration_of_text(value.strip()) if isinstance(value, str) else float(value)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError("a duration is a finite number and not negative")
    return seconds


def _duration_of_text(text: str) -> float:
    total, at = 0.0, 0
    while at < len(text):
        match = _DURATION.match(text, at)
        if match is None:
            raise ValueError(f'"{text}" is not a duration such as "2s", "500ms", "8m" or "1h 30m"')
        number, unit = match.groups()
        if unit not in _DURATION_UNITS_S:
            raise ValueError(
                f'"{unit}" is not a unit of time; '
                f"the units are {', '.join(u for u in _DURATION_UNITS_S if u != 'µs')}"
            )
        total += float(number) * _DURATION_UNITS_S[unit]
        at = match.end()
        while at < len(text) and text[at] == " ":
            at += 1
    if not text:
        raise ValueError('a duration is a number with a unit, such as "2s"')
    return total


def format_duration(seconds: float) -> str:
    """The shortest usual form: `12 µs`, `500 ms`, `2.5 s`, `8 min`, `2 h 05 min`."""
    if not math.isfinite(seconds):
        return "unknown"
    sign, s = ("-", -seconds) if seconds < 0 else ("", seconds)
    if s == 0:
        return "0 s"
    if s < 0.9995e-3:
        return f"{sign}{_three_digits(s * 1e6)} µs"
    if s < 0.9995:
        return f"{sign}{_three_digits(s * 1e3)} ms"
    if s < 119.5:
        return f"{sign}{_three_digits(s)} s"
    minutes = round(s / 60)
    if minutes < 120:
        return f"{sign}{minutes} min"
    return f"{sign}{minutes // 60} h {minutes % 60:02d} min"


def format_size(size: float) -> str:
    """`512 MiB`, `3.6 GiB`, `120 B`."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 999.5 or unit == "TiB":
            return f"{_three_digits(size)} {unit}"
        size /= 1024
    raise AssertionError("the loop ends at its last unit")


def format_count(count: float) -> str:
    """`950`, `12.3k`, `1M`, `20M`, `3.6G`: three digits at most, decimal steps."""
    for unit in ("", "k", "M", "G"):
        if abs(count) < 999.5 or unit == "G":
            return f"{_three_digits(count)}{unit}"
        count /= 1000
    raise AssertionError("the loop ends at its last unit")


def _three_digits(value: float) -> str:
    """Three significant digits, no trailing zeros, no exponent."""
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"cpu.model": "x"}` as `{"cpu": {"model": "x"}}`."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        node = tree
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = value
    return tree


def fact(tree: Mapping[str, Any], name: str) -> Any:
    """One fact of a nested tree; None if it is not known."""
    value: Any = tree
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
