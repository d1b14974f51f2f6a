"""The tables of an experiment file (which keys are settings and which are not), and the paths to
their keys, such as `load.connections` or `server.options.key_buffer_size`.

These keys and those of the settings are the one source for the reader, the overrides, the factors,
the JSON Schema and the reference page. A path names one value of the file. Factors, `--set` and the
variants use the same paths, and all of them are resolved here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from contend.errors import did_you_mean
from contend.experiment.gate import GateKind
from contend.experiment.goal import HIGHEST, LOWEST, GoalKind
from contend.experiment.model import SpecError
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.model import Setting
from contend.experiment.settings.place import PLACE_MEANINGS
from contend.experiment.settings.screen import SCREEN
from contend.experiment.settings.tables import Nested, can_vary
from contend.experiment.settings.values import (
    BaseKind,
    Choice,
    Duration,
    Flag,
    Key,
    Real,
    Refused,
    Several,
    Text,
    WholeNumber,
    Width,
    shown,
)
from contend.metrics import DISTURBANCES, FIXED, Run, UnknownMetric, metric_of, names_in

_OTHERS = r"^(status\..+_per_query|(statement|event)\..+\..+)$"
_SOME = ", ".join(f'"{name}"' for name in ("qps", "response_us_p99", "server_cpu_us_per_query"))


class MetricNames(BaseKind):
    """The names of one or more metrics, the deciding one first; read as a tuple."""

    def read(self, value: object) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.wrong(value, f"Write {_SOME}, …")
        if not names:
            raise Refused("must name at least one metric", hint=f"Write {_SOME}, …")
        for index, name in enumerate(names):
            if name in names[:index]:
                raise Refused(f"names {shown(name)} twice")
            try:
                metric_of(name)
            except UnknownMetric as unknown:
                known = unknown.known
                only = f'Did you mean "{known[0]}"?' if len(known) == 1 else None
                raise Refused(
                    f"names {shown(name)}, which is not a metric",
                    hint=only or did_you_mean(name, known) or f"Some are {_SOME}.",
                ) from None
        return tuple(names)

    def expected(self) -> str:
        return "the name of a metric, or a list of names"

    def schema(self) -> dict[str, Any]:
        name = {"anyOf": [{"enum": list(FIXED)}, {"type": "string", "pattern": _OTHERS}]}
        names = {"type": "array", "items": name, "minItems": 1, "uniqueItems": True}
        return {"anyOf": [name, names]}


def without_metric(name: str, run: Run) -> SpecError:
    """The error for a valid metric that a run does not have."""
    recorded = names_in(run)
    part = name.partition(".")[0]
    same = [other for other in recorded if other.partition(".")[0] == part]
    why = {
        "seconds": "Only runs that end by their number of events have it (load.events, times of a "
        "list), not those that end by load.measure.",
        "status": "A counter that did not change in a run is not recorded.",
    }.get(part)
    close = did_you_mean(name, same if "." in name else recorded)
    fallback = f"This run has {', '.join(recorded[:8])} and {max(0, len(recorded) - 8)} more."
    hint = " ".join(filter(None, (why, close))) or fallback
    return SpecError(f"no {name} was recorded", hint=hint)


NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits, '.', '_' and '-', for folder names")

CAUSES = tuple(
    sorted(
        Path(each.name).stem.replace("_", "-")
        for each in (files("contend") / "why" / "studies").iterdir()
        if each.name.endswith(".py") and not each.name.startswith("_")
    )
)
"""Each is defined in a separate file of the same name."""

EXPERIMENT = (
    Key("name", NAME, None, "short name, used for run folders (default: the file's name)"),
    Key("question", Text(), "", "question of the experiment, in one sentence"),
    Key("explain", Choice(CAUSES), None, "cause that the report examines"),
    Key(
        "why",
        Flag(),
        False,
        "after the run, test possible causes of a difference, like `contend run --why`",
    ),
)

_DISTURBANCE = Choice(tuple(DISTURBANCES))

COMPARE = (
    Key(
        "metric",
        MetricNames(),
        None,
        "the compared metrics: the first decides, and the others are shown next to it (default: "
        "that of the kind of workload)",
    ),
    Key(
        "by",
        Choice(("slices", "runs")),
        None,
        "how levels are compared: slices (a separate server for each level, all of them warm, "
        "loaded in turn a tenth of a second at a time) or runs (one server, one level after the "
        "other). By default slices if possible; the report says why if not",
    ),
    Key(
        "repeats",
        WholeNumber(2, 10_000),
        8,
        "minimum number of repeats of each comparison: each has freshly started servers in slices, "
        "or a pair of runs",
    ),
    Key(
        "until",
        Width(),
        None,
        "continue until the interval of each level as a whole is as narrow as this",
    ),
    Key(
        "at_most",
        Duration(),
        None,
        "maximum time of measuring; all of it, unless compare.until is reached before",
    ),
    Key(
        "wait_for_calm",
        Duration(),
        None,
        "total time that the run may wait before blocks until the CPUs are near each other again, "
        "in addition to compare.at_most (default: no waiting)",
    ),
    Key(
        "layout",
        Choice(("matched", "system")),
        None,
        "memory layout of private servers that are compared in slices: matched (the same in all of "
        "them, drawn again at each start) or system; by default matched if identical servers turn "
        "out to differ",
    ),
    Key(
        "adjust",
        Several(_DISTURBANCE, _DISTURBANCE.expected(), unique=True),
        (),
        "disturbances to adjust for: steal (CPU time that the hypervisor took), neighbours (CPU "
        "time that other processes took), io (waiting for storage), distance (between the CPUs). "
        "In runs, one level may have more of it than the other: the result is that of undisturbed "
        "runs. In slices, all levels of a block have the same, which may be more than usual: the "
        "result is that of the usual state. The report shows the effect",
    ),
    Key(
        "margin",
        Real(0.0, 1.0),
        0.02,
        "relative difference within which two levels count as equivalent: 0.02 is 2 percent",
    ),
    Key("confidence", Real(0.5, 1.0), 0.95, "confidence level of the intervals"),
    Key(
        "fail_if_slower",
        GateKind(),
        None,
        "a gate: `contend run` exits with 0 if no cell is slower by this much, 3 if one certainly "
        "is, 4 if that is inconclusive. One limit is for the metric that decides; several are a "
        'table of limits by metric, such as { throughput = "3 %", p99 = "10 %" }. Without until, '
        "it continues until every cell's interval is within 0.7 of its limit; without at_most, for "
        "at most 10 min",
    ),
)

GOAL = (
    Key(
        "hold",
        GoalKind(),
        None,
        'the goal, such as "p99<20ms": any metric with an upper limit; p50 to p99.9, mean and max '
        "are response times, and NAME.p99 is that of the events of one name; or knee: the p95 is "
        "three times as long as at low rates",
    ),
    Key("lowest", Real(0.0, 1e9), LOWEST, "the lowest rate that is tried, in events per second"),
    Key("highest", Real(0.0, 1e9), HIGHEST, "the highest rate that is tried"),
)

CPUS_MAX = 256
"""Most CPUs that are predicted."""

PREDICT = (
    Key(
        "cpus",
        Several(WholeNumber(1, CPUS_MAX), "numbers of CPUs", unique=True),
        [],
        "numbers of CPUs of a machine otherwise like the run's own",
    ),
    Key(
        "machines",
        Several(Text(), "names or files of machines", unique=True),
        [],
        "machines that contend describes (pitbull, perro), or TOML files that describe one",
    ),
)

PLAIN_TABLES: dict[str, tuple[Key, ...]] = {
    "experiment": EXPERIMENT,
    "compare": COMPARE,
    "goal": GOAL,
    "predict": PREDICT,
}
"""Tables of keys that are not settings: cells do not depend on them."""


def settings_by_section() -> dict[str, tuple[Setting, ...]]:
    """Section -> its settings, in the order of `SETTINGS`; the section is empty at the top of the
    file."""
    sections: dict[str, list[Setting]] = {}
    for setting in SETTINGS:
        sections.setdefault(setting.section, []).append(setting)
    return {section: tuple(settings) for section, settings in sections.items()}


def names_by_table() -> dict[str, list[str]]:
    """Table of the file -> its valid names: keys of settings, and tables."""
    tables: dict[str, list[str]] = {}
    for section, settings in settings_by_section().items():
        around, _, name = section.rpartition(".")
        while around:
            inside = tables.setdefault(around, [])
            inside.extend([name] if name not in inside else [])
            around, _, name = around.rpartition(".")
        if section:
            tables.setdefault(section, []).extend(setting.key.name for setting in settings)
    return tables


def top_level() -> tuple[str, ...]:
    """Every table, and every key outside of one."""
    sections = settings_by_section()
    alone = (setting.key.name for setting in sections.pop("", ()))
    return (
        *("experiment", *dict.fromkeys(name.partition(".")[0] for name in sections), *alone),
        *("factors", "compare", "goal", "predict", "words", "published", *VARIANTS),
    )


VARIANTS = ("quick", "full")
"""Tables of overrides that `--quick` and `--full` apply."""

MEANINGS = {
    "experiment": "its name and question",
    "server": "the server under test: a private one unless --server names one",
    "data": "the tables and their content",
    "place": "where server and client run, and a neighbour process",
    **PLACE_MEANINGS,
    "host": "the state of the host; contend changes it only with --touch-host",
    "load": "intensity and duration of the load",
    "screen": "which of the lines matter in which two sets of server options differ",
    "factors": "the settings that vary: a path of this file in quotes, and the list of its levels",
    "compare": "what is compared, how, and how precisely",
    "goal": "find the highest rate of an open loop that holds a limit, instead of comparing the "
    "levels at one load",
    "predict": "predict after the run what the gain would be on other machines, like `contend "
    "predict`",
    "compare.baseline": "the factor compared and the level that the others are compared with",
    "words": "names of the levels of a factor in the report, by its path in quotes",
    "published": "figures of other machines, shown next to contend's",
    "quick": "overrides for --quick: a path in quotes, and its value or list of levels",
    "full": "overrides for --full: a path in quotes, and its value or list of levels",
}


SCRIPT_OPTIONS_PREFIX = "workload.options."


@dataclass(frozen=True, slots=True)
class PathTarget:
    """The target of a path: its spelling, the keys from the top of the file, its last key.

    `setting` is the setting that the value is, or is part of; None if it is not part of a cell.
    """

    path: str
    steps: tuple[str, ...]
    key: Key
    setting: Setting | None

    @property
    def can_vary(self) -> bool:
        return self.setting is not None and can_vary(self.key)

    def put(self, values: Mapping[str, Any], level: object) -> Any:
        """The setting's value, with the level put into it."""
        setting = self.setting
        assert setting is not None
        value, inner = self.key.kind.read(level), self.steps[len(setting.steps) :]
        if not inner:
            return value
        assert isinstance(setting.key.kind, Nested)
        return setting.key.kind.put(values[setting.path], inner, value)


