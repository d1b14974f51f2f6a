"""Run folders that are not as contend writes them: each command reports an error, and soon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from broken_runs import mutate
from made_up_looks import add_looks
from profiled_run import write_profile
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, with_gate, write_run, write_slices

from contend.cli.main import main
from contend.errors import WorkError
from contend.experiment.stored import WrongShape, check_of, require
from contend.runs.glance import glances
from contend.store import DamagedStore, RunFolder, StoreFailed

LIMIT_S = 15
MUTANTS = int(os.environ.get("CONTEND_MUTANTS", "80"))
"""540 take some minutes."""

COMMANDS = (
    *(("show",), ("show", "--full"), ("show", "--json"), ("report",)),
    *(("export", "--format", "csv"), ("export", "--format", "json")),
    *(("export", "--format", "folder", "--out", "NEW"), ("compare", "OTHER")),
    *(("history", "OTHER"), ("why", "--plan"), ("profile",)),
    *(("run", "--resume"), ("glance",)),
)
SETS = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=2")
EXAMPLE = Path(__file__).parents[3] / "docs/examples/two-hosts/this-host"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders of several kinds."""
    root = tmp_path_factory.mktemp("whole")
    write_run(root / "single", study(sets=SETS))
    write_slices(root / "slices", study(sets=SETS))
    with_gate(root / "slices", 0.03)
    with RunFolder.open(root / "slices") as folder:
        planned = folder.meta().planned
    add_looks(root / "slices", planned, SEGMENTS)
    write_profile(root / "slices/profile", repeats=2)
    shutil.copytree(EXAMPLE / "1", root / "measured")
    return root


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise WorkError("that is as far as this test goes")

    monkeypatch.setattr("contend.cli.run.equipment_for", stop)
    # Drawn charts show the same as the text, and take ten times as long.
    monkeypatch.setattr("contend.report.images.can_draw", lambda: False)


