"""What an experiment is: frozen, validated objects.

An experiment is a base cell (the value of every setting), factors (paths into that cell, each with
levels), a comparison (which level is the baseline) and the published figures to show beside.
Times are seconds as floats and their names end in `_s`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from contend.errors import RequestError
from contend.metrics import THROUGHPUT
from contend.settings import SETTINGS
from contend.settings.schemas import SBTEST, Schema, schema_of
from contend.settings.values import Level
from contend.spec.stored import require_base, require_stored


class SpecError(RequestError):
    """An experiment file, a recipe name or an override that cannot be used.

    What the file holds is quoted in the message, so characters that would break the line or
    steer a terminal are shown as escapes.
    """

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        shown = None if hint is None else _printable(hint)
        super().__init__(_printable(message), hint=shown, detail=detail)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


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
    `rows` is of each table, of the schema `employees` the number of employees.
    `own` has the keys that are the schema's own (`contend.settings.schemas`), those that were not
    given too.
    Under the schema `script` a script's own `prepare` makes the tables; `prepare` is what it is
    told (script and options), known only in the spec of a cell.
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
        """What is known of the schema."""
        return schema_of(self.schema)

    @property
    def database(self) -> str:
        """Where the tables are, on a server of ours: the name that scripts and statements
        expect."""
        return self.known.database

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the lab makes; none if a script makes its own, or a dump has them."""
        if self.schema != SBTEST:
            return self.known.tables
        if self.tables is None:
            return ("sbtest",)
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    @property
    def rows_in_all(self) -> int:
        """Rows of all tables together; about so many if the schema counts something else."""
        if not self.known.tables:
            return self.rows * len(self.table_names)
        return self.known.rows_in_all(self.size[0], self.own)

    @property
    def size(self) -> tuple[int, str]:
        """How much there is as the schema counts it, and what it counts."""
        key = self.known.size_key
        unit = self.schema if key == "rows" and len(self.known.tables) > 1 else key
        return int(self[key]), unit

    def small(self) -> DataSpec:
        """The same tables with hardly a row, for statements to be tried on."""
        return replace(self, rows=100, own=self.known.smallest(self.own))


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


GATE_WIDTH = 0.7
"""Of the slowdown from which on a gate fails: an interval with this half-width excludes it in four
of five experiments if nothing changed."""


@dataclass(frozen=True, slots=True)
class CompareSpec:
    """Every other level of the baseline's factor is compared with the baseline, pair by pair.

    `baseline` names one factor and one of its levels; empty if nothing is compared.
    `metric` has the names of what is compared, the one that decides first.
    `by` is `slices` or `runs`, and None if the lab is to choose.
    `repeats` is how often each comparison is made, at least. With `until` (half the width of an
    interval, as a ratio) or `at_most_s` it may be more.
    `wait_for_calm_s` is how long the run waits, in all, for the CPUs to be near one another.
    `adjust` has the disturbances that are allowed for.
    `layout` of the servers' memory is `matched` or `system`, and None if the lab is to choose.
    `margin` is a ratio: 0.02 means that within ±2 % two levels count as equivalent.
    `fail_if_slower` is that slowdown, as a ratio, from which on a gate fails; None without a gate.
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
    fail_if_slower: float | None = None

    @property
    def width(self) -> float | None:
        """Relative half-width that is narrow enough: `until`, or what lets a gate pass."""
        if self.until is not None or self.fail_if_slower is None:
            return self.until
        return GATE_WIDTH * self.fail_if_slower

    @property
    def is_width_of_cells(self) -> bool:
        """Whether that is the width of every cell, and not of each level as a whole."""
        return self.until is None and self.fail_if_slower is not None


@dataclass(frozen=True, slots=True)
class Words:
    """What a report calls the levels of a factor.

    `change` is what is done to get from the baseline to a level, as the subject of a sentence, with
    places for `{level}` and `{baseline}`; empty if the names of the levels say enough.
    `levels` has their names by the level as TOML writes it; `plural` those whose name is plural.
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
    """A level as TOML writes it, without quotes: `true`, `32`, `multi_row`."""
    return str(level).lower() if isinstance(level, bool) else str(level)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """Published gains in percent of one level over the baseline, by the columns' factor; or else
    the figures themselves."""

    cell: Mapping[str, Level]
    gain_percent: tuple[float, ...] = ()
    figures: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of another machine, shown beside ours and labelled as such.

    `metric` is the name of the one that the rows are about.
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
    """One cell with its levels put in: the value of every setting, by its path.

    A duration is seconds. In an experiment's base, `workload` has what the file gives; in a cell it
    has every parameter of its kind but those that follow from the data (`rows`, `table`).
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        usual = {setting.path: setting.usual for setting in SETTINGS}
        object.__setattr__(self, "values", {**usual, **self.values})

    def __getitem__(self, path: str) -> Any:
        return self.values[path]

    def having(self, **values: Any) -> CellSpec:
        """This cell with other values; `__` stands for a dot: `load__connections=8`."""
        changed = {name.replace("__", "."): value for name, value in values.items()}
        return CellSpec({**self.values, **changed})

    @property
    def data(self) -> DataSpec:
        told = {
            path.removeprefix("data."): value
            for path, value in self.values.items()
            if path.startswith("data.")
        }
        of_all = {field.name for field in fields(DataSpec)} & told.keys()
        return DataSpec(**{name: told.pop(name) for name in of_all}, own=told)

    @property
    def workload(self) -> WorkloadSpec:
        parameters = dict(self.values["workload"])
        return WorkloadSpec(kind=str(parameters.pop("kind")), parameters=parameters)


@dataclass(frozen=True, slots=True)
class Planned:
    """One run to be made. All numbers count from 1, in the order of execution.

    `repeat` tells which of its cell's runs this is; runs of one block share a repeat.
    """

    run: int
    block: int
    repeat: int
    cell: Cell


CellKey = frozenset[tuple[str, type, Level]]


def cell_key(cell: Cell) -> CellKey:
    """A cell as a key, in whatever order it names its paths. `true` is not 1 here, though Python
    says so, and 1 is not 1.0."""
    return frozenset((path, type(level), level) for path, level in cell.items())


@dataclass(frozen=True)
class Experiment:
    """A whole experiment. `source` is the text it was read from, `overrides` what --set gave,
    `words` what its levels are called, by the factor's path.

    `folder` is where the files of its scripts are sought; empty if it names none.
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
    variant: str = "default"
    source: str = ""
    overrides: tuple[str, ...] = ()
    folder: str = ""

    @cached_property
    def computed(self) -> dict[CellKey, CellSpec]:
        """Its cells with their levels put in, as far as `cell_spec` was asked for them."""
        return {}

    @property
    def compared(self) -> Factor | None:
        """The factor whose levels are compared; None if nothing is."""
        return next((f for f in self.factors if f.path in self.compare.baseline), None)

    def gives(self, path: str) -> bool:
        """Whether the setting at `path` has a value, or levels, of the experiment's own."""
        return self.base[path] is not None or any(f.path == path for f in self.factors)


