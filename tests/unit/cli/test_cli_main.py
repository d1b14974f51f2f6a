"""The entry point: exit codes, error lines, no traceback for errors that a user can cause."""

from __future__ import annotations

import argparse
import errno
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from child_python import import_path

from contend import __version__
from contend.cli import main as cli
from contend.cli import parser
from contend.errors import RequestError, WorkError


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A command `probe` whose behaviour the test sets."""
    state = SimpleNamespace(result=0)

    def add_probe(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--count", type=int)
        parser.set_defaults(run=run)

    def run(_args: object) -> int:
        if isinstance(state.result, BaseException):
            raise state.result
        return int(state.result)

    module = ModuleType("contend.cli.probe")
    module.add_probe = add_probe  # type: ignore[attr-defined]
    monkeypatch.setattr(parser, "COMMANDS", {"probe": parser.Subcommand("probe", "a probe")})
    monkeypatch.setattr(parser, "command_module", lambda _name: module)
    return state


def test_the_exit_code_of_a_command_is_passed_on(command: SimpleNamespace) -> None:
    command.result = 3
    assert cli.main(["probe"]) == 3


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (RequestError("bad"), 2, "error: bad"),
        (WorkError("bad"), 1, "error: bad"),
        (OSError(errno.ENOSPC, "No space left", "/x"), 1, "error: /x: No space left"),
        (KeyboardInterrupt(), 1, ""),
    ],
    ids=["request", "work", "disk-full", "ctrl-c"],
)
def test_each_kind_of_error_has_its_exit_code(
    command: SimpleNamespace,
    error: BaseException,
    code: int,
    shown: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command.result = error
    assert cli.main(["probe"]) == code
    assert capsys.readouterr().err.startswith(f"contend: {shown}")


def test_an_error_shows_message_detail_and_hint(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    command.result = WorkError("the server died", hint="Look at the log.", detail="one\ntwo\n")
    cli.main(["probe"])
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "contend: error: the server died"
    assert rest == ["  | one", "  | two", "  hint: Look at the log."]


def test_a_bug_is_not_hidden(command: SimpleNamespace) -> None:
    command.result = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        cli.main(["probe"])


def test_an_unknown_command_names_the_nearest(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["porbe"]) == 2
    assert "Did you mean `contend probe`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["probe", "--count", "many"], ["probe", "--nosuch"], ["--nosuch"]]
)
def test_a_bad_argument_is_a_request_error(
    command: SimpleNamespace, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("contend: error: ")
    assert "--help" in err


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "COMMAND" in capsys.readouterr().out


RUN = Path(__file__).parents[3] / "docs/examples/two-hosts/this-host/1"
HANDED_OVER = {"argparse", "contend.experiment", "contend.load", "subprocess"}


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], {"numpy", "contend.experiment", "contend.cli.run"}),
        (["recipes"], {"numpy", "contend.report", "contend.load"}),
        (["show", str(RUN)], {"contend.lab.measure", "contend.servers", "contend.load"}),
        (["mysqlslap", "--version"], HANDED_OVER),
        (["sysbench", "--version"], HANDED_OVER),
    ],
)
def test_a_command_imports_what_it_needs(arguments: list[str], unwanted: set[str]) -> None:
    """So that it starts quickly."""
    script = (
        "import os, sys\n"
        "os.execv = lambda *_: sys.exit(0)\n"
        "from contend.cli.main import main\n"
        "try:\n"
        f"    main({arguments})\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | import_path(),
    )
    assert not unwanted & set(child.stderr.split())
    assert "contend.errors" in child.stderr.split()


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"contend {__version__}\n"


def test_a_closed_pipe_gives_no_traceback() -> None:
    script = (
        "import sys\n"
        "from contend.cli import main as cli\n"
        "cli._dispatch = lambda _a: sum(sys.stdout.write('x' * 10_000) for _ in range(100))\n"
        "sys.exit(cli.main(['probe']))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | import_path(),
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.read(10)
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait() == 1
    assert b"Traceback" not in err


SECRET = "hunter2"
DSNS = [
    f"u:{SECRET}@h",
    f"jdbc:mysql://u:{SECRET}@h",
    f"front=mysql://u:{SECRET}@h",
    f"mysql://u:{SECRET}@h",
    f"mysql://u:{SECRET}@h:99999",
    f"mysql://u:x:{SECRET}@y@h/d",
    f"mysql://h/?password={SECRET}",
    f"mysql://h/?passwd{SECRET}",
    f"mysql://h/?socket=/s&Password={SECRET}",
    f"socket:u:{SECRET}@h",
]
LINES = [
    *(["doctor", "--server", dsn] for dsn in DSNS),
    *(["run", "random_points", "--server", dsn] for dsn in DSNS),
    *(["run", dsn] for dsn in DSNS[:4]),
    *([dsn] for dsn in DSNS[:4]),
    *(["show", dsn] for dsn in DSNS[:4]),
    *(["restore", dsn] for dsn in DSNS[:4]),
    *(["server", "get", dsn] for dsn in DSNS[:4]),
    ["data", "drop", "--server", DSNS[0]],
    ["doctor", f"--password={SECRET}"],
    ["doctor", f"--mysql_PASSWD={SECRET}"],
    ["doctor", "--password", SECRET],
    ["doctor", f"-p{SECRET}"],
    ["run", "random_points", "-p", SECRET],
    ["compare", "a", "b", f"--pw={SECRET}"],
]


@pytest.mark.parametrize("arguments", LINES, ids=" ".join)
def test_secrets_of_a_refused_line_are_hidden(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("contend: error: ")
    assert SECRET not in output.out + output.err


def test_other_text_is_not_hidden(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "mysql://me@db:3307/shop, 'me'@'db', --set port=3, mariadb@trixie: option --pages=3"
    command.result = WorkError(text)
    cli.main(["probe"])
    assert capsys.readouterr().err == f"contend: error: {text}\n"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("run x.toml --threads 8", "load.connections"),
        ("run x.toml --time=60", "--for"),
        ("run x.toml --serve mariadb", "--server"),
        ("try a=1,2 --threads=8", "--connections"),
        ("server list --jsn", "--json"),
        ("show x --ful", "--full"),
    ],
)
def test_an_unknown_option_has_a_hint(
    line: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == 2
    output = capsys.readouterr().err
    assert "unknown option" in output and hint in output.partition("hint:")[2]
