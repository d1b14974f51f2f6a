"""`contend run`: measure an experiment, store every run, print the table and the sentence."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contend.cli.console import console
from contend.cli.gate import add_gate, by_policy, check_gate, end_gate
from contend.cli.goal import add_goal, refuse_with_goal
from contend.cli.outline import outline_text
from contend.cli.parser import Parser, add_equal_load, confirmed, remark, say, say_json
from contend.cli.predict import check_machines, with_prediction
from contend.cli.progress import Display, display_on
from contend.cli.restore import remaining_changes, revert_earlier
from contend.errors import ContendError, RequestError
from contend.experiment import Experiment, asks_twins, cell_specs, load_experiment
from contend.experiment.settings.server import KIND, is_dsn
from contend.experiment.settings.topology import MEMBERS, has_role, named_members, overrides_of
from contend.files import default_cache
from contend.host.doctor import short_form
from contend.host.doctor.document import ignored_of
from contend.lab import session
from contend.lab.borrowed import cluster_of, require_as_one
from contend.lab.equipment import (
    borrowed_equipment,
    private_equipment,
    server_name,
    servers_named,
)
from contend.lab.events import Notice
from contend.lab.looks import LookAtCause
from contend.lab.outline import outline
from contend.lab.session import Equipment
from contend.load import find_program
from contend.servers import ServerBinary, debian
from contend.servers.dsn import Dsn
from contend.servers.errors import NoServer
from contend.servers.existing import ExistingServer
from contend.servers.find import OWN, find_server, servers_at_hand
from contend.servers.kinds import KINDS, PROGRAMS
from contend.servers.undo import Journal, default_folder
from contend.servers.undo.variables import always
from contend.store import RunFolder, find_run
from contend.store.folder import RUNS_ROOT

if TYPE_CHECKING:
    from contend.report import Report


def add_run(parser: Parser) -> None:
    parser.meant = {
        "--threads": "--set load.connections=N",
        "--time": "--for",
        "--table-size": "--set data.rows=N",
    }
    parser.description = (
        "Measure every cell of an experiment in randomised blocks, and store each run as soon as "
        "it ends. Prints the answer, the table and the path of the report. Resume an interrupted "
        "run with --resume."
    )
    parser.add_argument(
        "experiment",
        metavar="RECIPE|FILE",
        nargs="?",
        help="a recipe (see `contend recipes`) or an experiment file",
    )
    parser.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="override a value, such as load.measure=10s; a list of values makes a factor",
    )
    parser.add_argument(
        "--check-each",
        action="store_true",
        help="check the conditions of the schema after every run (check=each_run)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the experiment's small variant")
    size.add_argument("--full", action="store_true", help="the experiment's large variant")
    parser.add_argument(
        "--for",
        dest="time",
        metavar="TIME",
        help="measuring time, such as 90s or 10m (like --set compare.at_most=TIME)",
    )
    add_goal(parser)
    add_equal_load(parser)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help=f"run folder to create (default: {RUNS_ROOT}/NAME-TIME)",
    )
    parser.add_argument(
        "--resume", metavar="DIR", help="continue the run in this folder with its own experiment"
    )
    parser.add_argument(
        "--server",
        action=_ServerAction,
        metavar="DSN|NAME|PATH|ROLE=DSN",
        help="a running server (mysql://user@host/database, socket:/path), a downloaded one "
        "(`contend server list`), the path of a server program, or model (contend's own model "
        "server). Default: the one on PATH, else a downloaded one, preferably of this machine's "
        "suite. For your own cluster, name each server: --server front=DSN --server backend=DSN "
        "…, or --server node=DSN …",
    )
    parser.set_defaults(members=())
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="your own Dask cluster (tcp://10.0.0.1:8786, or tls://...), whose workers share the "
        "load if load.hosts is more than 1 (default: processes on this host)",
    )
    parser.add_argument(
        "--ignore",
        metavar="ID=REASON",
        action="append",
        default=[],
        help="ignore the result of this `contend doctor` check; the report shows the reason",
    )
    parser.add_argument(
        "--touch-host",
        action="store_true",
        help="allow the experiment's [host] table to change this host; reverted at the end, or "
        "after a crash by `contend restore host`",
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help="after the run, test possible causes of a difference (like `contend why`)",
    )
    parser.add_argument(
        "--budget",
        action="store_true",
        help="after the runs, examine in extra blocks (about 50 s per pair of cells) where the "
        "time of a query goes, which threads are taken off their CPUs (as root), what EXPLAIN "
        "says and which locks are waited for; with --resume also for a complete run",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="after the run, profile the server's functions (like `contend profile`)",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help="only print the cells, how they are compared, the time, and the width to expect",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="do not prompt before downloading a missing server, loading data into your own "
        "server, or reverting what an earlier command left changed there",
    )
    add_gate(parser)
    parser.set_defaults(run=_run)


class _ServerAction(argparse.Action):
    """One server, or with a role one of several that form one level."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        del option_string
        text = str(values)
        if has_role(text):
            namespace.members = (*namespace.members, text)
            return
        if namespace.server is not None and is_dsn(text):
            parser.error(
                "--server names one server; give those of a cluster roles: --server front=DSN "
                "--server backend=DSN, or --server node=DSN"
            )
        namespace.server = text


