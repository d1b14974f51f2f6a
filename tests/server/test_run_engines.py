"""Engines of the load generator in experiments on a real server: one for all, or a factor."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from needs import missing
from run_lab import RUNS, Finished, Lab

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

GENERATOR = "load_generator"


@pytest.fixture
def chosen(load_program: Path) -> str:
    """The engine that contend-load takes for many connections on this host."""
    plan = {
        "version": 1,
        "server": {"socket": "/nowhere"},
        "workload": {"kind": "point_select", "rows": 1},
        "load": {"connections": 4, "measure_s": 1},
    }
    said = subprocess.run(
        [load_program, "engine", "-"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(said.stdout)["engine"])


def used(lab: Lab) -> list[tuple[object, object]]:
    """What each run was told and what it says it had."""
    return [(r.plan["load"]["engine"], r.probes[GENERATOR]["engine"]) for r in lab.records()]


def test_all_cells_of_a_sweep_have_one_engine_and_are_calibrated_with_it(
    tiny_run: Finished, chosen: str
) -> None:
    lab = tiny_run.lab
    assert used(lab) == [(chosen, chosen)] * RUNS
    shown = lab.contend("show", lab.out, "--full").stdout
    assert f"driven over {chosen}" in " ".join(shown.split())
    # `contend calibrate` has done it for the same cells: the run found all that it looked for.
    assert "calibrating" not in tiny_run.done.stderr
    # A round in which a busy host had no time for the client does not count.
    assert all(record.probes["calibration"]["n"] in (1, 2) for record in lab.records())
    (kept,) = (lab.cache / "calibrations").glob("*.json")
    shapes = json.loads(kept.read_text())["ceilings"]
    assert {one["connections"] for one in shapes if one["engine"] == chosen} >= {1, 4}


def test_both_engines_as_a_factor(lab: Lab, chosen: str) -> None:
    if chosen != "io_uring":
        missing("the kernel refuses io_uring here")
    lab.edit(
        '"server.options.key_cache_segments" = [0, 32]', '"load.engine" = ["epoll", "io_uring"]'
    )
    lab.edit('"server.options.key_cache_segments" = 0', '"load.engine" = "epoll"')
    done = lab.run()
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert [record.status for record in records] == ["ok"] * RUNS
    for record, (told, had) in zip(records, used(lab), strict=True):
        assert told == had == record.cell["load.engine"]
    assert all(lab.answered().values())
    assert all("calibration" in record.probes for record in records)
    # At least those of the engine that is not taken otherwise were missing. Those of the other one
    # are too if a busy host had no time when they were made, because such are not kept.
    found = re.search(r"for (\d+) kinds of load", done.stderr)
    assert found is not None and int(found[1]) in (2, 3, 4), done.stderr
    assert "gain over epoll" in done.stdout
    shown = lab.contend("show", lab.out, "--full").stdout
    assert "driven over epoll and io_uring" in " ".join(shown.split())
