"""Screens on made-up servers, on which the effect of each line is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fake_load import done_of

from contend.experiment import (
    Experiment,
    Planned,
    cell_spec,
    load_experiment,
    to_dict,
)
from contend.experiment import planned_runs as first_runs
from contend.experiment.settings.load import Slicing
from contend.experiment.settings.screen import LINES
from contend.lab.design import Design
from contend.lab.screen import ScreenSchedule
from contend.load import Address, ArmSpec, plan_in_slices, plan_of_arm
from contend.store import RunFolder, RunRecord

EXPERIMENT = """
[experiment]
name = "screen"
question = "Which of these lines matter?"

[server]
kind = "mariadb"

[screen.old]
innodb_flush_log_at_trx_commit = 1
innodb_buffer_pool_size = "256M"
innodb_doublewrite = "ON"
table_open_cache = 2000
thread_cache_size = 256
query_cache_type = 0

[screen.new]
innodb_flush_log_at_trx_commit = 2
innodb_buffer_pool_size = "64M"
innodb_doublewrite = "OFF"
table_open_cache = 400
thread_cache_size = 8
query_cache_type = 1
innodb_adaptive_hash_index = "ON"

[data]
rows = 1000

[workload]
kind = "write_only"

[load]
connections = 8

[compare]
repeats = 6
"""

FLUSH, POOL, DOUBLE, CACHE = (
    "innodb_flush_log_at_trx_commit",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "table_open_cache",
)
ROWS = 8
"""Pairs of a round with the seven lines of the experiment."""

PAIR_S = 3.0
AT_MS = "2026-03-01T10:00:00.000+00:00"
DESIGN = Design("slices", servers=2)

Speed = Callable[[Mapping[str, Any]], float]
"""Events per second with the options of a cell, by the names of its new lines."""


def screen_experiment(folder: Path, text: str = EXPERIMENT, **sets: str) -> Experiment:
    file = folder / "screen.toml"
    file.write_text(text)
    overrides = [f"{path.replace('__', '.')}={value}" for path, value in sets.items()]
    return load_experiment(str(file), sets=overrides)


def screen_of_lines(folder: Path, lines: int, more: str = "") -> Experiment:
    """A screen of `line_0`, `line_1` and so on, which are 1 in the old set and 2 in the new one."""
    old, new = ("\n".join(f"line_{at} = {level}" for at in range(lines)) for level in (1, 2))
    file = folder / f"{lines}-lines.toml"
    file.write_text(f"[screen.old]\n{old}\n\n[screen.new]\n{new}\n{more}")
    return load_experiment(str(file))


def new_lines(experiment: Experiment, digits: str) -> set[str]:
    """The names of the lines that are new."""
    pairs = zip(experiment.lines, digits, strict=True)
    return {line.name for line, digit in pairs if digit == "1"}


def by_effects(
    effects: Mapping[str, float], together: Mapping[tuple[str, str], float] | None = None
) -> Callable[[set[str]], float]:
    """A server whose rate each new line changes by a factor, and two of them by another."""

    def rate(new: set[str]) -> float:
        log = sum(math.log(factor) for name, factor in effects.items() if name in new)
        both = (together or {}).items()
        log += sum(math.log(factor) for pair, factor in both if new.issuperset(pair))
        return 1000 * math.exp(log)

    return rate


def write_screen(
    path: Path,
    experiment: Experiment,
    rate: Callable[[set[str]], float] = by_effects({}),  # noqa: B008
    *,
    noise: float = 0.01,
    blocks: int | None = None,
    facts: dict[str, Any] | None = None,
    change: Callable[[RunRecord], RunRecord] = lambda record: record,
) -> Path:
    """A run folder with the whole screen, or with its first `blocks` pairs."""
    clock = [0.0]
    with RunFolder.create(
        path, to_dict(experiment), first_runs(experiment), {"way": DESIGN.facts(), **(facts or {})}
    ) as folder:
        schedule = ScreenSchedule(experiment, folder, DESIGN, lambda: clock[0])
        schedule.effort.ready()
        made = 0
        while (blocks is None or made < blocks) and (pair := schedule.next()):
            clock[0] += PAIR_S
            records = [change(one) for one in pair_of(experiment, pair, rate, noise)]
            folder.append(*records)
            schedule.ended(records)
            made += 1
    return path


def pair_of(
    experiment: Experiment,
    pair: list[Planned],
    rate: Callable[[set[str]], float],
    noise: float = 0.01,
) -> list[RunRecord]:
    """The records of a pair. The first place is 3 % faster, and the minute changes the rate of both
    by up to a half."""
    chance = random.Random(f"pair {pair[0].block}")
    minute = 1 + chance.random() / 2
    slices = Slicing(0.1, 0.02, 5)
    specs = [cell_spec(experiment, one.cell) for one in pair]
    arms = [
        ArmSpec(str(at), spec, Address(socket="/s"), 4000 + at, ()) for at, spec in enumerate(specs)
    ]
    plan = plan_in_slices(arms, slices, seed=1)
    records = []
    for at, one in enumerate(pair):
        new = new_lines(experiment, str(one.cell[LINES.path]))
        place = 1.03 if at == 0 else 1.0
        speed = rate(new) * minute * place * math.exp(chance.gauss(0, noise))
        done = done_of(dict(plan_of_arm(plan, at)), qps=speed)
        records.append(
            RunRecord(
                *(one.run, one.block, one.repeat, one.cell, "ok", AT_MS, AT_MS),
                plan=plan_of_arm(plan, at),
                done=done,
            )
        )
    return records
