"""The experiment for the arguments of `contend try`: the text of its file, read like every file."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from contend.cli.try_levels import (
    TWO_VALUES,
    FileSet,
    as_typed,
    level_of,
    option_levels,
    option_set,
    refuse_twice,
    same,
    split_levels,
)
from contend.errors import RequestError, did_you_mean
from contend.experiment import Experiment, Level, layout_options, read_experiment, written
from contend.experiment.settings.options import LAYOUT_OPTIONS, plain_option
from contend.experiment.settings.plan_keys import SCHEMA_OF, TWINS, WORKLOAD
from contend.experiment.settings.schemas import (
    IMPORT_NAME,
    SBTEST,
    SCHEMAS,
    SCRIPT_SCHEMA,
    imported_name,
    schema_of,
)
from contend.experiment.settings.server import is_dsn
from contend.experiment.settings.workload import ENGINES, may_write
from contend.servers.dsn import Dsn
from contend.servers.options import as_arguments, as_text

WORKLOAD_USUAL = "read_write"
CONNECTIONS_USUAL = "8"
ROWS_USUAL = 100_000
TIME_USUAL = "70s"
TIME_OF_LOG = "150s"
"""Servers are started for each repeat, and each template is asked."""

REPEATS = 8
MEASURE_OF_SEARCH = "3s"
"""Length of a run that looks for the rate of a goal."""

SYSBENCH = {
    **{f"oltp_{kind}": kind for kind in ("read_write", "read_only", "write_only", "point_select")},
    **{f"oltp_{kind}": kind for kind in ("update_index", "update_non_index", "delete", "insert")},
    **{f"select_{kind}": kind for kind in ("random_points", "random_ranges")},
}
"""sysbench's name for a workload -> the kind with the same queries."""

KINDS = tuple(kind for kind, keys in WORKLOAD.kinds.items() if not any(k.required for k in keys))
"""The kinds of workload that need only a name."""

_HEAD = "# What `contend {}` measures. Edit it, and measure it with `contend run FILE`.\n\n"
OPTION = "server.options."
_SERVER, _PROFILE, _ENGINE = "server.use", "server.profile", "data.engine"

_SHORT = {_SERVER: "servers", _PROFILE: "sets", _ENGINE: "engine"}
"""Names for run folders, if no option is compared."""

_ROOM_USUAL = 130
"""Connections of the load: some of the server's default of 151 have other uses."""


def experiment_of(
    args: argparse.Namespace, kind: str, files: Mapping[str, FileSet] | None = None
) -> Experiment:
    """The experiment requested by a command line.

    Args:
        kind: of the server, if the arguments name none.
        files: the sets that are option files, by `a` and `b`.

    Raises:
        RequestError: for any fault.
    """
    refuse_invalid_text(args)
    files = files or {}
    file = ExperimentFile("try")
    put_servers(args, file, kind)
    sets, of_both = _sets(args, files)
    if sets:
        file.put(_PROFILE, tuple(sets), "--a, --b")
    for name, value in of_both.items():
        file.fix(f"{OPTION}{name}", value, "--a, --b")
    options = _options(args.settings)
    for name, levels in options.items():
        if any(name in one for one in (*sets.values(), of_both)):
            raise RequestError(f"{name} is given twice: by itself and in --a or --b")
        file.put(f"{OPTION}{name}", levels, as_typed(name, levels))
    kinds = put_workload(args, file) if args.log is None else _twins(args, file)
    put_data(args, file, kinds[0])
    if args.log is None:
        put_connections(args, file, [options, *sets.values()])
    if args.equal_load:
        file.fix("load.rate", "equal", "--equal-load")
    if args.alone:
        file.fix("load.alone", True, "--alone")
    compared = _compare(args, file)
    for name, one in sets.items():
        file.tables[f"server.profiles.{name}.any"] = dict(one)
        file.origins["server", "profiles", name] = f"--{name}"
    _about(file, compared, kinds, {name: _Words.of(name, sets[name], files) for name in sets})
    return file.read()


