"""What an experiment is: frozen, validated objects.

An experiment is a base cell (server, data, workload, load), factors (paths into that cell, each
with levels), a comparison (which level is the baseline) and the published figures to show beside.
Times are seconds as floats and their names end in `_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Level = str | int | float | bool
"""One value of a factor, as TOML gives it."""

Cell = Mapping[str, Level]
"""Which level each factor has: path -> level, in the order of the experiment's factors."""


SCRIPT_SCHEMA = "script"
"""The schema of tables that a script's own `prepare` makes."""


def same_level(one: object, other: object) -> bool:
    """Whether two values are the same level: `true` is not 1, though Python says so."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """The server under test.

    `change` says how a server option that differs between cells is changed:
    `in_place` (SET GLOBAL, only for dynamic variables) or `restart`.
    """

    kind: str = "mariadb"
    options: Mapping[str, Level] = field(default_factory=dict)
    change: str = "restart"


@dataclass(frozen=True, slots=True)
class DataSpec:
    """The tables: schema, storage engine, size, and the seed of their content.

    `k` is how the indexed column is filled: `row_number` (unique, in file order, as the study's
    sysbench 0.5 did) or `random` (as sysbench 1.0 does).
    `tables` of None is the one table `sbtest`; a number stands for `sbtest1`, `sbtest2` and so on.
    Under the schema `script` a script's own `prepare` makes the tables; `prepare` is what it is
    told (script and options), known only in the spec of a cell.
    """

    schema: str = "sbtest"
    engine: str = "InnoDB"
    rows: int = 10_000
    seed: int = 1
    k: str = "row_number"
    table_options: str = ""
    tables: int | None = None
    prepare: Mapping[str, object] | None = None

    @property
    def database(self) -> str:
        """Where the tables are, on a server of ours; the name that scripts expect."""
        return "sbtest"

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the lab makes; none where a script makes its own."""
        if self.schema == SCRIPT_SCHEMA:
            return ()
        if self.tables is None:
            return ("sbtest",)
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    @property
    def rows_in_all(self) -> int:
        """Rows of all tables together."""
        return self.rows * len(self.table_names)


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """What is asked: a kind of contend-load and that kind's own parameters.

    In an experiment's base `parameters` holds what the file gives; in the spec of a cell it holds
    every parameter of the kind but those that follow from the data (`rows`, `table`).
    """

    kind: str = "point_select"
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """How hard and how long. `threads` of None leaves the choice to contend-load; so does
    `engine` of `auto`, which the lab asks for once for all cells."""

    connections: int = 1
    threads: int | None = None
    warmup_s: float = 1.0
    measure_s: float = 5.0
    interval_s: float = 1.0
    protocol: str = "prepared"
    engine: str = "auto"
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that varies: a path such as `load.connections` and its levels, in file order."""

    path: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class CompareSpec:
    """Every other level of the baseline's factor is compared with the baseline, pair by pair.

    `baseline` names one factor and one of its levels; empty where nothing is compared.
    `metric` has the names of what is compared, the one that decides first.
    `margin` is a ratio: 0.02 means that within ±2 % two levels count as equivalent.
    """

    baseline: Mapping[str, Level] = field(default_factory=dict)
    metric: tuple[str, ...] = ("qps",)
    repeats: int = 8
    margin: float = 0.02
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Published gains in percent of one level over the baseline, by the columns' factor."""

    cell: Mapping[str, Level]
    gain_percent: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of another machine, shown beside ours and labelled as such."""

    name: str
    machine: str
    source: str
    columns_path: str
    columns: tuple[Level, ...]
    rows: tuple[PublishedRow, ...]


@dataclass(frozen=True, slots=True)
class CellSpec:
    """One cell with its levels put in: all that the lab needs to run it."""

    server: ServerSpec
    data: DataSpec
    workload: WorkloadSpec
    load: LoadSpec


@dataclass(frozen=True, slots=True)
class Experiment:
    """A whole experiment. `source` is the text it was read from, `overrides` what --set gave.

    `folder` is where the files of its scripts are sought; empty where it names none.
    """

    name: str
    question: str
    base: CellSpec
    factors: tuple[Factor, ...]
    compare: CompareSpec
    published: tuple[Published, ...] = ()
    explain: str | None = None
    variant: str = "default"
    source: str = ""
    overrides: tuple[str, ...] = ()
    folder: str = ""

    @property
    def compared(self) -> Factor | None:
        """The factor whose levels are compared; None where nothing is."""
        return next((f for f in self.factors if f.path in self.compare.baseline), None)
