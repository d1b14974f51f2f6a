"""The tools of a session: private servers over the dataset cache, or an existing server."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contend.data import (
    Dataset,
    DatasetSource,
    computed,
    ensure_on,
    find_import,
    mark_changed,
    provide,
    provide_prepared,
    require_import,
    workspace,
)
from contend.experiment import (
    SCRIPT_SCHEMA,
    Cell,
    CellSpec,
    DataSpec,
    Experiment,
    Level,
    cell_spec,
    cell_specs,
    imported_name,
    layout_options,
)
from contend.experiment.settings import launch_of
from contend.experiment.settings.server import server_named
from contend.experiment.settings.topology import BACKEND, shape_of
from contend.experiment.settings.workload import may_ask, may_write
from contend.lab.borrowed import BorrowedTestbed, ClusterMember, ClusterTestbed
from contend.lab.client import (
    calibrate_cells,
    check_hosts,
    check_workloads,
    choose_engine,
    prepare_tables,
    scripts_of,
)
from contend.lab.conditions import Conditions
from contend.lab.events import Listener, Notice, Relay
from contend.lab.private import PrivateProgram, PrivateTestbed
from contend.lab.screen import starting_lines
from contend.lab.session import Equipment
from contend.lab.sessions import default_history
from contend.lab.shared_host import SharedHost
from contend.lab.testbed import Testbed
from contend.lab.trial import rehearse_options, rehearse_statements, try_starts
from contend.lab.twins import recordings_of
from contend.load import (
    Cluster,
    Fleet,
    Lines,
    LoadProcess,
    MemberLines,
    cpu_state,
    cpus_together,
    memory_nodes,
)
from contend.load.ceilings import Transport
from contend.metrics.probed import DatasetRecord, LeftOut, ServerIdentity
from contend.servers import PrivateServer, ServerBinary
from contend.servers.deployment import alone
from contend.servers.dsn import passwords
from contend.servers.existing import ExistingServer
from contend.servers.kinds import refuse_ignored, refuse_unknown
from contend.servers.topologies import deployment_of
from contend.servers.undo import Journal, default_folder

Confirm = Callable[[str], bool]
"""Asks the user whether to do what the question asks."""


def servers_named(experiment: Experiment) -> tuple[str, ...]:
    """Every server that the experiment's cells run on, under the experiment's name for it:
    `server.use`, else a kind."""
    return tuple(dict.fromkeys(server_name(spec) for spec in cell_specs(experiment)))


def server_name(cell: CellSpec) -> str:
    return server_named(cell.values)


def private_equipment(
    binaries: Mapping[str, ServerBinary],
    *,
    cache: Path,
    program: Path,
    listen: Listener,
    exact: bool = False,
    touch_host: bool = False,
    scheduler: str | None = None,
) -> Equipment:
    """Private servers of the given programs, by their names in the experiment. For `exact` see
    `try_starts`, for `touch_host` `SharedHost`, for `scheduler` `Cluster`."""
    tell = Relay(listen)
    host = SharedHost(listen, cache, touch=touch_host)
    load = Fleet(LoadProcess(program), Cluster(program, scheduler))

    def source_of(
        data: DataSpec, binary: ServerBinary, options: Mapping[str, Level]
    ) -> DatasetSource:
        name = imported_name(data.schema)
        imported = None if name is None else find_import(cache, name)
        return DatasetSource(data, binary, options, imported)

    @contextlib.contextmanager
    def open_testbeds(logs: Path, count: int) -> Iterator[list[Testbed]]:
        with contextlib.closing(load), workspace(cache) as work:
            made: dict[object, PrivateProgram] = {}

            def program_of(cell: CellSpec, number: int) -> PrivateProgram:
                shape = (server_name(cell), number, *shape_of(cell.values).values())
                if shape not in made:
                    made[shape] = make_program(cell, number)
                return made[shape]

            def make_program(cell: CellSpec, number: int) -> PrivateProgram:
                binary = binaries[server_name(cell)]

                def fill_folder(
                    data: DataSpec, options: Mapping[str, Level], into: Path
                ) -> Dataset | None:
                    server = next(
                        member.server
                        for member in deployment.members
                        if member.server.data_folder == into
                    )
                    if data.schema == SCRIPT_SCHEMA:
                        return provide_prepared(
                            DatasetSource(data, binary, options),
                            lambda address: prepare_tables(cell, data, address, program),
                            into,
                            work=work,
                            tell=tell,
                        )
                    if server.kind.computes_rows:
                        server.initialise()
                        return computed(data, into)
                    source = source_of(data, binary, options)
                    return provide(source, into, cache=cache, program=program, tell=tell)

                def make(member: str) -> PrivateServer:
                    # Each program's data replace those of the last one.
                    own = work / "-".join(filter(None, (f"folder-{number}", member)))
                    parts = filter(None, (str(number) if number else "", member))
                    return PrivateServer(binary, own, logs.joinpath(*parts))

                deployment = deployment_of(cell.values, make)
                return PrivateProgram(deployment, identity(binary), fill_folder)

            def testbed(number: int) -> Testbed:
                return PrivateTestbed(
                    lambda cell: program_of(cell, number),
                    load,
                    listen,
                    between=MemberLines(program),
                    lines=Lines(program),
                    conditions=Conditions(logs.parent, listen),
                    shared=host,
                )

            with contextlib.ExitStack() as stack:
                yield [stack.enter_context(testbed(number)) for number in range(count)]

    @contextlib.contextmanager
    def empty_servers() -> Iterator[Callable[[str], PrivateProgram]]:
        """Makes the servers on empty folders, by their names."""
        with workspace(cache) as work:

            @functools.cache
            def empty(name: str) -> PrivateProgram:
                def make_folder(_data: DataSpec, options: Mapping[str, Level], _into: Path) -> None:
                    server.initialise(layout_options(options))

                server = PrivateServer(binaries[name], work / binaries[name].name)
                return PrivateProgram(alone(server), identity(binaries[name]), make_folder)

            yield empty

    def check(experiment: Experiment) -> None:
        _refuse_unknown_options(experiment, binaries, exact=exact)
        check_workloads(experiment, program)
        distinct = {
            repr((server_name(cell), cell.data, cell["server.options"])): cell
            for cell in cell_specs(experiment)
        }
        for cell in distinct.values():
            binary = binaries[server_name(cell)]
            require_import(source_of(cell.data, binary, cell["server.options"]), cache)
        with empty_servers() as empty:
            try_starts(
                experiment,
                lambda cell: empty(server_name(cell)),
                load=program,
                kept=cache / "tried",
                listen=listen,
                exact=exact,
            )

    def starting(experiment: Experiment) -> tuple[Experiment, list[LeftOut]]:
        if not experiment.lines:
            return experiment, []
        _refuse_unknown_options(experiment, binaries, exact=exact)
        listen(Notice(f"testing the starts of {len(list(cell_specs(experiment)))} servers"))
        with empty_servers() as empty:

            def start(experiment: Experiment, cell: Cell | None) -> None:
                try_starts(
                    experiment,
                    lambda cell: empty(server_name(cell)),
                    load=program,
                    kept=cache / "tried",
                    listen=lambda _event: None,
                    only=None if cell is None else cell_spec(experiment, cell),
                )

            return starting_lines(experiment, start, listen)

    return _equipment(
        program,
        cache,
        "socket",
        listen,
        servers={name: identity(binary) for name, binary in binaries.items()},
        open_testbeds=open_testbeds,
        load=load,
        data_folder=cache,
        check=check,
        starting_lines=starting,
        check_hosts=lambda experiment: check_hosts(experiment, load),
        passwords=passwords(),
        host=host,
    )


def _equipment(
    program: Path, cache: Path, transport: Transport, listen: Listener, **more: Any
) -> Equipment:
    """Equipment of every session, based on contend-load at `program`."""
    how: dict[str, Any] = {"cache": cache, "transport": transport, "listen": listen}
    return Equipment(
        calibrate=functools.partial(calibrate_cells, program, **how),
        scripts=lambda experiment: scripts_of(experiment, program),
        choose_engine=functools.partial(choose_engine, program),
        cpus_together=functools.partial(cpus_together, program),
        memory_nodes=functools.partial(memory_nodes, program),
        ask_cpus=lambda memory: cpu_state(program, memory=memory),
        recordings=functools.partial(recordings_of, program, cache),
        history=default_history(),
        **more,
    )


def _refuse_unknown_options(
    experiment: Experiment, binaries: Mapping[str, ServerBinary], *, exact: bool
) -> None:
    seen: dict[tuple[ServerBinary, frozenset[str]], None] = {}
    for cell in cell_specs(experiment):
        binary = binaries[server_name(cell)]
        seen[binary, frozenset(launch_of(cell.values).options_of(binary.kind))] = None
    for binary, names in seen:
        refuse_unknown(binary, sorted(names))
    if exact:
        refuse_ignored(
            list(dict.fromkeys(binary for binary, _names in seen)),
            sorted({name for _binary, names in seen for name in names}),
        )


def borrowed_equipment(
    servers: Mapping[str, ExistingServer],
    *,
    cache: Path,
    program: Path,
    run_folder: Path,
    listen: Listener,
    confirm: Confirm,
    experiment: Experiment,
    exact: bool = False,
    touch_host: bool = False,
    scheduler: str | None = None,
    members: Sequence[ClusterMember] = (),
) -> Equipment:
    """Servers that contend neither starts nor stops, by their names in the experiment: one; or one
    for each compared level, in order; or the first of `members`, which form one level. For `exact`
    see `rehearse_options`, for `touch_host` `SharedHost`, for `scheduler` `Cluster`. Tables that no
    statement of the experiment uses are not loaded into them."""
    tell = Relay(listen)
    every = [member.server for member in members] or list(servers.values())
    elsewhere = not all(server.is_here() for server in every)
    host = SharedHost(listen, run_folder.parent, touch=touch_host, elsewhere=elsewhere)
    load = Fleet(LoadProcess(program), Cluster(program, scheduler))
    asks = any(
        may_ask(cell.values, (*cell.data.table_names, *cell.data.known.views))
        for cell in cell_specs(experiment)
    )

    writes = any(
        may_write(cell.workload.kind, cell.values["workload"]) for cell in cell_specs(experiment)
    )

    loads = not any(member.role == BACKEND for member in members)
    """Only the owner can load rows that are shared out among servers."""

    def make(
        make_testbed: Callable[..., BorrowedTestbed],
        server: ExistingServer,
        journal: Journal,
        number: int,
    ) -> BorrowedTestbed:
        def fill_server(data: DataSpec) -> DatasetRecord:
            if members and (not loads or number):
                return {}
            if asks or not data.table_names:
                return ensure_on(
                    server, data, program=program, tell=tell, confirm=confirm, writes=writes
                )
            tell.notice(f"nothing is loaded into {server.dsn}: no statement names contend's tables")
            return {}

        def spoil(data: DataSpec) -> None:
            if asks and loads and not (members and number):
                mark_changed(server, data)

        return make_testbed(
            server,
            fill_server,
            spoil,
            load,
            journal,
            listen,
            number,
            makes_tables=asks,
            lines=Lines(program),
            conditions=Conditions(run_folder, listen),
            shared=host,
        )

    @contextlib.contextmanager
    def open_testbeds(_logs: Path, _count: int) -> Iterator[list[Testbed]]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(load))

            # One server may have two names: those of two users, or TCP and its socket.
            journals: dict[str, Journal] = {}

            def journal_of(server: ExistingServer) -> Journal:
                # A single server needs no name.
                name = "" if len(every) == 1 else server.unique_name() or server.dsn.place
                if name not in journals:
                    journal = Journal.of_server(default_folder(), server)
                    journals[name] = stack.enter_context(journal)
                return journals[name]

            first, *others = [(server, journal_of(server)) for server in every]
            rest = [make(BorrowedTestbed, *one, number) for number, one in enumerate(others, 1)]
            if members:
                as_one = functools.partial(ClusterTestbed, members, rest)
                yield [stack.enter_context(make(as_one, *first, 0))]
                return
            testbeds = [make(BorrowedTestbed, *first, 0), *rest]
            yield [stack.enter_context(testbed) for testbed in testbeds]

    def check(experiment: Experiment) -> None:
        check_workloads(experiment, program)
        # A front and the backends each have variables of their own.
        for server in every if loads else servers.values():
            rehearse_options(server, experiment, exact=exact)
        # Clients only ask the front.
        for server in servers.values():
            rehearse_statements(server, experiment)

    sockets = all(server.dsn.socket is not None for server in every)
    return _equipment(
        program,
        cache,
        "socket" if sockets else "tcp",
        listen,
        servers={name: _identity_of(server) for name, server in servers.items()},
        open_testbeds=open_testbeds,
        load=load,
        data_folder=run_folder.parent,
        check=check,
        check_hosts=lambda experiment: check_hosts(experiment, load),
        confirm=confirm,
        own=False,
        host=host,
        passwords=passwords(*(server.dsn for server in every)),
    )


def _identity_of(server: ExistingServer) -> ServerIdentity:
    identity = server.identity()
    return {"kind": identity.kind, "version": identity.version, "source": str(server.dsn)}


def identity(binary: ServerBinary) -> ServerIdentity:
    """The recorded facts of a server program. Its source identifies it later."""
    source = str(binary.program) if binary.source == "path" else binary.name
    return {"kind": binary.kind, "version": binary.version, "source": source}
