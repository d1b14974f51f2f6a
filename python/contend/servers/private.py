"""A private server: its own folder, its own socket, and it dies with the lab.

server = PrivateServer(binary, folder, log_dir)
server.initialise()
truncated = server.start({"key_buffer_size": "512M"})
with server.connect() as connection: ...
server.stop()
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pymysql.connections import Connection

from contend.host.placement import Placement, look
from contend.host.placement.beside import Watched
from contend.host.placement.groups import grouped, throttled_s
from contend.host.placement.look import by_role, place_threads
from contend.servers import error_log, variables
from contend.servers.binary import ServerBinary, check_runs_here
from contend.servers.client import connect, socket_peer
from contend.servers.error_log import Truncated
from contend.servers.errors import (
    ConnectionRefused,
    OptionRejected,
    PortTaken,
    ServerDied,
    ServerFailed,
)
from contend.servers.folder import (
    KEY_SOCKET_NAMES,
    SOCKET_NAME,
    ServerFolder,
    free_port,
    new_log_folder,
    new_socket_folder,
    remove_log_folder,
    remove_socket_folder,
)
from contend.servers.kinds import KINDS
from contend.servers.kinds.base import Site
from contend.servers.options import Value, normal_name, truncations
from contend.servers.process import kill_group, server_pid, spawn, stop_process
from contend.servers.variables import Differing

LOG_NAME = "server.log"
USER = "root"
_POLL_S = 0.005
_LOG_POLL_S = 1.0
_PORT_ATTEMPTS = 5


class PrivateServer:
    """One server process over one folder. Not for use by two threads at once.

    Args:
        folder: the server's own; new, empty, or made by contend.
        log_dir: where `server.log` is written; the folder itself if it is None.
        arguments: of its command line, besides those of its options.

    Attributes:
        wrap: a program with its arguments that becomes or starts the server: `("setarch", "-R")`.
        environment: variables in addition to the few that every private server gets.
        placement: its CPUs and scheduling. A real-time server, or one with threads of that kind, is
            watched: it is killed if this process gives no sign for 10 s.
    """

    def __init__(
        self,
        binary: ServerBinary,
        folder: Path,
        log_dir: Path | None = None,
        *,
        arguments: Sequence[str] = (),
    ) -> None:
        self.binary = binary
        self.kind = KINDS[binary.kind]
        self.folder = ServerFolder(folder)
        self.log_path = (self.folder.root if log_dir is None else log_dir.absolute()) / LOG_NAME
        self.wrap: tuple[str, ...] = ()
        self.environment: Mapping[str, str] = {}
        self.arguments = tuple(arguments)
        self.placement = Placement()
        self.confined = False
        """Its data hold a stranger's statements: it reaches no file outside of its folder, runs no
        events unless its options enable them, and refuses to run without checking rights."""
        self.redo_log_folder = ""
        """The folder of its redo log while it runs; empty for its data folder."""
        self.misplaced: tuple[str, ...] = ()
        """Differences between the requested placement and the kernel's, in words."""
        self._alive = contextlib.ExitStack()
        self.options: dict[str, Value] = {}
        self.port: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket_folder: Path | None = None
        self._log_folder: Path | None = None
        self._log_start = 0

    # --- properties ---

    @property
    def data_folder(self) -> Path:
        """The server's data folder. A snapshot is restored into it between `claim` and `start`."""
        return self.folder.data

    @property
    def pid(self) -> int:
        """The server's own process, even if a wrapper started it."""
        return server_pid(self._pid_file, self._running())

    @property
    def _pid_file(self) -> Path:
        return self.folder.root / "pid"

    def throttled_s(self) -> float | None:
        """Time for which its CPU quota throttled it since its start; None without a quota."""
        return None if self.placement.cpu_quota is None else throttled_s(self.pid)

    @property
    def socket(self) -> Path:
        if self._socket_folder is None:
            raise ServerFailed("the private server is not running.")
        return self._socket_folder / SOCKET_NAME

    @property
    def key_sockets(self) -> tuple[Path, Path] | None:
        """Where HandlerSocket listens, for reading and for writing, if the server has it."""
        if "handlersocket" not in self.binary.extras:
            return None
        reads, writes = (self.socket.with_name(name) for name in KEY_SOCKET_NAMES)
        return reads, writes

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # --- life cycle ---

    def claim(self) -> None:
        """Claim the folder without making data, for data from a snapshot."""
        check_runs_here(self.binary.program)
        self.folder.claim(self.binary.kind, self.binary.version)

    def initialise(
        self, options: Mapping[str, Value] | None = None, *, timeout_s: float = 300
    ) -> None:
        """Make a new data folder with the system tables; its old contents are removed.

        Args:
            options: those that shape the data folder, such as `innodb_page_size`. `start` must be
                given them as well.
        """
        arguments = self.kind.option_arguments(options or {}, self.binary)
        self.claim()
        lock = self.folder.lock()
        try:
            self.folder.empty()
            how = self.kind.initialisation(self.binary)
            if how is None:
                return
            self._open_log()
            script = self.folder.temporary / "initialise.sql"
            script.write_bytes(how.sql)
            with self.log_path.open("ab") as log, script.open("rb") as sql:
                process = spawn(
                    [*self._command(), *how.arguments, *arguments],
                    cwd=self.folder.data,
                    log=log,
                    stdin=sql,
                    keep_open=[lock],
                )
            try:
                self._wait_until_ended(process, "create its data folder", timeout_s)
            finally:
                process.kill()
                process.wait()
            script.unlink()
            if process.returncode != 0:
                raise error_log.start_failure(
                    self.binary, process.returncode, self.log(), "create its data folder"
                )
        finally:
            os.close(lock)

    def start(
        self,
        options: Mapping[str, Value] | None = None,
        *,
        tcp: bool = False,
        timeout_s: float = 300,
    ) -> list[Truncated]:
        """Start it and wait until it answers.

        Args:
            options: server options; names with dashes or underscores.
            tcp: listen on a free port of 127.0.0.1 too; see `port`.

        Returns:
            The options that the server did not accept as requested.
        """
        if self.running:
            raise ServerFailed("the private server is already running.")
        self.folder.require_ours()
        self.folder.require_version(self.binary.kind, self.binary.version)
        check_runs_here(self.binary.program)
        self.options = {normal_name(name): value for name, value in (options or {}).items()}
        arguments = [*self.arguments, *self.kind.option_arguments(self.options, self.binary)]
        if self.confined:
            arguments = [*self.kind.confinement, *arguments]
        for attempt in range(_PORT_ATTEMPTS):
            try:
                self._start_once(arguments, tcp, timeout_s)
                break
            except PortTaken:
                if attempt == _PORT_ATTEMPTS - 1:
                    raise
        if self.confined:
            self._require_rights()
        if self.placement:
            got = look.seen(self.pid)
            self.misplaced = tuple(look.differences(self.placement, got, "place.server"))
        adjusted = error_log.adjusted_options(self.log())
        idle = self.kind.without_effect(self.options)
        taken = {name: value for name, value in self.options.items() if name not in idle}
        return truncations(taken, self.variables(), adjusted)

    def stop(self, *, timeout_s: float = 300) -> None:
        """Stop it cleanly: its table files are complete afterwards. Does nothing if none runs."""
        if self._process is None:
            return
        try:
            code = stop_process(self._process, self._pid_file, timeout_s)
        except ServerFailed as error:
            self.kill()
            raise ServerFailed(
                error.message, hint=error.hint, detail=error_log.tail(self.log())
            ) from None
        self._forget()
        if code != 0:
            raise ServerFailed(
                f"the server did not stop cleanly ({error_log.describe_exit(code)}).",
                detail=error_log.tail(self.log()),
            )

    def kill(self) -> None:
        """End it at once with SIGKILL. Does nothing if none runs."""
        if self._process is not None:
            kill_group(self._process, self._pid_file)
            self._forget()

    def check(self) -> None:
        self._running()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.stop()
        else:
            # The error on its way is more informative than a failure to stop.
            with contextlib.suppress(ServerFailed):
                self.stop(timeout_s=30)

    # --- connections ---

    def connect(self, database: str | None = None, **more: Any) -> Connection[Any]:
        """A control connection, as root unless another user is named. `more` goes to
        `pymysql.connect`."""
        self.check()
        return self._login(database=database, **more)

    def variables(self) -> dict[str, str]:
        with self.connect() as connection:
            return variables.read_all(connection)

    def variables_that_differ(self) -> Differing:
        """name -> (value, default) of every variable whose value is not the default."""
        with self.connect() as connection:
            return self.kind.differing(connection, self.binary)

    def set_global(self, changes: Mapping[str, Value]) -> list[Truncated]:
        """Change dynamic variables; returns those that the server did not accept as requested."""
        with self.connect() as connection:
            return variables.set_global(connection, changes)

    def place_threads(self, placements: Mapping[str, Placement]) -> dict[str, dict[str, str]]:
        """Place threads by role, which the server must distinguish (performance_schema); returns
        their placement by role."""
        with self.connect() as connection:
            threads = by_role(variables.threads(connection))
        if any(placement.is_real_time for placement in placements.values()):
            self._watch(self.pid)
        return place_threads(threads, placements)

    def log(self) -> str:
        try:
            with self.log_path.open("rb") as log:
                log.seek(self._log_start)
                return log.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    # --- how ---

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is None:
            raise ServerFailed("the private server is not running.")
        code = process.poll()
        if code is not None:
            # The dead process may be a wrapper, whose server lives on and has the folder.
            kill_group(process, self._pid_file)
            self._forget()
            raise ServerDied(
                f"the private {self.binary.kind} server ended unexpectedly "
                f"({error_log.describe_exit(code)}).",
                hint=f"Its log is {self.log_path}.",
                detail=error_log.tail(self.log()),
            )
        return process

    def _command(self) -> list[str]:
        files = self.kind.base_arguments(self.folder.data, self.folder.temporary)
        return [*self.binary.argv, *files]

    def _start_once(self, arguments: list[str], tcp: bool, timeout_s: float) -> None:
        locks = [self.folder.lock()]
        try:
            self._socket_folder, socket_lock = new_socket_folder()
            locks.append(socket_lock)
            if self.redo_log_folder:
                self._log_folder, log_lock = new_log_folder(Path(self.redo_log_folder))
                locks.append(log_lock)
                self.folder.move_redo_log(self._log_folder)
            self.port = free_port() if tcp else None
            command = [*self._command(), *self.kind.start_arguments(self._site())]
            self._open_log()
            self._pid_file.unlink(missing_ok=True)
            placement = self._alive.enter_context(grouped(self.placement))
            with self.log_path.open("ab") as log:
                self._process = spawn(
                    [*placement.prefix(), *self.wrap, *command, *arguments],
                    cwd=self.folder.data,
                    log=log,
                    keep_open=locks,
                    more_environment=self.environment,
                    group=bool(self.wrap),
                )
            if placement.is_real_time:
                self._watch(self._process.pid)
        except BaseException:
            self._forget()
            raise
        finally:
            # The server inherits them, and keeps them as long as it lives.
            for lock in locks:
                os.close(lock)
        try:
            self._wait_until_ready(timeout_s)
            self._note_pid()
        except BaseException:
            self.kill()
            raise

    def _site(self) -> Site:
        return Site(
            self.folder.data,
            self.folder.temporary,
            self.socket,
            self._pid_file,
            self.log_path,
            self.key_sockets,
            self.port,
        )

    def _note_pid(self) -> None:
        if not self._pid_file.exists() and (pid := socket_peer(self.socket)) is not None:
            self._pid_file.write_text(f"{pid}\n", encoding="ascii")

    def _wait_until_ended(
        self, process: subprocess.Popen[bytes], action: str, timeout_s: float
    ) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                process.wait(_LOG_POLL_S)
                return
            except subprocess.TimeoutExpired:
                self._give_up_if_hopeless(deadline, action, timeout_s)

    def _wait_until_ready(self, timeout_s: float) -> None:
        assert self._process is not None
        started = time.monotonic()
        next_look = started + _LOG_POLL_S
        while not self._answers():
            code = self._process.poll()
            if code is not None:
                raise error_log.start_failure(self.binary, code, self.log(), "start")
            if time.monotonic() > next_look:
                next_look += _LOG_POLL_S
                self._give_up_if_hopeless(started + timeout_s, "start", timeout_s)
            time.sleep(_POLL_S)

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            # A complete login, because a connection broken off would count as a failed one.
            self._login().close()
        except ConnectionRefused:
            return False
        return True

    def _login(self, *, user: str = USER, **more: Any) -> Connection[Any]:
        return connect(
            server=f"the private {self.binary.kind} server", user=user, socket=self.socket, **more
        )

    def _require_rights(self) -> None:
        """The server itself reports it: that option has many spellings."""
        with self.connect() as connection:
            checked = variables.checks_rights(connection)
        if not checked:
            self.kill()
            raise OptionRejected(
                "skip_grant_tables is not allowed with imported data: triggers and routines of the "
                "dump would have all privileges.",
                hint="Remove skip_grant_tables.",
            )

    def _give_up_if_hopeless(self, deadline: float, action: str, timeout_s: float) -> None:
        # On a full disk a server waits for space without a limit.
        if error_log.cause(self.log()) is error_log.Diagnosis.DISK_FULL:
            raise error_log.disk_full(self.binary, self.log())
        if time.monotonic() > deadline:
            raise ServerFailed(
                f"the server did not {action} within {timeout_s:.0f} s.",
                detail=error_log.tail(self.log()),
            )

    def _open_log(self) -> None:
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log_start = self.log_path.stat().st_size if self.log_path.exists() else 0

    def _watch(self, pid: int) -> None:
        with self.log_path.open("ab") as log:
            self._alive.enter_context(contextlib.closing(Watched(pid, log)))

    def _forget(self) -> None:
        self._process = None
        self._alive.close()
        self.misplaced = ()
        self.port = None
        if self._log_folder is not None:
            self.folder.bring_back_redo_log(self._log_folder)
            remove_log_folder(self._log_folder)
            self._log_folder = None
        if self._socket_folder is not None:
            remove_socket_folder(self._socket_folder)
            self._socket_folder = None
