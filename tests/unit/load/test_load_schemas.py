"""Both sides of the seam say the same: the binary, the committed schemas, plans and the fake."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fake_load import FakeLoad

from contend.experiment import (
    CellSpec,
    cell_spec,
    cells,
    load_experiment,
    recipes,
)
from contend.experiment.settings.load import Slicing
from contend.load import Address, ArmSpec, plan_in_slices, plan_of, plan_of_arm

BASE = CellSpec()
SOCKET = Address(socket="/run/s", database="sbtest")


def committed(name: str) -> str:
    return (resources.files("contend.load") / f"{name}.schema.json").read_text(encoding="utf-8")


def check(name: str, document: object) -> None:
    jsonschema.Draft202012Validator(json.loads(committed(name))).validate(document)


@pytest.mark.parametrize("name", ["plan", "outcome", "ask_plan", "ask_outcome", "model"])
def test_the_committed_schema_is_what_the_binary_prints(name: str, load_program: Path) -> None:
    printed = subprocess.run(
        [load_program, "schema", name], capture_output=True, text=True, check=True
    ).stdout
    file = f"python/contend/load/{name}.schema.json"
    assert committed(name) == printed, f"run `contend-load schema {name} > {file}`"


@pytest.mark.parametrize("name", ["plan", "outcome"])
def test_the_types_are_those_of_the_schema(name: str) -> None:
    tool = Path(__file__).parents[3] / "tools" / "typed_schemas.py"
    command = [sys.executable, str(tool), name]
    written = subprocess.run(command, capture_output=True, text=True, check=True)
    file = resources.files("contend.metrics") / f"{name}.py"
    said = f"run `python tools/typed_schemas.py {name} > python/contend/metrics/{name}.py`"
    assert file.read_text(encoding="utf-8") == written.stdout, said


def recipe_cells() -> Iterator[CellSpec]:
    for name in recipes():
        experiment = load_experiment(name)
        for cell in cells(experiment):
            yield cell_spec(experiment, cell)


def test_the_plan_of_every_recipe_s_cell_is_one() -> None:
    plans = [plan_of(cell, SOCKET, seed=1, watch_pid=2) for cell in recipe_cells()]
    assert plans
    for plan in plans:
        check("plan", plan)


@pytest.mark.parametrize(
    ("address", "server"),
    [
        (SOCKET, {"socket": "/run/s", "user": "root", "database": "sbtest"}),
        (
            Address(host="db1", port=3307, user="bench", password_env="CONTEND_PASSWORD"),
            {"host": "db1", "port": 3307, "user": "bench", "password_env": "CONTEND_PASSWORD"},
        ),
    ],
)
def test_an_address_says_where_and_who(address: Address, server: dict[str, Any]) -> None:
    plan = plan_of(BASE, address, seed=1, watch_pid=None)
    assert plan["server"] == server
    assert "watch" not in plan
    check("plan", plan)


def test_threads_are_left_to_the_program_unless_named() -> None:
    plan = plan_of(BASE, SOCKET, seed=1, watch_pid=None)
    assert "threads" not in plan["load"]
    cell = BASE.having(load__threads=3)
    plan = plan_of(cell, SOCKET, seed=1, watch_pid=None)
    assert plan["load"]["threads"] == 3
    check("plan", plan)


def test_the_fake_says_what_the_program_could() -> None:
    said: list[dict[str, Any]] = []
    plan = plan_of(BASE, SOCKET, seed=1, watch_pid=7)
    FakeLoad().run(plan, env={}, on_event=said.append)
    assert [outcome["type"] for outcome in said] == ["hello", "phase", "interval", "done"]
    for outcome in said:
        check("outcome", outcome)


def test_the_fake_says_of_arms_what_the_program_could() -> None:
    said: list[dict[str, Any]] = []
    arms = [ArmSpec("a", BASE, SOCKET, watch_pid=7), ArmSpec("b", BASE, SOCKET)]
    plan = plan_in_slices(arms, Slicing(slice_s=0.1, settle_s=0.02, rounds=2), seed=1)
    check("plan", plan)
    rates = {"a": 1000.0, "b": 3000.0}
    load = FakeLoad(rates=lambda arm, round_: rates[arm] * (1 + round_))
    done = load.run(plan, env={}, on_event=said.append)
    for outcome in said:
        check("outcome", outcome)
    slices = [outcome for outcome in said if outcome["type"] == "slice"]
    assert [(one["arm"], one["round"], one["qps"]) for one in slices] == [
        ("a", 0, 1000.0),
        ("b", 0, 3000.0),
        ("a", 1, 2000.0),
        ("b", 1, 6000.0),
    ]
    assert [arm["done"]["qps"] for arm in done["arms"]] == [1500.0, 4500.0]
    assert [arm["done"]["server"] is None for arm in done["arms"]] == [False, True]


def test_an_arm_says_what_it_asks_otherwise_and_the_record_of_it_has_that() -> None:
    kind = {"kind": "random_points", "points": 3}
    loop = {"kind": "open", "process": "poisson", "rate": 100.0, "stages": None}
    cells = [
        BASE,
        BASE.having(workload=kind),
        BASE.having(**{"load.protocol": "text", "load.arrival": loop, "load.depth": 8}),
    ]
    arms = [ArmSpec(str(place), cell, SOCKET) for place, cell in enumerate(cells)]
    plan = plan_in_slices(arms, Slicing(slice_s=0.1, settle_s=0.02, rounds=2), seed=1)
    check("plan", plan)
    said = [sorted(arm.keys() - {"name", "server"}) for arm in plan["arms"]]
    assert said == [[], ["workload"], ["arrival", "depth", "protocol"]]
    first, points, text = (plan_of_arm(plan, place) for place in range(3))
    assert first == plan
    assert points["workload"]["kind"] == "random_points"
    assert points["load"] == plan["load"]
    assert text["workload"] == plan["workload"]
    assert text["load"]["protocol"] == "text"
    assert (text["load"]["arrival"]["kind"], text["load"]["depth"]) == ("open", 8)
    # Whatever comes first.
    plan = plan_in_slices(arms[::-1], Slicing(slice_s=0.1, settle_s=0.02, rounds=2), seed=1)
    check("plan", plan)
    usual = plan_of_arm(plan, 2)["load"]
    assert (usual["protocol"], usual["depth"]) == ("prepared", 1)
    assert usual["arrival"]["kind"] == "closed"