@contextmanager
def limited(what: str) -> Iterator[None]:
    def hangs(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{what}: not done in {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answer(command: tuple[str, ...], path: Path, other: Path) -> int:
    if command == ("glance",):
        glances(path.parent)
        return 0
    places = {"OTHER": str(other), "NEW": str(path.parent / "new")}
    shutil.rmtree(path.parent / "new", ignore_errors=True)
    return main([*(places.get(word, word) for word in command), str(path)])


KINDS = ("single", "slices", "measured")


@pytest.mark.parametrize("first", range(0, MUTANTS, 20))
def test_no_mutant_ends_in_a_traceback_or_hangs(
    whole: Path, first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(first, min(first + 20, MUTANTS)):
        kind = KINDS[number % len(KINDS)]
        path = tmp_path / f"{number}" / "run"
        shutil.copytree(whole / kind, path)
        what = f"mutant {number}, {kind}: {mutate(path, number)}"
        for command in COMMANDS:
            with limited(f"{what}: {command}"):
                try:
                    code = answer(command, path, whole / kind)
                except Exception as error:
                    raise AssertionError(f"{what}: {command}") from error
            assert code in range(5), what
        capsys.readouterr()


@pytest.mark.parametrize("kind", KINDS)
def test_an_undamaged_folder_is_not_refused(
    whole: Path, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole / kind, path)
    for command in COMMANDS[:8]:
        # What has another experiment is nothing to compare with.
        code = 2 if "compare" in command and kind != "measured" else 0
        assert answer(command, path, EXAMPLE / "2") == code, command
        capsys.readouterr()


def put(path: Path, table: str, column: str, value: object, where: str = "1") -> None:
    connection = sqlite3.connect(path / "results.sqlite", isolation_level=None)
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", [value])
    connection.close()


def test_the_message_names_run_key_and_expected_type(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole / "single", path)
    with RunFolder.open(path) as folder:
        done = dict(folder.records()[0].done or {})
    done["latency_us"] = {"p50": "fast"}
    put(path, "runs", "done", json.dumps(done), "run = 1")
    with RunFolder.open(path) as folder, pytest.raises(DamagedStore) as caught:
        folder.records()
    assert 'run 1: done.latency_us.p50 is "fast"' in caught.value.message
    assert "7 runs in it can still be read" in caught.value.message


@pytest.mark.parametrize("plan", ["null", "[]", "0", '""', "{}"])
def test_a_plan_of_the_wrong_type_is_reported(
    whole: Path, plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole / "measured", path)
    put(path, "runs", "plan", plan)
    for command in COMMANDS:
        assert answer(command, path, whole / "measured") in range(5), command
        capsys.readouterr()


def test_a_type_is_checked_to_its_depth() -> None:
    require({"a": [1, 2.5]}, dict[str, list[int | float]])
    for wrong in (None, [], {"a": 1}, {"a": [True]}, {"a": ["1"]}, {"a": [float("nan")]}):
        with pytest.raises(WrongShape):
            require(wrong, dict[str, list[int | float]])
    with pytest.raises(TypeError, match="no check of"):
        check_of(set[int])


def test_a_view_that_computes_for_ever_is_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole / "single", path)
    connection = sqlite3.connect(path / "results.sqlite", isolation_level=None)
    connection.execute("DROP TABLE planned")
    connection.execute(
        "CREATE VIEW planned AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS run, 1 AS block, 1 AS repeat, '{}' AS cell FROM n"
    )
    connection.close()
    with limited("a view"):
        assert main(["show", str(path)]) == 1
        (one,) = glances(path.parent)
    assert one.state == "unreadable"


def test_a_journal_does_not_remove_a_file_elsewhere(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A journal may name a super-journal, which SQLite removes after it has rolled back."""
    path, precious = tmp_path / "run", tmp_path / "precious"
    shutil.copytree(whole / "single", path)
    precious.write_bytes(b"")
    database, journal = path / "results.sqlite", path / "results.sqlite-journal"
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE runs SET probes = probes || ' '")
    shutil.copy(database, tmp_path / "half")
    begun = journal.read_bytes()
    connection.execute("ROLLBACK")
    connection.close()
    name = str(precious).encode()
    page = (2**30 // 4096 + 1).to_bytes(4, "big")
    ending = len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    shutil.copy(tmp_path / "half", database)
    journal.write_bytes(begun + page + name + ending + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
    assert main(["show", str(path)]) == 1
    assert "results.sqlite-journal was not written" in capsys.readouterr().err
    assert precious.exists() and journal.exists()


LINKED = ("report.html", "charts", "lab.lock", "logs", "results.sqlite", "experiment.toml")


@pytest.mark.parametrize("name", LINKED)
def test_nothing_is_written_through_a_link(
    whole: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, outside = tmp_path / "run", tmp_path / "outside"
    shutil.copytree(whole / "measured", path)
    is_folder = name in ("charts", "logs")
    if is_folder:
        outside.mkdir()
    else:
        outside.write_bytes((path / name).read_bytes() if (path / name).exists() else b"mine\n")
    before = sorted(outside.iterdir()) if is_folder else outside.read_bytes()
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(outside)
    for command in (("report",), ("run", "--resume"), ("show",)):
        answer(command, path, path)
    with pytest.raises(StoreFailed, match="a symbolic link"):
        if name == "report.html":
            # It is a file by now.
            assert not (path / name).is_symlink()
            raise StoreFailed("no longer a symbolic link")
        RunFolder.open(path, write=True)
    assert (sorted(outside.iterdir()) if is_folder else outside.read_bytes()) == before


def test_a_file_that_the_user_named_may_be_a_link(whole: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert main(["report", str(whole / "measured"), "--out", str(link)]) == 0
    assert link.is_symlink() and "<!doctype html>" in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.html", "target.html"]


def test_an_output_is_replaced_only_by_a_whole_one(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs.csv"
    out.write_text("old")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("contend.files.Path.replace", fails)
    command = ["export", str(whole / "measured"), "--format", "csv", "--out", str(out)]
    assert main(command) == 1
    assert out.read_text() == "old" and [*tmp_path.iterdir()] == [out]
    assert main([*command[:-1], "/dev/null"]) == 0
