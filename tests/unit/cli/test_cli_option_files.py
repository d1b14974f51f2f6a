"""What becomes of the lines of an option file. tests/golden has the remarks and the errors."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from unrun_server import UNRUN

from contend.cli.main import main
from contend.cli.option_files import read_file_set, remarks_on
from contend.errors import RequestError
from contend.experiment import Level

HELP = """\
The following groups are read: mysqld mysqld-10.11
  --log-bin[=name]
  --sync-binlog=#
  --plugin-load-add=name

---------- ----------
innodb-doublewrite ON
general-log OFF
skip-name-resolve OFF
log-bin binlog
sync-binlog 0
"""


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contend.servers.variables._help", lambda _argv: HELP)


def options_of(text: str, folder: Path) -> dict[str, Level]:
    file = folder / "my.cnf"
    file.write_text(f"[mysqld]\n{text}\n")
    return dict(read_file_set(file, UNRUN)[0].options)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("Sync-BinLog = 7", {"sync_binlog": 7}),
        ("sync_binlog = 7K", {"sync_binlog": "7K"}),
        ("general_log", {"general_log": True}),
        ("general_log = OFF", {"general_log": "OFF"}),
        ("skip-innodb-doublewrite", {"innodb_doublewrite": False}),
        ("disable-innodb-doublewrite = 1", {"innodb_doublewrite": False}),
        ("skip_innodb_doublewrite = 0", {"innodb_doublewrite": True}),
        ("enable-general-log", {"general_log": True}),
        ("enable-general-log = 0", {"general_log": False}),
        ("loose-skip-general-log", {"general_log": False}),
        ("loose_sync_binlog = 1", {"sync_binlog": 1}),
        ("loose_nosuch = 1", {}),
        ("skip_name_resolve", {"skip_name_resolve": True}),
        ("skip-skip-name-resolve", {"skip_name_resolve": False}),
        ("disable-log-bin", {"skip_log_bin": True}),
        ("log_bin = OFF", {"log_bin": True}),
        ("log_bin\nskip_log_bin", {"skip_log_bin": True}),
        ("skip_log_bin\nlog_bin = x", {"log_bin": True}),
        ("maximum_sync_binlog = 9", {"maximum_sync_binlog": 9}),
        ("sync_binlog=1\ngeneral_log\nsync-binlog=2", {"general_log": True, "sync_binlog": 2}),
        (
            "plugin_load_add = ha_x\nloose_x_size = 1\nloose_x_on",
            {"plugin_load_add": "ha_x", "loose_x_size": 1, "loose_x_on": True},
        ),
        ("port = 1\nssl\nlog_error\nwsrep-on = 1", {}),
    ],
)
def test_a_line_becomes_an_option(line: str, options: dict[str, Level], tmp_path: Path) -> None:
    assert options_of(line, tmp_path) == options


def test_an_option_is_placed_by_its_last_line(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nsync_binlog=1\n\nsync-binlog=2\n")
    made, remarks = read_file_set(file, UNRUN)
    assert made.places == {"sync_binlog": f"{file}:4"} and made.label == "my.cnf"
    (remark,) = remarks
    assert remark.startswith(f"{file}:4: sync_binlog") and f"{file}:2" in remark


def test_only_mariadb_takes_capitals(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nSync_Binlog=1\n")
    assert read_file_set(file, UNRUN)[0].options == {"sync_binlog": 1}
    with pytest.raises(RequestError, match=r"my\.cnf:2: mysql .* has no option Sync_Binlog"):
        read_file_set(file, dataclasses.replace(UNRUN, kind="mysql"))


def test_the_first_of_two_wrong_lines_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"my\.cnf:3: .*no option sync_log"):
        options_of("general_log\nsync_log=1\nsync_log=1", tmp_path)


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        ({"a": 1, "b": 2}, {"b": "2"}, (1, 0)),
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, (1, 1)),
        ({"known": 5}, {}, (0, 1)),
        ({"known": 4, "a": 1}, {"a": 2}, (0, 1)),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, (0, 0)),
    ],
)
def test_shared_and_single_options_are_said(
    one: dict[str, Level], other: dict[str, Level], counts: tuple[int, int]
) -> None:
    remarks = remarks_on(one, other, {"known": "4"})
    shared = sum("the same" in remark for remark in remarks)
    single = sum("`contend try " in remark for remark in remarks)
    assert (shared, single) == counts


def test_a_file_that_servers_read_differently_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("contend.servers.find.find_server", lambda _kind, wanted=None: UNRUN)
    groups = iter([("mysqld",), ("mysqld", "mysqld-10.11")])
    monkeypatch.setattr("contend.servers.variables.program_groups", lambda _binary: next(groups))
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nsync_binlog=1\n[mysqld-10.11]\nsync_binlog=2\n")
    assert main(["try", "--a", "", "--b", str(file), "--server", "mariadb,mysql", "--print"]) == 2
    assert "different options for mariadb and mysql" in capsys.readouterr().err
