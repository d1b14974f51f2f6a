"""Commands for run folders without a measured run end with 1 and report it first."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, as_failed, study, with_gate, write_run

from contend.cli.main import main
from contend.errors import WorkError
from contend.store import RunFolder, RunRecord

SETS = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=2")
DEATH = "contend-load ended with signal SIGSEGV and no result"
ALL_FAILED = "Nothing was measured: all 4 runs failed."


def failing(record: RunRecord) -> RunRecord:
    return as_failed(record, DEATH)


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    return write_run(tmp_path / "failed", study(sets=SETS), change=failing)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    return write_run(tmp_path / "measured", study(sets=SETS))


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A lab whose runs end as `change` has it; it may give the experiment a gate."""
    how: dict[str, Any] = {"change": failing, "gate": None}

    def begin(_experiment: object, path: Path, *_: object, **__: object) -> None:
        write_run(path, study(sets=SETS), change=how["change"])
        if how["gate"] is not None:
            with_gate(path, how["gate"])
            with RunFolder.open(path, write=True) as folder:
                folder.finish("the time was up")

    monkeypatch.setattr("contend.cli.run.session.begin", begin)
    monkeypatch.setattr("contend.cli.run.session.resume", lambda *_, **__: None)
    monkeypatch.setattr("contend.cli.run.equipment_for", lambda *_, **__: None)
    monkeypatch.setattr("contend.cli.run._with_doctor", lambda *_: None)
    return how


