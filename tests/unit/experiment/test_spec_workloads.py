"""The table of workloads is what the load generator says of itself, kind by kind, key by key."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from contend.experiment import Experiment, json_schema
from contend.experiment.settings import plan_keys, workload
from contend.experiment.settings.plan_keys import (
    DISTRIBUTION,
    METRICS,
    STATEMENTS,
    TWINS,
    WORKLOAD,
    WRITES,
    load_schema,
    tagged,
)
from contend.experiment.settings.values import Flag, Key, Real, Texts, WholeNumber
from contend.metrics import metric_of

MADE_UP: dict[str, Any] = {
    "description": "Asks for a lucky number.",
    "type": "object",
    "properties": {
        "kind": {"type": "string", "const": "made_up"},
        "rows": {"description": "Rows.", "type": "integer"},
        "luck": {
            "description": "The number that\nbrings luck.",
            "type": "integer",
            "minimum": 1,
            "maximum": 13,
            "default": 7,
        },
    },
    "required": ["kind", "rows"],
    "x-writes": False,
    "x-metric": "qps",
}


def with_made_up() -> dict[str, Any]:
    schema = copy.deepcopy(load_schema())
    schema["$defs"]["Workload"]["oneOf"].append(MADE_UP)
    return schema


def test_a_kind_that_the_program_names_is_known_with_all_that_it_says() -> None:
    found = tagged(with_made_up(), "Workload", "point_select")
    assert found.kinds["made_up"] == (
        Key("luck", WholeNumber(1, 13), 7, "the number that brings luck"),
    )
    assert found.descriptions["made_up"] == "asks for a lucky number"
    assert plan_keys.writes(with_made_up())["made_up"] is False
    assert plan_keys.metrics(with_made_up())["made_up"] == "qps"


@pytest.mark.parametrize("kind", METRICS)
def test_each_kind_is_compared_by_a_metric_that_there_is(kind: str) -> None:
    # Statements of a recording are asked one at a time: their time is compared.
    assert metric_of(METRICS[kind]).better == ("lower" if kind == TWINS else "higher")


@pytest.mark.parametrize(
    ("workload", "metric"),
    [
        ('kind = "tpcc"\n[data]\nschema = "tpcc"', "new_orders_per_minute"),
        ('kind = "read_write"', "events_per_s"),
        ('kind = "sql"\ntext = "@a\\nSELECT 1;"', "events_per_s"),
        ('kind = "random_points"', "qps"),
        ('kind = "update_index"', "qps"),
        ("", "qps"),
        ('[factors]\n"workload.kind" = ["read_write", "write_only"]', "events_per_s"),
        ('[factors]\n"workload.kind" = ["point_select", "read_write"]', "events_per_s"),
        ('[factors]\n"workload.kind" = ["point_select", "update_index"]', "qps"),
        ('kind = "read_write"\n[compare]\nmetric = "qps"', "qps"),
    ],
)
def test_without_a_metric_it_is_that_of_the_kind(
    load: Callable[..., Experiment], workload: str, metric: str
) -> None:
    """Queries of transactions that are begun again are no speed."""
    assert load(f"[workload]\n{workload}").compare.metric == (metric,)


def test_a_kind_by_override_brings_its_metric(load: Callable[..., Experiment]) -> None:
    made = load("", sets=["workload.kind=tpcc", "data.schema=tpcc"])
    assert made.compare.metric == ("new_orders_per_minute",)


def test_it_shows_up_in_the_schema_of_experiment_files(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tagged(with_made_up(), "Workload", "point_select")
    setting = replace(workload.SETTING, key=replace(workload.SETTING.key, kind=found))
    monkeypatch.setattr("contend.experiment.keys.SETTINGS", (setting,))
    schema: Any = json_schema()
    variants = schema["properties"]["workload"]["anyOf"]
    made = next(v for v in variants if v["properties"].get("kind", {}).get("const") == "made_up")
    assert made["properties"]["luck"] == {
        "description": "the number that brings luck",
        "type": "integer",
        "minimum": 1,
        "maximum": 13,
        "default": 7,
    }


def test_every_kind_of_value_is_read() -> None:
    keys = {key.name: key for kind in WORKLOAD.kinds.values() for key in kind}
    assert keys["points"].kind == WholeNumber(1, 65_535)
    assert keys["bulk_execute"].kind == Flag()
    assert keys["statements"] == Key(
        "statements", Texts(), None, keys["statements"].means, required=True
    )
    assert keys["distribution"].kind == DISTRIBUTION
    assert DISTRIBUTION.kinds["pareto"][0].kind == Real(0.0, 1.0)
    assert WORKLOAD.descriptions["point_select"] == "SELECT c FROM sbtest WHERE id = ?"
    assert keys["bulk_execute"].means.startswith("MariaDB: ")


def test_what_follows_from_the_data_is_left_out_and_statements_name_their_own_tables() -> None:
    names = {key.name for kind in WORKLOAD.kinds.values() for key in kind}
    assert names.isdisjoint({"rows", "table", "tables"})
    assert {"sql", "list", "scan", "tpcc", "recorded", "twins"} == STATEMENTS
    assert WRITES["read_only"] is False and WRITES["insert"] is True and WRITES["sql"] is None


def test_every_kind_is_described() -> None:
    for found in (WORKLOAD, DISTRIBUTION):
        assert set(found.descriptions) == set(found.kinds)
        assert all(found.descriptions.values())


def test_one_name_means_one_thing_in_all_kinds() -> None:
    """Paths such as `workload.points` are resolved without knowing the kind."""
    seen: dict[str, Key] = {}
    for keys in WORKLOAD.kinds.values():
        for key in keys:
            assert seen.setdefault(key.name, key).kind == key.kind


def test_a_metric_of_events_needs_them_in_some_cell_only(
    load: Callable[..., Experiment],
) -> None:
    head = '[workload]\nkind = "sql"\ntext = "@a\\nSELECT 1;\\n@b\\nSELECT 2;\\n"\n'
    metric = '[compare]\nmetric = "event.b.response_us_p99"\n'
    made = load(f'{head}{metric}[factors]\n"workload.shares.a" = [50, 100]\n')
    assert made.compare.metric == ("event.b.response_us_p99",)
    load(f"{head}shares = {{ b = 100 }}\n{metric}")
    load(f"{head}{metric}")
