"""`contend data`: list and drop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contend.cli.main import main
from contend.data.cache import Dataset, datasets_root, describe

KEY = "sbtest-myisam-1M-0123456789ab"
INPUTS = {"server_kind": "mariadb", "server_version": "10.11.19", "engine": "MyISAM"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "contend"


@pytest.fixture
def kept(cache: Path) -> Path:
    folder = datasets_root(cache) / KEY
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "t.MYD").write_bytes(b"x" * 2048)
    files = describe(folder / "data", ["t.MYD"])
    Dataset(folder, KEY, INPUTS, 1_000_000, "2026-01-02T03:04:05+00:00", 4.2, (), files).write()
    return folder


def test_an_empty_list_has_a_hint(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    assert "contend run" in capsys.readouterr().out


def test_the_list_describes_each(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    columns = capsys.readouterr().out.splitlines()[1].split()
    assert columns[:4] == [KEY, "mariadb", "10.11.19", "MyISAM"]
    assert columns[4:] == ["1M", "2", "KiB", "4.2", "s", "2026-01-02"]


def test_json_has_all_fields(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["datasets"]
    assert entry["key"] == KEY
    assert entry["rows"] == 1_000_000
    assert entry["bytes"] == 2048
    assert entry["inputs"] == INPUTS


def test_one_is_dropped_by_its_key(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "drop", KEY]) == 0
    assert "freed 2 KiB" in capsys.readouterr().out
    assert not kept.exists()


def test_all_are_dropped_only_with_yes(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "drop", "--all"]) == 2
    assert kept.exists()
    assert main(["data", "drop", "--all", "--yes"]) == 0
    assert not kept.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["data", "drop", KEY[:-1] + "c"], f'Did you mean "{KEY}"?', id="unknown-key"),
        pytest.param(["data", "drop"], "one of the arguments", id="nothing-named"),
        pytest.param(["data", "drop", KEY, "--all"], "not allowed with", id="both"),
        pytest.param(["data"], "ACTION", id="no-action"),
        pytest.param(["data", "drop", "--server", "nonsense"], "not a DSN", id="no-dsn"),
    ],
)
def test_errors_name_their_cause(
    kept: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert kept.exists()
