"""Which statements of a recording change: each asked by itself on the baseline and on a level.

The unit is the repeat: its log-ratio of a template is the mean over the pairs of twins. The claims
about the templates of a level are a family of their own, with a bounded rate of false discoveries.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contend.experiment import Cell, Level
from contend.findings.changes import pairs_of
from contend.findings.families import Family
from contend.findings.model import Contrast, Finding
from contend.findings.study import Study
from contend.metrics.twins import AskedTwins, RecordedTemplate, TwinTemplate
from contend.stats import Change, Estimate, estimate, statement_changes

FALSE_SHARE = 0.05
ROWS_AS_LOGGED_MIN = 0.95
"""With a smaller share of reads that find as many rows as were logged, other data are asked."""


@dataclass(frozen=True, slots=True)
class TwinSide:
    """One template at one level, over all repeats.

    answered: statements. us: mean time of one. rows: mean of one. errors: by the server's number.
    too_slow: statements that were killed.
    """

    answered: int
    us: float
    rows: float
    errors: Mapping[str, int]
    too_slow: int


@dataclass(frozen=True, slots=True)
class TwinChange:
    """One template at a level, next to the baseline.

    Args:
        template: its number in the recording. text: without literals. calls: as recorded.
        share: of the time of all asked templates, at the baseline.
        finding: of its time. None if no pair was answered.
        on_whole: change of the time of all asked templates through this one.
        pairs: statements that both answered.
        rows_differ, results_differ, ties_differ: pairs with a different number of rows; with the
            same but different content; and those where rows that are equal by ORDER BY in front of
            a LIMIT may be the reason.
        one_sided: statements that were answered at some levels only.
        not_compared: pairs whose results were not compared, such as those of NOW().
    """

    template: int
    text: str
    calls: int
    share: float
    finding: Finding | None
    on_whole: Change | None
    baseline: TwinSide
    level: TwinSide
    pairs: int
    rows_differ: int
    results_differ: int
    ties_differ: int
    one_sided: int
    not_compared: int

    @property
    def fails_at_level(self) -> bool:
        """The baseline answered as many statements, or more."""
        return self.level.answered <= self.baseline.answered

    @property
    def tone(self) -> str:
        return "" if self.finding is None else self.finding.tone


@dataclass(frozen=True, slots=True)
class TwinsOfLevel:
    """All templates at one level, those with the largest effect on the whole first.

    cell: of the level.
    time_share: of the recorded time that the templates with a change have.
    shares_of: `time` or `calls`: what that share is of.
    units: repeats.
    rows_as_logged, rows_logged: answered reads that find as many rows as were logged, and those
        whose rows were logged; of the side that finds fewer.
    left_out: by reason, calls and their share of the recording.
    slower_after: share of the time at the level that templates have which get certainly slower.
    """

    cell: Cell
    level: Level
    changes: tuple[TwinChange, ...]
    time_share: float
    shares_of: str
    units: int
    rows_as_logged: int
    rows_logged: int
    left_out: Mapping[str, tuple[int, float]]
    slower_after: Estimate | None

    def of_tone(self, tone: str) -> list[TwinChange]:
        return [one for one in self.changes if one.tone == tone]

    @property
    def compared(self) -> list[TwinChange]:
        return [one for one in self.changes if one.finding is not None]


def twins_of(study: Study) -> tuple[TwinsOfLevel, ...]:
    """Every level in every context; empty if no recording was asked, or nothing is compared."""
    roles = study.roles
    if roles.compared is None or roles.baseline is None:
        return ()
    found = []
    texts = _texts(study)
    for _place, baseline, level in pairs_of(roles):
        pairs = [
            (one.probes["twins"], other.probes["twins"])
            for both in study.blocks_in_common(baseline, level).values()
            for one, other in both
            if "twins" in one.probes and "twins" in other.probes
        ]
        if pairs:
            found.append(_of_level(study, level, pairs, texts))
    return tuple(found)


def _texts(study: Study) -> dict[int, RecordedTemplate]:
    recordings = study.meta.facts.get("recordings", {}).values()
    return {one["template"]: one for known in recordings for one in known["templates"]}


Pairs = Sequence[tuple[AskedTwins, AskedTwins]]


def _of_level(
    study: Study, cell: Cell, pairs: Pairs, texts: Mapping[int, RecordedTemplate]
) -> TwinsOfLevel:
    roles = study.roles
    assert roles.compared is not None and roles.baseline is not None
    level = cell[roles.compared.path]
    numbers = list(
        dict.fromkeys(one["template"] for _, asked in pairs for one in asked["templates"])
    )
    sides = [
        (
            {one["template"]: one for one in a["templates"]},
            {o["template"]: o for o in b["templates"]},
        )
        for a, b in pairs
    ]
    means = [[_ln_ratio(other.get(number)) for number in numbers] for _, other in sides]
    d, within = np.moveaxis(np.array(means), 2, 0)
    base, own = ([_side(side, number) for number in numbers] for side in zip(*sides, strict=True))
    by_time = pairs[0][1]["shares_of"] == "time"
    logged = [_first(sides, number)["share"] for number in numbers]
    known = np.isfinite(d).any(axis=0)
    weights = np.array(
        [
            share * (1.0 if by_time else side.us) if is_known else 0.0
            for share, side, is_known in zip(logged, base, known, strict=True)
        ]
    )
    weights /= weights.sum() or 1.0
    changes, margin = statement_changes(d, within, FALSE_SHARE), study.experiment.compare.margin
    found = []
    for at, number in enumerate(numbers):
        finding = on_whole = None
        if known[at]:
            ratio, low, high = _ratios(changes.mean[at], changes.low[at], changes.high[at])
            confidence, n = float(changes.confidence[at]), int(changes.n[at])
            family = Family("statements", 1 - FALSE_SHARE, confidence)
            df, sd = float(changes.df[at]), float(changes.se[at]) * math.sqrt(n)
            alone = Estimate(ratio, low, high, n, confidence)
            verdict = {} if study.finished else {"verdict": None}
            change = Change.single(
                "cell", alone, low, high, margin=margin, df=df, sd_log=sd, **verdict
            )
            metric = study.metrics[0]
            contrast = Contrast("level", metric, cell, level, roles.baseline, family)
            finding = Finding(contrast, change, margin)
            weight = float(weights[at])
            ratio, low, high = (1 + weight * (one - 1) for one in (ratio, low, high))
            part = Estimate(ratio, low, high, n, confidence)
            on_whole = Change.single("cell", part, low, high, margin=margin, df=df, sd_log=math.nan)
        every = [other[number] for _, other in sides if number in other]
        found.append(
            TwinChange(
                template=number,
                text=texts[number]["text"] if number in texts else "",
                calls=_first(sides, number)["calls"],
                share=float(weights[at]),
                finding=finding,
                on_whole=on_whole,
                baseline=base[at],
                level=own[at],
                pairs=sum(one.get("pairs", 0) for one in every),
                rows_differ=sum(one.get("rows_differ", 0) for one in every),
                results_differ=sum(one.get("results_differ", 0) for one in every),
                ties_differ=sum(one.get("ties_differ", 0) for one in every),
                one_sided=sum(one["one_sided"] for one in every),
                not_compared=sum(one["not_compared"] for one in every),
            )
        )
    slower = np.array([one.tone == "worse" for one in found])
    found.sort(key=lambda one: (one.tone not in ("worse", "better"), -_effect(one), -one.share))
    last = pairs[-1][1]
    as_logged, reads = min(map(_rows_as_logged, zip(*pairs, strict=True)), key=_share)
    return TwinsOfLevel(
        cell=cell,
        level=level,
        changes=tuple(found),
        time_share=math.fsum(s for s, is_known in zip(logged, known, strict=True) if is_known),
        shares_of=last["shares_of"],
        units=len(pairs),
        rows_as_logged=as_logged,
        rows_logged=reads,
        left_out={name: (one["calls"], one["share"]) for name, one in last["left_out"].items()},
        slower_after=_share_after(d, weights, slower, study.experiment.compare.confidence),
    )


def _rows_as_logged(asked: Sequence[AskedTwins]) -> tuple[int, int]:
    return sum(one["rows_as_logged"] for one in asked), sum(one["rows_logged"] for one in asked)


def _share(part_and_whole: tuple[int, int]) -> float:
    part, whole = part_and_whole
    return part / whole if whole else 1.0


def _ln_ratio(template: TwinTemplate | None) -> tuple[float, float]:
    """The mean over the pairs, and its variance; NaN without any."""
    if template is None or not (pairs := template.get("pairs")):
        return math.nan, math.nan
    return template["mean_ln_ratio"], template["var_ln_ratio"] / pairs


def _ratios(*logs: float) -> tuple[float, ...]:
    return tuple(math.exp(min(float(log), 600.0)) for log in logs)


Side = Mapping[int, TwinTemplate]


def _first(sides: Iterable[tuple[Side, Side]], number: int) -> TwinTemplate:
    return next(other[number] for _, other in sides if number in other)


def _side(repeats: Sequence[Side], number: int) -> TwinSide:
    every = [one[number] for one in repeats if number in one]
    answered = sum(one["count"] for one in every)
    errors: Counter[str] = Counter()
    for one in every:
        errors.update(one["errors"])
    return TwinSide(
        answered=answered,
        us=math.fsum(one["sum_us"] for one in every) / answered if answered else math.nan,
        rows=sum(one["rows"] for one in every) / answered if answered else math.nan,
        errors=dict(errors),
        too_slow=sum(one["too_slow"] for one in every),
    )


def _effect(one: TwinChange) -> float:
    return 0.0 if one.on_whole is None else abs(one.on_whole.ratio - 1)


def _share_after(
    d: np.ndarray, weights: np.ndarray, chosen: np.ndarray, confidence: float
) -> Estimate | None:
    """Share of the time at the level that some templates have; None without any of them."""
    if not chosen.any():
        return None
    times = np.where(np.isfinite(d), np.exp(np.where(np.isfinite(d), d, 0.0)) * weights, 0.0)
    return estimate(list(times[:, chosen].sum(axis=1) / times.sum(axis=1)), confidence)
