"""A cause is one object: what it looks at, what it expects, what it says, what would refute it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from shown import report_of
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.errors import RequestError
from contend.findings import CAUSES, Figure, Given, Said, say, study_of, told_by
from contend.findings.changes import compared_of
from contend.findings.evidence import (
    Above,
    Cause,
    Certainly,
    Expects,
    Judged,
    Pick,
    Ratio,
    Rule,
    Told,
    figures_table,
)
from contend.report import Report
from contend.report.model import Answer
from contend.sections.words import estimate_text
from contend.spec.keys import CAUSES as NAMES_IN_FILES
from contend.stats import Estimate
from contend.store import RunFolder, RunRecord

SMALL = (f"{CONNECTIONS}=[1, 8]", f"{POINTS}=[10]")

MADE_UP = Cause(
    name="made-up",
    title="Why: threads wake one another",
    looks={"switches": "switches_per_query", "cpu": "server_cpu_us_per_query"},
    lead=Rule(
        picks={"most": Pick("switches", "most"), "least": Pick("switches", "least")},
        cases=(
            (Above("most", 100), "{most} switches are many."),
            (None, "A query makes {least} ({least:at}) to {most} switches ({most:at})."),
        ),
    ),
    follows="Whoever waits for a lock sleeps, and is woken.",
    says=(
        Rule(
            picks={"first": Pick("cpu", "first"), "ratio": Ratio("cpu")},
            cases=(
                (
                    Certainly("ratio", "higher", 1.05),
                    "{first:ms} ms, then {ratio:times} times that.",
                ),
                (Certainly("ratio", "lower", 1.05), "It becomes cheaper."),
                (None, "It costs what it cost."),
            ),
        ),
    ),
    expects=(
        Expects("switches_per_query", "lower", least=1.1, dose=True),
        Expects("server_cpu_us_per_query", "lower"),
    ),
    tables=(figures_table("Switches", (("switches", "switches", ""),)),),
    refuted_by="A gain without fewer switches would refute it.",
)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cause]:
    monkeypatch.setitem(CAUSES, MADE_UP.name, MADE_UP)
    yield MADE_UP


def run_of(tmp_path: Path, change: Any = None, *sets: str, runs: int | None = None) -> Path:
    experiment = replace(study(sets=(*SMALL, *sets)), explain="made-up")
    return write_run(tmp_path / "run", experiment, change=change, runs=runs)


def told(path: Path, cause: Cause = MADE_UP) -> Told:
    with RunFolder.open(path) as folder:
        read = study_of(folder)
    first = compared_of(read)[0]
    assert first is not None
    found = told_by(read, cause, first.compared, 2)
    assert found is not None
    return found


def test_one_object_is_looked_at_judged_and_told(tmp_path: Path, made_up: Cause) -> None:
    cause = report_of(run_of(tmp_path)).cause
    assert cause is not None and cause.title == made_up.title
    assert cause.lead.startswith("A query makes 1.") and "switches (" in cause.lead
    assert "1 connection)" in cause.lead and "(off, 8 connections)" not in cause.lead
    follows, costs, switches, cpu = cause.paragraphs
    assert follows == made_up.follows
    assert costs == "0.0785 ±0.0007 ms, then 1.09 ±0.03 times that."
    assert switches.startswith(
        "It expects the context switches of the server per query to be lower by at least 10 %, the "
        "more so the more key_cache_segments, and that is so: lower by "
    )
    assert "to be lower, and that is certainly not so, which refutes it: higher by" in cpu
    assert cause.tables[0].columns == ("table", "key_cache_segments", "connections", "switches")
    assert len(cause.tables[0].rows) == 6
    assert cause.refutation == made_up.refuted_by


def test_no_cause_is_told_for_a_difference_that_is_not_certain(
    tmp_path: Path, made_up: Cause
) -> None:
    """Then what bounds the server is said, and the figures stand there without a reason."""
    speeds = {}

    def alike(record: RunRecord) -> RunRecord:
        assert record.done is not None
        key = record.block, record.cell[CONNECTIONS]
        speed = speeds.setdefault(key, record.done["qps"]) * (1 + record.run * 7 % 11 / 100)
        return replace(record, done={**record.done, "qps": speed})

    report = report_of(run_of(tmp_path, alike, f"{SEGMENTS}=[0, 32]"))
    assert not report.compared[0].certain
    assert report.cause is None
    (looked_at,) = [one for one in report.sections if "cause" in one.title]
    assert looked_at.lead.startswith("No difference is certain, so no cause is told.")
    assert looked_at.tables[0].caption == "Switches"
    assert made_up.title not in looked_at.lead
    said = " ".join(report.found("bounds"))
    assert "the server answered most queries" in said and "of its 2 CPUs busy" in said


def lead_of(report: Report) -> str:
    shown = report.shown("cause")
    assert shown is not None
    return shown.lead


def test_nothing_is_told_before_the_end_nor_for_what_was_asked_afterwards(
    tmp_path: Path, made_up: Cause
) -> None:
    partial = report_of(run_of(tmp_path, runs=30))
    assert partial.cause is None and partial.shown("bounds") is None
    assert lead_of(partial).startswith("Nothing is decided before the run is finished")
    (tmp_path / "whole").mkdir()
    whole = run_of(tmp_path / "whole")
    assert report_of(whole).cause is not None
    asked = report_of(whole, "response_us_p50")
    assert asked.cause is None
    assert lead_of(asked).startswith("The metric was not named before the run")
    assert made_up.name == "made-up"


def test_its_claims_share_the_family_of_causes(tmp_path: Path) -> None:
    found = told(run_of(tmp_path))
    assert MADE_UP.groups == 2  # Expectations, and a ratio.
    (family,) = {one.contrast.family for each in found.judged for one in each.findings}
    # Of the 5 %, the first metric keeps 4; costs, growth, steadiness and causes share 1.
    assert family.name == "causes"
    assert 1 - family.confidence == pytest.approx(0.01 / 4 / 2)


def test_more_of_the_level_must_do_more_of_it(tmp_path: Path) -> None:
    """64 segments switch more often than 32: lower than none, and not by the dose."""

    def undone(record: RunRecord) -> RunRecord:
        if record.cell[SEGMENTS] != 64 or record.done is None:
            return record
        own = {**record.done["server"], "voluntary_switches": 2 * record.done["queries"]}  # type: ignore[typeddict-item]
        return replace(record, done={**record.done, "server": own})

    def judged_of(path: Path, dose: bool) -> Judged:
        expects = (Expects("switches_per_query", "lower", dose=dose),)
        sets = replace(MADE_UP, expects=expects)
        return told(path, sets).judged[0]

    path = run_of(tmp_path, undone, f"{CONNECTIONS}=[8]")
    assert judged_of(path, dose=False).holds is True
    assert judged_of(path, dose=True).holds is False


def test_a_metric_that_does_not_exist_is_refused() -> None:
    with pytest.raises(RequestError) as refused:
        replace(MADE_UP, looks={"waiting": "query_cache_wait_shar"})
    assert refused.value.message == (
        "findings/causes/made_up.py: looks.waiting of the cause made-up names "
        '"query_cache_wait_shar", which is no metric.'
    )
    assert refused.value.hint == 'Did you mean "query_cache_wait_share"?'
    with pytest.raises(RequestError, match=r"expects\[0\]\.metric .* names \"qsp\""):
        replace(MADE_UP, expects=(Expects("qsp", "higher"),))


def test_a_sentence_has_no_place_for_a_bare_number() -> None:
    anything: Any = 3.0
    with pytest.raises(TypeError, match="and not a finding"):
        say("It is {much} faster.", much=anything)
    with pytest.raises(KeyError, match="nothing stands for much"):
        say("It is {much} faster.")
    assert say("On {cpus} CPUs.", cpus=Given(2)).words == "On {cpus} CPUs."


@pytest.mark.parametrize("much", [1.5, 3, "34 %"], ids=repr)
def test_what_is_said_has_no_place_for_a_bare_number_either(much: Any) -> None:
    refused = "has a number that is not a finding"
    with pytest.raises(TypeError, match=refused):
        Said("It is {} faster.", much)
    with pytest.raises(TypeError, match=refused):
        Said(f"It is {much} faster.")
    with pytest.raises(TypeError, match="may have a number in it that is not a finding"):
        Answer(cast(Said, f"It is {much} faster."), ())
    figure = estimate_text(Estimate(1.34, 1.2, 1.48, 8, 0.95))
    said = Said("It is {} times as fast, on {} CPUs.", figure, Given(2))
    assert Answer(said, ()).sentence == "It is 1.34 ±0.14 times as fast, on 2 CPUs."


def test_every_cause_is_by_its_name() -> None:
    assert {name: cause.name for name, cause in CAUSES.items()} == {name: name for name in CAUSES}
    assert set(CAUSES) == set(NAMES_IN_FILES)


def test_a_figure_that_follows_from_another_turns_its_interval(tmp_path: Path) -> None:
    cause = CAUSES["segmented-key-cache"]
    found = told(run_of(tmp_path), cause)
    hottest, ceiling = (found.lead.places[name] for name in ("hottest", "ceiling"))
    assert isinstance(hottest, Figure) and isinstance(ceiling, Figure)
    assert ceiling.mean == pytest.approx(1 / hottest.mean - 1)
    assert ceiling.estimate.low == pytest.approx(1 / hottest.estimate.high - 1)
    assert ceiling.estimate.n == hottest.estimate.n == 8
