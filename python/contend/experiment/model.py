"""The objects of an experiment, frozen and validated.

An experiment is a base cell (the value of every setting), factors (paths into that cell, each with
levels), a comparison (which level is the baseline) and the published figures to show next to it.
Times are seconds as floats and their names end in `_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from contend.errors import RequestError
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.schemas import SBTEST, Schema, schema_of
from contend.experiment.settings.screen import ScreenLine, lines_of
from contend.experiment.settings.values import Level
from contend.experiment.stored import built, require_base, require_sizes
from contend.metrics import THROUGHPUT


class SpecError(RequestError):
    """An experiment file, a recipe name or an override that cannot be used.

    The message quotes the file, so characters that would break the line or control a terminal are
    escaped.
    """

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        shown = None if hint is None else _printable(hint)
        super().__init__(_printable(message), hint=shown, detail=detail)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


Cell = Mapping[str, Level]
"""The level of each factor: path -> level, in the order of the experiment's factors."""


def same_level(one: object, other: object) -> bool:
    """Whether two values are the same level: `true` is not 1, unlike in Python."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@dataclass(frozen=True, slots=True)
class DataSpec:
    """The tables: schema, storage engine, size, and the seed of their content.

    `k` is how the indexed column is filled: `row_number` (unique, in file order, as in the study's
    sysbench 0.5) or `random` (as in sysbench 1.0).
    `tables` of None is the one table `sbtest`; a number stands for `sbtest1`, `sbtest2` and so on.
    `rows` is per table; for the schema `employees`, the number of employees.
    `own` has all keys that belong to the schema alone, including those that were not given.
    Under the schema `script` a script's own `prepare` makes the tables; `prepare` is its input
    (script and options), known only in the spec of a cell.
    Under `import:NAME` they are those of a dump, with its own database, engines and rows.
    """

    schema: str = "sbtest"
    engine: str = "InnoDB"
    rows: int = 10_000
    seed: int = 1
    k: str = "row_number"
    table_options: str = ""
    tables: int | None = None
    prepare: Mapping[str, object] | None = None
    own: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keys = (setting.key for setting in self.known.own)
        own = {key.name: self.own.get(key.name, key.default) for key in keys}
        object.__setattr__(self, "own", own)

    def __getitem__(self, key: str) -> Any:
        """The value of a key of `[data]`."""
        return self.own[key] if key in self.own else getattr(self, key)

    @property
    def known(self) -> Schema:
        """The schema's definition."""
        return schema_of(self.schema)

    @property
    def database(self) -> str:
        """The database of the tables on a private server: the name that scripts and statements
        expect."""
        return self.known.database

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the lab makes; none if a script or a dump provides them."""
        if self.schema != SBTEST:
            return self.known.tables
        if self.tables is None:
            return ("sbtest",)
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    @property
    def rows_in_all(self) -> int:
        """Rows of all tables together; approximate if the schema's size does not count rows."""
        if not self.known.tables:
            return self.rows * len(self.table_names)
        return self.known.rows_in_all(self.size[0], self.own)

    @property
    def size(self) -> tuple[int, str]:
        """The size, and the unit in which the schema counts it."""
        key = self.known.size_key
        unit = self.schema if key == "rows" and len(self.known.tables) > 1 else key
        return int(self[key]), unit

    def small(self) -> DataSpec:
        """The same tables with very few rows, to try statements on."""
        return replace(self, rows=100, own=self.known.smallest(self.own))


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """The queries: a kind of contend-load, and that kind's parameters."""

    kind: str = "point_select"
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Factor:
    """A varied setting: a path such as `load.connections`, and its levels in file order."""

    path: str
    levels: tuple[Level, ...]


GATE_WIDTH = 0.7
"""Share of the slowdown at which a gate fails: an interval with this half-width excludes it in four
of five experiments if nothing changed."""