class ExperimentFile:
    """The tables of the file, and the typed text of each value.

    Args:
        command: of contend, which writes it.
    """

    ORDER = (
        *("experiment", "server", "server.options", "server.profiles.a.any"),
        *("server.profiles.b.any", "data", "workload", "load", "factors"),
        *("screen.old", "screen.new", "compare", "goal"),
        'words."server.profile"',
    )

    def __init__(self, command: str) -> None:
        self.command = command
        self.tables: dict[str, dict[str, object]] = {}
        self.factors: dict[str, list[Level]] = {}
        self.origins: dict[tuple[str | int, ...], str] = {}

    @property
    def text(self) -> str:
        tables: dict[str, Mapping[str, object]] = {**self.tables, "factors": self.factors}
        if not self.factors:
            del tables["factors"]
        known = {name: tables[name] for name in self.ORDER if name in tables}
        return _HEAD.format(self.command) + written(known)

    def read(self) -> Experiment:
        return read_experiment(self.text, f"contend {self.command}", self.origins)

    def put(self, path: str, levels: Sequence[Level], typed: str) -> None:
        """Several levels make a factor, a single one is fixed."""
        if len(levels) == 1:
            self.fix(path, levels[0], typed)
            return
        refuse_twice(path.removeprefix(OPTION), levels, typed)
        self.factors[path] = list(levels)
        self.origins["factors", path] = typed

    def fix(self, path: str, value: object, typed: str) -> None:
        table, key = path.split(".", 1)
        if path.startswith(OPTION):
            table, key = "server.options", path.removeprefix(OPTION)
        self.tables.setdefault(table, {})[key] = value
        if typed:
            self.origins[*table.split("."), key] = typed


# --- the comparison ---


def put_servers(args: argparse.Namespace, file: ExperimentFile, kind: str) -> None:
    """Put the servers that a command line names in the file, else a kind."""
    if servers := servers_of(args):
        file.put(_SERVER, servers, "--server")
    else:
        file.fix("server.kind", kind, "")


def servers_of(args: argparse.Namespace) -> tuple[Level, ...]:
    """The servers that a command line names."""
    servers = [one for text in args.servers for one in split_levels(text, f"--server {text}")]
    for server in filter(is_dsn, servers):
        Dsn.parse(server)
    return tuple(servers)


def _sets(
    args: argparse.Namespace, files: Mapping[str, FileSet]
) -> tuple[dict[str, dict[str, Level]], dict[str, Level]]:
    """The two sets; and what files have in common and no set may hold: the layout of the data."""
    sets = typed_sets(args, files)
    for each in sets.values():
        as_arguments(each)
    of_both = take_shared(sets, LAYOUT_OPTIONS) if files else {}
    refuse_layout(sets, files)
    if sets and _are_same(sets["a"], sets["b"]):
        raise RequestError("--a and --b are the same set of options: nothing to compare")
    return sets, of_both


def typed_sets(
    args: argparse.Namespace, files: Mapping[str, FileSet]
) -> dict[str, dict[str, Level]]:
    """The sets of --a and --b, by `a` and `b`: both or none."""
    typed: dict[str, str | None] = {"a": args.a, "b": args.b}
    sets = {
        name: dict(files[name].options) if name in files else option_set(text)
        for name, text in typed.items()
        if text is not None
    }
    if len(sets) == 1:
        (one,) = sets
        other = "b" if one == "a" else "a"
        raise RequestError(
            f"--{one} needs --{other}: two sets of options are compared",
            hint="Write --a '' for the server's defaults.",
        )
    return sets


def take_shared(
    sets: Mapping[str, dict[str, Level]], among: Container[str] | None = None
) -> dict[str, Level]:
    """Take the options that two sets share out of them: all, or those `among` these."""
    one, other = sets.values()
    shared = [
        name
        for name in one
        if name in other
        and same(one[name], other[name])
        and (among is None or plain_option(name) in among)
    ]
    return {name: (one.pop(name), other.pop(name))[0] for name in shared}


def refuse_layout(sets: Mapping[str, Mapping[str, Level]], files: Mapping[str, FileSet]) -> None:
    """Refuse options of a set that need different data files."""
    for name, each in sets.items():
        if laid_out := layout_options(each):
            option = next(iter(laid_out))
            error = RequestError(
                f"{option} changes the layout of the data files and cannot be in a set",
                hint=f"Compare it by itself: `contend try {option}=VALUE,VALUE`.",
            )
            error.add_place(files[name].places[option] if name in files else "")
            raise error


