"""What `contend run --goal` refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_goal import EXPERIMENT, goal_experiment, write_goal

from contend.cli.main import main


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("it.toml").write_text(EXPERIMENT)


@pytest.mark.parametrize("option", ["--why", "--profile", "--budget"])
def test_passes_over_a_difference_need_levels_at_one_rate(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert main(["run", "it.toml", option]) == 2
    error = capsys.readouterr().err
    assert f"{option} cannot be combined with a goal" in error
    assert "--set load.arrival.rate=RATE" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--goal", "p98<20ms"], "Did you mean"),
        (["--goal", "p99<20ms", "--set", "load.arrival.kind=closed"], "needs an open loop"),
        (["--goal", "p99<20ms", "--fail-if-slower", "3%"], "cannot be combined with the goal"),
        (["--goal", "p99<2s"], "is too short for the goal p99 < 2 s"),
    ],
)
def test_requests_that_are_wrong(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["run", "it.toml", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_search_keeps_its_goal(capsys: pytest.CaptureFixture[str]) -> None:
    write_goal(Path("run"), goal_experiment(Path()), runs=3)
    assert main(["run", "--resume", "run", "--goal", "p99<5ms"]) == 2
    assert "--goal cannot be combined with --resume" in capsys.readouterr().err