SPEC_FORMAT = 5
"""Version of the stored form. A change that an older contend would misread raises it.
2: the load names its engine. 3: the base is the value of each setting, by path; the metrics.
4: what the levels are called. 5: the gate."""


def to_dict(experiment: Experiment) -> dict[str, Any]:
    """Plain JSON values; `from_dict` gives an equal experiment back."""
    plain = _plain(asdict(experiment))
    assert isinstance(plain, dict)
    return {"format": SPEC_FORMAT, **plain, "base": plain["base"]["values"]}


def from_dict(stored: Mapping[str, Any]) -> Experiment:
    """The experiment that `to_dict` wrote; raises SpecError if it is damaged or newer."""
    number = stored.get("format")
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise SpecError("the stored experiment has no format number")
    if number > SPEC_FORMAT:
        raise SpecError(
            f"the stored experiment has format {number}, and this version of contend reads "
            f"{SPEC_FORMAT}",
            hint="Read it with the newer contend that wrote it.",
        )
    try:
        require_stored(stored)
        return _experiment(stored, number)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SpecError(f"the stored experiment is damaged: {error}") from error


def _experiment(stored: Mapping[str, Any], number: int) -> Experiment:
    parts = {name: value for name, value in stored.items() if name != "format"}
    base = parts["base"] if number >= 3 else _by_path(parts["base"])
    # What a later contend can vary had its default in an experiment that could not say it.
    require_base(base)
    parts["base"] = CellSpec({str(path): value for path, value in base.items()})
    unknown = parts["base"].values.keys() - CellSpec().values.keys()
    if unknown:
        raise ValueError(f"it has a setting {min(unknown)}, which this contend does not know")
    parts["factors"] = tuple(Factor(f["path"], tuple(f["levels"])) for f in parts["factors"])
    compare = dict(parts["compare"])
    for several in ("metric", "adjust"):
        if several in compare:
            compare[several] = tuple(compare[several])
    parts["compare"] = CompareSpec(**compare)
    parts["published"] = tuple(_published(p) for p in parts["published"])
    parts["words"] = {
        path: Words(one["change"], one["levels"], tuple(one["plural"]))
        for path, one in parts.get("words", {}).items()
    }
    parts["overrides"] = tuple(parts["overrides"])
    return Experiment(**parts)


def _by_path(base: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of the formats before 3, with durations named by their unit."""
    values: dict[str, Any] = {}
    for section in ("server", "data", "load"):
        for name, value in base[section].items():
            values[f"{section}.{name.removesuffix('_s')}"] = value
    workload = base["workload"]
    return {**values, "workload": {"kind": workload["kind"], **workload["parameters"]}}


def _published(stored: Mapping[str, Any]) -> Published:
    parts = dict(stored)
    parts["columns"] = tuple(parts["columns"])
    parts["rows"] = tuple(
        PublishedRow(
            cell=dict(r["cell"]),
            gain_percent=tuple(r["gain_percent"]),
            figures=tuple(r.get("figures", ())),
        )
        for r in parts["rows"]
    )
    return Published(**parts)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