def _are_same(one: Mapping[str, Level], other: Mapping[str, Level]) -> bool:
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


def _options(typed: Iterable[str]) -> dict[str, tuple[Level, ...]]:
    options: dict[str, tuple[Level, ...]] = {}
    for text in typed:
        name, levels = option_levels(text)
        if name in options:
            raise RequestError(
                f"{name} is given twice",
                hint=f"Give all its values at once: {as_typed(name, options[name] + levels)}.",
            )
        for level in levels:
            as_arguments({name: level})
        options[name] = levels
    return options


def _compare(args: argparse.Namespace, file: ExperimentFile) -> str | None:
    """The first factor that changes the server is the compared one; with a goal there may be
    none."""
    options = (path for path in file.factors if path.startswith(OPTION))
    compared = next(
        (path for path in (_SERVER, _PROFILE, *options, _ENGINE) if path in file.factors), None
    )
    if args.goal is not None:
        file.tables["goal"] = {"hold": args.goal}
        file.origins["goal", "hold"] = "--goal"
        file.tables.setdefault("load", {})["measure"] = MEASURE_OF_SEARCH
    elif compared is None:
        raise _nothing_to_compare(file)
    limits = (args.time, args.until, args.fail_if_slower, args.goal)
    is_open = all(limit is None for limit in limits)
    usual = TIME_USUAL if args.log is None else TIME_OF_LOG
    file.tables["compare"] = {
        "baseline": None if compared is None else {compared: file.factors[compared][0]},
        "repeats": REPEATS,
        **limits_of(args, file, usual if is_open else None),
        "fail_if_slower": None if args.fail_if_slower is None else level_of(args.fail_if_slower),
    }
    file.origins["compare", "fail_if_slower"] = f"--fail-if-slower {args.fail_if_slower}"
    return compared


def limits_of(
    args: argparse.Namespace, file: ExperimentFile, usual: str | None
) -> dict[str, object]:
    """The metrics, and how long is measured: for the `usual` time if --for is not given."""
    limit = usual if args.time is None else args.time
    until, at_most = (None if text is None else level_of(text) for text in (args.until, limit))
    metrics = None if args.metric is None else split_levels(args.metric, f"--metric {args.metric}")
    file.origins["compare", "metric"] = f"--metric {args.metric}"
    file.origins["compare", "until"] = f"--until {args.until}"
    file.origins["compare", "at_most"] = f"--for {args.time}"
    return {"metric": metrics, "until": until, "at_most": at_most}


class NothingToCompare(RequestError):
    """No factor has two values.

    Args:
        option: the only option that was named, with its value; None if there is none or several.
    """

    def __init__(self, option: tuple[str, Level] | None) -> None:
        self.option = option
        if option is None:
            super().__init__(
                "nothing to compare: no server option has two values",
                hint=TWO_VALUES,
            )
        else:
            name, level = option
            super().__init__(
                f"nothing to compare: {name} has one value, {as_text(level)}",
                hint=f"Add the value of the baseline: {name}=…,{as_text(level)}.",
            )


def _nothing_to_compare(file: ExperimentFile) -> NothingToCompare:
    options = file.tables.get("server.options", {})
    named = [(name, one) for name, one in options.items() if isinstance(one, Level)]
    return NothingToCompare(named[0] if len(named) == 1 else None)


# --- the queries ---


def put_workload(args: argparse.Namespace, file: ExperimentFile) -> tuple[str, ...]:
    """Put the workload in the file; return its kinds."""
    if args.sql:
        if args.workload is not None:
            raise RequestError("--sql and --workload cannot be combined", hint="Give one.")
        text = script_of(args.sql)
        if may_write("sql", {"text": text}) and not args.writes:
            raise RequestError(
                "a statement of --sql may change rows",
                hint="Add --writes to allow that: a private server then gets fresh rows for each "
                "repeat. On a running server the changes stay.",
            )
        file.tables["workload"] = {"kind": "sql", "text": text}
        file.origins["workload",] = "--sql"
        return ("sql",)
    if args.writes:
        raise RequestError("--writes needs --sql: other workloads define whether they write")
    typed = args.workload if args.workload is not None else WORKLOAD_USUAL
    kinds = tuple(_kind(name) for name in split_levels(typed, f"--workload {typed}"))
    file.put("workload.kind", kinds, f"--workload {typed}")
    file.origins["workload",] = f"--workload {typed}"
    return kinds


