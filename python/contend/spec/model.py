"""What an experiment is: frozen, validated objects.

An experiment is a base cell (the value of every setting), factors (paths into that cell, each with
levels), a comparison (which level is the baseline) and the published figures to show beside.
Times are seconds as floats and their names end in `_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contend.settings.registry import SETTINGS
from contend.settings.values import Level
from contend.settings.workload import SCRIPT_SCHEMA

Cell = Mapping[str, Level]
"""Which level each factor has: path -> level, in the order of the experiment's factors."""


def same_level(one: object, other: object) -> bool:
    """Whether two values are the same level: `true` is not 1, though Python says so."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


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
    """What is asked: a kind of contend-load and that kind's own parameters."""

    kind: str = "point_select"
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing that varies: a path such as `load.connections` and its levels, in file order."""

    path: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class CompareSpec:
    """Every other level of the baseline's factor is compared with the baseline, pair by pair.

    `baseline` names one factor and one of its levels; empty where nothing is compared.
    `margin` is a ratio: 0.02 means that within ±2 % two levels count as equivalent.
    """

    baseline: Mapping[str, Level] = field(default_factory=dict)
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
    """One cell with its levels put in: the value of every setting, by its path.

    A duration is seconds. In an experiment's base, `workload` has what the file gives; in a cell it
    has every parameter of its kind but those that follow from the data (`rows`, `table`).
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        usual = {setting.path: setting.key.default for setting in SETTINGS}
        object.__setattr__(self, "values", {**usual, **self.values})

    def __getitem__(self, path: str) -> Any:
        return self.values[path]

    def having(self, **values: Any) -> CellSpec:
        """This cell with other values; `__` stands for a dot: `load__connections=8`."""
        changed = {name.replace("__", "."): value for name, value in values.items()}
        return CellSpec({**self.values, **changed})

    @property
    def data(self) -> DataSpec:
        of_data = (p for p in self.values if p.startswith("data."))
        return DataSpec(**{path.removeprefix("data."): self.values[path] for path in of_data})

    @property
    def workload(self) -> WorkloadSpec:
        parameters = dict(self.values["workload"])
        return WorkloadSpec(kind=str(parameters.pop("kind")), parameters=parameters)


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

    def gives(self, path: str) -> bool:
        """Whether the setting at `path` has a value, or levels, of the experiment's own."""
        return self.base[path] is not None or any(f.path == path for f in self.factors)
