"""The output of `contend compare`, of a gate, and of `contend run --plan`; the files of a gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from synthetic_run import CONNECTIONS, FACTS, POINTS, SEGMENTS, study, write_slices
from transcripts import check, name_of

from contend.cli.main import main

CELLS = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=3")

Say = Callable[..., None]


@pytest.fixture
def transcript(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Say]:
    """Run a command line and keep what it says; the fixture's end compares all of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    lines: list[str] = []

    def run(*arguments: str, files: tuple[str, ...] = ()) -> None:
        code = main(list(arguments))
        output = capsys.readouterr()
        lines.append(f"$ contend {' '.join(arguments)}\n{output.out}{output.err}exit {code}\n")
        lines.extend(f"# {name}\n{Path(name).read_text(encoding='utf-8')}" for name in files)

    yield run
    check(name_of(request.node.name), "\n".join(lines))


def write(name: str, at_8: float, at_64: float, seed: int, model: str = "Example CPU") -> None:
    facts = {**FACTS, "cpu": {**FACTS["cpu"], "model": model}}
    gains = {8: at_8, 64: at_64}
    write_slices(
        Path(name), study(sets=CELLS), gain=lambda _, __, at: gains[at], seed=seed, facts=facts
    )


def test_compare(transcript: Say) -> None:
    for number in range(3):
        write(f"old/{number}", 1.45, 1.1, 10 + number)
        write(f"new/{number}", 1.2, 1.3, 20 + number, "Newer CPU")
    files = ("gate.xml", "gate.md")
    outs = ("--junit", files[0], "--markdown", files[1])
    transcript("compare", "old", "new", "--fail-if-slower", "3%", *outs, files=files)
    transcript("compare", "old/0", "new/0", "--fail-if-slower", "3%", "--if-not-certain", "pass")
    several = "throughput 30%, server_cpu_us_per_query 2%"
    transcript("compare", "old", "new", "--fail-if-slower", several, files=())


def test_compare_refused(transcript: Say) -> None:
    write("old", 1.4, 1.1, 1)
    write("new", 1.4, 1.1, 2)
    for arguments in (
        ["old"],
        ["old", "old"],
        ["old", "nowhere"],
        ["old", "old", "--junit", "x"],
        ["old", "old", "--fail-if-slower", "-3%"],
        ["old", "old", "--fail-if-slower", "3x"],
        ["old", "new", "--fail-if-slower", "statement.selects.qps 3%"],
        ["old", "new", "--fail-if-slower", "throughput 3%, qps 3%"],
        ["old", "old", "--fail-if-slower", "3%", "--markdown", "no/folder/x"],
    ):
        transcript("compare", *arguments)


def test_compare_published(transcript: Say) -> None:
    write("old", 1.45, 1.1, 10)
    write("new", 1.2, 3.7, 20)
    transcript("compare", "old", "published:pitbull")
    transcript("compare", "old", "new", "published:perro", "--html", "page.html")
    assert "published perro" in Path("page.html").read_text()
    for arguments in (
        ["old", "published:pitbul"],
        ["published:pitbull", "old"],
        ["old", "published:pitbull", "--fail-if-slower", "3%"],
    ):
        transcript("compare", *arguments)


def test_plan(transcript: Say) -> None:
    experiment = study("quick")
    small = "segmented-key-cache", "--quick", "--plan"
    transcript("run", *small, "--set", "compare.by=runs")
    write_slices(Path("contend-runs", f"{experiment.name}-20260102T000000Z"), experiment)
    points = "workload.points=[10, 100]"
    transcript("run", *small, "--set", points)
    transcript("run", *small, "--set", points, "--set", "compare.until=1%")
    Path("one.toml").write_text('[load]\nmeasure = "2s"\nwarmup = "1s"\n')
    transcript("run", "./one.toml", "--plan")
    transcript("run", *small, "--set", "compare.baseline=1")
    transcript("try", "sort_buffer_size=256K,4M", "--goal", "p99<20ms", "--plan")
    statements = "--sql", "SELECT 1", "--sql", "SELECT 2"
    transcript("try", "sort_buffer_size=256K,4M", *statements, "--plan")