def _twins(args: argparse.Namespace, file: ExperimentFile) -> tuple[str, ...]:
    for name, is_given in (
        ("--sql", bool(args.sql)),
        ("--workload", args.workload is not None),
        ("--connections", args.connections != CONNECTIONS_USUAL),
        ("--equal-load", args.equal_load),
        ("--alone", args.alone),
        ("--goal", args.goal is not None),
    ):
        if is_given:
            raise RequestError(
                f"--log and {name} cannot be combined: statements are asked one at a time",
                hint=f'Remove {name}. For a load, write a file with the workload "recorded".',
            )
    if args.data is None and not any(is_dsn(str(one)) for one in servers_of(args)):
        raise RequestError(
            "--log needs the data of the recorded server",
            hint="Import a dump with `contend data import`, and add --data import:NAME.",
        )
    file.tables["workload"] = {"kind": TWINS, "recording": args.log}
    if args.writes:
        file.tables["workload"]["writes"] = True
    file.origins["workload", "recording"] = "--log"
    return (TWINS,)


def script_of(statements: Sequence[str]) -> str:
    """A script of the workload `sql`: each of the texts is an event, all of the same weight."""
    events = []
    for number, statement in enumerate(statements, start=1):
        body = statement.strip().rstrip(";").rstrip()
        if not body:
            raise RequestError("--sql has no statement")
        if body.startswith("@"):
            # This text names its events, and their weights, itself.
            events.append(f"{statement.strip()}\n")
            continue
        last = body.rpartition("\n")[2]
        # A comment would swallow the semicolon.
        end = "\n;" if "--" in last or "#" in last else ";"
        events.append(f"@query{number if len(statements) > 1 else ''}\n{body}{end}\n")
    return "".join(events)


def _kind(name: str) -> str:
    kind = SYSBENCH.get(name, name)
    if kind in KINDS:
        return kind
    hint = "Use --sql for statements." if name in ("sql", "list") else None
    raise RequestError(
        f'--workload: unknown workload "{name}"',
        hint=hint or did_you_mean(name, (*KINDS, *SYSBENCH)) or f"Use one of {', '.join(KINDS)}.",
    )


def put_data(args: argparse.Namespace, file: ExperimentFile, kind: str) -> None:
    typed = f"--data {args.data}"
    schema, rows = SCHEMA_OF.get(kind, SBTEST), None
    if args.data is not None:
        rows = _rows(args.data)
        schema = schema if rows is not None else _schema(args.data)
    wanted = SCHEMA_OF.get(kind, SBTEST)
    in_dump = schema_of(wanted).in_dumps and imported_name(schema) is not None
    if kind not in ("sql", TWINS) and schema != wanted and not in_dump:
        raise RequestError(
            f'{typed}: the workload "{kind}" needs the tables of {wanted}',
            hint="Use --sql for other tables.",
        )
    file.fix("data.schema", schema, typed if args.data is not None else "")
    known = schema_of(schema)
    if imported_name(schema) is None:
        names = {name.lower(): name for name in ENGINES}
        engines = _levels("--engine", args.engine) if args.engine is not None else ("InnoDB",)
        levels = tuple(names.get(str(one).lower(), one) for one in engines)
        file.put(_ENGINE, levels, f"--engine {args.engine}")
    elif args.engine is not None:
        file.fix(_ENGINE, args.engine, f"--engine {args.engine}")
    if rows is None and "rows" in known.keys and known.rows is None:
        rows = ROWS_USUAL
    if rows is not None:
        file.fix("data.rows", rows, typed)


