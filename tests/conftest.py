"""Servers for every test that needs a real one. They are got once into the user's cache.

`private_server` is a factory: each call gives an initialised server in a folder of its own. All
of them are gone when the test is over, whatever happened in it; those of `shared_server` when the
file's last test is over.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from contend.errors import ContendError
from contend.load import find_program
from contend.servers import PrivateServer, ServerBinary, debian

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
    "mariadb": {"innodb_buffer_pool_size": "16M", "innodb_log_file_size": "8M"},
    "mysql": {"innodb_buffer_pool_size": "16M", "innodb_redo_log_capacity": "8M"},
}
"""What keeps a server small where its speed does not matter."""

REPOSITORY = Path(__file__).resolve().parent.parent

LASTING = frozenset(
    {"shared_server", "begun", "measured", "two_sizes", "browser", "study_path", "page"}
)
"""Fixtures that cost much and outlive a test: the tests of a file that use one stay together."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which tests stay together where several processes share them."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if "tiny_run" in fixtures:
        item.add_marker(pytest.mark.xdist_group("tiny_run"))
    elif fixtures & LASTING:
        parameters = getattr(item, "callspec", None)
        kind = parameters.params.get("any_binary", "") if parameters else ""
        item.add_marker(pytest.mark.xdist_group(f"{item.path.stem}-{kind}"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long ones, so that no process is left alone with one at the end."""
    items.sort(key=lambda item: item.path.parent.name != "server")


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
    the number of processes that share the tests."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fresh"
    shared.mkdir(exist_ok=True)

    def get(binary: ServerBinary) -> Path:
        server = PrivateServer(binary, shared / binary.name)
        made = shared / f"{binary.name}.made"
        with (shared / f"{binary.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                server.initialise()
                made.touch()
        return server.data_folder

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
    ) -> PrivateServer:
        server = PrivateServer(binary, folder / f"server-{next(numbers)}")
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
    """`private_server(binary, options, tcp=False, start=True)`: a server of the test's own.

    `options` are added to a few that keep it small.
    """
    with servers_in(tmp_path, fresh_data) as make:
        yield make


@pytest.fixture(scope="module")
def shared_server(
    tmp_path_factory: pytest.TempPathFactory, fresh_data: Callable[[ServerBinary], Path]
) -> Iterator[PrivateServerFactory]:
    """The same factory, for servers that all tests of a file share."""
    with servers_in(tmp_path_factory.mktemp("shared"), fresh_data) as make:
        yield make
