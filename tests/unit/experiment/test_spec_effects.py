"""Which workloads may leave other rows than they found."""

from __future__ import annotations

import pytest

from contend.experiment.scripts import BUNDLED
from contend.experiment.settings.plan_keys import SCRIPT, STATEMENTS, WORKLOAD
from contend.experiment.settings.workload import may_ask, may_write

READING = {
    *("batch_select", "point_select", "random_points", "random_ranges", "read_only"),
    "string_lookup",
}
READING_SCRIPTS = {
    *("oltp_point_select", "oltp_read_only"),
    *("select_random_points", "select_random_ranges"),
}


@pytest.mark.parametrize("kind", sorted(set(WORKLOAD.kinds) - {SCRIPT, *STATEMENTS}))
def test_native_kinds(kind: str) -> None:
    assert may_write(kind, {}) == (kind not in READING)


@pytest.mark.parametrize("script", sorted(BUNDLED))
def test_bundled_scripts(script: str) -> None:
    assert may_write(SCRIPT, {"script": script, "options": {}}) == (script not in READING_SCRIPTS)


def test_a_script_of_the_user_s_own_may() -> None:
    assert may_write(SCRIPT, {"script": "./oltp_read_only.lua"})


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("SELECT c FROM sbtest WHERE id = 1; BEGIN; SELECT updated FROM t; COMMIT;", False),
        ("WITH a AS (SELECT 1) SELECT * FROM a", False),
        ("update t set k = 1", True),
        ("WITH a AS (SELECT 1) DELETE FROM t", True),
        ("CALL whatever()", True),
        ("SELECT 1;\nTRUNCATE t", True),
        # In doubt it may: that costs a copy, the other mistake a wrong figure.
        ("SELECT 'insert'", True),
    ],
)
def test_statements(text: str, writes: bool) -> None:
    assert may_write("sql", {"text": text}) == writes


def asking(workload: dict[str, object], **more: object) -> dict[str, object]:
    return {"workload": workload, "setup": [], "server.before_run": [], **more}


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("SELECT c FROM `SBTEST` LIMIT 1", True),
        ("SELECT COUNT(*) FROM shop.orders WHERE sbtest_id = 1", False),
        ("SELECT 1", False),
    ],
)
def test_statements_ask_the_tables_that_they_name(text: str, asks: bool) -> None:
    assert may_ask(asking({"kind": "sql", "text": text}), ["sbtest"]) is asks
    assert may_ask(asking({"kind": "list", "statements": ["DO 1", text]}), ["sbtest"]) is asks
    other: dict[str, object] = {"kind": "sql", "text": "SELECT 1"}
    assert may_ask(asking(other, **{"server.before_run": [text]}), ["sbtest"]) is asks
    assert may_ask(asking(other, setup=[{"do": "DO 1", "undo": text}]), ["sbtest"]) is asks


@pytest.mark.parametrize("kind", ["point_select", "tpcc", SCRIPT])
def test_every_other_workload_asks_its_tables(kind: str) -> None:
    assert may_ask(asking({"kind": kind}), ["sbtest"])
