"""`contend run` before it measures: the choice of the server, and its download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from unrun_server import UNRUN

from contend.cli.main import main
from contend.experiment import Experiment, load_experiment, to_dict
from contend.lab.session import Equipment
from contend.servers import ServerBinary
from contend.servers.errors import NoServer
from contend.store import RunFolder

SMALL = """
[experiment]
name = "small"
[server]
kind = "KIND"
[workload]
kind = "point_select"
"""

NEWER = replace(UNRUN, suite="trixie", version="11.8.6")
INSTALLED = replace(UNRUN, suite=None, source="path", verified=None)


class Machine:
    """The available and the downloaded servers, and the arguments of the runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.at_hand: list[ServerBinary] = []
        self.downloaded: list[tuple[str, str | None]] = []
        self.begun: list[Equipment] = []
        self.experiments: list[Experiment] = []

    def find(self, kind: str, *, wanted: str | None = None) -> ServerBinary:
        for binary in self.at_hand:
            if wanted in (None, binary.name):
                return binary
        raise NoServer(f"there is no {kind} server", hint="`contend server get` gets one.")

    def get(
        self,
        kind: str,
        suite: str | None,
        *,
        extras: tuple[str, ...],
        on_progress: Callable[[str, float | None], None],
    ) -> ServerBinary:
        self.downloaded.append((kind, suite))
        for percent in (0.0, 50.0, 100.0):
            on_progress("downloading", percent)
        return replace(UNRUN, kind=kind, suite=suite or "bookworm")

    def begin(
        self,
        experiment: Experiment,
        _path: Path,
        equipment: Equipment,
        _listen: object,
        **_: object,
    ) -> None:
        self.begun.append(equipment)
        self.experiments.append(experiment)
        raise NoServer("that is as far as this test goes")

    def file(self, kind: str = "mariadb") -> str:
        file = self.folder / "small.toml"
        file.write_text(SMALL.replace("KIND", kind))
        return str(file)

    def run(self, *more: str, kind: str = "mariadb") -> int:
        return main(["run", self.file(kind), "--out", str(self.folder / "out"), *more])

    def to_resume(self, *, why: bool = False) -> Path:
        """The folder of a run that has begun."""
        path = self.folder / "out"
        stored = to_dict(replace(load_experiment(self.file()), why=why))
        RunFolder.create(path, stored, [], {}).close()
        return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr("contend.cli.run.find_program", lambda: Path("/nowhere/contend-load"))
    monkeypatch.setattr("contend.cli.run.find_server", made.find)
    monkeypatch.setattr("contend.cli.run.servers_at_hand", lambda: made.at_hand)
    monkeypatch.setattr("contend.cli.run.debian.get", made.get)
    monkeypatch.setattr("contend.cli.run.session.begin", made.begin)
    return made


