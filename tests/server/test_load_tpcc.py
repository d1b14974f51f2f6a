"""TPC-C on each kind of server: the same rows by every way of asking, and every trouble told."""

from __future__ import annotations

import hashlib
import subprocess
from typing import Any

import pymysql
import pytest
import tpcc_data
from load_live import Stage
from sql import query
from tpcc_live import fresh, number, stage_on_shared_server

stage = stage_on_shared_server

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time

WAYS = ("each", "in", "multi_row", "no_read", "procedure")
SAME_TIME = ["SET timestamp = 1770000000"]
ALWAYS_OK = {"remote_lines_percent": 20, "remote_payments_percent": 30, "rollbacks_percent": 10}
EVENTS = 115


def digests(stage: Stage) -> dict[str, str]:
    """A digest of the rows of each table, in an order that follows from their values."""
    found = {}
    for table in tpcc_data.TABLES:
        rows = query(stage.server, f"SELECT * FROM tpcc.{table}")
        text = "\n".join(sorted(map(repr, rows)))
        found[table] = hashlib.sha256(text.encode()).hexdigest()
    return found


def test_every_way_of_asking_leaves_the_same_rows_as_every_other(stage: Stage) -> None:
    found, kinds = {}, {}
    for way in WAYS:
        for protocol in ("text", "prepared"):
            server = fresh(stage) | {"init_sql": SAME_TIME}
            workload = {"kind": "tpcc", "ask": way, **ALWAYS_OK}
            load = {"connections": 1, "protocol": protocol}
            if way == "no_read" and stage.is_mysql:
                failure = stage.failure(server, workload, **load)
                assert "DELETE … RETURNING" in failure["message"]
                continue
            done = stage.events(server, workload, EVENTS, **load)
            assert done["errors"] == []
            found[way, protocol] = digests(stage)
            kinds[way] = {kind["name"]: kind for kind in done["kinds"]}
            trips = done["queries"] / done["events"]
            assert trips == 1 if way == "procedure" else trips > 10
    first = found["each", "text"]
    for way, digest in found.items():
        assert digest == first, way
    counts = {way: [kind["events"] for kind in of.values()] for way, of in kinds.items()}
    assert set(map(tuple, counts.values())) == {(50, 50, 5, 5, 5)}


def test_a_procedure_with_another_body_is_made_anew(stage: Stage) -> None:
    workload = {"kind": "tpcc", "ask": "procedure"}

    def routines() -> dict[str, list[Any]]:
        rows = query(
            stage.server,
            "SELECT routine_name, routine_definition, routine_comment FROM \
            information_schema.routines WHERE routine_schema = 'tpcc'",
        )
        return {name: rest for name, *rest in rows}

    stage.events(fresh(stage), workload, 1, connections=1)
    made = routines()
    delivery = "CREATE PROCEDURE tpcc.contend_delivery(in_w INT, in_carrier INT) COMMENT '{}' DO 1"
    for left_by_an_earlier_build in ("contend-load 0.1.0", made["contend_payment"][1]):
        query(
            stage.server,
            "DROP PROCEDURE tpcc.contend_delivery",
            delivery.format(left_by_an_earlier_build),
        )
        stage.events(fresh(stage), workload, 1, connections=1)
        assert routines() == made
    # One that is as it should be stays: nobody else's call finds it gone meanwhile.
    created = "SELECT MAX(created) FROM information_schema.routines WHERE routine_schema = 'tpcc'"
    before = number(stage, created)
    query(stage.server, "DO SLEEP(1.1)")
    stage.events(fresh(stage), workload, 1, connections=1)
    assert number(stage, created) == before


def test_a_payment_of_nobody_leaves_nothing(stage: Stage) -> None:
    stage.events(fresh(stage), {"kind": "tpcc", "ask": "procedure"}, 1, connections=1)
    looks = ("SELECT COUNT(*) FROM tpcc.history", "SELECT SUM(w_ytd) FROM tpcc.warehouse")
    before = [number(stage, look) for look in looks]
    for customer, name in ((999_999, ""), (0, "NOBODY")):
        with pytest.raises(pymysql.MySQLError, match="no such warehouse, district or customer"):
            query(
                stage.server, f"CALL tpcc.contend_payment(1, 1, 1, 1, {customer}, '{name}', 10.00)"
            )
    assert [number(stage, look) for look in looks] == before


