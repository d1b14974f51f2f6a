"""What a user can get wrong: each a clear sentence, its exit code, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from run_lab import Finished, Lab, wait_for

from contend.servers import ServerBinary

OPTIONS = "key_cache_segments = 0 }"
SmallDisk = Callable[[int], Path]

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        # One for all that no server is asked about: tests/unit/spec has the others.
        pytest.param("measure =", "mesure =", ["mesure", "measure"], id="mistyped-key"),
        pytest.param(
            "key_buffer_size",
            "key_bufer_size",
            ["key_bufer_size", '"key_buffer_size"'],
            id="option",
        ),
        pytest.param(
            OPTIONS, 'innodb_flush_method = "maybe" }', ["innodb_flush_method"], id="option-value"
        ),
        pytest.param(
            OPTIONS,
            'datadir = "elsewhere" }',
            ["datadir", "contend itself sets"],
            id="reserved-option",
        ),
        pytest.param(
            OPTIONS,
            'log_bin = "/nowhere/bin" }',
            ["log_bin = /nowhere/bin", "outside the server's own folder"],
            id="option-elsewhere",
        ),
        pytest.param(
            OPTIONS,
            'sync_binlog = 1 }\nglobals = { general_log_file = "/nowhere/log" }',
            ["general_log_file = /nowhere/log", "outside the server's own folder"],
            id="global-elsewhere",
        ),
    ],
)
def test_an_experiment_that_cannot_run(lab: Lab, old: str, new: str, words: list[str]) -> None:
    lab.edit(old, new)
    if words[0] == "innodb_flush_method":
        lab.edit('"server.options.key_cache_segments" = [0, 32]', '"workload.points" = [1, 2]')
        lab.edit('{ "server.options.key_cache_segments" = 0 }', '{ "workload.points" = 1 }')
    done = lab.run()
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("contend: error: ") == 1
    for word in words:
        assert word in done.stderr
    assert not lab.out.exists()
    assert lab.servers_alive() == []


OWN = """
[experiment]
name = "own"

[data]
rows = 1_000_000

[workload]
kind = "sql"
text = '''
@insert
INSERT INTO sbtest (k, c, pad) VALUES ({k:uniform(1, 5)}, 'x', 'y');
@read weight 3
SELECT c FROM sbtest WHERE id = {id:uniform(1, 100)};
'''

[load]
warmup = "20ms"
measure = "100ms"
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("SELECT c ", "SELECT cc ", ['"read"', "'cc'", '"c"'], id="column"),
        pytest.param("(k, c, pad)", "(k, c, pat)", ['"insert"', "'pat'", '"pad"'], id="of-insert"),
        pytest.param("FROM sbtest", "FROM sbtset", ["sbtset", '"sbtest"'], id="table"),
        pytest.param("SELECT c", "SELECT lenght(c)", ["lenght"], id="function"),
        pytest.param("SELECT c", "SELECT c c c", ['"read"', "1064"], id="syntax"),
        pytest.param(
            "[load]\n",
            '[compare]\nmetric = "status.Handler_raed_key_per_query"\n[load]\n',
            ["Handler_raed_key", '"Handler_read_key"'],
            id="counter",
        ),
    ],
)
def test_statements_are_refused_before_rows_are_loaded(
    lab: Lab, old: str, new: str, words: list[str]
) -> None:
    lab.file.write_text(OWN)
    lab.edit(old, new)
    done = lab.run()
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert "loading" not in done.stderr
    assert not lab.out.exists() and lab.servers_alive() == []


def test_a_level_that_is_no_value_of_its_option(lab: Lab) -> None:
    lab.edit("[0, 32]", '[0, "lots"]')
    done = lab.run()
    assert done.returncode == 2
    # Said at the start, or when the running server is told, by which level comes first.
    assert "'lots'" in done.stderr
    assert "key_cache_segments" in done.stderr
    assert not lab.out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["segmented-key-cach"], "segmented-key-cache", id="recipe"),
        pytest.param([], "no experiment", id="none"),
        pytest.param(["nowhere.toml"], "nowhere.toml", id="file"),
        pytest.param(["tiny.toml", "--quick", "--full"], "not allowed with", id="both-sizes"),
        pytest.param(["tiny.toml", "--set", "load.mesure=1s"], "load.measure", id="set-path"),
        pytest.param(["tiny.toml", "--set", "nonsense"], "nonsense", id="set-form"),
        pytest.param(["tiny.toml", "--server", "mariadb-9"], "mariadb-9", id="server-name"),
        pytest.param(["tiny.toml", "--server", "/bin/true"], "/bin/true", id="server-path"),
        pytest.param(["tiny.toml", "--server", "mysql://u:p@h/"], "password", id="dsn-password"),
        pytest.param(["--resume", "nowhere"], "no run folder nowhere", id="resume"),
    ],
)
def test_a_command_line_that_cannot_be_done(lab: Lab, arguments: list[str], words: str) -> None:
    done = lab.contend("run", *arguments)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert not (lab.folder / "contend-runs").exists()


