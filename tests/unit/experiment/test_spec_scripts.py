"""Scripts in an experiment file: their options, their tables, and what options refer to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contend.experiment import (
    SCRIPT_SCHEMA,
    CellSpec,
    DataSpec,
    Experiment,
    SpecError,
    cell_spec,
    cells,
    from_dict,
    prepared_with,
    to_dict,
)
from contend.experiment.scripts import BUNDLED, EVERY, Number, Switch
from contend.experiment.settings.values import Key
from contend.load import Address, plan_of

Load = Callable[..., Experiment]

POINTS = """
[data]
rows = 500
[workload]
kind = "lua"
script = "select_random_points"
options = { random-points = 20 }
[factors]
"load.connections" = [1, 8]
"""
BOTH = """
[workload]
script = "select_random_points"
options = { random_points = "$workload.points", table_size = "$data.rows" }
[factors]
"workload.kind" = ["random_points", "lua"]
"workload.points" = [10, 50]
"""


def cells_of(experiment: Experiment) -> list[CellSpec]:
    return [cell_spec(experiment, cell) for cell in cells(experiment)]


def test_a_script_asks_numbered_tables_and_is_told_how_many_and_how_large(load: Load) -> None:
    cell = cells_of(load(POINTS))[0]
    assert cell.workload.parameters == {
        "script": "select_random_points",
        "options": {"random_points": 20},
    }
    assert cell.data.table_names == ("sbtest1",)
    plan = plan_of(cell, Address(socket="/s"), seed=1, watch_pid=None)
    assert plan["workload"] == {
        "kind": "lua",
        "rows": 500,
        "tables": 1,
        "script": "select_random_points",
        "options": {"random_points": 20},
    }


def test_each_option_may_be_a_factor(load: Load) -> None:
    text = POINTS + '"workload.options.random_points" = [10, 100]\n'
    told = [cell.workload.parameters["options"] for cell in cells_of(load(text))]
    assert told == [{"random_points": points} for points in (10, 100, 10, 100)]


@pytest.mark.parametrize(
    ("name", "levels", "instead"),
    [
        ("mysql_storage_engine", '["innodb", "myisam"]', "data.engine"),
        ("create_secondary", "[true, false]", "setup"),
        ("auto_inc", "[true, false]", "setup"),
    ],
)
def test_an_option_that_no_run_reads_is_no_factor(
    load: Load, name: str, levels: str, instead: str
) -> None:
    text = POINTS + f'"workload.options.{name}" = {levels}\n'
    # The tables are made once, whoever makes them.
    for data in ("rows = 500", 'schema = "script"'):
        with pytest.raises(SpecError, match=f'no run reads option "{name}"') as caught:
            load(text.replace("rows = 500", data))
        assert f"Use {instead}" in (caught.value.hint or "")


def test_an_option_that_no_run_reads_says_nothing_of_tables_that_contend_makes(load: Load) -> None:
    text = """
[workload]
kind = "lua"
script = "oltp_read_only"
options = { create_secondary = false }
"""
    with pytest.raises(SpecError, match="no run reads option"):
        load(text)
    load(f'{text}[data]\nschema = "script"\n')
    # Its events read this one.
    load(text.replace("oltp_read_only", "oltp_insert").replace("create_secondary", "auto_inc"))


def test_an_option_may_be_set_on_the_command_line(load: Load) -> None:
    experiment = load(POINTS, sets=["workload.options.random_points=5", "data.tables=3"])
    cell = cells_of(experiment)[0]
    assert cell.workload.parameters["options"] == {"random_points": 5}
    assert cell.data.table_names == ("sbtest1", "sbtest2", "sbtest3")


def test_an_option_takes_the_value_that_it_refers_to(load: Load) -> None:
    experiment = load(BOTH)
    told = [
        (cell.workload.kind, cell.workload.parameters.get("points"), cell.data.tables)
        for cell in cells_of(experiment)
    ]
    assert told[:2] == [("random_points", 10, 1), ("random_points", 50, 1)]
    assert told[2:] == [("lua", None, 1)] * 2
    options = [cell.workload.parameters.get("options") for cell in cells_of(experiment)]
    assert options[2:] == [{"random_points": n, "table_size": 10_000} for n in (10, 50)]


def test_native_workloads_ask_the_same_numbered_tables(load: Load) -> None:
    plan = plan_of(cells_of(load(BOTH))[0], Address(socket="/s"), seed=1, watch_pid=None)
    assert plan["workload"]["tables"] == 1


def test_without_a_script_the_one_table_has_no_number(load: Load) -> None:
    cell = cells_of(load())[0]
    assert cell.data.table_names == ("sbtest",)
    plan = plan_of(cell, Address(socket="/s"), seed=1, watch_pid=None)
    assert "tables" not in plan["workload"]


class TestFiles:
    TEXT = """
