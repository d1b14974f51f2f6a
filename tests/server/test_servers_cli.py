"""`contend server …` as it is typed: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mirror import Mirror

from contend.cli.main import main
from contend.servers import ServerBinary, debian


@pytest.fixture
def cache_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mariadb_binary: ServerBinary
) -> Path:
    """A user with an empty cache, on a machine whose mirror has one small server."""
    mirror = Mirror(tmp_path)
    mirror.add("mariadb-server-core", "1:10.11.19", tree=mariadb_binary.basedir.parent)
    mirror.configure(trusted=True)
    real = debian.get
    monkeypatch.setattr(
        debian, "get", lambda *given, **named: real(*given, **named, root=mirror.root)
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home/.cache"))
    monkeypatch.setattr("contend.servers.find.on_path", lambda _kind: None)
    monkeypatch.setattr("contend.cli.server.on_path", lambda _kind: None)
    return tmp_path / "home/.cache"


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["server", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_server_from_get_to_remove(
    cache_home: Path, capsys: pytest.CaptureFixture[str], mariadb_binary: ServerBinary
) -> None:
    name = f"mariadb-testsuite-{mariadb_binary.version}"
    code, out, err = typed(capsys, "list")
    assert (code, err) == (0, "") and "contend server get mariadb" in out

    code, out, err = typed(capsys, "get", "mariadb", "--if-missing")
    assert code == 0
    assert err.splitlines() == [
        "reading the package lists of testsuite",
        "downloading",
        "unpacking",
    ]
    first, second = out.splitlines()
    assert first == f"{name} is ready: ~/.cache/contend/servers/{name}"
    assert second.endswith(" 1 packages, signatures NOT verified")

    code, out, err = typed(capsys, "get", "mariadb")
    assert (code, out.splitlines()[0], err) == (0, first, "")
    code, out, err = typed(capsys, "get", "mariadb", "--if-missing")
    assert (code, err) == (0, "")
    assert out.startswith(f"{name} is available: ~/.cache/contend/servers/")

    code, out, _ = typed(capsys, "list")
    head, row, _, last = out.splitlines()
    assert last.startswith(f"`contend run` uses {name} ") and "`--server NAME`" in last
    assert head.split() == ["NAME", "VERSION", "FROM", "SIZE", "SIGNATURES"]
    assert row.split()[:4] == [name, mariadb_binary.version, "Debian", "testsuite"]
    assert row.endswith("NOT verified")

    code, out, _ = typed(capsys, "list", "--json")
    [entry] = json.loads(out)["servers"]
    assert (entry["name"], entry["kind"], entry["verified"]) == (name, "mariadb", False)
    assert entry["default"] is True

    code, out, err = typed(capsys, "remove", name)
    assert (code, out) == (2, "")
    assert "nothing was removed" in err and "--yes" in err
    code, out, _ = typed(capsys, "remove", name, "--yes")
    assert code == 0
    assert out.startswith(f"Removed {name}, freed ")
    assert typed(capsys, "list")[1].startswith("no servers.")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["get", "mariadbd"], 2, 'hint: Did you mean "mariadb"?'),
        (["get", "mariadb@trixi"], 2, 'hint: Did you mean "trixie"?'),
        (["get", "mysql"], 2, "`contend server get mysql@sid`"),
        (["get"], 2, "`contend server get --help`"),
        (["remove", "nothing", "--yes"], 2, "`contend server list` lists all"),
        (["fetch", "mariadb"], 2, "invalid choice: 'fetch'"),
    ],
)
def test_what_is_wrong_is_said_in_words(
    cache_home: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    got, out, err = typed(capsys, *words)
    assert (got, out) == (code, "")
    assert "contend: error: " in err
    assert said in err
    assert "Traceback" not in err