def test_every_row_effect_is_there(stage: Stage) -> None:
    server = fresh(stage)
    before = {
        name: number(stage, f"SELECT {name} FROM tpcc.{table}")
        for name, table in (
            ("COUNT(*)", "order_line"),
            ("SUM(w_ytd)", "warehouse"),
            ("SUM(c_balance)", "customer"),
            ("SUM(c_delivery_cnt)", "customer"),
        )
    }
    done = stage.events(server, {"kind": "tpcc", **ALWAYS_OK}, 460, connections=1)
    kinds = {kind["name"]: kind for kind in done["kinds"]}
    orders, payments = kinds["new_order"], kinds["payment"]
    assert 0 < orders["rolled_back"] < orders["events"] / 4
    new = f"o_id > {tpcc_data.PEOPLE}"
    kept = number(stage, f"SELECT COUNT(*) FROM tpcc.orders WHERE {new}")
    assert kept == orders["events"] - orders["rolled_back"]
    lines = "SELECT {} FROM tpcc.order_line WHERE ol_o_id > " + str(tpcc_data.PEOPLE)
    stock = "SELECT SUM({}) FROM tpcc.stock"
    assert number(stage, stock.format("s_order_cnt")) == number(stage, lines.format("COUNT(*)"))
    assert number(stage, stock.format("s_ytd")) == number(stage, lines.format("SUM(ol_quantity)"))
    remote = number(stage, lines.format("SUM(ol_supply_w_id <> ol_w_id)"))
    assert number(stage, stock.format("s_remote_cnt")) == remote > 0
    wrong = f"SELECT COUNT(*) FROM tpcc.orders JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, \
        COUNT(*) AS n, MIN(ol_supply_w_id = ol_w_id) AS local FROM tpcc.order_line \
        GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
        ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
        WHERE {new} AND (o_ol_cnt <> n OR o_all_local <> local)"
    assert number(stage, wrong) == 0
    least = number(stage, f"SELECT MIN(o_ol_cnt) FROM tpcc.orders WHERE {new}")
    most = number(stage, f"SELECT MAX(o_ol_cnt) FROM tpcc.orders WHERE {new}")
    assert (least, most) == (5, 15)
    paid = number(stage, "SELECT SUM(w_ytd) FROM tpcc.warehouse") - before["SUM(w_ytd)"]
    history = "SELECT {} FROM tpcc.history WHERE h_date > '2026-01-01'"
    assert number(stage, history.format("SUM(h_amount)")) == paid
    assert number(stage, history.format("COUNT(*)")) == payments["events"]
    assert number(stage, history.format("SUM(h_c_w_id <> h_w_id)")) > 0
    delivered = number(
        stage,
        "SELECT SUM(ol_amount) FROM tpcc.order_line \
        WHERE ol_delivery_d > '2026-01-01'",
    )
    balance = number(stage, "SELECT SUM(c_balance) FROM tpcc.customer")
    assert balance - before["SUM(c_balance)"] == delivered - paid
    count = number(stage, "SELECT SUM(c_delivery_cnt) FROM tpcc.customer")
    assert count == number(
        stage,
        "SELECT COUNT(*) FROM tpcc.orders \
        WHERE o_carrier_id IS NOT NULL AND o_id > "
        + str(tpcc_data.DELIVERED),
    )
    bad = number(
        stage,
        "SELECT COUNT(*) FROM tpcc.customer \
        WHERE c_credit = 'BC' AND c_payment_cnt > 1 AND c_data REGEXP '^[0-9]+ [0-9]+ [0-9]+ '",
    )
    assert bad > 0