def _rows(text: str) -> int | None:
    """`100000`, `100_000`, `100k`, `1.5M`; None if it is not a number."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)([kKmM]?)", text.replace("_", ""))
    if found is None or not (found[2] or found[1].isdigit()):
        return None
    times = {"": 1, "k": 1_000, "m": 1_000_000}[found[2].lower()]
    return round(float(found[1]) * times)


def _schema(text: str) -> str:
    names = [name for name in SCHEMAS if name != SCRIPT_SCHEMA]
    name = imported_name(text)
    if text in names or (name is not None and re.fullmatch(IMPORT_NAME, name)):
        return text
    raise RequestError(
        f"--data {text}: unknown schema",
        hint=did_you_mean(text, [*names, "import:NAME"])
        or f"Give a number of rows, {', '.join(names)}, or import:NAME.",
    )


def _levels(option: str, typed: str) -> tuple[Level, ...]:
    return tuple(level_of(one) for one in split_levels(typed, f"{option} {typed}"))


def put_connections(
    args: argparse.Namespace, file: ExperimentFile, options: Sequence[Iterable[str]]
) -> None:
    """Put them in the file, and have a private server accept that number if no options say how
    many."""
    connections = _levels("--connections", args.connections)
    file.put("load.connections", connections, f"--connections {args.connections}")
    if any(is_dsn(str(one)) for one in servers_of(args)):
        return
    most = max((one for one in connections if type(one) is int), default=0)
    if most > _ROOM_USUAL and not any("max_connections" in one for one in options):
        file.fix(f"{OPTION}max_connections", most + 20, "")


# --- its description ---


def _about(
    file: ExperimentFile, compared: str | None, kinds: Sequence[str], sets: Mapping[str, _Words]
) -> None:
    workload = " and ".join(map(workload_text, kinds))
    if compared is None:
        goal = file.tables["goal"]["hold"]
        question = f"How many events per second of {workload} hold {goal}?"
        file.tables["experiment"] = {"name": "try-goal", "question": question}
        return
    levels = file.factors[compared]
    name = "" if compared in (_SERVER, _PROFILE) else compared.removeprefix(OPTION)
    name = "engine" if compared == _ENGINE else name
    *others, last = [_level_text(one, sets if compared == _PROFILE else {}) for one in levels]
    if len(others) == 1:
        its = f"{name} = " if name else ""
        question = f"Is {its}{last} faster than {others[0]} for {workload}?"
    else:
        its = f"{name} " if name else ""
        question = f"Which {its}is fastest for {workload}: {', '.join(others)} or {last}?"
    if (goal := file.tables.get("goal", {}).get("hold")) is not None:
        its = f"{name} = " if name else ""
        names = f"{its}{', '.join(others)} and {last}"
        question = f"How many events per second of {workload} hold {goal}, with {names}?"
    file.tables["experiment"] = {
        "name": f"try-{_SHORT.get(compared) or re.sub(r'[^a-z0-9_]+', '-', name)}",
        "question": question,
    }
    if compared == _PROFILE:
        file.tables['words."server.profile"'] = {
            "levels": {name: words.text for name, words in sets.items()},
            "plural": [name for name, words in sets.items() if words.is_plural],
        }


@dataclass(frozen=True, slots=True)
class _Words:
    """How sentences call a set."""

    text: str
    is_plural: bool = False

    @classmethod
    def of(cls, name: str, options: Mapping[str, Level], files: Mapping[str, FileSet]) -> _Words:
        if name not in files:
            return cls(_inside(options), not options)
        label = files[name].label
        is_of_both = len(files) > 1 and len({one.label for one in files.values()}) == 1
        return cls(f"{label} of --{name}" if is_of_both else label)


def workload_text(kind: str) -> str:
    asked = {"sql": "these statements", TWINS: "the statements of the recording"}
    return asked.get(kind, kind)


def _level_text(level: Level, sets: Mapping[str, _Words]) -> str:
    if level in sets:
        return f"{level} ({sets[str(level)].text})"
    return as_text(level) or "''"


def _inside(values: Mapping[str, Level]) -> str:
    texts = (one if v is True else f"{one}={as_text(v)}" for one, v in values.items())
    return " ".join(texts) or "the defaults"


def refuse_invalid_text(args: argparse.Namespace) -> None:
    for value in vars(args).values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not text.isprintable():
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise RequestError(f"{text!a} is not valid UTF-8") from None
