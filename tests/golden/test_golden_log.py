"""The output of `contend log`, for sample logs."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from transcripts import check, name_of

from contend.cli.main import main

SAMPLES = Path(__file__).parents[2] / "load" / "crates" / "recording" / "tests" / "samples"

Say = Callable[..., None]


@pytest.fixture
def transcript(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    load_program: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Say]:
    """Run a command line in a folder with the samples, and keep what it prints."""
    monkeypatch.setenv("CONTEND_LOAD", str(load_program))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for sample in SAMPLES.glob("*.log"):
        (tmp_path / sample.name).write_bytes(sample.read_bytes())
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []

    def run(*arguments: str) -> None:
        code = main(arguments)
        captured = capsys.readouterr()
        output = (captured.out + captured.err).replace(f"{tmp_path}/", "")
        lines.append(f"$ contend {' '.join(arguments)}\n{output}exit {code}\n")

    yield run
    check(name_of(request.node.name), "\n".join(lines))


def test_log(transcript: Say) -> None:
    transcript("log", "list")
    transcript("log", "import", "mariadb-10.11-slow.log", "--name", "shop-peak")
    transcript("log", "show", "shop-peak")
    transcript("log", "show", "shop-peak", "--template", "0")
    transcript("log", "show", "shop-peak", "--statement", "3")
    transcript("log", "import", "mysql-8.4-general.log", "--name", "crm")
    transcript("log", "show", "crm", "--all")
    transcript("log", "list")
    transcript("log", "drop", "crm", "--yes")


def test_log_refused(transcript: Say, tmp_path: Path) -> None:
    slow = (tmp_path / "mysql-8.4-slow.log").read_bytes()
    (tmp_path / "empty.log").touch()
    (tmp_path / "text.log").write_text("My notes.\n")
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(slow)[:200])
    (tmp_path / "folder").mkdir()
    (tmp_path / "program.log").write_bytes(bytes(range(256)) * 40)
    transcript("log", "import", "missing.log", "--name", "a")
    transcript("log", "import", "folder", "--name", "a")
    transcript("log", "import", "program.log", "--name", "a")
    transcript("log", "import", "program.log", "--name", "a", "--format", "slow")
    transcript("log", "import", "empty.log", "--name", "a")
    transcript("log", "import", "text.log", "--name", "a")
    transcript("log", "import", "cut.log.gz", "--name", "a")
    transcript("log", "import", "mysql-8.4-slow.log", "--name", "a", "--format", "audit")
    transcript("log", "import", "mysql-8.4-slow.log", "--name", "a/b")
    transcript("log", "import", "mysql-8.4-slow.log", "--name", "a")
    transcript("log", "import", "mysql-8.4-slow-extra.log", "--name", "a")
    transcript("log", "show", "b")
    transcript("log", "show", "a", "--statement", "99")
    transcript("log", "show", "a", "--template", "-1")
    transcript("log", "drop", "a")