@pytest.mark.parametrize("by_path", [False, True], ids=["name", "path"])
def test_a_server_of_the_other_kind(lab: Lab, mariadb_binary: ServerBinary, by_path: bool) -> None:
    named = str(mariadb_binary.program) if by_path else lab.server
    lab.environment["LD_LIBRARY_PATH"] = ":".join(mariadb_binary.argv[2].split(":"))
    done = lab.run("--set", "server.kind=mysql", "--server", named)
    assert done.returncode == 2
    assert named in done.stderr and "but the experiment needs mysql" in done.stderr
    assert "Set `server.kind` to mariadb" in done.stderr
    assert not lab.out.exists()


def test_a_folder_that_has_something_in_it(lab: Lab) -> None:
    lab.out.mkdir()
    (lab.out / "thesis.txt").write_text("mine")
    done = lab.run()
    assert done.returncode == 2
    assert f"{lab.out} already exists" in done.stderr
    assert [path.name for path in lab.out.iterdir()] == ["thesis.txt"]


def test_a_server_that_does_not_start(lab: Lab) -> None:
    lab.edit(OPTIONS, f'innodb_data_home_dir = "nowhere", {OPTIONS}')
    done = lab.run()
    assert done.returncode == 1
    assert "did not start" in done.stderr
    assert "  | " in done.stderr, "the end of its log is shown"
    assert lab.servers_alive() == []


class TestFolder:
    @pytest.fixture(autouse=True)
    def done(self, lab: Lab, tiny_run: Finished) -> None:
        lab.begin_from(tiny_run.lab)

    def test_of_a_different_format(self, lab: Lab) -> None:
        with sqlite3.connect(lab.out / "results.sqlite") as connection:
            connection.execute("PRAGMA user_version = 999")
        connection.close()
        done = lab.contend("run", "--resume", lab.out)
        assert done.returncode == 2
        assert "999" in done.stderr

    def test_that_is_corrupted(self, lab: Lab) -> None:
        path = lab.out / "results.sqlite"
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(path.stat().st_size - 4096))
        done = lab.contend("run", "--resume", lab.out)
        assert done.returncode == 1
        assert "results.sqlite" in done.stderr


@contextlib.contextmanager
def stopped(*processes: int) -> Iterator[None]:
    """Nothing goes on in them meanwhile."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def fill_up(path: Path) -> None:
    """Write a file until its disk is full."""
    writer = ["dd", "if=/dev/zero", f"of={path}", "bs=64K"]
    subprocess.run(writer, capture_output=True, check=False)


class TestDiskFull:
    def test_too_little_room_is_said_before_anything_is_loaded(
        self, lab: Lab, small_disk: SmallDisk
    ) -> None:
        self.use(lab, small_disk(300))
        done = lab.run()
        assert done.returncode == 1
        assert "need about" in done.stderr
        assert "XDG_CACHE_HOME" in done.stderr

    def test_while_loading_it_is_given_up_and_what_was_loaded_removed(
        self, lab: Lab, small_disk: SmallDisk
    ) -> None:
        disk = small_disk(1200)
        self.use(lab, disk)
        lab.edit("rows = 10_000", "rows = 1_000_000")
        process = lab.start(*lab.arguments())
        wait_for(
            lambda: (
                any(lab.cache.glob("work/*/server/data/sbtest/*.MYD")) or process.poll() is not None
            )
        )
        with stopped(*lab.servers_alive()):
            fill_up(disk / "filler")
        _out, err = process.communicate()
        assert process.returncode == 1, err
        assert "needs more disk space" in err
        assert "XDG_CACHE_HOME" in err
        assert list((lab.cache / "datasets").glob("sbtest-*/")) == []
        assert lab.left() == []
        assert lab.servers_alive() == []

    def use(self, lab: Lab, disk: Path) -> None:
        """Put the lab's cache on the small disk, with the servers of the session."""
        (disk / "contend").mkdir()
        (disk / "contend" / "servers").symlink_to((lab.cache / "servers").resolve())
        lab.cache = disk / "contend"
        lab.environment["XDG_CACHE_HOME"] = str(disk)


def test_results_that_cannot_be_stored(lab: Lab, small_disk: SmallDisk) -> None:
    disk = small_disk(300)
    out, filler = disk / "run", disk / "filler"
    process = lab.start("run", lab.file, "--server", lab.server, "--out", out)
    wait_for(lambda: (out / "results.sqlite").exists() or process.poll() is not None)
    with stopped(process.pid):
        fill_up(filler)
    _out, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "contend: error: " in err
    filler.unlink()
    resumed = lab.contend("run", "--resume", out)
    assert resumed.returncode == 0, resumed.stderr


def test_nobody_else_may_look_into_the_server(lab: Lab) -> None:
    # It is killed when that was seen.
    lab.slow("10s")
    process = lab.start(*lab.arguments())
    try:
        lab.wait_for_runs(1, process)
        (work,) = [path for path in (lab.cache / "work").iterdir() if path.is_dir()]
        assert stat.S_IMODE(work.stat().st_mode) == 0o700
    finally:
        process.kill()
        process.communicate()
