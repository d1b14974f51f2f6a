"""What the report says of the host's state, and what allowing for it does to the answer."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shown import report_of as built
from synthetic_run import (
    CONNECTIONS,
    FACTS,
    POINTS,
    SEGMENTS,
    host_use,
    study,
    write_run,
    write_slices,
)

from contend.report import Report
from contend.store import RunRecord

ONE_CELL = (f"{CONNECTIONS}=[8]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")


def with_state(record: RunRecord, before: float, after: float) -> RunRecord:
    def look(ns: float) -> dict[str, Any]:
        pair = {"cpus": [0, 1], "handover_ns": ns, "wake_us": 30.0}
        return {"cpus": 2, "pairs": [pair], "of_pairs": 1, "memory_ns": None}

    state = {"before": look(before), "after": look(after), "memory_ns": 180.0, "refaults": 2560}
    return replace(record, probes={**record.probes, "state": state})  # type: ignore[arg-type, typeddict-item]


def slower(record: RunRecord, times: float) -> RunRecord:
    assert record.done is not None
    return replace(record, done={**record.done, "qps": record.done["qps"] * times})


def state_of_block(block: int) -> tuple[float, float]:
    """Every fourth block is far, and every fourth is moved on the way."""
    return {0: (600.0, 800.0), 1: (100.0, 500.0)}.get(block % 4, (90.0, 110.0))


def report_of(path: Path, *sets: str, **how: Any) -> Report:
    write = how.pop("write", write_slices)
    write(path, study(sets=(*ONE_CELL, *sets)), **how)
    return built(path)


def test_a_run_that_knows_of_no_state_has_no_section(tmp_path: Path) -> None:
    assert report_of(tmp_path / "run").shown("host_state") is None


@pytest.mark.parametrize("blocks_of", [write_slices, write_run])
def test_each_state_has_its_blocks(tmp_path: Path, blocks_of: Any) -> None:
    report = report_of(
        tmp_path / "run",
        "compare.repeats=16",
        write=blocks_of,
        change=lambda one: with_state(one, *state_of_block(one.block)),
    )
    section = report.shown("host_state")
    assert section is not None
    assert "state changed" in section.lead
    assert "180 ns" in section.lead
    assert "of files were read again" in section.lead
    (table,) = section.tables
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["near", "changed", "far"]
    in_slices = blocks_of is write_slices
    assert [row[0] for row in rows.values()] == (["8", "4", "4"] if in_slices else ["16", "8", "8"])
    assert rows["far"][1].startswith("700 (600 to 800)")


def test_one_state_is_told_in_a_word(tmp_path: Path) -> None:
    section = report_of(tmp_path / "run", change=lambda one: with_state(one, 90.0, 100.0)).shown(
        "host_state"
    )
    assert section is not None
    assert "always near" in section.lead
    assert [row[:2] for row in section.tables[0].rows] == [("near", "8")]


def test_one_cpu_has_no_distance(tmp_path: Path) -> None:
    def alone(record: RunRecord) -> RunRecord:
        look = {"cpus": 1, "pairs": [], "of_pairs": 0, "memory_ns": None}
        state = {"before": look, "after": look, "memory_ns": None, "refaults": None}
        return replace(record, probes={**record.probes, "state": state})  # type: ignore[arg-type, typeddict-item]

    section = report_of(tmp_path / "run", change=alone).shown("host_state")
    assert section is not None and not section.tables


def test_blocks_of_unknown_state_are_counted(tmp_path: Path) -> None:
    def busy(record: RunRecord) -> RunRecord:
        found = with_state(record, 90.0, 100.0)
        if record.block % 4 == 0:
            found.probes["state"]["before"]["pairs"] = []
        return found

    section = report_of(tmp_path / "run", change=busy).shown("host_state")
    assert section is not None
    assert "2 of 8 blocks" in section.lead
    assert " pairs)" not in section.lead


class TestAllowedFor:
    def by_distance(self, record: RunRecord, slope: float = 0.3) -> RunRecord:
        """The gain grows with the distance of the block."""
        ns = 100 * math.exp(random.Random(record.block).uniform(0, 2))
        level = int(record.cell[SEGMENTS])  # type: ignore[arg-type]
        times = math.exp(slope * math.log(ns)) if level else 1.0
        return with_state(slower(record, times), ns, ns)

    def test_in_slices_the_answer_is_that_of_the_usual_state(self, tmp_path: Path) -> None:
        plain = report_of(tmp_path / "plain", change=self.by_distance)
        allowed = report_of(
            tmp_path / "allowed", 'compare.adjust=["distance"]', change=self.by_distance
        )
        (before,), (after,) = plain.compared[0].comparisons, allowed.compared[0].comparisons
        assert after.change.ratio == pytest.approx(before.change.ratio, rel=1e-6)
        width = [math.log(one.change.high / one.change.low) for one in (before, after)]
        assert width[1] < width[0] / 4
        basis = " ".join(allowed.answer.basis)
        assert "Adjusted for distance" in basis and "usual state of the host" in basis

    def test_what_is_not_known_is_not_taken_for_0(self, tmp_path: Path) -> None:
        def half_known(record: RunRecord) -> RunRecord:
            found = self.by_distance(record)
            if record.block % 2:
                return found
            probes = {name: value for name, value in found.probes.items() if name != "state"}
            return replace(found, probes=probes)  # type: ignore[arg-type]

        plain = report_of(tmp_path / "plain", change=half_known)
        adjusted = report_of(tmp_path / "asked", 'compare.adjust=["distance"]', change=half_known)
        assert adjusted.compared[0].comparisons == plain.compared[0].comparisons
        (reason,) = [one for one in adjusted.answer.basis if "Not adjusted for distance" in one]
        assert "4 of 8" in reason

    def test_what_never_varied_adjusts_nothing_and_is_told(self, tmp_path: Path) -> None:
        def quiet(record: RunRecord) -> RunRecord:
            return replace(record, probes={**record.probes, "host": host_use()})

        adjusted = report_of(tmp_path / "asked", 'compare.adjust=["steal"]', change=quiet)
        assert any("Not adjusted for steal" in one for one in adjusted.answer.basis)


@pytest.mark.parametrize(
    ("schemes", "pages", "warned"),
    [(["pageout"], 25_600, True), (["pageout"], 10, False), ([], 25_600, False)],
)
def test_files_that_the_kernel_takes_out_of_memory_are_warned_of(
    tmp_path: Path, schemes: list[str], pages: int, warned: bool
) -> None:
    def refaulted(record: RunRecord) -> RunRecord:
        host = {"vm": {"workingset_refault_file": pages}}
        return replace(record, probes={**record.probes, "host": host})  # type: ignore[arg-type, typeddict-item]

    facts = {**FACTS, "memory": {**FACTS["memory"], "idle_schemes": schemes}}
    report = report_of(tmp_path / "run", change=refaulted, facts=facts)
    found = [one for one in report.warnings if one.code == "files-paged-out"]
    assert bool(found) == warned
    if warned:
        assert "up to 100 MiB of files" in found[0].message
        assert "server.lock_files = true keeps" in found[0].message
        assert found[0].runs == 16