def _run(args: argparse.Namespace) -> int:
    if args.resume is None:
        return measure(_experiment(args), args)
    _refuse_with_resume(args)
    path = find_run(args.resume)
    experiment = session.stored_experiment(path)
    return _measured(experiment, args, lambda *shown: _resume(path, experiment, args, *shown))


def measure(experiment: Experiment, args: argparse.Namespace, *, exact: bool = False) -> int:
    """Make every run of an experiment, and show their results.

    Args:
        args: those of `contend run`: `out`, `server`, `resume`, `ignore`, `json`, `yes`, those of a
            gate.
        exact: refuse a compared value that the server changes, instead of marking its runs.
    """
    if args.plan:
        named = (*servers_named(experiment), *([args.server] if args.server else []))
        own = not experiment.base[MEMBERS.path] and not any(map(is_dsn, named))
        plan = outline(experiment, own=own, disk=default_cache().parent, runs=RUNS_ROOT)
        for line in outline_text(experiment, plan):
            say(line)
        return 0

    def begin(program: Path, display: Display) -> Path:
        path: Path = args.out if args.out is not None else _new_path(experiment.name)
        equipment = equipment_for(args, experiment, path, program, display, exact=exact)
        equipment = _with_doctor(equipment, args)
        looks = _diagnostics(args, experiment)
        session.begin(experiment, path, equipment, display, looks=looks)
        return path

    return _measured(experiment, args, begin)


def _measured(
    experiment: Experiment, args: argparse.Namespace, work: Callable[[Path, Display], Path]
) -> int:
    """Show the run folder that `work` fills, then the results of measuring its pair again."""
    for wanted, command in ((args.why, "why"), (args.profile, "profile")):
        if wanted and args.json:
            raise RequestError(
                f"--{command} cannot be combined with --json",
                hint=f"Use `contend {command} RUN --json` after the run.",
            )
    if experiment.goal is not None:
        refuse_with_goal(args)
    check_gate(args, has_gate=experiment.compare.fail_if_slower is not None)
    check_machines(experiment.predict)
    path, code = _shown(
        args, lambda *shown: with_prediction(work(*shown), experiment.predict, *shown)
    )
    if args.profile:
        _follow_up(lambda: _profiled(path, args), code)
    if args.why or (experiment.why and not args.json):
        _follow_up(lambda: _explained(path, args), code)
    return code


def _follow_up(work: Callable[[], object], code: int) -> None:
    """Run `work` after a run that ends with `code`, which stays if it is not 0: the gate's result
    has priority. It is not a failure if nothing more is tried."""
    from contend.why.plan import NotTried

    try:
        work()
    except ContendError as error:
        if not code and not isinstance(error, NotTried):
            raise
        remark(f"contend: {error.message}")
        if error.hint:
            remark(f"  hint: {error.hint}")


