"""Servers for every test that needs a real one. They are got once into the user's cache.

`private_server` is a factory: each call gives an initialised server in a folder of its own. All
of them are gone when the test is over, whatever happened in it; those of `shared_server` when the
file's last test is over.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import together
from synthetic_run import write_slices

from contend.errors import ContendError
from contend.load import find_program
from contend.servers import PrivateServer, ServerBinary, debian
from contend.store import schema

# No test asserts a wall time, hypothesis' for an example and for drawing one included. Each run
# of the tests draws the same; `--hypothesis-profile=further` draws others.
hypothesis.settings.register_profile(
    "further", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "contend", hypothesis.settings.get_profile("further"), derandomize=True, database=None
)
hypothesis.settings.load_profile("contend")

SMALL_OPTIONS: dict[str, dict[str, str | int | float | bool]] = {
    "mariadb": {
        "innodb_buffer_pool_size": "16M",
        "innodb_log_file_size": "8M",
        "innodb_flush_log_at_trx_commit": 2,
    },
    "mysql": {
        "innodb_buffer_pool_size": "16M",
        "innodb_redo_log_capacity": "8M",
        "innodb_flush_log_at_trx_commit": 2,
        "sync_binlog": 0,
    },
}
"""What keeps a server small and waiting for no disk, where its speed does not matter. What it has
committed outlives its process."""

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return together.scheduler(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return together.processes()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long ones, so that no process is left alone with one at the end."""
    items.sort(key=together.rank)


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What contend notes of the servers it warms is kept in the user's home, one file a server:
    tests of another checkout would name the same ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def study_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """`study_run(path)`: a copy of a made-up run folder of the complete study in slices, with all
    its 504 runs; made once, whatever the number of processes that share the tests."""

    def get(path: Path) -> Path:
        made = together.once(tmp_path_factory, "study", lambda to: write_slices(to / "run"))
        return Path(shutil.copytree(made / "run", path))

    return get


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """What tests write in their own process outlives no loss of power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(schema, "SYNCHRONOUS", "OFF")
        yield


PrivateServerFactory = Callable[..., PrivateServer]


@pytest.fixture(scope="session")
def load_program() -> Path:
    """contend-load: the installed one, else the newest that cargo built here."""
    try:
        return find_program()
    except ContendError:
        built = REPOSITORY.glob("target/*/contend-load")
        newest = max(built, key=lambda path: path.stat().st_mtime, default=None)
        assert newest is not None, "contend-load is not built: `make setup` or `cargo build`"
        return newest


@pytest.fixture(scope="session")
def mariadb_binary() -> ServerBinary:
    """MariaDB of the machine's own suite."""
    return debian.get("mariadb")


@pytest.fixture(scope="session")
def mariadb_new_binary() -> ServerBinary:
    """A newer MariaDB."""
    return debian.get("mariadb", "trixie")


@pytest.fixture(scope="session")
def mysql_binary() -> ServerBinary:
    """MySQL."""
    return debian.get("mysql", "sid")


@pytest.fixture(scope="session", params=["mariadb", "mariadb_new", "mysql"])
def any_binary(request: pytest.FixtureRequest) -> ServerBinary:
    """Each kind of server in turn."""
    binary: ServerBinary = request.getfixturevalue(f"{request.param}_binary")
    return binary


@pytest.fixture(scope="session")
def fresh_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[ServerBinary], Path]:
    """The data folder of a server that was just initialised; made once for each program, whatever
    the number of processes that share the tests. Its log is as small as that of the servers that
    are started on copies of it: a log of the usual size is most of what there is to copy, and would
    be made anew at each start."""

    def get(binary: ServerBinary) -> Path:
        def make(folder: Path) -> None:
            PrivateServer(binary, folder / "server").initialise(SMALL_OPTIONS[binary.kind])

        folder = together.once(tmp_path_factory, f"fresh-{binary.name}", make)
        return PrivateServer(binary, folder / "server").data_folder

    return get


@contextlib.contextmanager
def servers_in(
    folder: Path, fresh_data: Callable[[ServerBinary], Path]
) -> Iterator[PrivateServerFactory]:
    """A factory of private servers under a folder; all of them are killed at the end."""
    made: list[PrivateServer] = []
    numbers = itertools.count(1)

    def make(
        binary: ServerBinary,
        options: dict[str, str | int | float | bool] | None = None,
        *,
        tcp: bool = False,
        start: bool = True,
        confined: bool = False,
        arguments: Sequence[str] = (),
    ) -> PrivateServer:
        server = PrivateServer(binary, folder / f"server-{next(numbers)}", arguments=arguments)
        server.confined = confined
        made.append(server)
        server.claim()
        shutil.copytree(fresh_data(binary), server.data_folder, dirs_exist_ok=True)
        if start:
            server.start(SMALL_OPTIONS[binary.kind] | (options or {}), tcp=tcp)
        return server

    try:
        yield make
    finally:
        for server in made:
            server.kill()


@pytest.fixture
def private_server(
    tmp_path: Path, fresh_data: Callable[[ServerBinary], Path]
) -> Iterator[PrivateServerFactory]:
    """`private_server(binary, options, tcp=False, start=True, confined=False, arguments=())`: a
    server of the test's own.

    `options` are added to a few that keep it small; `arguments` may name files of other folders.
    """
    with servers_in(tmp_path, fresh_data) as make:
        yield make


@pytest.fixture(scope="module")
def shared_server(
    tmp_path_factory: pytest.TempPathFactory, fresh_data: Callable[[ServerBinary], Path]
) -> Iterator[PrivateServerFactory]:
    """`shared_server(binary, options, tcp=False, confined=False, arguments=())`: a server that all
    tests of a file share."""
    running: dict[str, PrivateServer] = {}

    with servers_in(tmp_path_factory.mktemp("shared"), fresh_data) as make:

        def share(
            binary: ServerBinary,
            options: dict[str, str | int | float | bool] | None = None,
            *,
            tcp: bool = False,
            confined: bool = False,
            arguments: Sequence[str] = (),
        ) -> PrivateServer:
            key = repr((binary.name, options, tcp, confined, arguments))
            if key not in running:
                running[key] = make(
                    binary, options, tcp=tcp, confined=confined, arguments=arguments
                )
            return running[key]

        yield share
