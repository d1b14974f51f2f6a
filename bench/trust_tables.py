"""Tables of which the truth is known, by relabelling recorded server processes.

The processes of a recorded unit were alike in everything, so any of them may be called the
baseline and the others levels: what the table then claims is false. A change of +5 % is known
just as well once the levels' speeds are multiplied by 1.05. Only whole processes are relabelled,
so that whatever a process has for life, and whatever moves all of a unit, stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from contend.findings.families import FIRST_SHARE
from contend.stats.change import Change, read_verdict
from contend.stats.contrasts import TableShape
from contend.stats.table import TableAnswer, answer_table

Way = Literal["slices", "crossed", "runs"]
UNITS = 8
MARGIN = 0.02
CONFIDENCE = 1 - FIRST_SHARE * 0.05
"""Of the metric that decides, in a report of 95 %."""


@dataclass(frozen=True)
class Record:
    """What was recorded on one host, cells in the order of the table, row by row.

    slices: q/s by unit, process, cell, round. runs: q/s by unit, process, cell.
    slices_p99_us, runs_p99_us: the latency's 99th percentile of the same.
    """

    shape: TableShape
    slices: np.ndarray
    runs: np.ndarray
    slices_p99_us: np.ndarray
    runs_p99_us: np.ndarray

    @property
    def units(self) -> int:
        return len(self.slices)


def record_of(lines: Iterable[dict[str, Any]]) -> Record:
    """Sort lines of `bench/trust_record.py` into arrays. Rows are points, columns connections."""
    by_unit: dict[int, dict[int, dict[tuple[int, int], Any]]] = {}
    for line in lines:
        cells = {(cell["points"], cell["connections"]): cell for cell in line["cells"]}
        by_unit.setdefault(line["unit"], {})[line["process"]] = cells
    units = [by_unit[unit] for unit in sorted(by_unit)]
    contexts = sorted(units[0][0])
    rows = len({points for points, _ in contexts})

    def array(kind: str, figure: str) -> np.ndarray:
        return np.array(
            [
                [[cells[context][kind][figure] for context in contexts] for _, cells in sorted(u)]
                for u in (unit.items() for unit in units)
            ]
        )

    return Record(
        TableShape(rows, len(contexts) // rows),
        array("slices", "qps"),
        array("run", "qps")[..., 0],
        array("slices", "p99_us"),
        array("run", "p99_us")[..., 0],
    )


def relabelled(
    record: Record,
    draw: np.random.Generator,
    *,
    way: Way = "slices",
    units: int = UNITS,
    metric: Literal["qps", "p99_us"] = "qps",
) -> np.ndarray:
    """Log ratios as a lab would have them, units x contexts x levels, of levels that do nothing.

    No unit is in a table twice, unless more are asked for than were recorded. `crossed`: a baseline
    and one level, which swap their processes halfway.
    """
    chosen = draw.choice(record.units, size=units, replace=units > record.units)
    slices = record.slices if metric == "qps" else record.slices_p99_us
    runs = record.runs if metric == "qps" else record.runs_p99_us
    processes = slices.shape[1]
    places = np.array([draw.permutation(processes) for _ in range(units)])
    if way == "runs":
        logs = np.log(runs[chosen[:, None], places])
        return _over_first(logs)
    of_units = slices[chosen[:, None], places]
    if way == "slices":
        return _over_first(np.log(_mean_of_rounds(of_units, metric)))
    half = of_units.shape[-1] // 2
    first, second = (
        np.log(_mean_of_rounds(part[:, :2], metric))
        for part in (of_units[..., :half], of_units[..., half:])
    )
    return (_over_first(first) - _over_first(second)) / 2


def _mean_of_rounds(values: np.ndarray, metric: str) -> np.ndarray:
    """Queries are added up; percentiles cannot be, and histograms were not recorded."""
    return values.mean(axis=-1) if metric == "qps" else np.exp(np.log(values).mean(axis=-1))


def _over_first(logs: np.ndarray) -> np.ndarray:
    """units x processes x contexts to units x contexts x levels."""
    return np.moveaxis(logs[:, 1:] - logs[:, :1], 1, 2)


@dataclass(frozen=True)
class Tally:
    """What tables of levels that change everything by `effect` said, in shares of 1.

    units: of each table; tables: how many.
    alone_rejects, alone_rejects_whole: single unadjusted intervals that exclude the truth,
        of cells and of levels as a whole.
    false_tables: tables with any simultaneous interval that excludes the truth, pairs of levels
        among them.
    false_cells, false_pairs: tables in which an interval of a single cell does, or of a pair.
    found: levels as a whole that are called higher.
    equivalent: tables in which anything is called equivalent.
    kept: levels as a whole that would have been called higher, had they changed by what their own
        table said to be detectable; promised is 0.8.
    kept_cells: the same of cells.
    detectable: median of what the tables promise to detect of a level as a whole.
    half_width: median half of the simultaneous interval of a level as a whole.
    bias: mean error of the levels as a whole, in half-widths.
    """

    effect: float
    units: int
    tables: int
    alone_rejects: float
    alone_rejects_whole: float
    false_tables: float
    false_cells: float
    false_pairs: float
    found: float
    equivalent: float
    kept: float
    kept_cells: float
    detectable: float
    half_width: float
    bias: float


def tally(answers: Sequence[TableAnswer], units: int, effect: float = 0.0) -> Tally:
    """Count what answers about equal levels would have said, had all levels changed by `effect`.

    Multiplying a level's speeds moves the estimate and both ends of each interval by the same
    factor and changes nothing else; a test holds that.
    """
    moved, margin = 1 + effect, answers[0].margin
    by_depth = [
        [change for change in answer.changes if change.place.depth == depth]
        for depth in ("whole", "cell")
        for answer in answers
    ]
    wholes = [change for of in by_depth[: len(answers)] for change in of]
    cells = [change for of in by_depth[len(answers) :] for change in of]
    halves = [math.log(one.high / one.low) / 2 for one in wholes]
    return Tally(
        effect=effect,
        units=units,
        tables=len(answers),
        alone_rejects=_share(cells, lambda one: not one.alone.low <= 1 <= one.alone.high),
        alone_rejects_whole=_share(wholes, lambda one: not one.alone.low <= 1 <= one.alone.high),
        false_tables=_share(answers, lambda one: _any_false((*one.changes, *one.pairs))),
        false_cells=_share(
            answers, lambda one: _any_false(c for c in one.changes if c.place.depth == "cell")
        ),
        false_pairs=_share(answers, lambda one: _any_false(one.pairs)),
        found=_share(wholes, lambda one: _verdict(one, moved, margin) == "higher"),
        equivalent=_share(
            answers,
            lambda one: any(_verdict(c, moved, margin) == "equivalent" for c in one.changes),
        ),
        kept=_share(wholes, lambda one: _shows_its_promise(one, margin)),
        kept_cells=_share(cells, lambda one: _shows_its_promise(one, margin)),
        detectable=float(np.median([one.detectable for one in wholes])),
        half_width=float(np.median(np.expm1(halves))),
        bias=float(np.mean([math.log(one.ratio) for one in wholes]) / np.median(halves)),
    )


def _share(of: Sequence[Any], is_so: Callable[[Any], bool]) -> float:
    return sum(map(is_so, of)) / len(of) if of else math.nan


def _any_false(changes: Iterable[Change]) -> bool:
    return any(not one.low <= 1 <= one.high for one in changes)


def _verdict(change: Change, moved: float, margin: float) -> str:
    return read_verdict(change.low * moved, change.high * moved, margin)


def _shows_its_promise(change: Change, margin: float) -> bool:
    return _verdict(change, 1 + change.detectable, margin) == "higher"


@dataclass(frozen=True)
class Asked:
    """Which tables are wanted, how many, and from which seed they are drawn."""

    record: Record
    way: Way
    units: int
    tables: int
    seed: str
    metric: Literal["qps", "p99_us"] = "qps"
    margin: float = MARGIN
    noisy: float = 1.0
    """A cell of each table, drawn by lot, has its log-ratios multiplied by so much."""


PART = 25
"""Tables that are made at a time."""


def answers_of(asked: Asked, pool: Executor | None = None) -> list[TableAnswer]:
    """Make the tables and ask each of them everything. Other processes help with a pool."""
    parts = [
        (asked, first, min(first + PART, asked.tables)) for first in range(0, asked.tables, PART)
    ]
    made = pool.map(_answers_of_part, parts) if pool is not None else map(_answers_of_part, parts)
    return [answer for part in made for answer in part]


def _answers_of_part(part: tuple[Asked, int, int]) -> list[TableAnswer]:
    asked, first, last = part
    answers = []
    for number in range(first, last):
        draw = np.random.default_rng([*asked.seed.encode(), number])
        d = relabelled(asked.record, draw, way=asked.way, units=asked.units, metric=asked.metric)
        d[:, draw.integers(d.shape[1])] *= asked.noisy
        answers.append(
            answer_table(d, asked.record.shape, margin=asked.margin, confidence=CONFIDENCE)
        )
    return answers
