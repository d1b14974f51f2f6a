"""Where a server stops getting more done with more connections: knee and peak of each sweep, by the
universal scalability law; or that it does not fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from contend.findings import Given, Said, Study, Sweep
from contend.findings.scaling import CONNECTIONS
from contend.report.model import Layout, Panel, Section, TextTable
from contend.report.scaling_chart import scaling_charts
from contend.report.words import UNKNOWN, cell_phrase, estimate_text, level_phrase, significant
from contend.spec import Level
from contend.stats import FIT_COLUMNS_MIN, FIT_UNITS_MIN, Estimate, UslFit, finite

_TOLD = 4
"""Sweeps that have a sentence each. Of more, the first and the last by their knees."""

_NEAR = 1.2
"""Ends of an interval nearer than that need a third digit to be told apart."""


def scaling_section(
    study: Study, sweeps: Sequence[Sweep], layout: Layout, panels: Sequence[Panel]
) -> Section | None:
    """The section; None without a sweep over connections."""
    if not sweeps:
        return None
    fitted = [(one, one.fit) for one in sweeps if one.fit is not None]
    return Section(
        "How it scales with the connections",
        _lead(study, sweeps, fitted),
        (_table(study, fitted),) if fitted else (),
        scaling_charts(study.roles, sweeps, layout, panels),
    )


Fitted = Sequence[tuple[Sweep, UslFit]]


def _lead(study: Study, sweeps: Sequence[Sweep], fitted: Fitted) -> Said:
    if len(sweeps) <= _TOLD or not fitted:
        # What is the same of all is said once.
        told = dict.fromkeys(_sentence(study, one) for one in sweeps)
        return Said.joined(" ", told)
    fitting = [(one, fit) for one, fit in fitted if fit.fits]
    words = "The universal scalability law fits {} of {} sweeps; the table has each."
    parts = [Said(words, Given(len(fitting)), Given(len(sweeps)))]
    if fitting:
        by_knee = sorted(fitting, key=lambda one: one[1].knee.mean)
        parts += [_sentence(study, by_knee[at][0]) for at in (0, -1)]
    return Said.joined(" ", dict.fromkeys(parts))


def _sentence(study: Study, sweep: Sweep) -> Said:
    fit = sweep.fit
    if fit is None:
        return _too_few(sweep)
    place = cell_phrase(_cell(study, sweep))
    begin = Said("With {}, the", place) if place else Said("The")
    if not fit.fits:
        return Said("{} {}", begin, _misfit(sweep, fit))
    return Said("{} throughput {}, {}.", begin, _knee(sweep, fit), _peak(sweep, fit))


def _too_few(sweep: Sweep) -> Said:
    if len(sweep.connections) < FIT_COLUMNS_MIN:
        return Said(
            "{} numbers of connections are too few for a curve that has a knee and a peak: it "
            "takes {}.",
            Given(len(sweep.connections)),
            Given(FIT_COLUMNS_MIN),
        )
    return Said(
        "Knee and peak need {} repeats that have all numbers of connections.", Given(FIT_UNITS_MIN)
    )


def _misfit(sweep: Sweep, fit: UslFit) -> Said:
    off = _percent_off(fit)
    return Said(
        "universal scalability law does not fit: at {} the server did {} % {} than the nearest "
        "curve, so no knee and no peak are read off it. As measured, most was done at {}.",
        level_phrase(CONNECTIONS, sweep.connections[fit.farthest]),
        estimate_text(replace(off, mean=abs(off.mean))),
        "more" if off.mean > 0 else "less",
        _measured_most(sweep, fit),
    )


def _percent_off(fit: UslFit) -> Estimate:
    off = fit.off[fit.farthest]
    mean, low, high = ((one - 1) * 100 for one in (off.mean, off.low, off.high))
    return replace(off, mean=mean, low=low, high=high)


def _measured_most(sweep: Sweep, fit: UslFit) -> Said:
    """`8 connections`, or all those that are not certainly below the highest."""
    *others, last = (sweep.connections[at] for at in fit.top)
    if not others:
        return level_phrase(CONNECTIONS, last)
    before = Said.written(", ".join(map(str, others)))
    return Said("{} or {}", before, level_phrase(CONNECTIONS, last))


def _knee(sweep: Sweep, fit: UslFit) -> Said:
    last = sweep.connections[-1]
    if fit.knee.low > last:
        return Said("has no knee up to {}", level_phrase(CONNECTIONS, last))
    return Said("has its knee at {} connections", _between(fit.knee, last))


def _peak(sweep: Sweep, fit: UslFit) -> Said:
    last = sweep.connections[-1]
    if fit.peak.low > last:
        return Said("and no peak up to {}", level_phrase(CONNECTIONS, last))
    if fit.peak.mean > last:
        least = Said.written(significant(fit.peak.low, 2))
        words = "and whether there is a peak up to {} is not certain (not below {})"
        return Said(words, level_phrase(CONNECTIONS, last), least)
    return Said("and its peak at {}", _between(fit.peak, last))


def _between(figure: Estimate, last: float) -> Said:
    """`23 (18 to 31)`; what lies beyond the most that was measured is not told as a number."""
    digits = 2 if figure.high > _NEAR * figure.low else 3
    low, mean = (significant(one, digits) for one in (figure.low, figure.mean))
    beyond = f"beyond {last:g}"
    if figure.mean > last:
        return Said.written(f"{beyond} (from {low} on)" if figure.low <= last else beyond)
    high = beyond if figure.high > last else significant(figure.high, digits)
    return Said.written(f"{mean} ({low} to {high})")


def _cell(study: Study, sweep: Sweep) -> Mapping[str, Level]:
    return study.roles.cell(sweep.context, None, sweep.level)


def _table(study: Study, fitted: Fitted) -> TextTable:
    confidence = fitted[0][1].knee.confidence * 100
    return TextTable(
        caption="The universal scalability law of each sweep: σ is contention, κ coherency "
        f"(in brackets and after ± intervals at {confidence:g} %, each for itself)",
        columns=("sweep", "knee", "peak", "σ", "κ", "farthest off", "fits"),
        rows=tuple(_row(study, *one) for one in fitted),
    )


def _row(study: Study, sweep: Sweep, fit: UslFit) -> tuple[str, ...]:
    last, at = sweep.connections[-1], sweep.connections[fit.farthest]
    return (
        cell_phrase(_cell(study, sweep)) or "all",
        _between(fit.knee, last),
        _between(fit.peak, last),
        estimate_text(fit.contention),
        _small(fit.coherency),
        f"{estimate_text(_percent_off(fit))} % at {at}",
        "yes" if fit.fits else "no",
    )


def _small(figure: Estimate) -> str:
    """Of the order of a thousandth, or of a millionth."""
    half = (figure.high - figure.low) / 2
    return f"{figure.mean:.2g} ±{half:.1g}" if math.isfinite(half) else UNKNOWN


def scaling_json(sweep: Sweep) -> dict[str, Any]:
    """One sweep as plain numbers; null is not known, or infinite. `fits` is null if there is no
    curve, for there were too few numbers of connections or repeats."""
    fit = sweep.fit
    place = {"factors": dict(sweep.context), "level": sweep.level}
    told = {**place, "connections": list(sweep.connections), "n": sweep.repeats}
    if fit is None:
        return {**told, "fits": None}
    figures = {
        "qps_at_one": fit.rate,
        "contention": fit.contention,
        "coherency": fit.coherency,
        "knee": fit.knee,
        "peak": fit.peak,
        "qps_at_peak": fit.most,
    }
    return {
        **told,
        "fits": fit.fits,
        **{name: _interval(one) for name, one in figures.items()},
        "off": [_interval(one) for one in fit.off],
        "measured_most_at": [sweep.connections[at] for at in fit.top],
    }


def _interval(one: Estimate) -> dict[str, Any]:
    ends = {"value": one.mean, "low": one.low, "high": one.high}
    return {name: finite(end) for name, end in ends.items()} | {"confidence": one.confidence}
