"""`contend screen`: which of the lines matter in which two sets of server options differ. Makes the
experiment from a command line, and measures it in the same way as `contend run`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from contend.cli.experiments import (
    add_data,
    add_ends,
    add_queries,
    at_hand,
    file_sets,
    usual_kind,
)
from contend.cli.parser import Parser, remark
from contend.cli.try_experiment import (
    CONNECTIONS_USUAL,
    OPTION,
    ExperimentFile,
    limits_of,
    put_connections,
    put_data,
    put_servers,
    put_workload,
    refuse_invalid_text,
    refuse_layout,
    servers_of,
    take_shared,
    typed_sets,
    workload_text,
)
from contend.cli.try_levels import FileSet, level_of, option_pairs, try_command
from contend.errors import RequestError, did_you_mean
from contend.experiment import Experiment, Level
from contend.experiment.settings.screen import LINES_MAX, LINES_MIN
from contend.experiment.settings.server import is_dsn
from contend.servers.options import as_arguments

TIME_USUAL = "6m"

EXAMPLES = """\
examples:
  contend screen --a old.cnf --b new.cnf
  contend screen --a '' --b /etc/mysql/my.cnf --workload tpcc --data tpcc --connections 16
  contend screen --options 'innodb_flush_log_at_trx_commit=1,2 innodb_doublewrite=ON,OFF'
  contend screen --a old.cnf --b new.cnf --print > mine.toml
  contend screen --print-cnf contend-runs/screen-sets-20260102T030405Z > smallest.cnf