@dataclass(frozen=True, slots=True)
class CompareSpec:
    """Every other level of the baseline's factor is compared with the baseline, pair by pair.

    `baseline` names one factor and one of its levels; empty if nothing is compared.
    `metric` has the names of the compared metrics, the deciding one first.
    `by` is `slices` or `runs`; None lets the lab choose.
    `repeats` is the minimum number of times each comparison is made. With `until` (half the width
    of an interval, as a ratio) or `at_most_s` there may be more.
    `wait_for_calm_s` is the total time that the run waits for the CPUs to be near one another.
    `adjust` has the disturbances to adjust for.
    `layout` of the servers' memory is `matched` or `system`; None lets the lab choose.
    `margin` is a ratio: 0.02 means that within ±2 % two levels count as equivalent.
    `fail_if_slower` has the slowdown, as a ratio, at which a gate fails, by the name of its metric;
    None without a gate.
    """

    baseline: Mapping[str, Level] = field(default_factory=dict)
    metric: tuple[str, ...] = (THROUGHPUT,)
    by: str | None = None
    repeats: int = 8
    until: float | None = None
    at_most_s: float | None = None
    wait_for_calm_s: float | None = None
    layout: str | None = None
    adjust: tuple[str, ...] = ()
    margin: float = 0.02
    confidence: float = 0.95
    fail_if_slower: Mapping[str, float] | None = None

    @property
    def deciding(self) -> tuple[str, ...]:
        """The metrics that share the first family: the first, and those of the gate."""
        return tuple(dict.fromkeys((*self.metric[:1], *(self.fail_if_slower or ()))))

    @property
    def widths(self) -> tuple[float | None, ...]:
        """Relative half-widths to reach, one for each deciding metric: `until` for the first of
        them, or the widths that let a gate pass. None for one without a width."""
        if self.until is not None:
            return (self.until, *(None for _ in self.deciding[1:]))
        limits = self.fail_if_slower or {}
        return tuple(
            GATE_WIDTH * limits[name] if name in limits else None for name in self.deciding
        )

    @property
    def width(self) -> float | None:
        """That of the first metric."""
        return self.widths[0]

    @property
    def is_by_width(self) -> bool:
        """Whether a width ends the experiment."""
        return any(width is not None for width in self.widths)

    @property
    def is_width_of_cells(self) -> bool:
        """Whether that width applies to every cell instead of each level as a whole."""
        return self.until is None and self.fail_if_slower is not None


@dataclass(frozen=True, slots=True)
class GoalSpec:
    """The experiment looks for the highest rate at which `metric` stays below `limit`.

    `text` is how it is shown. `lowest` and `highest` bound the rates that are tried, in events per
    second. With `over_idle` the goal is the knee: the limit of each level is this multiple of the
    value at low rates, and `limit` is 0.
    """

    metric: str
    limit: float
    text: str
    lowest: float = 10.0
    highest: float = 1_000_000.0
    over_idle: float | None = None


@dataclass(frozen=True, slots=True)
class PredictSpec:
    """Predictions that follow the run: for the run's own machine with other numbers of CPUs, and
    for described machines (names, or files)."""

    cpus: tuple[int, ...] = ()
    machines: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.cpus or self.machines)


@dataclass(frozen=True, slots=True)
class Words:
    """Names for the levels of a factor in a report.

    `change` describes the step from the baseline to a level, as the subject of a sentence, with
    placeholders `{level}` and `{baseline}`; empty if the names of the levels are sufficient.
    `levels` has their names by the level in TOML's form; `plural` those whose name is plural.
    """

    change: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    plural: tuple[str, ...] = ()

    def name(self, level: Level) -> str | None:
        """The name of a level; None if it has none."""
        return self.levels.get(as_written(level))

    def is_plural(self, level: Level) -> bool:
        return as_written(level) in self.plural


def as_written(level: Level) -> str:
    """A level in TOML's form, without quotes: `true`, `32`, `multi_row`."""
    return str(level).lower() if isinstance(level, bool) else str(level)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Published gains in percent of one level over the baseline, by the columns' factor; or the
    figures themselves."""

    cell: Mapping[str, Level]
    gain_percent: tuple[float, ...] = ()
    figures: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of a different machine, shown next to contend's and labelled as such.

    `metric` is the name of the rows' metric.
    """

    name: str
    machine: str
    source: str
    columns_path: str
    columns: tuple[Level, ...]
    rows: tuple[PublishedRow, ...]
    metric: str = THROUGHPUT


