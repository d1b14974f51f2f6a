"""What differs between two folders: the dearest measured first, what was not measured after it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import FACTS, host_use, study, write_run

from contend.findings import Study, study_of
from contend.metrics.host import Cost, Measure, cost_between, measured_beside
from contend.runs.sides import differences_between
from contend.store import RunFolder, RunRecord


def measured(
    path: Path,
    *,
    handover_ns: float | None = None,
    steal: float | None = None,
    variables: dict[str, str] | None = None,
    facts: Callable[[dict[str, Any]], object] = lambda facts: None,
) -> Study:
    """A few runs with looks at their host."""

    def looked(record: RunRecord) -> RunRecord:
        probes: dict[str, Any] = {**record.probes}
        if handover_ns is not None:
            pair = {"cpus": [0, 1], "handover_ns": handover_ns + record.run, "wake_us": 9.0}
            look = {"cpus": 2, "pairs": [pair], "of_pairs": 1, "memory_ns": None}
            probes["state"] = {"before": look, "after": look, "memory_ns": 90.0, "refaults": 0}
        if steal is not None:
            probes["host"] = host_use(steal + record.run / 1e6)
        for name, value in (variables or {}).items():
            pair = {"value": value, "default": "1"}
            probes["variables_that_differ"] = {**probes["variables_that_differ"], name: pair}
        return replace(record, probes=probes)

    told = copy.deepcopy(FACTS)
    facts(told)
    run = write_run(path, study("quick"), runs=12, change=looked, facts=told)
    with RunFolder.open(run) as folder:
        return study_of(folder, percentiles=False)


def check(name: str, severity: str, measure: str | None) -> dict[str, Any]:
    about = {"id": name, "title": name, "severity": severity, "evidence": f"{name} was seen"}
    return {**about, "cost": "", "mend": "", "touches": [], "measure": measure, "ignored": None}


def test_the_dearest_comes_first_and_what_was_not_measured_last(tmp_path: Path) -> None:
    one = measured(tmp_path / "one", handover_ns=100, steal=0.05)
    other = measured(
        tmp_path / "other",
        handover_ns=1000,
        steal=0.10,
        variables={"thread_pool_size": "4"},
        facts=lambda facts: facts.update(
            doctor=[
                check("mitigations", "severe", "system_call_ns"),
                check("cpus-far", "note", "handover_ns"),
            ],
        ),
    )
    rows = differences_between(one, other)
    assert [(row.about, row.is_measured) for row in rows] == [
        ("doctor", True),
        ("measured", True),
        ("doctor", False),
        ("variable", False),
    ]
    assert rows[0].name == "cpus-far"
    assert (rows[0].one, rows[0].other) == ("not found", "cpus-far was seen")
    assert "cache-line round trip between CPUs: 1" in rows[0].cost
    assert "hypervisor" in rows[1].name
    assert rows[2].name == "mitigations"
    assert (rows[3].one, rows[3].other) == ("1 (default)", "4")


def test_a_cost_that_overlaps_comes_after_those_that_do_not(tmp_path: Path) -> None:
    def of(facts: dict[str, Any]) -> None:
        facts["doctor"] = [check("cpus-far", "severe", "handover_ns")]

    one = measured(tmp_path / "one", handover_ns=100, steal=0.01)
    other = measured(tmp_path / "other", handover_ns=102, steal=0.30, facts=of)
    first, second = differences_between(one, other)
    assert first.about == "measured"
    assert "overlap" in second.cost


def test_where_a_server_lies_is_no_difference(tmp_path: Path) -> None:
    one = measured(tmp_path / "one", variables={"datadir": "/a", "pid_file": "/a/p"})
    other = measured(tmp_path / "other", variables={"datadir": "/b", "pid_file": "/b/p"})
    assert differences_between(one, other) == ()


def test_what_moves_by_itself_is_no_difference(tmp_path: Path) -> None:
    one = measured(tmp_path / "one")
    other = measured(
        tmp_path / "other",
        facts=lambda facts: facts["cpu"].update(mhz_now=1.0, together=1.5),
    )
    assert differences_between(one, other) == ()


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [
        ((2.0, 1.9, 2.1), (4.0, 3.9, 4.1), 2.0),
        ((4.0, 3.0, 5.0), (4.5, 4.0, 6.0), 1.0),
        ((0.0, 0.0, 0.0), (0.2, 0.1, 0.3), float("inf")),
        ((0.2, 0.1, 0.3), (0.0, 0.0, 0.0), 0.0),
    ],
)
def test_how_many_times_as_much(
    first: tuple[float, ...], second: tuple[float, ...], ratio: float
) -> None:
    found = cost_between(
        "steal_share", {"steal_share": Measure(*first)}, {"steal_share": Measure(*second)}
    )
    assert found is not None
    assert found.ratio == ratio
    assert (found.size == 0) == (ratio == 1)


def test_what_only_one_side_measured_has_no_cost() -> None:
    known = {"steal_share": Measure(0.1, 0.1, 0.1)}
    assert cost_between("steal_share", known, {}) is None
    assert cost_between(None, known, known) is None
    assert cost_between("no_such_thing", known, known) is None
    assert Cost("", 0.5).size == pytest.approx(Cost("", 2.0).size)


def test_runs_that_looked_at_nothing_measured_nothing() -> None:
    assert measured_beside([]) == {}
