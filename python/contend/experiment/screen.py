"""The cells of a screen and the order of its runs.

A block compares two cells side by side. In the part `lines` these are a row of a Plackett-Burman
design and its mirror image, in which every line has its other value: their difference is the sum of
the effects of all lines, with the signs of the row, and what two lines do together is the same in
both. Rows come in random order. The row has the first place in every other round and its mirror in
the rest, so that a difference between places adds to no line.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from contend.experiment.model import Cell, CellSpec, Experiment, Factor, Planned, Words
from contend.experiment.settings.options import OPTIONS
from contend.experiment.settings.screen import LINES, LINES_MIN, NEW, OLD, PART, lines_of
from contend.experiment.settings.values import Level

OF_LINES, TOGETHER, PROOF = "lines", "together", "proof"

Pair = tuple[str, str]
"""The digits of the two cells of a block; the first is at the first place."""


def rows_of(lines: int) -> tuple[str, ...]:
    """The rows of the design as digits; the first has all lines new."""
    # numpy takes a tenth of a second, and few commands read a screen.
    from contend.stats.screen import screen_rows

    return tuple("".join("1" if one > 0 else "0" for one in row) for row in screen_rows(lines))


def mirror(row: str) -> str:
    """The other value of each line."""
    return row.translate(str.maketrans("01", "10"))


def all_old(lines: int) -> str:
    return "0" * lines


def all_new(lines: int) -> str:
    return "1" * lines


def factors_of(lines: int) -> tuple[Factor, ...]:
    """The cells of the design as the levels of a factor."""
    levels = tuple(one for row in rows_of(lines) for one in (row, mirror(row)))
    return (Factor(LINES.path, levels),)


def round_of_lines(experiment: Experiment, planned: Sequence[Planned]) -> tuple[Planned, ...]:
    """The runs of one more round: every row against its mirror."""
    lines = len(experiment.lines)
    rows = rows_of(lines)
    number = sum(part_of(one.cell) == OF_LINES for one in planned) // (2 * len(rows))
    shuffled = list(rows)
    random.Random(f"screen {number} {experiment.base['load.seed']}").shuffle(shuffled)
    pairs = [(row, mirror(row)) for row in shuffled]
    return runs_of_pairs(
        planned, OF_LINES, (pair if number % 2 == 0 else pair[::-1] for pair in pairs)
    )


def runs_of_pairs(
    planned: Sequence[Planned], part: str, pairs: Iterable[Pair]
) -> tuple[Planned, ...]:
    """The runs of further blocks. Each is a repeat: its servers are freshly started."""
    run, block = (planned[-1].run, planned[-1].block) if planned else (0, 0)
    found: list[Planned] = []
    for number, pair in enumerate(pairs, start=1):
        for place, digits in enumerate(pair, start=1):
            found.append(
                Planned(
                    run + 2 * (number - 1) + place,
                    block + number,
                    block + number,
                    cell_of(digits, part),
                )
            )
    return tuple(found)


def cell_of(digits: str, part: str = OF_LINES) -> Cell:
    """A cell; only those of the later parts name their part."""
    return {LINES.path: digits, **({} if part == OF_LINES else {PART.path: part})}


def part_of(cell: Mapping[str, Level]) -> str:
    return str(cell.get(PART.path, OF_LINES))


def sets_as_figures(experiment: Experiment) -> Experiment:
    """The experiment as its tables see it: the two sets, as the part `lines` measured them, and
    nothing is compared: the screen's own analysis does that."""
    lines = len(experiment.lines)
    levels = (all_old(lines), all_new(lines))
    names = Words(levels={levels[0]: "the old set", levels[1]: "the new set"})
    return replace(
        experiment,
        factors=(Factor(LINES.path, levels),),
        compare=replace(experiment.compare, baseline={}),
        words={**experiment.words, LINES.path: names},
    )


def without_line(experiment: Experiment, name: str) -> Experiment:
    """The experiment with one line less: it keeps the old value in all cells."""
    values = dict(experiment.base.values)
    old, new = dict(values[OLD.path]), dict(values[NEW.path])
    if name in old:
        values[OPTIONS.path] = {**values[OPTIONS.path], name: old[name]}
    values |= {OLD.path: _without(old, name), NEW.path: _without(new, name)}
    base = CellSpec(values)
    lines = len(lines_of(values))
    return replace(
        experiment,
        base=base,
        factors=factors_of(lines),
        compare=replace(experiment.compare, baseline={LINES.path: all_old(lines)}),
    )


def without_lines(experiment: Experiment, names: Iterable[str]) -> Experiment:
    """The same without those of these lines that it has, unless fewer than two would be left."""
    for name in names:
        there = [line.name for line in experiment.lines]
        if name in there and len(there) > LINES_MIN:
            experiment = without_line(experiment, name)
    return experiment


def _without(levels: Mapping[str, Level], name: str) -> dict[str, Level]:
    return {one: level for one, level in levels.items() if one != name}
