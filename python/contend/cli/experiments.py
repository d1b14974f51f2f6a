"""`contend try`: an experiment from a command line, measured in the same way as by `contend run`.
`contend recipes`, `contend schema`: the built-in experiment files, and the keys of such files."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from contend.cli.gate import add_gate, check_gate
from contend.cli.goal import add_goal
from contend.cli.parser import Parser, add_equal_load, remark, say
from contend.cli.try_experiment import (
    CONNECTIONS_USUAL,
    ROWS_USUAL,
    TIME_OF_LOG,
    TIME_USUAL,
    WORKLOAD_USUAL,
    NothingToCompare,
    experiment_of,
    servers_of,
)
from contend.cli.try_levels import FileSet, is_option_file
from contend.errors import RequestError
from contend.experiment import (
    Experiment,
    cell_specs,
    json_schema,
    key_tables,
    load_experiment,
    recipe_text,
    recipes,
)
from contend.experiment.settings.options import ANY, PROFILES
from contend.experiment.settings.server import MARIADB, MYSQL, is_dsn
from contend.servers.options import as_text, same_value

if TYPE_CHECKING:
    from contend.servers import ServerBinary

EXAMPLES = """\
examples:
  contend try innodb_flush_log_at_trx_commit=1,2 --connections 8,64
  contend try sort_buffer_size=256K,4M --sql 'SELECT c FROM sbtest ORDER BY c LIMIT 9'
  contend try --a 'key_cache_segments=0' --b 'key_cache_segments=32 key_buffer_size=64M' \\
      --engine MyISAM --workload random_points
  contend try --a old.cnf --b new.cnf
  contend try innodb_flush_log_at_trx_commit=1,2 --goal 'p99<20ms'
  contend try --server mariadb@bookworm,/opt/new/bin/mariadbd --fail-if-slower 3%
