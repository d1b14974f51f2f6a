"""Loading a dataset and keeping it: with a server and a fill that only write files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from killed import in_a_process_of_its_own

from contend.data import (
    Dataset,
    DatasetSource,
    build,
    list_datasets,
    loading,
    provide,
    require_import,
)
from contend.data.dump.load import Rules
from contend.data.imports import Import
from contend.data.loading import EngineMissing, LoadingFailed, NoRoomForDataset
from contend.experiment import DataSpec, Level
from contend.load import LoadFailed
from contend.load.ask import FillResult
from contend.servers import ServerBinary

ROWS = 100


class FakeServer:
    """A private server whose table file is written by the fake fill."""

    starts: ClassVar[list[dict[str, Level]]] = []
    layouts: ClassVar[list[dict[str, Level]]] = []

    def __init__(self, _binary: ServerBinary, folder: Path) -> None:
        self.data_folder = folder / "data"
        self.socket = folder / "s"
        self.running = False

    def initialise(self, options: Mapping[str, Level]) -> None:
        FakeServer.layouts.append(dict(options))
        (self.data_folder / "mysql").mkdir(parents=True)
        (self.data_folder / "ibdata1").write_bytes(b"i" * 100)
        (self.data_folder / "ib_buffer_pool").write_text("hot pages")

    def start(self, options: Mapping[str, Level]) -> list[object]:
        self.running = True
        FakeServer.starts.append(dict(options))
        return []

    def stop(self) -> None:
        self.running = False

    def kill(self) -> None:
        self.running = False

    def log(self) -> str:
        return "its log"


class FakeFill:
    """Writes the table file next to the socket of the server it is sent to."""

    error: Exception | None = None
    loads = 0

    def __init__(self, _program: Path) -> None:
        pass

    def run(
        self,
        data: DataSpec,
        address: Any,
        *,
        pipe_folder: Path,
        on_progress: Callable[[str, int, int], None],
    ) -> FillResult:
        assert pipe_folder.is_dir()
        FakeFill.loads += 1
        on_progress("load", data.rows // 2, data.rows)
        if FakeFill.error is not None:
            raise FakeFill.error
        table = Path(address.socket).parent / "data" / data.schema
        table.mkdir()
        (table / "sbtest.MYD").write_bytes(b"row" * data.rows)
        on_progress("keys", data.rows, data.rows)
        return FillResult(data.rows, ("the keys were slow",))


class Heard:
    def __init__(self) -> None:
        self.notices: list[str] = []
        self.steps: list[tuple[str, int, int, str]] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def progress(self, what: str, done: int, total: int, unit: str) -> None:
        self.steps.append((what, done, total, unit))


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "PrivateServer", FakeServer)
    monkeypatch.setattr(build, "FillProcess", FakeFill)
    FakeServer.starts, FakeServer.layouts = [], []
    FakeFill.error = None
    FakeFill.loads = 0


def binary_in(tmp_path: Path) -> ServerBinary:
    return ServerBinary(
        kind="mariadb",
        version="10.11.19",
        suite=None,
        argv=("mariadbd",),
        program=Path("mariadbd"),
        basedir=Path("usr"),
        share_dir=Path("share"),
        plugin_dir=tmp_path / "plugins",
        source="path",
    )


@pytest.fixture
def binary(tmp_path: Path) -> ServerBinary:
    return binary_in(tmp_path)


def test_a_dump_that_is_gone_is_asked_for(tmp_path: Path, binary: ServerBinary) -> None:
    """Before a run, and if one needs it nevertheless; not if what it holds is kept."""
    imported = Import("shop", tmp_path / "shop.sql", 1, 1, "digest", Rules(), 100)
    source = DatasetSource(DataSpec(engine="InnoDB", rows=ROWS), binary, {}, imported)
    program = Path("contend-load")
    with pytest.raises(LoadingFailed, match=r"import:shop .* there is no file .*shop\.sql") as gone:
        require_import(source, tmp_path)
    assert "--name shop --replace" in str(gone.value.hint)
    with pytest.raises(LoadingFailed, match=r"there is no file .*shop\.sql"):
        provide(source, tmp_path / "data", cache=tmp_path, program=program, tell=Heard())
    kept = tmp_path / "datasets" / source.key
    kept.mkdir(parents=True)
    Dataset(kept, source.key, source.inputs, 100, "", 0.1, (), ()).write()
    require_import(source, tmp_path)


class Bench:
    def __init__(self, tmp_path: Path, binary: ServerBinary) -> None:
        self.cache = tmp_path / "cache"
        self.into = tmp_path / "server" / "data"
        self.into.parent.mkdir()
        self.binary = binary
        self.heard = Heard()

    def provide(self, engine: str = "MyISAM", **options: Level) -> object:
        source = DatasetSource(DataSpec(engine=engine, rows=ROWS), self.binary, options)
        return provide(
            source, self.into, cache=self.cache, program=Path("contend-load"), tell=self.heard
        )


@pytest.fixture
def bench(tmp_path: Path, binary: ServerBinary) -> Bench:
    return Bench(tmp_path, binary)


def test_a_dataset_is_loaded_once_and_copied_each_time(bench: Bench) -> None:
    bench.provide()
    assert (bench.into / "sbtest" / "sbtest.MYD").read_bytes() == b"row" * ROWS
    (bench.into / "sbtest" / "sbtest.MYD").write_bytes(b"changed by a run")
    bench.provide()
    assert (bench.into / "sbtest" / "sbtest.MYD").read_bytes() == b"row" * ROWS
    assert FakeFill.loads == 1
    (kept,) = list_datasets(bench.cache)
    assert kept.rows == ROWS
    assert ("loading 100 rows (MyISAM)", 50, ROWS, "rows") in bench.heard.steps
    assert bench.heard.steps[-1][1:3] == (kept.bytes, kept.bytes)
    assert "building the keys of 100 rows (MyISAM)" in bench.heard.notices
    assert "the keys were slow" in bench.heard.notices


KILLED = """
import sys
from pathlib import Path
import pytest
import test_dataset_build as here
from contend.data import restore
from killed import killed_at_every_step