"""


def add_screen(parser: Parser) -> None:
    parser.meant = {"--threads": "--connections", "--time": "--for", "--table-size": "--data"}
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Which of the lines matter in which two sets of server options differ? Measures\n"
        "servers that mix old and new lines, and reports an interval for each line. Then\n"
        "it compares the lines that matter with the whole new set."
    )
    parser.epilog = EXAMPLES
    parser.usage = (
        "contend screen --a OLD --b NEW [options]\n"
        "       contend screen --options 'NAME=OLD,NEW …' [options]\n"
        "       contend screen --print-cnf RUN"
    )
    add = parser.add_argument
    add("--a", metavar="'X=1 Y=2'", help="the old set of options, or an option file; '': defaults")
    add("--b", metavar="'X=3'", help="the new set, or an option file; each difference is a line")
    add(
        "--options",
        metavar="'X=1,3 …'",
        help="the lines instead of two sets: each option with its old and its new value",
    )
    add_queries(parser)
    add("--writes", action="store_true", help="allow --sql to change rows")
    add_data(parser)
    add(
        "--connections",
        metavar="N",
        default=CONNECTIONS_USUAL,
        help=f"number of connections (default: {CONNECTIONS_USUAL})",
    )
    add(
        "--server",
        dest="servers",
        metavar="NAME|DSN",
        action="append",
        default=[],
        help="server (see `contend run --help`); a running one needs lines that can change while "
        "it runs",
    )
    add("--for", dest="time", metavar="TIME", help=f"measuring time (default: {TIME_USUAL})")
    add(
        "--metric",
        metavar="NAME,…",
        help="metrics to report, such as response_us_p99; the first decides (default: as in "
        "`contend try`)",
    )
    add_ends(parser)
    add(
        "--print-cnf",
        dest="screened",
        metavar="RUN",
        help="print an option file with the lines that help, from a screen that was measured",
    )
    parser.set_defaults(run=_screen, server=None, resume=None, ignore=[], touch_host=False)
    parser.set_defaults(why=False, profile=False, scheduler=None, log=None, goal=None)
    parser.set_defaults(fail_if_slower=None, if_not_certain="4", junit=None, markdown=None)


def _screen(args: argparse.Namespace) -> int:
    refuse_invalid_text(args)
    if args.screened is not None:
        return _print_cnf(args)
    experiment = _experiment(args)
    if args.print:
        sys.stdout.write(experiment.source)
        return 0
    # Errors, the help and --print must not wait for this import.
    from contend.cli.run import measure

    remark(experiment.question)
    return measure(experiment, args, exact=True)


def _print_cnf(args: argparse.Namespace) -> int:
    from contend.findings import study_of
    from contend.sections.screen import cnf_text
    from contend.store import RunFolder, find_run

    if any(one is not None for one in (args.a, args.b, args.options)):
        raise RequestError(
            "--print-cnf reads a run, and cannot be combined with --a, --b or --options",
            hint="Leave one of them out.",
        )
    with RunFolder.open(find_run(args.screened)) as folder:
        text = cnf_text(study_of(folder))
    if not text:
        raise RequestError(
            f"{args.screened} has no measured lines of a screen",
            hint="Name the run folder of `contend screen`.",
        )
    sys.stdout.write(text)
    return 0


# --- the two sets ---


@dataclass(frozen=True, slots=True)
class _Sets:
    """The old and the new set.

    Args:
        typed: the options that define them.
        options: of the old set (`a`) and the new one (`b`).
        files: the sets that are option files.
        absent: the values of a server that gets none: its defaults, or those it has now.
    """

    typed: str
    options: dict[str, dict[str, Level]]
    files: Mapping[str, FileSet]
    absent: Mapping[str, str]

    def place(self, side: str, name: str) -> str:
        """Where an option is written."""
        if side in self.files:
            return self.files[side].places.get(name, f"--{side}")
        return self.typed if self.typed == "--options" else f"--{side}"

    @property
    def lines(self) -> dict[str, None]:
        """Their names; those of the new set first."""
        return dict.fromkeys((*self.options["b"], *self.options["a"]))


def _sets(args: argparse.Namespace, kind: str) -> _Sets:
    """The typed sets with complete names, as the server reads them."""
    servers = servers_of(args)
    server = str(servers[0]) if servers else kind
    files: Mapping[str, FileSet] = {}
    if args.options is not None:
        if args.a is not None or args.b is not None:
            raise RequestError(
                "--options and --a, --b cannot be combined",
                hint="Give the lines, or the two sets.",
            )
        try:
            options = dict(zip("ab", option_pairs(args.options), strict=True))
        except RequestError as error:
            error.add_place("--options")
            raise
    elif args.a is None and args.b is None:
        raise RequestError(
            "nothing to screen: neither --a and --b nor --options is given",
            hint="Give two option files, --a old.cnf --b new.cnf, or --options 'NAME=OLD,NEW …'.",
        )
    else:
        files, _ = file_sets(args, kind)
        options = typed_sets(args, files)
    sets = _Sets("--a, --b" if args.options is None else "--options", options, files, {})
    for each in options.values():
        as_arguments(each)
    return _of_running(sets, server) if is_dsn(server) else _of_program(sets, server)


def _of_program(sets: _Sets, server: str) -> _Sets:
    """The sets for a private server; unchanged if that has to be downloaded first."""
    from contend.cli.option_files import as_in_file
    from contend.servers.kinds import refuse_unknown
    from contend.servers.variables import program_defaults

    binary = at_hand(server)
    if binary is None:
        return sets
    options = dict(sets.options)
    for side in sorted(options.keys() - sets.files.keys()):
        names = options[side]
        refuse_unknown(binary, names, {name: sets.place(side, name) for name in names})
        options[side] = as_in_file(names, binary)
    return _Sets(sets.typed, options, sets.files, program_defaults(binary))


def _of_running(sets: _Sets, server: str) -> _Sets:
    """The sets for a running server, whose variables are read now."""
    from contend.cli.restore import server_of
    from contend.servers.dsn import Dsn

    there = server_of(Dsn.parse(server)).variables()
    for side, options in sets.options.items():
        unknown = next((name for name in options if name not in there), None)
        if unknown is not None:
            raise RequestError(
                f"{sets.place(side, unknown)}: {server} has no variable {unknown}",
                hint=did_you_mean(unknown, there),
            )
    return _Sets(sets.typed, sets.options, sets.files, there)


def _without_no_ops(sets: _Sets) -> dict[str, Level]:
    """Leave only lines whose servers differ in the sets; return the options that both share."""
    from contend.cli.option_files import is_default, listed

    shared = take_shared(sets.options)
    if shared:
        remark(f"the same in both sets: {listed(shared)}")
    a, b = sets.options["a"], sets.options["b"]
    for one, other in ((a, b), (b, a)):
        alone = {name: value for name, value in one.items() if name not in other}
        no_ops = {name: v for name, v in alone.items() if is_default(name, v, sets.absent)}
        if no_ops:
            remark(f"left out, a server without the line has the same value: {listed(no_ops)}")
        for name in no_ops:
            del one[name]
    return shared


def _fill_in(sets: _Sets, server: str) -> None:
    """Give both sets a value of each line: a running server is switched between two."""
    from contend.cli.option_files import listed

    for side, options in sets.options.items():
        read = {name: level_of(sets.absent[name]) for name in sets.lines if name not in options}
        if read:
            which = "old" if side == "a" else "new"
            remark(f"read from {server}, for the {which} set: {listed(read)}")
        options.update(read)


def _check_lines(sets: _Sets) -> None:
    """Refuse sets with too few or too many lines."""
    names = list(sets.lines)
    limits = f"a screen can have {LINES_MIN} to {LINES_MAX} lines"
    if not names:
        raise RequestError(
            f"{sets.typed}: the two sets do not differ, and {limits}",
            hint="Give two sets that differ in several options.",
        )
    if len(names) < LINES_MIN:
        raise RequestError(
            f"{sets.typed}: only {names[0]} differs, and {limits}",
            hint=_instead(sets, names[0]),
        )
    if len(names) > LINES_MAX:
        first = names[: min(LINES_MAX, (len(names) + 1) // 2)]
        raise RequestError(
            f"{sets.typed}: {len(names)} lines differ, and {limits}",
            hint="Screen in two stages, the first with the old values of all lines but these: "
            f"{', '.join(first)}. Then screen the rest together with those that mattered.",
        )


def _instead(sets: _Sets, name: str) -> str:
    one = {name: sets.absent[name]} if sets.absent.get(name) else {}
    sides = [{**one, **sets.options[side]} for side in "ab"]
    pair = [side[name] for side in sides if name in side]
    if len(pair) < 2:
        return "Compare the two sets with `contend try --a … --b …`."
    return f"Compare its two values: `{try_command(name, pair)}`."


# --- the experiment ---


def _experiment(args: argparse.Namespace) -> Experiment:
    """The experiment requested by a command line.

    Raises:
        RequestError: for any fault.
    """
    kind = usual_kind()
    file = ExperimentFile("screen")
    put_servers(args, file, kind)
    (workload, *_) = put_workload(args, file)
    put_data(args, file, workload)
    # Before option files are read for several servers.
    _refuse_several(file)
    sets = _sets(args, kind)
    shared = _without_no_ops(sets)
    if any(is_dsn(str(one)) for one in servers_of(args)):
        _fill_in(sets, str(servers_of(args)[0]))
    _check_lines(sets)
    refuse_layout(sets.options, sets.files)
    for name, value in shared.items():
        file.fix(f"{OPTION}{name}", value, sets.place("a", name))
    put_connections(args, file, [shared, *sets.options.values()])
    _refuse_several(file)
    for side, table in (("a", "old"), ("b", "new")):
        file.tables[f"screen.{table}"] = dict(sets.options[side])
        for name in sets.options[side]:
            file.origins["screen", table, name] = sets.place(side, name)
        file.origins["screen", table] = sets.typed
    is_open = args.time is None and args.until is None
    file.tables["compare"] = limits_of(args, file, TIME_USUAL if is_open else None)
    connections = file.tables["load"]["connections"]
    at = f"{connections} connection{'' if connections == 1 else 's'}"
    file.tables["experiment"] = {
        "name": "screen-sets" if args.options is None else "screen-options",
        "question": f"Which of these {len(sets.lines)} lines matter for {workload_text(workload)} "
        f"at {at}?",
    }
    return file.read()


def _refuse_several(file: ExperimentFile) -> None:
    for path in file.factors:
        raise RequestError(
            f"{file.origins['factors', path]}: a screen has one server, one workload, one engine "
            "and one number of connections",
            hint="Give one value, and screen the others by themselves.",
        )
