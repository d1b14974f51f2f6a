"""The output of `contend profile`, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from profiled_run import write_profile
from synthetic_run import write_run
from transcripts import check

from contend import host
from contend.cli.main import main
from contend.host import profiler
from contend.store import RunFolder


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main(["profile", *arguments])
    captured = capsys.readouterr()
    return f"{captured.out}{captured.err}exit {code}\n"


def test_profile(capsys: pytest.CaptureFixture[str], study_run: Callable[[Path], Path]) -> None:
    run = study_run(Path("run"))
    write_profile(run / "profile", slower=1.25)
    check("profile", output_of(capsys, str(run)))


def test_profile_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    study_run: Callable[[Path], Path],
) -> None:
    texts = [output_of(capsys, "nowhere")]
    run = str(study_run(Path("run")))
    texts += [output_of(capsys, run, "--hz", "0"), output_of(capsys, run, "--minutes", "0")]
    texts.append(output_of(capsys, run, "--yes"))
    with RunFolder.open(Path(run)) as folder:
        machine = folder.meta().facts["machine"]
    monkeypatch.setattr(host, "facts", lambda: {"machine": machine})
    monkeypatch.setattr(profiler, "why_no_profiler", lambda: "perf is not installed")
    texts.append(output_of(capsys, run, "--yes"))
    write_run(Path("begun"), runs=10)
    texts.append(output_of(capsys, "begun", "--yes"))
    study_run(Path("unseen"))
    write_profile(Path("unseen/profile"), why_not="the server does not run on this host")
    texts.append(output_of(capsys, "unseen"))
    check("profile-refused", "\n".join(texts))
