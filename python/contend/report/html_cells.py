"""Cells of the page's tables: a value, its interval smaller beside it, and what sets it apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup, escape

from contend.report.labels import cell_phrase
from contend.report.model import CellComparison
from contend.report.numbers import (
    difference_text,
    estimate_text,
    gain_text,
    plain_gain,
    significant,
)
from contend.stats import Estimate

_MARKS = {"equivalent": "≈", "inconclusive": "?"}


def minus(text: object) -> Markup:
    """A hyphen before a digit is a minus, and a number stays on the line with its sign."""
    out = []
    words = str(escape(text)).split(" ")
    for word in words:
        negative = word[:1] == "-" and word[1:2].isdigit()
        out.append(f"\N{MINUS SIGN}{word[1:]}" if negative else word)
    joined = " ".join(out).replace("(-", "(\N{MINUS SIGN}")
    return Markup(joined.replace(" ±", "\N{NO-BREAK SPACE}±").replace(" %", "\N{NO-BREAK SPACE}%"))


def gain_cell(gain: CellComparison, usual_n: int) -> Markup:
    """A gain; its n is told where it is not the usual one."""
    value, _, error = gain_text(gain.comparison).partition(" ")
    mark = f' <span class="verdict">{_MARKS[gain.tone]}</span>' if gain.tone in _MARKS else ""
    n = gain.comparison.n
    alone = "" if n == usual_n else f" <small>n={n}</small>"
    return Markup(
        f'<span class="{gain.tone}"><b>{minus(value)}</b> '
        f"<small>{minus(error)}</small>{mark}{alone}"
        f'<span class="said"> {gain.word}</span></span>'
    )


def published_gain(gain: float) -> Markup:
    return minus(plain_gain(gain))


def estimate_cell(estimate: Estimate) -> Markup:
    value, _, error = estimate_text(estimate).partition(" ")
    return Markup(f"{minus(value)} <small>{error}</small>")


def difference_cell(difference: Estimate) -> Markup:
    value, _, error = difference_text(difference).partition(" ")
    return Markup(f"{minus(value)} <small>{error}</small>")


def breakable(name: str) -> Markup:
    """A long option name may break after its underscores."""
    return Markup(str(escape(name)).replace("_", "_<wbr>"))


def ratio(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def p_value(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def detectable(change: float) -> str:
    return "not known" if not math.isfinite(change) else f"{significant(change * 100, 2)} %"


def usual_n(comparisons: Sequence[CellComparison]) -> int:
    """Pairs of the comparisons that lost none."""
    return max((one.comparison.n for one in comparisons), default=0)


def comparison_name(one: CellComparison) -> str:
    return cell_phrase(one.cell)


FILTERS: dict[str, Callable[..., Any]] = {
    "minus": minus,
    "gain_cell": gain_cell,
    "published_gain": published_gain,
    "estimate_cell": estimate_cell,
    "difference_cell": difference_cell,
    "breakable": breakable,
    "ratio": ratio,
    "p_value": p_value,
    "detectable": detectable,
    "comparison_name": comparison_name,
    "usual_n": usual_n,
}
