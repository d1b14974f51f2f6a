"""Kept datasets on real servers: what a copy holds is what was loaded, byte by byte."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_lab import RUNS, Lab

from contend.data import DatasetSource, list_datasets, provide
from contend.experiment import DataSpec, Level
from contend.servers import PrivateServer, ServerBinary

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

ROWS = 20_000
SMALL: dict[str, Level] = {"innodb_buffer_pool_size": "32M"}


class Heard:
    """What the datasets room told."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.steps: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        self.steps.append(what)
        assert 0 <= done <= total


class Bench:
    """A cache, and servers over what it provides."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.program = program
        self.heard = Heard()
        self.servers: list[PrivateServer] = []

    def server(self, binary: ServerBinary, data: DataSpec, **options: Level) -> PrivateServer:
        """A running server over a fresh copy of the dataset."""
        server = PrivateServer(binary, self.folder / f"server-{len(self.servers)}")
        self.servers.append(server)
        server.claim()
        source = DatasetSource(data, binary, options)
        provide(source, server.data_folder, cache=self.cache, program=self.program, tell=self.heard)
        server.start({**SMALL, **options})
        return server

    @property
    def loads(self) -> int:
        return sum("making a data folder" in notice for notice in self.heard.notices)


@pytest.fixture
def bench(tmp_path: Path, load_program: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, load_program)
    yield made
    for server in made.servers:
        server.kill()


def content(server: PrivateServer) -> tuple[int, int]:
    """Rows and a checksum of all of them, as the server sees them."""
    with server.connect("sbtest") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, k, c, pad))) FROM sbtest")
        rows, checksum = cursor.fetchone() or (0, 0)
        cursor.execute("CHECK TABLE sbtest EXTENDED")
        assert cursor.fetchall()[-1][-1] == "OK"
    return int(rows), int(checksum)


@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "InnoDB"])
def test_each_copy_is_what_was_loaded(
    bench: Bench, mariadb_binary: ServerBinary, engine: str
) -> None:
    data = DataSpec(engine=engine, rows=ROWS)
    first = bench.server(mariadb_binary, data)
    seen = content(first)
    assert seen[0] == ROWS
    with first.connect("sbtest") as connection, connection.cursor() as cursor:
        cursor.execute("DELETE FROM sbtest WHERE id > 10")
    second = bench.server(mariadb_binary, data)
    assert content(second) == seen
    assert bench.loads == 1
    assert "crash recovery" not in second.log().lower()


def test_the_seed_alone_decides_the_content(bench: Bench, mariadb_binary: ServerBinary) -> None:
    myisam = content(bench.server(mariadb_binary, DataSpec(engine="MyISAM", rows=ROWS)))
    innodb = content(bench.server(mariadb_binary, DataSpec(engine="InnoDB", rows=ROWS)))
    other = content(bench.server(mariadb_binary, DataSpec(engine="MyISAM", rows=ROWS, seed=2)))
    assert myisam == innodb != other


def test_a_newer_server_and_mysql_have_their_own(bench: Bench, any_binary: ServerBinary) -> None:
    server = bench.server(any_binary, DataSpec(engine="InnoDB", rows=ROWS))
    assert content(server)[0] == ROWS


def test_files_are_laid_out_as_the_server_under_test_wants_them(
    bench: Bench, mariadb_binary: ServerBinary
) -> None:
    data = DataSpec(engine="InnoDB", rows=ROWS)
    large = bench.server(mariadb_binary, data)
    small = bench.server(mariadb_binary, data, innodb_page_size="8K")
    assert small.variables()["innodb_page_size"] == "8192"
    assert content(small) == content(large)
    assert len(list_datasets(bench.cache)) == 2


def test_one_changed_byte_is_found_and_the_dataset_loaded_again(lab: Lab) -> None:
    assert lab.run().returncode == 0
    (table,) = (lab.cache / "datasets").glob("sbtest-myisam-10k-*/data/sbtest/sbtest.MYD")
    with table.open("r+b") as file:
        file.seek(table.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    again = lab.contend("run", lab.file, "--server", lab.server, "--out", lab.folder / "again")
    assert again.returncode == 0, again.stderr
    assert "is damaged, so it is loaded again" in again.stderr
    assert f"run {RUNS}/{RUNS}" in again.stderr


@pytest.fixture
def sharing_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem that can share blocks between files, where this user may mount one."""
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(2 << 30)
    for make in (["mkfs.btrfs", "-q"], ["mkfs.xfs", "-q", "-m", "reflink=1"]):
        try:
            subprocess.run([*make, image], check=True, capture_output=True)
            subprocess.run(["mount", "-o", "loop", image, folder], check=True, capture_output=True)
            break
        except (OSError, subprocess.CalledProcessError):
            continue
    else:
        pytest.skip("no filesystem that shares blocks can be made or mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_filesystem_that_shares_blocks_copies_none(
    sharing_disk: Path, load_program: Path, mariadb_binary: ServerBinary
) -> None:
    bench = Bench(sharing_disk, load_program)
    data = DataSpec(engine="MyISAM", rows=500_000)
    try:
        seen = content(bench.server(mariadb_binary, data))
        before = used(sharing_disk)
        (kept,) = list_datasets(bench.cache)
        assert content(bench.server(mariadb_binary, data)) == seen
        assert used(sharing_disk) - before < kept.bytes // 2
    finally:
        for server in bench.servers:
            server.kill()


def used(folder: Path) -> int:
    """Bytes of the filesystem that hold something, once all is written."""
    subprocess.run(["sync", "--file-system", folder], check=True)
    words = subprocess.run(
        ["df", "--block-size=1", "--output=used", folder], check=True, capture_output=True
    ).stdout.split()
    return int(words[-1])