"""


def add_try(parser: Parser) -> None:
    parser.intermixed = True
    parser.meant = {"--threads": "--connections", "--time": "--for", "--table-size": "--data"}
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Is a different value of a server option faster? Each value gets its own server;\n"
        "the first is the baseline. Takes about a minute and reports intervals."
    )
    parser.epilog = EXAMPLES
    parser.usage = "contend try NAME=VALUE,VALUE… [options]"
    add = parser.add_argument
    add(
        "settings",
        metavar="NAME=VALUE,…",
        nargs="*",
        help="a server option and its values; the first option with several values is compared, "
        "at each value of the others",
    )
    add("--a", metavar="'X=1 Y=2'", help="compare sets of options, or option files: the baseline")
    add("--b", metavar="'X=3'", help="the set, or the option file, to compare with --a")
    add_queries(parser)
    add(
        "--log",
        metavar="NAME",
        help="ask each statement of this recording (`contend log list`) by itself, on all servers "
        "in turn",
    )
    add(
        "--writes",
        action="store_true",
        help="allow --sql to change rows; with --log, ask writes too and roll them back",
    )
    add_data(parser)
    add(
        "--connections",
        metavar="N,…",
        default=CONNECTIONS_USUAL,
        help=f"numbers of connections (default: {CONNECTIONS_USUAL})",
    )
    add(
        "--server",
        dest="servers",
        metavar="NAME|DSN",
        action="append",
        default=[],
        help="server (see `contend run --help`); two, such as mariadb,mysql@sid, are compared",
    )
    add(
        "--for",
        dest="time",
        metavar="TIME",
        help=f"measuring time (default: {TIME_USUAL}, with --log {TIME_OF_LOG}; with a gate: as "
        "long as it needs, at most "
        "10 min)",
    )
    add(
        "--metric",
        metavar="NAME,…",
        help="metrics to compare, such as response_us_p99; the first decides (default: new "
        "orders, transactions or queries, depending on the workload)",
    )
    add_goal(parser)
    add_equal_load(parser)
    add_ends(parser)
    add_gate(parser)
    parser.set_defaults(run=_try, server=None, resume=None, ignore=[], touch_host=False)
    parser.set_defaults(why=False, profile=False, scheduler=None)


def add_queries(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--workload",
        metavar="NAME",
        help=f"read_only, point_select, tpcc, … or a sysbench name (default: {WORKLOAD_USUAL})",
    )
    add(
        "--sql",
        metavar="STATEMENT",
        action="append",
        default=[],
        help="run this statement instead of a workload; several are run equally often",
    )


def add_data(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--data",
        metavar="ROWS|NAME",
        help="number of rows, or a schema: employees, tpcc, import:NAME "
        f"(default: {ROWS_USUAL:,} rows)",
    )
    add("--engine", metavar="NAME", help="storage engine of the tables (default: InnoDB)")


def add_ends(parser: Parser) -> None:
    """How long to measure, and the output."""
    add = parser.add_argument
    add("--until", metavar="WIDTH", help="measure until the interval is within ±WIDTH, such as 2%%")
    add("--print", action="store_true", help="print the experiment file and measure nothing")
    add("--plan", action="store_true", help="measure nothing (like `contend run --plan`)")
    add("--out", metavar="DIR", type=Path, help="run folder to create (like `contend run --out`)")
    add("--json", action="store_true", help="print the result as JSON")
    add("--yes", action="store_true", help="do not prompt (like `contend run --yes`)")


def _try(args: argparse.Namespace) -> int:
    kind = usual_kind()
    files, defaults = file_sets(args, kind)
    try:
        experiment = experiment_of(args, kind, files)
    except NothingToCompare as error:
        raise _with_default(error, kind) from None
    if files:
        from contend.cli.option_files import remarks_on

        sets = experiment.base[PROFILES.path]
        for line in remarks_on(sets["a"][ANY], sets["b"][ANY], defaults):
            remark(line)
    if args.print:
        check_gate(args, has_gate=args.fail_if_slower is not None)
        _refuse_unknown_options(experiment)
        sys.stdout.write(experiment.source)
        return 0
    # Errors, the help and --print must not wait for this import.
    from contend.cli.run import measure

    remark(experiment.question)
    return measure(experiment, args, exact=True)


def file_sets(args: argparse.Namespace, kind: str) -> tuple[dict[str, FileSet], Mapping[str, str]]:
    """The sets that are option files, read for the servers; and the defaults of the first server.
    Remarks on their lines are printed."""
    named = {name: text for name in ("a", "b") if is_option_file(text := getattr(args, name) or "")}
    if not named:
        return {}, {}
    from contend.cli.option_files import read_file_set
    from contend.servers.find import find_server
    from contend.servers.kinds import KINDS
    from contend.servers.variables import program_defaults

    servers = [str(one) for one in servers_of(args)] or [kind]
    if any(map(is_dsn, servers)):
        raise RequestError(
            "option files need private servers, but --server names a running one",
            hint="Leave --server out to use private servers.",
        )
    binaries = [
        find_server(one) if one in KINDS else find_server(None, wanted=one) for one in servers
    ]
    files = {}
    for name, text in named.items():
        first, *others = [read_file_set(Path(text), binary) for binary in binaries]
        if any(other[0].options != first[0].options for other in others):
            raise RequestError(
                f"{text} has different options for {' and '.join(servers)}",
                hint="Name one server, or write the sets into server.profiles of a file.",
            )
        files[name], remarks = first
        for line in remarks:
            remark(line)
    return files, program_defaults(binaries[0])


def _refuse_unknown_options(experiment: Experiment) -> None:
    """Refuse the same options as the run, if its servers are at hand; only the run refuses a
    `loose_` option that none of them has."""
    from contend.experiment.settings import launch_of
    from contend.experiment.settings.server import server_named
    from contend.servers.kinds import refuse_unknown

    found = functools.cache(at_hand)  # a lookup may run the program
    for cell in cell_specs(experiment):
        server = server_named(cell.values)
        binary = None if is_dsn(server) else found(server)
        if binary is not None:
            refuse_unknown(binary, sorted(launch_of(cell.values).options_of(binary.kind)))


def at_hand(server: str) -> ServerBinary | None:
    """The server of this kind or name, if it need not be downloaded."""
    from contend.servers.errors import NoServer
    from contend.servers.find import find_server
    from contend.servers.kinds import KINDS

    try:
        return find_server(server) if server in KINDS else find_server(None, wanted=server)
    except NoServer:
        return None


def usual_kind() -> str:
    """MariaDB, unless this machine only has MySQL."""
    from contend.servers.find import servers_at_hand

    kinds = {server.kind for server in servers_at_hand()}
    return MYSQL if kinds == {MYSQL} else MARIADB


def _with_default(error: NothingToCompare, kind: str) -> NothingToCompare:
    """The error, with the server's default as the value to compare with."""
    from contend.servers.kinds import refuse_unknown
    from contend.servers.variables import program_defaults

    binary = None if error.option is None else at_hand(kind)
    if error.option is None or binary is None:
        return error
    name, level = error.option
    refuse_unknown(binary, [name])
    if default := program_defaults(binary).get(name):
        value = as_text(level)
        error.hint = (
            f"{value} is the server's default. Add a different value: {name}={value},…"
            if same_value(default, value)
            else f"The server's default is {default}: {name}={default},{value}."
        )
    return error


def add_recipes(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the built-in experiments and the questions they answer."
    actions = parser.add_subparsers(metavar="ACTION", dest="action")
    show = actions.add_parser(
        "show",
        help="print a recipe's file",
        description="Print a recipe's file, as a start for your own experiment.",
    )
    show.add_argument("name", metavar="RECIPE", help="name of the recipe")
    parser.set_defaults(run=_recipes)


def _recipes(args: argparse.Namespace) -> int:
    if args.action == "show":
        sys.stdout.write(recipe_text(args.name))
        return 0
    for name in recipes():
        say(name)
        say(f"    {load_experiment(name).question}")
    return 0


def add_schema(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the JSON Schema of experiment files. Editors with TOML support use it to complete "
        "keys and mark mistakes."
    )
    parser.add_argument("--markdown", action="store_true", help="print tables of the keys instead")
    parser.set_defaults(run=_schema)


def _schema(args: argparse.Namespace) -> int:
    if args.markdown:
        sys.stdout.write(key_tables())
        return 0
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