@dataclass(frozen=True, slots=True)
class CellSpec:
    """One cell with its levels applied: the value of every setting, by its path.

    A duration is seconds. In an experiment's base, `workload` has the values from the file; in a
    cell it has every parameter of its kind except those that follow from the data (`rows`,
    `table`).
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        usual = {setting.path: setting.usual for setting in SETTINGS}
        object.__setattr__(self, "values", {**usual, **self.values})

    def __getitem__(self, path: str) -> Any:
        return self.values[path]

    def having(self, **values: Any) -> CellSpec:
        """A copy of this cell with changed values; `__` stands for a dot: `load__connections=8`."""
        changed = {name.replace("__", "."): value for name, value in values.items()}
        return CellSpec({**self.values, **changed})

    @property
    def data(self) -> DataSpec:
        keys = {
            path.removeprefix("data."): value
            for path, value in self.values.items()
            if path.startswith("data.")
        }
        common = {field.name for field in fields(DataSpec)} & keys.keys()
        return DataSpec(**{name: keys.pop(name) for name in common}, own=keys)

    @property
    def workload(self) -> WorkloadSpec:
        parameters = dict(self.values["workload"])
        return WorkloadSpec(kind=str(parameters.pop("kind")), parameters=parameters)


@dataclass(frozen=True, slots=True)
class Planned:
    """One planned run. All numbers count from 1, in the order of execution.

    `repeat` numbers the runs of its cell; runs of one block share a repeat.
    """

    run: int
    block: int
    repeat: int
    cell: Cell


CellKey = frozenset[tuple[str, type, Level]]


def cell_key(cell: Cell) -> CellKey:
    """A cell as a key, independent of the order of its paths. Unlike in Python, `true`, 1 and 1.0
    are different."""
    return frozenset((path, type(level), level) for path, level in cell.items())


@dataclass(frozen=True)
class Experiment:
    """A whole experiment. `source` is the text it was read from, `overrides` the values of --set,
    `words` the names of its levels, by the factor's path.

    `folder` is where its script files are looked up; empty if it has none.
    """

    name: str
    question: str
    base: CellSpec
    factors: tuple[Factor, ...]
    compare: CompareSpec
    published: tuple[Published, ...] = ()
    words: Mapping[str, Words] = field(default_factory=dict)
    explain: str | None = None
    why: bool = False
    goal: GoalSpec | None = None
    predict: PredictSpec = PredictSpec()
    variant: str = "default"
    source: str = ""
    overrides: tuple[str, ...] = ()
    folder: str = ""

    @cached_property
    def computed(self) -> dict[CellKey, CellSpec]:
        """Cells with their levels applied, cached by `cell_spec`."""
        return {}

    @property
    def compared(self) -> Factor | None:
        """The factor whose levels are compared; None if nothing is."""
        return next((f for f in self.factors if f.path in self.compare.baseline), None)

    @cached_property
    def lines(self) -> tuple[ScreenLine, ...]:
        """The lines that it screens; none if it screens nothing."""
        return lines_of(self.base.values)

    def gives(self, path: str) -> bool:
        """Whether the experiment gives a value, or levels, for the setting at `path`."""
        return self.base[path] is not None or any(f.path == path for f in self.factors)


SPEC_FORMAT = 5
"""Version of the stored form, raised by a change that this contend would misread."""


def to_dict(experiment: Experiment) -> dict[str, Any]:
    """Plain JSON values; `from_dict` returns an equal experiment."""
    plain = _plain(asdict(experiment))
    assert isinstance(plain, dict)
    return {"format": SPEC_FORMAT, **plain, "base": plain["base"]["values"]}


def from_dict(stored: Mapping[str, Any]) -> Experiment:
    """The experiment written by `to_dict`; raises SpecError if it is damaged or of a different
    format."""
    number = stored.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise SpecError("the stored experiment has no format number")
    if number != SPEC_FORMAT:
        raise SpecError(
            f"the stored experiment has format {number}, and this version of contend reads "
            f"{SPEC_FORMAT}",
            hint="Read it with the contend that wrote it.",
        )
    try:
        base = stored["base"]
        # Settings added by a later contend have their default in an older experiment.
        require_base(base)
        if unknown := base.keys() - CellSpec().values.keys():
            raise ValueError(f"it has a setting {min(unknown)}, which this contend does not know")
        parts = {name: value for name, value in stored.items() if name != "format"}
        experiment = built({**parts, "base": {"values": base}}, Experiment)
        require_sizes(stored)
        return experiment
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SpecError(f"the stored experiment is damaged: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
