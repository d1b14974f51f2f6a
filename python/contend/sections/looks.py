"""Common parts of the sections that rest on a diagnostic pass: which passes count, the failed ones,
and the effect of the pass on the speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from contend.experiment import CellKey, Level, cell_key, same_level
from contend.sections.model import Inputs, TextTable
from contend.sections.words import cell_phrase, figure_json, ratio_text
from contend.stats import Estimate, estimate
from contend.store import LookRecord


class OfCell(Protocol):
    """The result of a look in one cell."""

    @property
    def cell(self) -> Mapping[str, Level]: ...


Found = TypeVar("Found", bound=OfCell)


@dataclass(frozen=True, slots=True)
class LooksFound(Generic[Found]):
    """The results of the looks of one name: cells side by side together, and the failed looks."""

    groups: tuple[tuple[Found, ...], ...]
    failed: tuple[LookRecord, ...]

    @property
    def cells(self) -> list[Found]:
        return [one for group in self.groups for one in group]


Of = Callable[[LookRecord, LookRecord | None], Found]
"""The result of a cell; the second is the look at the baseline of its group, None for itself."""


def looked(inputs: Inputs, name: str, of: Of[Found]) -> LooksFound[Found] | None:
    """The last look of each cell with a result; None if there was no look."""
    baseline = inputs.study.roles.baseline
    groups = groups_of(inputs.looks, name, of, inputs.compared_path, baseline)
    last = {cell_key(one.cell): one for one in inputs.looks if one.look == name}
    failed = tuple(one for one in last.values() if one.error is not None)
    return LooksFound(groups, failed) if groups or failed else None


def groups_of(
    looks: Sequence[LookRecord],
    name: str,
    of: Of[Found],
    compared: str | None,
    baseline: Level | None,
) -> tuple[tuple[Found, ...], ...]:
    """The cells of each block, those side by side together."""
    groups = []
    for records in last_looks(looks, name):
        base = baseline_of(records, compared, baseline)
        groups.append(tuple(of(one, None if one is base else base) for one in records))
    return tuple(groups)


def last_looks(looks: Sequence[LookRecord], name: str) -> list[list[LookRecord]]:
    """For each cell the last look of that name with a result; looks taken side by side stay
    together."""
    last: dict[CellKey, LookRecord] = {}
    for one in looks:
        if one.look == name and one.error is None:
            last[cell_key(one.cell)] = one
    blocks: dict[int, list[LookRecord]] = {}
    for one in last.values():
        blocks.setdefault(one.block, []).append(one)
    return list(blocks.values())


def baseline_of(
    records: Sequence[LookRecord], compared: str | None, baseline: Level | None
) -> LookRecord | None:
    """That of the baseline, among those side by side."""
    if compared is None or baseline is None:
        return None
    return next((one for one in records if same_level(one.cell[compared], baseline)), None)


Rounds = Sequence[Mapping[str, Any]]
"""Each with its `qps`, and with `look` if it was examined: two of every four."""


def speed_of(rounds: Rounds) -> Estimate:
    """Queries per second with the look over those without it."""
    return _ratio([*_logs_of_speed(rounds).values()])


def effect_of(rounds: Rounds, base: Rounds) -> Estimate:
    """The effect of the look on the ratio of the two."""
    logs, others = _logs_of_speed(rounds), _logs_of_speed(base)
    return _ratio([log - others[first] for first, log in logs.items() if first in others])


def _logs_of_speed(rounds: Rounds) -> dict[int, float]:
    """By its first round, each group of four rounds, two of them with the look: the logarithm of
    queries per second with the look over without it."""
    logs = {}
    for first in range(0, len(rounds) - 3, 4):
        four = rounds[first : first + 4]
        seen = [one["qps"] for one in four if one.get("look")]
        plain = [one["qps"] for one in four if not one.get("look")]
        if len(seen) == len(plain) == 2 and min(*seen, *plain) > 0:
            logs[first] = sum(map(math.log, seen)) / 2 - sum(map(math.log, plain)) / 2
    return logs


def _ratio(logs: Sequence[float]) -> Estimate:
    return estimate([math.exp(log) for log in logs], log_scale=True)


def with_cell(cell: Mapping[str, Level]) -> str:
    """` with 8 connections, 10 points`; empty if there is one place only."""
    phrase = str(cell_phrase(cell))
    return f" with {phrase}" if phrase else ""


def context_of(one: OfCell, compared: str | None) -> dict[str, Level]:
    """The cell without the compared level."""
    return {path: level for path, level in one.cell.items() if path != compared}


def head_of(one: OfCell, compared: str | None) -> str:
    """The name of a cell among those side by side."""
    return "all" if compared is None else str(one.cell[compared])


def each_in_words(
    label: str, group: Sequence[Found], compared: str | None, text_of: Callable[[Found], str]
) -> str:
    """One figure of each cell as a sentence, for the report without tables: `Label with 8
    connections: 5 ±1 (0), 3 ±1 (32).`"""
    texts = [
        text if compared is None else f"{text} ({head_of(one, compared)})"
        for one in group
        if (text := text_of(one))
    ]
    where = with_cell(context_of(group[0], compared))
    return f"{label}{where}: {', '.join(texts)}." if texts else ""


def side_by_side(
    caption: str,
    group: Sequence[Found],
    compared: str | None,
    rows: Iterable[tuple[str, Callable[[Found], str]]],
    corner: str = "",
) -> TextTable:
    """A table of the cells side by side: for each row its name, and its text for a cell."""
    heads = (head_of(one, compared) for one in group)
    return TextTable(
        caption, (corner, *heads), tuple((name, *map(text, group)) for name, text in rows)
    )


class Costly(OfCell, Protocol):
    """The result of a look in one cell, and its effect on the cell's speed and gain."""

    @property
    def speed(self) -> Estimate: ...

    @property
    def effect(self) -> Estimate | None: ...


def cost_rows(ratio: str) -> list[tuple[str, Callable[[Costly], str]]]:
    """The effect of the look on the speed of each cell, and on its gain over the baseline."""
    return [
        (f"queries per second, {ratio}", lambda one: ratio_text(one.speed)),
        (
            f"gain over the baseline, {ratio}",
            lambda one: "" if one.effect is None else ratio_text(one.effect),
        ),
    ]


def cost_json(speed: Estimate, effect: Estimate | None) -> dict[str, Any]:
    return {"speed_ratio": figure_json(speed), "effect_ratio": figure_json(effect)}


_NAMED = 3


def failed_sentences(failed: Sequence[LookRecord]) -> list[str]:
    """One sentence per reason. Passes over cells side by side fail together."""
    reasons: dict[str, dict[int, list[LookRecord]]] = {}
    for one in failed:
        reasons.setdefault(str(one.error), {}).setdefault(one.block, []).append(one)
    sentences = []
    for why, blocks in reasons.items():
        places = [phrase for records in blocks.values() if (phrase := _place(records))]
        more = f" and at {len(places) - _NAMED} more places" if len(places) > _NAMED else ""
        at = f" with {'; with '.join(places[:_NAMED])}{more}" if places else ""
        sentences.append(
            f"The diagnostic pass{at} failed: {why.rstrip('.')}. All measured runs are kept."
        )
    return sentences


def _place(records: Sequence[LookRecord]) -> str:
    """Their common part."""
    first, *others = records
    same = {
        path: level
        for path, level in first.cell.items()
        if all(other.cell[path] == level for other in others)
    }
    return str(cell_phrase(same))
