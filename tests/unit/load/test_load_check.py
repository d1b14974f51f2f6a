"""What contend-load refuses of a workload before there is a server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from contend.errors import RequestError
from contend.experiment import CellSpec
from contend.experiment.settings.plan_keys import SCRIPT, STATEMENTS, WORKLOAD
from contend.load import (
    Address,
    ScriptProcess,
    cpu_state,
    cpus_together,
    memory_nodes,
    plan_of,
)


def plan(kind: str, **parameters: object) -> dict[str, Any]:
    workload = {"kind": kind, **WORKLOAD.complete(kind, parameters)}
    cell = CellSpec({"data.tables": 2, "workload": workload})
    return plan_of(cell, Address(socket="/nowhere"), seed=1, watch_pid=None)


@pytest.mark.parametrize("kind", sorted(set(WORKLOAD.kinds) - {SCRIPT, *STATEMENTS}))
def test_every_native_kind_is_accepted_with_what_a_file_gives_by_default(
    load_program: Path, kind: str
) -> None:
    ScriptProcess(load_program).check(plan(kind))


def test_statements_are_accepted_and_need_no_tables(load_program: Path) -> None:
    asked = plan("sql", text="SELECT c FROM sbtest1 WHERE id = {id:uniform(1, 9)};")
    assert asked["workload"].keys() == {"kind", "text", "shares"}
    ScriptProcess(load_program).check(asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (plan("sql", text="SELECT 1;\nSELECT {id:unifrm(1, 9)};"), "workload.text: line 2"),
        (
            plan("write_only", index_updates=0, non_index_updates=0, delete_inserts=0),
            "raise one of the counts",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    load_program: Path, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(RequestError) as caught:
        ScriptProcess(load_program).check(asked)
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_what_all_cpus_do_at_once_is_measured(load_program: Path) -> None:
    assert cpus_together(load_program) > 0


def test_how_far_the_memory_of_each_node_is_is_measured(load_program: Path) -> None:
    found = memory_nodes(load_program)
    assert found["nodes"] and found["bytes"] >= 128 << 20
    assert sum(node["cpus"] for node in found["nodes"]) == len(os.sched_getaffinity(0))
    for node in found["nodes"]:
        of_it = [pair for pair in found["pairs"] if pair["memory_of"] == node["node"]]
        assert bool(of_it) != bool(node["no_memory"])
        assert all((pair["bandwidth_gb_s"] or 0) > 0 for pair in of_it)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--nodes", "--state"], "cannot be used with"),
        (["--nodes", "--rounds", "3"], "cannot be used with"),
        (["--node"], "unexpected argument '--node'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    load_program: Path, options: list[str], said: str
) -> None:
    asked = subprocess.run([load_program, "cpus", *options], capture_output=True, text=True)
    assert asked.returncode == 2 and asked.stdout == ""
    assert said in asked.stderr


def test_how_far_apart_the_cpus_are_is_measured(load_program: Path) -> None:
    state = cpu_state(load_program)
    assert state["of_pairs"] == state["cpus"] * (state["cpus"] - 1) // 2
    assert len(state["pairs"]) <= state["of_pairs"]
    assert all(len(pair["cpus"]) == 2 and pair["handover_ns"] > 0 for pair in state["pairs"])
    assert state["memory_ns"] is None
    assert (cpu_state(load_program, memory=True)["memory_ns"] or 0) > 0