def _explained(path: Path, args: argparse.Namespace) -> None:
    from contend.cli.why import explain
    from contend.why.plan import MINUTES

    args.minutes, args.plan = MINUTES, False
    explain(path, args, agreed=True)


def _profiled(path: Path, args: argparse.Namespace) -> None:
    from contend.cli.why import profile
    from contend.sections.profile import HZ, MINUTES

    args.minutes, args.hz = MINUTES, HZ
    profile(path, args, agreed=True)


def _shown(args: argparse.Namespace, work: Callable[[Path, Display], Path]) -> tuple[Path, int]:
    """Show the run folder that `work` fills; return its path and the exit code."""
    program = find_program()
    with display_on(console(stderr=True)) as display:
        path = work(program, display)
    with RunFolder.open(path) as folder:
        built, is_whole = _show(folder, args)
    code = end_gate(
        args,
        built.gate,
        (built.answer.sentence, *built.answer.basis[:1]),
        measured=built.progress.is_measured,
    )
    return path, code or int(not is_whole)


def _experiment(args: argparse.Namespace) -> Experiment:
    if args.experiment is None:
        raise RequestError(
            "no experiment given.", hint="`contend recipes` lists the built-in ones."
        )
    sets = [*args.set, *([f"compare.at_most={args.time}"] if args.time is not None else [])]
    sets += ["check=each_run"] if args.check_each else []
    sets += [f"goal.hold={args.goal}"] if args.goal is not None else []
    sets += ["load.rate=equal"] if args.equal_load else []
    sets += ["load.alone=true"] if args.alone else []
    limit = args.fail_if_slower
    sets += [f"compare.fail_if_slower={limit}"] if limit is not None else []
    if args.members and args.server is not None:
        raise RequestError(
            f"--server names both {args.server} and the servers of a cluster",
            hint="Leave one of them out.",
        )
    sets += overrides_of(args.members)
    # A kind of server that comes with contend is not looked up; it changes the experiment.
    sets += [f"{KIND.path}={args.server}"] if args.server in OWN else []
    return load_experiment(args.experiment, sets=sets, variant=_variant(args))


def _refuse_with_resume(args: argparse.Namespace) -> None:
    settings = {
        "--set": args.set,
        "--for": args.time,
        "--goal": args.goal,
        "--check-each": args.check_each,
        "--equal-load": args.equal_load,
        "--alone": args.alone,
        "--fail-if-slower": args.fail_if_slower,
        "--quick": args.quick,
        "--full": args.full,
        "--out": args.out,
        "--plan": args.plan,
    }
    for option, value in settings.items():
        if value:
            raise RequestError(
                f"{option} cannot be combined with --resume: a run keeps its experiment.",
                hint=f"Leave {option} out, or start a new run without --resume.",
            )


def _resume(
    path: Path, experiment: Experiment, args: argparse.Namespace, program: Path, display: Display
) -> Path:
    before = {
        name: server["source"]
        for name, server in session.stored_servers(path).items()
        if "source" in server
    }
    equipment = equipment_for(args, experiment, path, program, display, before=before)
    equipment = _with_doctor(equipment, args)
    named = (
        load_experiment(args.experiment, sets=experiment.overrides, variant=experiment.variant)
        if args.experiment is not None
        else None
    )
    looks = _diagnostics(args, experiment, path)
    session.resume(path, equipment, display, experiment=named, looks=looks)
    return path


