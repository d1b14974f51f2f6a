"""The output of `contend why`: its plan, the results, and its refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_run import SEGMENTS, study, write_run, write_slices
from transcripts import check

from contend import host
from contend.cli.main import main
from contend.metrics.probed import TriedRecord
from contend.sections.why import sentence_of
from contend.stats import Estimate
from contend.store import RunFolder
from contend.why import plan as why
from contend.why.candidate import HostPowers
from contend.why.tried import CandidateTried, DifferenceTried


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = main(["why", *arguments])
    captured = capsys.readouterr()
    return f"{captured.out}{captured.err}exit {code}\n"


def test_refused_runs_and_a_plan(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    study_run: Callable[[Path], Path],
) -> None:
    texts = [output(capsys, "nowhere")]
    run = str(study_run(Path("run")))
    texts.append(output(capsys, run, "--plan"))
    texts.append(output(capsys, run, "--minutes", "0"))
    with RunFolder.open(Path(run)) as folder:
        machine = folder.meta().facts["machine"]
    monkeypatch.setattr(host, "facts", lambda: {"machine": machine})
    monkeypatch.setattr(why, "host_powers", lambda: HostPowers(cpus=2, root=True, groups=True))
    texts.append(output(capsys, run, "--plan"))
    write_slices(Path("equal"), gain=lambda *_: 1.0)
    texts.append(output(capsys, "equal"))
    write_run(Path("begun"), runs=10)
    texts.append(output(capsys, "begun"))
    alone = study("quick")
    alone = replace(alone, compare=replace(alone.compare, baseline={}))
    write_run(Path("alone"), alone)
    assert SEGMENTS in {factor.path for factor in alone.factors}
    texts.append(output(capsys, "alone"))
    check("why-refused", "\n".join(texts))


def tried(
    verdict: str, *, certain: bool = True, more: int | None = None, aside: tuple[str, ...] = ()
) -> DifferenceTried:
    record: TriedRecord = {
        "candidate": "log-flush",
        "title": "commits wait until the redo log is on disk",
        "refuted_by": "",
        "least": 0.5,
        "doses": ["log-flush.1"],
        "placebo": "log-flush.placebo",
        "words": {"log-flush.1": "the log written and flushed once per second"},
    }
    left = Estimate(0.27, 0.2, 0.34, 8, 0.99)
    one = CandidateTried(record, verdict, left, 0.99, 0.72, 0.4, {"log-flush.1": 0.27}, more)  # type: ignore[arg-type]
    whole = Estimate(0.97, 0.9, 1.04, 8, 0.99)
    return DifferenceTried(whole, certain, 8, (one,), aside=aside)


def test_the_sentence_of_each_verdict() -> None:
    found = [
        tried("confirmed"),
        tried("a part"),
        tried("refuted"),
        tried("not certain", more=12),
        tried("not certain", more=3000),
        tried("not certain"),
        tried("not certain", more=12, aside=("log-flush",)),
        tried("not certain", certain=False),
        replace(tried("not certain", certain=False), candidates=()),
        None,
    ]
    check("why-sentences", "\n".join(map(sentence_of, found)) + "\n")