[workload]
kind = "lua"
script = "scripts/mine.lua"
options = { size = 7, words = "many" }
[factors]
"workload.options.words" = ["few", "many"]
"""

    def test_a_path_counts_from_the_experiment_file(self, load: Load) -> None:
        experiment = load(self.TEXT)
        cell = cells_of(experiment)[0]
        assert cell.workload.parameters["script"] == str(Path.cwd() / "scripts" / "mine.lua")

    def test_without_a_data_table_it_makes_its_own_tables_once(self, load: Load) -> None:
        experiment = load(self.TEXT)
        assert experiment.base.data.schema == SCRIPT_SCHEMA
        told = cells_of(experiment)
        assert prepared_with(experiment) == "words = many"
        # As the file has them, whatever the cell's levels are.
        assert {json.dumps(cell.data.prepare) for cell in told} == {
            json.dumps(
                {
                    "script": str(Path.cwd() / "scripts" / "mine.lua"),
                    "options": {"size": 7, "words": "many"},
                }
            )
        }
        assert told[0].workload.parameters["options"] == {"size": 7, "words": "few"}
        assert told[0].data.table_names == ()
        plan = plan_of(told[0], Address(socket="/s"), seed=1, watch_pid=None)
        assert "rows" not in plan["workload"]

    def test_with_one_it_gets_contends(self, load: Load) -> None:
        experiment = load(self.TEXT + "[data]\nrows = 5\n")
        assert experiment.base.data == DataSpec(rows=5, tables=1)

    def test_it_survives_being_stored(self, load: Load) -> None:
        experiment = load(self.TEXT)
        assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


@pytest.mark.parametrize("compat", ["1.0", "1.1"])
@pytest.mark.parametrize("script", BUNDLED)
def test_the_options_are_those_of_the_load_generator(
    script: str, compat: str, load_program: Path
) -> None:
    workload = {"kind": "lua", "script": script, "options": {"compat": compat}}
    cell = CellSpec({"data.tables": 1, "workload": workload})
    plan = plan_of(cell, Address(socket="/s", database="sbtest"), seed=1, watch_pid=None)
    done = subprocess.run(
        [load_program, "script", "-"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = {option["name"]: option for option in json.loads(done.stdout)["options"] or ()}
    ours = {key.name: key for key in (*BUNDLED[script], *EVERY)}
    assert set(theirs) <= set(ours)
    if BUNDLED[script]:
        missing = set(ours) - set(theirs)
        assert missing <= {name for name in ours if "compat 1." in ours[name].means} | (
            {"rand_spec_iter", "rand_spec_pct", "rand_spec_res"} if compat == "1.1" else set()
        )
    for name, key in ours.items():
        if name in theirs:
            check(key, theirs[name], compat)


def check(key: Key, theirs: dict[str, Any], compat: str) -> None:
    kind = "bool" if isinstance(key.kind, Switch) else "text"
    numbers = ("int", "number", "size")
    if isinstance(key.kind, Number):
        assert theirs["kind"] in numbers, key.name
    else:
        assert theirs["kind"] == kind or (key.name, theirs["kind"]) == (
            "mysql_ignore_errors",
            "list",
        )
    # These have a default of the lab's own, or one of each version.
    elsewhere = {"db_ps_mode", "mysql_ignore_errors", "rand_type", "table_size", "tables"}
    if key.default is not None and key.name not in elsewhere and compat == "1.0":
        default = ("on" if key.default else "off") if kind == "bool" else key.default
        assert str(theirs["default"]) == str(default), key.name