def test_the_server_and_the_others_are_named(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.at_hand = [UNRUN, NEWER, replace(UNRUN, kind="mysql", version="9.7.4")]
    machine.run()
    output = capsys.readouterr().err
    first = output.partition("\n")[0]
    assert first.startswith("server: mariadb-bookworm-10.11.19;")
    assert "`--server`" in first and first.endswith(": mariadb-trixie-11.8.6")
    machine.run("--server", NEWER.name)
    assert capsys.readouterr().err.startswith("server: mariadb-trixie-11.8.6\n")


def test_an_installed_server_is_named_with_its_path(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.at_hand = [INSTALLED]
    machine.run()
    output = capsys.readouterr().err
    assert output.startswith("server: mariadb-path-10.11.19 (/nowhere/mariadbd)\n")
    assert machine.begun[0].servers["mariadb"]["source"] == "/nowhere/mariadbd"


def test_unverified_packages_are_marked(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.at_hand = [replace(UNRUN, verified=False)]
    machine.run()
    assert f"{UNRUN.name} (packages NOT verified)" in capsys.readouterr().err


def test_nothing_is_downloaded_without_consent(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.run() == 2
    assert machine.downloaded == [] and machine.begun == []
    assert "hint: `contend server get` gets one." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "more", "wanted"),
    [
        ("mariadb", [], ("mariadb", None)),
        ("mysql", [], ("mysql", "sid")),
        ("mariadb", ["--server", "mariadb@trixie"], ("mariadb", "trixie")),
    ],
)
def test_with_yes_one_is_downloaded_and_each_step_is_printed_once(
    machine: Machine,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    more: list[str],
    wanted: tuple[str, str | None],
) -> None:
    machine.run("--yes", *more, kind=kind)
    assert machine.downloaded == [wanted]
    assert list(machine.begun[0].servers) == [kind]
    output = capsys.readouterr().err.splitlines()
    assert output[0].startswith(f"downloading {kind}")
    assert output[1] == "downloading"
    assert output[2].startswith(f"server: {kind}-")


@pytest.mark.parametrize(
    ("line", "first", "second"),
    [
        ('--set server.use=["mariadb@10.11","mariadb"]', "mariadb@10.11 and mariadb", "same"),
        ("--set server.use=mysql@sid --server mariadb-x", "--server", "server.use"),
        ("--for soon", "compare.at_most", '"soon"'),
    ],
)
def test_a_line_that_is_refused_begins_nothing(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    first: str,
    second: str,
) -> None:
    monkeypatch.setattr("contend.cli.run.find_server", lambda _kind, **_wanted: UNRUN)
    assert machine.run(*line.split()) == 2
    output = capsys.readouterr().err
    assert first in output and second in output and machine.begun == []


@pytest.mark.parametrize(("time", "at_most_s"), [("90s", 90.0), ("10m", 600.0), ("1500ms", 1.5)])
def test_for_sets_the_time_limit_of_the_experiment(
    machine: Machine, time: str, at_most_s: float
) -> None:
    machine.at_hand = [UNRUN]
    machine.run("--for", time)
    assert [one.compare.at_most_s for one in machine.experiments] == [at_most_s]


def test_for_has_priority_over_set(machine: Machine) -> None:
    machine.at_hand = [UNRUN]
    machine.run("--set", "compare.at_most=5s", "--for", "90s")
    assert machine.experiments[0].compare.at_most_s == 90.0
    assert machine.experiments[0].overrides[-1] == "compare.at_most=90s"


@pytest.mark.parametrize(
    ("of_file", "more", "tried"),
    [
        (False, [], []),
        (True, [], ["why"]),
        (False, ["--why"], ["why"]),
        (True, ["--why", "--profile"], ["profile", "why"]),
        (True, ["--json"], []),
    ],
)
def test_a_resumed_run_continues_with_why_and_profile(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    of_file: bool,
    more: list[str],
    tried: list[str],
) -> None:
    """--why, --profile, and `why = true` in the experiment that is resumed."""
    path = machine.to_resume(why=of_file)
    seen: list[str] = []
    monkeypatch.setattr("contend.cli.run._shown", lambda _args, _work: (path, 4))
    monkeypatch.setattr("contend.cli.run._explained", lambda *_: seen.append("why"))
    monkeypatch.setattr("contend.cli.run._profiled", lambda *_: seen.append("profile"))
    assert main(["run", "--resume", str(path), *more]) == 4
    assert seen == tried


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("--why --json", "--why cannot be combined with --json"),
        ("--profile --json", "--profile cannot be combined with --json"),
        ("--for 90s", "--for cannot be combined with --resume"),
        ("--plan", "--plan cannot be combined with --resume"),
    ],
)
def test_options_that_exclude_each_other(
    machine: Machine, capsys: pytest.CaptureFixture[str], line: str, refused: str
) -> None:
    assert main(["run", "--resume", str(machine.to_resume()), *line.split()]) == 2
    assert refused in capsys.readouterr().err