def _diagnostics(
    args: argparse.Namespace, experiment: Experiment, path: Path | None = None
) -> tuple[LookAtCause, ...]:
    """The requested diagnostic passes for causes; without a request the plans, if a step of setup
    varies and `path`, a run folder, has none yet."""
    from contend.sections.plans import SECTION as PLANS
    from contend.sections.registry import LOOKS
    from contend.sections.setup import varying_steps
    from contend.sections.twin_plans import LOOK as TWINS

    if asks_twins(experiment):
        return (TWINS,)
    if getattr(args, "budget", False):
        return LOOKS
    if not varying_steps(experiment) or experiment.goal is not None or PLANS.look is None:
        return ()
    if path is not None:
        with RunFolder.open(path) as folder:
            if any(one.look == PLANS.look.name for one in folder.looks()):
                return ()
    return (PLANS.look,)


def equipment_for(
    args: argparse.Namespace,
    experiment: Experiment,
    path: Path,
    program: Path,
    display: Display,
    *,
    before: Mapping[str, str] | None = None,
    exact: bool = False,
) -> Equipment:
    """The servers to work with: the one named by `--server`, or those of `before`, by the
    experiment's names for them."""
    before = before or {}
    common: dict[str, Any] = {
        **{"cache": default_cache(), "program": program, "listen": display, "exact": exact},
        **{"touch_host": args.touch_host, "scheduler": args.scheduler},
    }

    def running(dsns: Mapping[str, str], members: Sequence[Member] = ()) -> Equipment:
        return _running(args, dsns, members, experiment, display, run_folder=path, **common)

    if members := named_members(experiment.base[MEMBERS.path]):
        return running(
            {server_name(cell): members[0][2] for cell in cell_specs(experiment)}, members
        )
    names = servers_named(experiment)
    ran = next((source for source in before.values() if is_dsn(source)), None)
    wanted = args.server if args.server is not None or len(names) > 1 else ran
    dsns = {names[0]: wanted} if wanted is not None and is_dsn(wanted) else {}
    dsns = dsns or {name: name for name in names if is_dsn(name)}
    if dsns:
        return running(dsns)
    if wanted is not None and experiment.gives("server.use"):
        raise RequestError(
            "--server cannot be combined with the experiment's own servers (server.use)",
            hint="Leave --server out, or use `--set server.use=…`.",
        )
    binaries: dict[str, ServerBinary] = {}
    for name in names:
        was = None if name in OWN else before.get(name)
        named = wanted or was or (None if name in KINDS else name)
        binary = _server(name, named, yes=args.yes, display=display)
        same = next((other for other, known in binaries.items() if known == binary), None)
        if same is not None:
            raise RequestError(
                f"{same} and {name} are the same server, {binary.name}",
                hint="Name a different server for each level of server.use.",
            )
        binaries[name] = binary
        display(Notice(_choice(binary, named=named is not None)))
    return private_equipment(binaries, **common)


Member = tuple[str, str, str]
"""The name, the role and the DSN of a server of a cluster."""


def _with_doctor(equipment: Equipment, args: argparse.Namespace) -> Equipment:
    """Its short form checks this host before the first run."""
    ignored = ignored_of(args.ignore)
    return replace(equipment, doctor=lambda: short_form(equipment.data_folder, ignored))


def _running(
    args: argparse.Namespace,
    dsns: Mapping[str, str],
    members: Sequence[Member],
    experiment: Experiment,
    display: Display,
    **common: Any,
) -> Equipment:
    """Servers that run already; `members` form one level, with their names, roles and DSNs."""
    other = next((name for name in servers_named(experiment) if name not in dsns), None)
    if other is not None:
        raise RequestError(
            f"{other} is a private server, and {next(iter(dsns))} is a running one",
            hint="Compare private servers only, or running servers (DSNs) only.",
        )
    ask = _password_prompt(display) if sys.stdin.isatty() else None
    servers = {name: ExistingServer(Dsn.parse(dsn), ask=ask) for name, dsn in dsns.items()}
    cluster = cluster_of(
        [(name, role, ExistingServer(Dsn.parse(dsn), ask=ask)) for name, role, dsn in members],
        experiment,
    )
    require_as_one(cluster)
    for server in (*servers.values(), *(member.server for member in cluster[1:])):
        _revert_earlier_changes(server, args, display)
    equipment = borrowed_equipment(
        servers,
        confirm=lambda question: _confirmed(question, args.yes, display),
        experiment=experiment,
        members=cluster,
        **common,
    )
    for identity in equipment.servers.values():
        display(Notice(f"server: {identity['source']}, {identity['kind']} {identity['version']}"))
    return equipment


