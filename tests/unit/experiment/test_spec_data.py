"""Schemas in an experiment file: their tables, their size, and keys that mean nothing to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contend.data import dataset_key, key_inputs
from contend.data.loading import describe, estimated_bytes
from contend.experiment import CellSpec, DataSpec, Experiment, SpecError, cell_spec, cells
from contend.experiment.settings import SETTINGS
from contend.experiment.settings.schemas import SCHEMAS
from contend.load import Address, plan_of

Load = Callable[..., Experiment]

EMPLOYEES = """
[data]
schema = "employees"
engine = "MyISAM"
[workload]
kind = "sql"
text = "SELECT COUNT(*) FROM employees"
[factors]
"load.connections" = [1, 8]
"""
TPCC = """
[data]
schema = "tpcc"
warehouses = 10
[workload]
kind = "sql"
text = "SELECT COUNT(*) FROM warehouse"
[factors]
"data.partition_by" = ["none", "hash"]
"""


def first(experiment: Experiment) -> CellSpec:
    return cell_spec(experiment, next(iter(cells(experiment))))


def test_employees_are_all_there_unless_fewer_are_asked_for(load: Load) -> None:
    data = first(load(EMPLOYEES)).data
    assert (data.rows, data.rows_in_all, data.database) == (300_024, 3_919_015, "employees")
    assert "salaries" in data.table_names and "current_dept_emp" in data.known.views
    assert describe(data) == "employees, 300k employees (MyISAM)"
    fewer = first(load(EMPLOYEES.replace('"MyISAM"', '"MyISAM"\nrows = 500'))).data
    assert fewer.rows == 500
    assert estimated_bytes(fewer) < estimated_bytes(data)


def test_statements_are_asked_as_they_stand(load: Load) -> None:
    plan = plan_of(first(load(EMPLOYEES)), Address(socket="/s"), seed=1, watch_pid=None)
    assert plan["workload"]["text"] == "SELECT COUNT(*) FROM employees"
    assert not {"rows", "table", "tables"} & plan["workload"].keys()


def test_lookups_by_string_follow_the_data(load: Load) -> None:
    text = """
[data]
schema = "test_data"
rows = 500
string_length = 50
[workload]
kind = "string_lookup"
order = "index"
[factors]
"load.connections" = [1, 8]
"""
    plan = plan_of(first(load(text)), Address(socket="/s"), seed=1, watch_pid=None)
    asked = {"rows": 500, "string_length": 50, "order": "index"}
    assert asked.items() <= plan["workload"].items()
    with pytest.raises(SpecError, match="queries the tables of test_data"):
        load(text.replace("test_data", "sbtest").replace("string_length = 50\n", ""))


def test_a_key_of_a_schema_can_be_a_factor(load: Load) -> None:
    experiment = load(TPCC)
    ways = [cell_spec(experiment, cell).data["partition_by"] for cell in cells(experiment)]
    assert ways == ["none", "hash"]
    data = first(experiment).data
    assert data.size == (10, "warehouses")
    assert data.small().rows_in_all < 60_000


def test_only_keys_of_the_schema_are_in_the_name_of_its_dataset() -> None:
    def key(data: DataSpec) -> str:
        return dataset_key(key_inputs(data, kind="mariadb", version="10.11.6", options={}))

    assert key(DataSpec()) == key(DataSpec(own={"warehouses": 2}))
    tpcc = DataSpec(schema="tpcc", own={"warehouses": 10})
    assert key(tpcc) != key(DataSpec(schema="tpcc", own={"warehouses": 10, "foreign_keys": True}))
    assert key(tpcc) == key(DataSpec(schema="tpcc", own={"warehouses": 10, "emp_no_keys": True}))
    assert key(tpcc).startswith("tpcc-innodb-6M-")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EMPLOYEES.replace('"MyISAM"', '"MyISAM"\nwarehouses = 2'), "data.warehouses has no"),
        (EMPLOYEES.replace('"MyISAM"', '"MyISAM"\nrows = 99'), "must be 100 or more"),
        (TPCC.replace('"hash"', '"range"').replace("= 10", "= 2"), "at most 2"),
        (EMPLOYEES.replace('"MyISAM"', '"MyISAM"\ntables = 2'), "data.tables has no effect"),
        (TPCC.replace("warehouses = 10", "rows = 10"), "data.rows has no effect"),
        (EMPLOYEES + '"data.k" = ["random", "row_number"]', "data.k has no effect"),
        (
            EMPLOYEES.replace('kind = "sql"', 'kind = "point_select"').replace(
                'text = "SELECT COUNT(*) FROM employees"', ""
            ),
            '"point_select" queries the tables of sbtest',
        ),
        (TPCC.replace("warehouses = 10", "foreign_keys = true"), "data.partition_by exclude"),
        (
            TPCC.replace("warehouses = 10", 'engine = "Aria"\nforeign_keys = true'),
            "Aria has no foreign keys",
        ),
        (
            TPCC.replace('kind = "sql"', 'kind = "tpcc"\nwarehouses = 11').replace(
                'text = "SELECT COUNT(*) FROM warehouse"', ""
            ),
            "11, but data.warehouses is 10",
        ),
        (
            EMPLOYEES.replace('kind = "sql"', 'kind = "tpcc"').replace(
                'text = "SELECT COUNT(*) FROM employees"', ""
            ),
            'of tpcc, but data.schema is "employees"',
        ),
        ('[workload]\nkind = "tpcc"', ':2: workload "tpcc" '),
        (
            TPCC.replace('kind = "sql"', 'kind = "point_select"').replace(
                'text = "SELECT COUNT(*) FROM warehouse"', ""
            ),
            'of sbtest, but the schema is "tpcc"',
        ),
    ],
)
def test_what_means_nothing_is_refused(load: Load, text: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(text)
    assert said in str(refused.value)


def test_every_schema_has_keys_that_there_are() -> None:
    there = {setting.key.name for setting in SETTINGS if setting.section == "data"}
    own = [key for schema in SCHEMAS.values() for key in DataSpec(schema=schema.name).own]
    assert len(set(own)) == len(own), "each is of one schema"
    for schema in SCHEMAS.values():
        assert {*schema.keys, schema.size_key, *schema.supplied} <= there


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (DataSpec(), "sbtest-innodb-10k-06b51422581e"),
        (DataSpec(rows=500, tables=3), "sbtest-innodb-500-09954d75a57f"),
        (
            DataSpec("employees", rows=500, own={"emp_no_keys": True}),
            "employees-innodb-6.53k-43ada8b2b412",
        ),
        (DataSpec("test_data", own={"string_length": 50}), "test_data-innodb-10k-5f387932e9b1"),
        (
            DataSpec("tpcc", own={"warehouses": 3, "shrink": 7, "partition_by": "hash"}),
            "tpcc-innodb-257k-826a942cb69f",
        ),
    ],
)
def test_kept_datasets_are_found_by_the_names_that_they_had(data: DataSpec, name: str) -> None:
    assert dataset_key(key_inputs(data, kind="mariadb", version="10.11.6", options={})) == name
