"""Which server program a run uses: the one named, the one on PATH, one that was got."""

from __future__ import annotations

from pathlib import Path

import pytest

from contend.errors import RequestError
from contend.lab.equipment import identity
from contend.servers.errors import NoServer, UnknownServer, UnusableServer
from contend.servers.find import find_server, on_path, server_at
from contend.servers.kinds import PROGRAMS

MARIADB = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"


def fake_server(folder: Path, version: str, name: str = "mariadbd") -> Path:
    """An installation whose program only answers `--version`."""
    program = folder / "sbin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    messages = folder / "share" / "mysql" / "english"
    messages.mkdir(parents=True, exist_ok=True)
    (messages / "errmsg.sys").touch()
    return program


def test_a_program_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    program = fake_server(tmp_path, MARIADB)
    program.chmod(0o644)
    with pytest.raises(UnusableServer, match="is not executable") as refused:
        server_at(program)
    assert refused.value.hint is not None
    assert "chmod +x" in refused.value.hint


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnusableServer, match="no server program at"):
        server_at(tmp_path / "mariadbd")


def test_a_program_that_is_no_server_is_refused() -> None:
    with pytest.raises(UnusableServer, match="does not answer `--version`"):
        server_at(Path("/bin/true"))


def test_a_program_without_its_files_is_refused(tmp_path: Path) -> None:
    program = fake_server(tmp_path, MARIADB)
    (tmp_path / "share/mysql/english/errmsg.sys").unlink()
    with pytest.raises(UnusableServer, match="installation is incomplete"):
        server_at(program)


def test_a_folder_names_the_server_in_it(tmp_path: Path) -> None:
    program = fake_server(tmp_path, MARIADB)
    binary = server_at(tmp_path)
    assert (binary.program, binary.kind, binary.version) == (program, "mariadb", "10.11.19")
    assert binary.argv[:2] == (str(program), "--no-defaults")
    assert binary.name == "mariadb-path-10.11.19"
    with pytest.raises(UnusableServer, match="no mariadbd or mysqld under"):
        server_at(tmp_path / "share")


def test_a_program_of_the_other_kind_is_passed_over(tmp_path: Path) -> None:
    fake_server(tmp_path, MARIADB, "mysqld")
    search = str(tmp_path / "sbin")
    assert on_path("mysql", search) is None
    found = on_path("mariadb", search)
    assert found is not None
    assert found.kind == "mariadb"


def test_nothing_at_hand_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contend.servers.find.on_path", lambda _kind: None)
    with pytest.raises(NoServer) as missing:
        find_server("mariadb", cache=tmp_path)
    assert missing.value.hint is not None
    assert "`contend server get mariadb`" in missing.value.hint
    with pytest.raises(NoServer) as missing:
        find_server("mysql", cache=tmp_path)
    assert missing.value.hint is not None
    assert "`contend server get mysql@sid`" in missing.value.hint
    with pytest.raises(NoServer, match="not on this machine yet"):
        find_server("mariadb", wanted="mariadb@trixie", cache=tmp_path)


def test_one_on_path_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_server(tmp_path, MARIADB)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert find_server("mariadb", cache=tmp_path).program == program


def test_a_named_server_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    program = fake_server(tmp_path, MARIADB)
    with pytest.raises(RequestError, match=r"a mariadb server, .* needs mysql"):
        find_server("mysql", wanted=str(program))


def test_an_installed_server_is_found_again_by_its_name_and_by_what_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_server(tmp_path, MARIADB)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert find_server("mariadb", wanted="mariadb-path-10.11.19", cache=tmp_path).program == program
    recorded = str(identity(server_at(program))["source"])
    assert find_server("mariadb", wanted=recorded, cache=tmp_path).program == program
    with pytest.raises(UnknownServer, match="mariadb-path-9"):
        find_server("mariadb", wanted="mariadb-path-9.9.9", cache=tmp_path)


def test_a_host_that_is_named_like_a_server_gets_the_form_of_a_dsn(tmp_path: Path) -> None:
    with pytest.raises(UnknownServer, match="no server localhost") as refused:
        find_server("mariadb", wanted="localhost", cache=tmp_path)
    assert "mysql://user@host/database" in (refused.value.hint or "")


def test_an_unknown_kind_gets_the_nearest() -> None:
    with pytest.raises(UnknownServer) as refused:
        find_server("maria")
    assert refused.value.hint == 'Did you mean "mariadb"?'
    assert tuple(PROGRAMS) == ("mariadb", "mysql")