def _revert_earlier_changes(
    server: ExistingServer, args: argparse.Namespace, display: Display
) -> None:
    """Revert changes of an earlier command; without asking if that was this run."""

    def agreed(question: str) -> bool:
        return _confirmed(question, args.yes, display)

    with Journal.of_server(default_folder(), server) as journal:
        first = always if args.resume is not None else agreed
        if not revert_earlier(journal, server, first, agreed, lambda text: display(Notice(text))):
            raise RequestError(
                f"{remaining_changes(journal)}.",
                hint=f"Revert them with `{journal.remedy}`, or let the run do that with --yes.",
            )


def _server(name: str, wanted: str | None, *, yes: bool, display: Display) -> ServerBinary:
    """The server of this name in the experiment: at hand, or downloaded now if the user agrees."""
    try:
        return find_server(name if name in KINDS else None, wanted=wanted)
    except NoServer:
        source = wanted if wanted is not None else KINDS[name].wanted if name in KINDS else name
        package = debian.parse_wanted(source)
        question = f"There is no {source} server on this machine. Download one, without root?"
        if (name in PROGRAMS and package.kind != name) or not _confirmed(question, yes, display):
            raise
    display(Notice(f"downloading {source} from this machine's Debian mirror"))
    return debian.get(
        package.kind, package.suite, extras=package.extras, on_progress=_each_step_once(display)
    )


def _each_step_once(display: Display) -> Callable[[str, float | None], None]:
    shown: set[str] = set()

    def on_progress(step: str, _percent: float | None) -> None:
        if step not in shown:
            shown.add(step)
            display(Notice(step))

    return on_progress


def _choice(binary: ServerBinary, *, named: bool) -> str:
    """The server in use and, if contend chose it, how to choose a different one."""
    installed = binary.source == "path"
    text = f"server: {binary.name}" + (f" ({binary.program})" if installed else "")
    if binary.verified is False:
        text += " (packages NOT verified)"
    others = [
        other.name
        for other in ([] if named else servers_at_hand())
        if other.kind == binary.kind and other.name != binary.name
    ]
    return f"{text}; others for `--server`: {', '.join(others)}" if others else text


def _confirmed(question: str, yes: bool, display: Display) -> bool:
    with display.paused():
        return confirmed(question, yes=yes)


def _password_prompt(display: Display) -> Callable[[str], str]:
    def ask(prompt: str) -> str:
        with display.paused():
            return getpass.getpass(prompt)

    return ask


def _variant(args: argparse.Namespace) -> str:
    return "quick" if args.quick else "full" if args.full else "default"


def _new_path(name: str) -> Path:
    """A new folder, named by the experiment and the time."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names: Sequence[str] = [f"{name}-{stamp}", *(f"{name}-{stamp}-{n}" for n in range(2, 100))]
    return next(path for path in (RUNS_ROOT / each for each in names) if not path.exists())


def _show(folder: RunFolder, args: argparse.Namespace) -> tuple[Report, bool]:
    # A third of all imports; errors must not wait for it.
    from contend import report
    from contend.report import html, terminal

    built = report.build(folder)
    built = replace(built, gate=by_policy(args, built.gate))
    page = folder.path / "report.html"
    # The answer first: hours of measurements must not be lost if the page fails.
    if args.json:
        document = report.as_json(built)
        say_json(document)
        is_whole = "missing" not in document
    else:
        is_whole = terminal.render(built, console())
    html.write(built, page)
    if note := html.note(built):
        remark(f"contend: {note}")
    if args.json:
        return built, is_whole
    say("")
    say(f"Report: {page}")
    if built.gate is not None:
        # On one line at any width, for readers of the end of a log.
        say(built.gate.line)
    return built, is_whole
