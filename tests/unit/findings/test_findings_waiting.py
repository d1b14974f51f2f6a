"""The time of one kind of statement in a closed loop of several is no claim about the statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import (
    CONNECTIONS,
    FACTS,
    POINTS,
    SEGMENTS,
    at_equal_load,
    study,
    with_gate,
    write_slices,
)

from contend.findings import WAITS, Finding, analysis_of, deciding_of, gate_of, study_of
from contend.store import RunFolder, RunRecord

INSERT = "statement.insert.service_us_mean"
ONE_CELL = (
    *(f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8"),
    f"compare.metric={INSERT}",
)

Change = Callable[[RunRecord], RunRecord]


def mixed(
    record: RunRecord, cpus: float = 1.0, names: tuple[str, ...] = ("insert", "select")
) -> Any:
    """A mix in which an insert is answered sooner at level 32, on CPUs in use so much."""
    assert record.done is not None
    wobble = 1 + record.run % 5 / 1000
    insert_us = 1000.0 * wobble * (0.75 if record.cell[SEGMENTS] else 1.0)
    queries = record.done["queries"]
    classes = [
        {"name": name, "queries": queries, "latency_us": {"mean": insert_us}} for name in names
    ]
    cpu_us = cpus * record.done["measured_s"] * 1e6 / 2
    used: dict[str, Any] = {"classes": classes, "arrival": "closed-loop", "connections": 8}
    for process in ("server", "client"):
        used[process] = {**record.done[process], "cpu_us": cpu_us}  # type: ignore[literal-required]
    probes = {name: one for name, one in record.probes.items() if name != "host"}
    return replace(record, done={**record.done, **used}, probes=probes)


def finding_of(path: Path, change: Change, gain: float, facts: Any = FACTS) -> Finding:
    """The insert's time in a mix whose throughput changed by `gain`."""
    write_slices(
        path,
        study(sets=ONE_CELL),
        gain=lambda *_: gain,
        server_sd=0.001,
        change=change,
        facts=facts,
    )
    with RunFolder.open(path) as folder:
        found = study_of(folder)
        analysis = analysis_of(found, found.metrics[0])
    assert analysis is not None
    return analysis.compared.comparisons[0]


def without_server(record: RunRecord) -> RunRecord:
    run = mixed(record)
    return replace(run, done={**run.done, "server": None})


def having(**figures: Any) -> Change:
    def changed(record: RunRecord) -> RunRecord:
        run = mixed(record)
        return replace(run, done={**run.done, **figures})

    return changed


@pytest.mark.parametrize(
    ("change", "gain", "because"),
    [
        (mixed, 2.4, "their throughput changed"),
        (mixed, 0.8, "their throughput changed"),
        (lambda one: mixed(one, cpus=1.9), 1.0, "the CPUs were busy"),
        (without_server, 1.0, "whether the CPUs were busy is not known"),
        (having(arrival="closed-loop with pauses"), 2.4, "their throughput changed"),
        (having(connections=1), 2.4, "their throughput changed"),
    ],
)
def test_it_is_held_with_the_reason(
    tmp_path: Path, change: Change, gain: float, because: str
) -> None:
    found = finding_of(tmp_path / "run", change, gain)
    assert found.change.high < 0.8
    assert found.held == f"it {WAITS}, and {because}"
    assert (found.tone, found.word, found.is_large) == ("inconclusive", "inconclusive", False)


@pytest.mark.parametrize(
    ("change", "gain"),
    [
        (mixed, 1.0),
        (lambda one: mixed(one, names=("insert",)), 2.4),
        (having(arrival="open-loop"), 2.4),
        (lambda one: at_equal_load(mixed(one, cpus=1.9)), 2.4),
    ],
    ids=["nothing changed", "one kind", "open loop", "equal load"],
)
def test_other_times_keep_their_claims(tmp_path: Path, change: Change, gain: float) -> None:
    found = finding_of(tmp_path / "run", change, gain)
    assert (found.held, found.tone) == ("", "better")


@pytest.mark.parametrize("slower", [False, True])
def test_a_gate_of_it_is_not_certain(tmp_path: Path, slower: bool) -> None:
    def change(record: RunRecord) -> RunRecord:
        run = mixed(record)
        if slower:
            for one in run.done["classes"]:
                one["latency_us"]["mean"] = 1e6 / one["latency_us"]["mean"]
        return run

    path = tmp_path / "run"
    finding_of(path, change, 2.4)
    with_gate(path, 0.03)
    with RunFolder.open(path) as folder:
        found = study_of(folder)
        gate = gate_of(found, deciding_of(found))
    assert gate is not None and gate.outcome == "uncertain"
    assert WAITS in gate.cells[0].why
    assert "--equal-load" in gate.cells[0].why