def resolve(path: str) -> PathTarget:
    """The target of `path`; raises Refused with the nearest known path."""
    for setting in SETTINGS:
        if path == setting.path:
            return PathTarget(path, setting.steps, setting.key, setting)
        kind = setting.key.kind
        if path.startswith(f"{setting.path}.") and isinstance(kind, Nested):
            inside = kind.inside(path.removeprefix(f"{setting.path}."))
            if inside is not None:
                steps = (*setting.steps, *inside[0])
                return PathTarget(".".join(steps), steps, inside[1], setting)
    section, _, name = path.partition(".")
    for key in PLAIN_TABLES.get(section, ()):
        if key.name == name:
            return PathTarget(path, (section, name), key, None)
    raise Refused(
        f'"{path}" is not a path of an experiment',
        hint=_HOW_TO_REACH
        if path.rpartition(".")[2] in _REACHED
        else did_you_mean(path, known_paths()),
    )


_REACHED = frozenset({"tls", "ssl", "ssl_mode", "tcp", "socket", "transport"})
_HOW_TO_REACH = (
    "How a server is reached is part of its DSN: server.use has a level such as "
    "mysql://USER@HOST/DATABASE?ssl_mode=required, or socket:/PATH."
)


def can_be_factor(path: str) -> bool:
    """Whether the value at `path` can be replaced by a list of levels."""
    try:
        return resolve(path).can_vary
    except Refused:
        return False


def known_paths() -> tuple[str, ...]:
    """Every path except those with free names, which only the server or the script knows."""
    paths = [f"{section}.{key.name}" for section, keys in PLAIN_TABLES.items() for key in keys]
    for setting in SETTINGS:
        kind = setting.key.kind
        if isinstance(kind, Nested):
            paths.extend(f"{setting.path}.{inner}" for inner in kind.paths())
        else:
            paths.append(setting.path)
    return tuple(paths)


def factor_paths() -> tuple[str, ...]:
    """The known paths that can be factors. The cells of a screen are chosen by contend."""
    chosen = {setting.path for setting in SCREEN}
    return tuple(path for path in known_paths() if resolve(path).can_vary and path not in chosen)