folder = Path(sys.argv[1])
patch = pytest.MonkeyPatch()
patch.setattr(here.build, "PrivateServer", here.FakeServer)
patch.setattr(here.build, "FillProcess", here.FakeFill)
bench = here.Bench(folder, here.binary_in(folder))
for step in killed_at_every_step(bench.provide, ("data/build", "data/cache"), by=4):
    for dataset in here.list_datasets(bench.cache):
        restore(dataset, folder / "copy")
        copied = folder / "copy" / "sbtest" / "sbtest.MYD"
        assert copied.read_bytes() == b"row" * here.ROWS, step
        (dataset.folder / "manifest.json").unlink()
print(step)
"""


def test_one_that_was_half_made_is_never_taken_for_whole(tmp_path: Path) -> None:
    """Killed at any step: what is found then is whole."""
    steps = in_a_process_of_its_own(KILLED, tmp_path)
    assert int(steps) > 100


def test_what_a_server_acts_on_at_its_start_is_not_kept(bench: Bench) -> None:
    bench.provide()
    assert not (bench.into / "ib_buffer_pool").exists()
    assert (bench.into / "ibdata1").exists()
    assert (bench.into / "mysql").is_dir()


def test_nothing_but_the_dataset_is_left_behind(bench: Bench) -> None:
    bench.provide()
    assert [path.name for path in (bench.cache / "work").iterdir()] == ["sweep.lock"]


def test_a_damaged_one_is_told_and_loaded_again(bench: Bench) -> None:
    bench.provide()
    (kept,) = list_datasets(bench.cache)
    (kept.data / "sbtest" / "sbtest.MYD").write_bytes(b"rot" * ROWS)
    bench.provide()
    assert FakeFill.loads == 2
    assert (bench.into / "sbtest" / "sbtest.MYD").read_bytes() == b"row" * ROWS
    assert any("damaged, so it is loaded again" in text for text in bench.heard.notices)


def test_a_manifest_that_cannot_be_read_counts_as_none(bench: Bench) -> None:
    bench.provide()
    (kept,) = list_datasets(bench.cache)
    (kept.folder / "manifest.json").write_text("{")
    bench.provide()
    assert FakeFill.loads == 2


def test_options_that_lay_out_files_reach_the_loading_server(bench: Bench) -> None:
    bench.provide(myisam_block_size=4096, key_buffer_size="1G")
    (start,) = FakeServer.starts
    assert start["myisam_block_size"] == 4096
    assert FakeServer.layouts == [{"myisam_block_size": 4096}]
    assert start["innodb_fast_shutdown"] == 0
    assert start["key_buffer_size"] != "1G"


class TestFailure:
    def test_a_refusal_of_the_server_is_told_and_nothing_kept(self, bench: Bench) -> None:
        FakeFill.error = LoadFailed("Out of range value", code=1264)
        with pytest.raises(LoadingFailed, match=r"loading 100 rows.*Out of range") as caught:
            bench.provide()
        assert caught.value.detail == "its log"
        self.nothing_is_left(bench)

    def test_ctrl_c_leaves_nothing(self, bench: Bench) -> None:
        FakeFill.error = KeyboardInterrupt()  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            bench.provide()
        self.nothing_is_left(bench)

    def test_a_disk_that_runs_full_ends_the_load(self, bench: Bench) -> None:
        FakeFill.error = LoadFailed("the disk of data is full", code=1021)
        with pytest.raises(
            NoRoomForDataset, match=r"100 rows .* more disk space: the disk"
        ) as caught:
            bench.provide()
        assert "XDG_CACHE_HOME" in (caught.value.hint or "")
        self.nothing_is_left(bench)

    def test_a_load_that_cannot_fit_is_not_begun(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loading, "FIXED_BYTES", 1 << 62)
        with pytest.raises(NoRoomForDataset, match=r"need about .* is free"):
            bench.provide()
        assert FakeFill.loads == 0

    def nothing_is_left(self, bench: Bench) -> None:
        assert list_datasets(bench.cache) == []
        assert [path.name for path in (bench.cache / "work").iterdir()] == ["sweep.lock"]
        assert not bench.into.exists()


class TestEngine:
    def test_a_plugin_that_is_not_there_is_refused_with_a_way_out(self, bench: Bench) -> None:
        with pytest.raises(EngineMissing) as caught:
            bench.provide(engine="RocksDB")
        assert "contend server get mariadb+rocksdb" in (caught.value.hint or "")

    def test_one_that_is_there_is_loaded(self, bench: Bench) -> None:
        assert bench.binary.plugin_dir is not None
        bench.binary.plugin_dir.mkdir()
        (bench.binary.plugin_dir / "ha_rocksdb.so").touch()
        bench.provide(engine="RocksDB")
        assert FakeServer.starts[0]["plugin_load_add"] == "ha_rocksdb"
