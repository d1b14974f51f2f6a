"""The experiment made from a command line of `contend screen`. tests/golden has its remarks and
errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_goal import goal_experiment, write_goal
from unrun_server import UNRUN

from contend.cli.main import main
from contend.cli.screen import EXAMPLES
from contend.experiment import Experiment, load_experiment

Printed = Callable[[str], tuple[Experiment, str]]

HELP = """\
The following groups are read: mysqld
  --log-bin[=name]
  --sort-buffer-size=#

---------- ----------
general-log OFF
one 0
innodb-doublewrite ON
log-bin binlog
max-connections 151
skip-name-resolve OFF
sort-buffer-size 262144
sync-binlog 1
"""


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("contend.servers.variables._help", lambda _argv: HELP)
    monkeypatch.setattr("contend.servers.find.servers_at_hand", lambda: [UNRUN])
    monkeypatch.setattr("contend.servers.find.find_server", lambda _kind, wanted=None: UNRUN)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Printed:
    """The experiment that `contend run` reads from `contend screen … --print`, and the remarks."""

    def run(line: str) -> tuple[Experiment, str]:
        code = main(["screen", *shlex.split(line), "--print"])
        output = capsys.readouterr()
        assert code == 0, output.err
        file = tmp_path / "it.toml"
        file.write_text(output.out, "utf-8")
        return load_experiment(str(file)), output.err

    return run


def lines_of(made: Experiment) -> dict[str, tuple[Any, Any]]:
    return {line.name: (line.old, line.new) for line in made.lines}


@pytest.mark.parametrize(
    ("a", "b", "lines"),
    [
        ("sync_binlog=1", "sync_binlog=0 general_log=OFF", {"sync_binlog": (1, 0)}),
        ("sync_binlog=5", "sync-binlog = 5", {}),
        ("sort_buffer_size=256K", "sort_buffer_size=1M", {"sort_buffer_size": ("256K", "1M")}),
        ("sort_buffer_size=256K", "", {}),
        ("", "skip-innodb-doublewrite", {"innodb_doublewrite": (None, False)}),
        ("innodb_doublewrite=OFF", "skip_innodb_doublewrite", {}),
        ("innodb_doublewrite", "loose-innodb_doublewrite=0", {"innodb_doublewrite": (True, 0)}),
        ("skip_log_bin", "log-bin", {"skip_log_bin": (True, None)}),
        ("enable-general-log=0", "skip_name_resolve=OFF", {}),
    ],
)
def test_a_line_differs_in_effect(
    printed: Printed, a: str, b: str, lines: dict[str, tuple[Any, Any]]
) -> None:
    """Next to two lines, which every screen needs."""
    made, _ = printed(f"--a 'max_connections=200 {a}' --b 'max_connections=300 one=1 {b}'")
    assert lines_of(made) == {**lines, "max_connections": (200, 300), "one": (None, 1)}


def test_shared_lines_are_options_of_all_cells(printed: Printed) -> None:
    Path("old.cnf").write_text("[mysqld]\nsync_binlog=0\ninnodb_doublewrite=OFF\n")
    Path("new.cnf").write_text("[mysqld]\nskip-innodb-doublewrite\nmax_connections=300\n")
    made, remarks = printed("--a old.cnf --b new.cnf")
    assert made.base["server.options"] == {"innodb_doublewrite": "OFF"}
    assert lines_of(made) == {"max_connections": (None, 300), "sync_binlog": (0, None)}
    assert "both sets: innodb_doublewrite=OFF" in remarks
    assert made.name == "screen-sets" and made.compare.at_most_s == 360
    assert "2 lines matter for read_write at 8" in made.question


def test_options_are_pairs(printed: Printed) -> None:
    made, remarks = printed(
        "--options \"sync_binlog = 1,0 general_log=OFF,ON log_bin='a, b',''\" --connections 1"
    )
    assert lines_of(made) == {
        "sync_binlog": (1, 0),
        "general_log": ("OFF", "ON"),
        "log_bin": ("a, b", ""),
    }
    assert made.question.endswith("at 1 connection?")
    assert (made.name, remarks) == ("screen-options", "")


def test_a_private_server_takes_all_connections(printed: Printed) -> None:
    pairs = "--options 'sync_binlog=1,0 general_log=0,1'"
    assert printed(f"{pairs} --connections 200")[0].base["server.options"] == {
        "max_connections": 220
    }
    made, _ = printed("--a max_connections=300 --b sync_binlog=0 --connections 200")
    assert made.base["server.options"] == {}


def test_a_running_server_gives_the_values_of_absent_lines(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {"sync_binlog": "7", "general_log": "ON", "sort_buffer_size": "262144", "x": "1"}
    monkeypatch.setattr("contend.servers.existing.ExistingServer.variables", lambda self: there)
    server = "--server mysql://me@db/shop"
    sets = "--a 'general_log=OFF x=2' --b 'sync_binlog=0 sort_buffer_size=256K x=2'"
    made, remarks = printed(f"{sets} {server} --connections 500")
    assert lines_of(made) == {"sync_binlog": (7, 0), "general_log": ("OFF", "ON")}
    assert made.base["server.options"] == {"x": 2}
    assert made.base["server.use"] == "mysql://me@db/shop"
    assert "for the old set: sync_binlog=7" in remarks
    assert "for the new set: general_log=ON" in remarks
    assert "the same value: sort_buffer_size=256K" in remarks
    assert main(["screen", "--a", "", "--b", "sync_binlg=1", *shlex.split(server)]) == 2
    assert "--b: mysql://me@db/shop has no" in capsys.readouterr().err


def test_it_is_measured_like_contend_run(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def measure(experiment: Experiment, args: Any, *, exact: bool) -> int:
        begun.append((len(experiment.lines), args.server, args.resume, args.out, exact))
        return 0

    monkeypatch.setattr("contend.cli.run.measure", measure)
    line = ["screen", "--options", "sync_binlog=1,0 general_log=0,1", "--out", "x"]
    assert main(line) == 0
    assert begun == [(2, None, None, Path("x"), True)]


def test_only_a_screen_has_a_smallest_file(capsys: pytest.CaptureFixture[str]) -> None:
    write_goal(Path("run"), goal_experiment(Path()), runs=3)
    assert main(["screen", "--print-cnf", "run"]) == 2
    assert "run has no measured lines" in capsys.readouterr().err


def test_examples_of_the_help_are_valid(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contend.servers.variables._help", lambda _argv: "")
    Path("old.cnf").write_text("[mysqld]\nsync_binlog = 0\n")
    Path("new.cnf").write_text("[mysqld]\nsort_buffer_size = 1M\n")
    helped = re.findall(r"^  contend screen (--[abo].*?)(?: --print > .*)?$", EXAMPLES, re.M)
    assert len(helped) == 4
    for line in helped:
        text = line.replace("--b /etc/mysql/my.cnf", "--b 'x=1 y=2'")
        assert len(printed(text)[0].lines) >= 2


WORDS = st.sampled_from(
    [
        *("--a", "--b", "x=1", "x=1 sync_binlog=5", "", "--sql", "SELECT 1", "--writes", "--"),
        *("--options", "a=1,2 b=3,4", "sync_binlog=1,2 general_log=0,1", "a='", "a=1,2 a=3,4"),
        *("--data", "1M", "--engine", "MyISAM", "--until", "2%", "--for", "1s", "\udcff", "\n"),
        *("--connections", "8,64", "0", "--workload", "tpcc", "--server", "mariadb,mysql"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(WORDS, max_size=8))
def test_nothing_typed_gives_a_traceback(program: None, arguments: list[str]) -> None:
    del program
    assert main(["screen", "--print", *arguments]) in (0, 2)