def test_stock_is_found_by_ranges_of_its_key(stage: Stage) -> None:
    """Of what was really asked: a scan would also lock every row that it passes."""
    fill = [stage.program, "fill", f"--socket={stage.server.socket}", "--user=root"]
    fill += ["--database=ranges", "--create-database", "--schema=tpcc"]
    subprocess.run([*fill, "--with=warehouses=2", "--with=shrink=30"], check=True)
    query(stage.server, "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = 1")
    at = {"socket": str(stage.server.socket), "database": "ranges"}
    workload = {"kind": "tpcc", "ask": "in", "remote_lines_percent": 30}
    stage.events(at, workload, 100, connections=1, protocol="text")
    asked = query(
        stage.server,
        "SET GLOBAL general_log = 0",
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log "
        "WHERE argument LIKE 'SELECT s_w_id, s_i_id, %'",
    )
    assert len(asked) > 20
    first = ["USE ranges", *(["SET explain_format = 'TRADITIONAL'"] if stage.is_mysql else [])]
    type_at = 4 if stage.is_mysql else 3  # MySQL has a column of partitions before it.
    for (statement,) in asked:
        (plan,) = query(stage.server, *first, f"EXPLAIN {statement}")
        assert plan[type_at] == "range" and "PRIMARY" in plan, statement


def test_queued_deliveries_are_events_of_their_own(stage: Stage) -> None:
    server = fresh(stage)
    workload = {"kind": "tpcc", "deliveries": "deferred"}
    done = stage.events(server, workload, 240, connections=1)
    kinds = {kind["name"]: kind for kind in done["kinds"]}
    assert kinds["delivery"]["events"] == kinds["deferred_delivery"]["events"] > 0
    assert kinds["delivery"]["classes"] == []
    assert kinds["delivery"]["latency_us"]["p50"] < kinds["deferred_delivery"]["latency_us"]["p50"]
    taken = number(stage, "SELECT COUNT(*) FROM tpcc.orders WHERE o_carrier_id IS NOT NULL")
    assert taken > tpcc_data.WAREHOUSES * 10 * tpcc_data.DELIVERED


def test_keying_and_think_times_are_kept_and_their_lag_is_told(stage: Stage) -> None:
    server = fresh(stage)
    # 1 % of the specified times: a terminal has about five transactions a second.
    workload = {"kind": "tpcc", "waits_percent": 1}
    done = stage.done(server, workload, connections=20, warmup_s=0.5, measure_s=2.0)
    assert done["arrival"] == "closed-loop" and done["open"] is None
    assert done["lag_us"]["count"] == done["events"]
    # At most 1.286 new orders a minute and terminal, a hundred times faster here.
    orders = next(kind for kind in done["kinds"] if kind["name"] == "new_order")
    assert 0 < orders["events"] < 2 * 20 * 1.286 * 100 * done["measured_s"] / 60


def test_a_part_of_the_warehouses_is_home_to_a_run(stage: Stage) -> None:
    server = fresh(stage)
    workload = {"kind": "tpcc", "first_warehouse": 2, "remote_payments_percent": 0}
    stage.events(server, workload, 100, connections=3)
    homes = query(
        stage.server,
        "SELECT DISTINCT h_w_id FROM tpcc.history \
        WHERE h_date > '2026-01-02'",
    )
    assert homes == [(2,)]


def test_what_is_not_there_is_refused(stage: Stage) -> None:
    server = fresh(stage)

    def message(**workload: Any) -> str:
        failure = stage.failure(server, {"kind": "tpcc", **workload})
        return str(failure["message"])

    assert "needs warehouse 3" in message(warehouses=3)
    query(stage.server, "UPDATE tpcc.contend_tpcc SET value = 'loading' WHERE name = 'state'")
    assert "half loaded" in message()
    query(stage.server, "RENAME TABLE tpcc.contend_tpcc TO tpcc.elsewhere")
    assert "there is no table contend_tpcc" in message()
    # The tables of another loader are asked if the plan says what they are.
    done = stage.done(
        server,
        {
            "kind": "tpcc",
            "ask": "in",
            "mix": "weights",
            "mix_weights": {"stock_level": 1}
            | dict.fromkeys(("new_order", "payment", "order_status", "delivery"), 0),
            "c_load": 157,
            "warehouses": 2,
        },
        measure_s=0.2,
    )
    assert done["events"] > 0
    query(stage.server, "DELETE FROM tpcc.district")
    failure = stage.failure(server, {"kind": "tpcc", "c_load": 157, "warehouses": 2})
    assert "there is no" in failure["message"] and failure["statement"]
    query(stage.server, "RENAME TABLE tpcc.elsewhere TO tpcc.contend_tpcc")