@pytest.mark.parametrize(
    "command",
    [
        ["run", "segmented-key-cache"],
        ["run", "segmented-key-cache", "--json"],
        ["try", "sort_buffer_size=256K,4M"],
        ["try", "sort_buffer_size=256K,4M", "--json"],
    ],
    ids=" ".join,
)
def test_without_a_measured_run_the_exit_code_is_1(
    lab: dict[str, Any],
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run"
    assert main([*command, "--out", str(path)]) == 1
    said = capsys.readouterr().out
    if "--json" in command:
        assert json.loads(said)["answer"] == ALL_FAILED
        assert DEATH in json.loads(said)["basis"][0]
    else:
        assert ALL_FAILED in said and said.index(ALL_FAILED) < said.index(DEATH)
    page = (path / "report.html").read_text()
    assert ALL_FAILED in page and page.index(ALL_FAILED) < page.index(DEATH)
    assert main(["run", "--resume", str(path)]) == 1


def test_some_failed_runs_are_no_failure(
    lab: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab["change"] = lambda record: failing(record) if record.run == 1 else record
    path = tmp_path / "run"
    assert main(["run", "segmented-key-cache", "--out", str(path)]) == 0
    assert DEATH in capsys.readouterr().out
    assert main(["run", "--resume", str(path)]) == 0


def test_the_answer_does_not_wait_for_a_page_that_fails(
    lab: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("contend.report.html.write", fail)
    lab["change"] = None
    assert main(["run", "segmented-key-cache", "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr()
    assert "splitting the key cache into 32 segments" in said.out
    assert said.err.endswith("contend: error: No space left on device\n")


@pytest.mark.parametrize("policy", ["4", "pass", "fail"])
def test_a_gate_over_nothing_is_not_uncertain(
    lab: dict[str, Any], tmp_path: Path, policy: str
) -> None:
    lab["gate"] = 0.03
    junit = tmp_path / "junit.xml"
    gate = ["--fail-if-slower", "3%", "--if-not-certain", policy, "--junit", str(junit)]
    path = tmp_path / "run"
    assert main(["run", "segmented-key-cache", "--out", str(path), *gate]) == 1
    suite = ET.parse(junit).getroot()
    assert suite.attrib["failures"] == suite.attrib["tests"] != "0"


@pytest.mark.parametrize("level", [0, 32])
@pytest.mark.parametrize("gate", [[], ["--fail-if-slower", "3%", "--if-not-certain", "pass"]])
def test_a_side_that_always_failed_gives_no_comparison(
    lab: dict[str, Any], tmp_path: Path, level: int, gate: list[str]
) -> None:
    lab["change"] = lambda record: failing(record) if record.cell[SEGMENTS] == level else record
    lab["gate"] = 0.03 if gate else None
    path = tmp_path / "run"
    assert main(["run", "segmented-key-cache", "--out", str(path), *gate]) == 1
    assert main(["show", str(path)]) == 0


@pytest.mark.parametrize(("gain", "code"), [(1.0, 1), (0.5, 3)])
@pytest.mark.parametrize("look", ["--why", "--profile"])
def test_the_exit_code_of_a_gate_has_priority(
    lab: dict[str, Any],
    tmp_path: Path,
    look: str,
    gain: float,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def slower(record: RunRecord) -> RunRecord:
        assert record.done is not None
        times = gain if record.cell[SEGMENTS] else 2.0
        return replace(record, done={**record.done, "qps": record.done["qps"] * times})

    def fail(*_: object, **__: object) -> None:
        raise WorkError("the server died", hint="Look at its log.")

    lab["change"], lab["gate"] = slower, 0.03 if code == 3 else None
    monkeypatch.setattr("contend.cli.why.explain", fail)
    monkeypatch.setattr("contend.cli.why.profile", fail)
    gate = ["--fail-if-slower", "3%"] if code == 3 else []
    path = tmp_path / "run"
    assert main(["run", "segmented-key-cache", "--out", str(path), look, *gate]) == code
    said = capsys.readouterr().err
    assert "the server died" in said and "hint: Look at its log." in said


@pytest.mark.parametrize(
    ("runs", "status", "counted"),
    [(3, "failed", "3 of 4 runs failed."), (4, "lost", "all 4 runs failed or were lost.")],
)
def test_failed_and_lost_runs_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: int, status: str, counted: str
) -> None:
    def end(record: RunRecord) -> RunRecord:
        return as_failed(record, DEATH, status)

    main(["show", str(write_run(tmp_path / "run", study(sets=SETS), runs=runs, change=end))])
    assert counted in capsys.readouterr().out


@pytest.mark.parametrize("form", [[], ["--full"]], ids=["short", "full"])
def test_every_reason_is_shown_in_full(
    tmp_path: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    why = "the server ended in the middle of its run with signal {}, and its log has no line of it"

    def failing_each(record: RunRecord) -> RunRecord:
        return as_failed(record, why.format(record.run)) if record.repeat > 1 else record

    sets = (*SETS[:-1], "compare.repeats=4")
    path = write_run(tmp_path / "run", study(sets=sets), change=failing_each)
    assert main(["show", str(path), *form]) == 0
    said = " ".join(capsys.readouterr().out.split())
    with RunFolder.open(path) as folder:
        runs = [one.run for one in folder.records() if one.error]
    assert len(runs) == 6 and all(f"failed: {why.format(run)}" in said for run in runs)


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["short", "json"])
def test_a_part_that_cannot_be_made_fails_the_run(
    lab: dict[str, Any], tmp_path: Path, form: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise IndexError

    fault = "sections.model.MadeSection.document" if form else "report.terminal._changes"
    monkeypatch.setattr(f"contend.{fault}", fail)
    lab["change"] = None
    path = tmp_path / "run"
    assert main(["run", "segmented-key-cache", "--out", str(path), *form]) == 1
    assert main(["show", str(path), *form]) == 1


@pytest.mark.parametrize("command", ["why", "profile"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["words", "json"])
def test_measuring_again_within_a_run(
    measured: Path, command: str, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    inner = write_run(measured / command, study(sets=SETS), change=failing)
    assert main([command, str(measured), *form]) == 1
    said = capsys.readouterr().err
    assert f"nothing was measured in {inner}" in said and DEATH in said


@pytest.mark.parametrize(
    "more", [[], ["--json"], ["--fail-if-slower", "3%"], ["--fail-if-slower", "3%", "--json"]]
)
def test_compare(measured: Path, failed: Path, more: list[str]) -> None:
    assert main(["compare", str(measured), str(failed), *more]) == 1
    assert main(["compare", str(failed), str(measured), *more]) == 1


def test_history(
    measured: Path, failed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", str(measured), str(failed)]) == 1
    assert f"{failed} is left out" in capsys.readouterr().err
    other = write_run(tmp_path / "other", study(sets=SETS), seed=8)
    with RunFolder.open(other, write=True) as folder:
        folder.append(replace(folder.records()[-1], run=9, block=9))
    assert main(["history", str(measured), str(failed), str(other)]) == 0
