"""TPC-C where transactions meet: no isolation level loses an update or an order, what the server
takes back begins again, and what it always takes back is given up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import tpcc_data
from load_live import Stage
from sql import query
from tpcc_live import fresh, number, stage_on_shared_server

from contend.data.conditions import check

stage = stage_on_shared_server

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time

LEVEL = "SET SESSION TRANSACTION ISOLATION LEVEL "
SNAPSHOT = "SET SESSION innodb_snapshot_isolation = "
# What InnoDB says may be as old as 0.1 s, so a wait counts only if it is of a connection that was
# opened after the one that holds the locks; and who asks again sooner is told the same.
WAITS = (
    "SELECT COUNT(*) FROM information_schema.innodb_trx"
    " WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id > {}"
)
ASKED_EVERY_S = 0.12


def has_snapshots(stage: Stage) -> bool:
    return bool(query(stage.server, "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'"))


def isolations(stage: Stage) -> dict[str, list[str]]:
    """What each session sets, by the name of what it tries."""
    known = has_snapshots(stage)
    off = [SNAPSHOT + "0"] if known else []
    levels = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
    found = {level: [LEVEL + level, *off] for level in levels}
    if known:
        found["snapshots"] = [LEVEL + "REPEATABLE READ", SNAPSHOT + "1"]
    return found


def ways(stage: Stage) -> list[str]:
    return ["each", "procedure"] if stage.is_mysql else ["each", "no_read", "procedure"]


def only(**weights: int) -> dict[str, Any]:
    """A workload of these transactions and no others."""
    kinds = ("new_order", "payment", "order_status", "delivery", "stock_level")
    return {"kind": "tpcc", "mix": "weights", "mix_weights": dict.fromkeys(kinds, 0) | weights}


def broken(stage: Stage) -> dict[str, int]:
    with stage.server.connect() as connection:
        found = check(connection, "tpcc", "tpcc", fresh=False)
    return {one["name"]: one["broken"] for one in found if one["broken"]}


def run_while_locked(
    stage: Stage, locks: list[str], plan: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """A run that comes to wait for what a transaction has changed, which commits then."""
    with ThreadPoolExecutor(1) as pool:
        with stage.server.connect("tpcc") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            waits = WAITS.format(*(cursor.fetchone() or ()))
            for statement in ("BEGIN", *locks):
                cursor.execute(statement)
            run = pool.submit(plan)
            while not number(stage, waits):
                assert not run.done(), f"it did not come to wait: {run.result()}"
                time.sleep(ASKED_EVERY_S)
            connection.commit()
        return run.result()


def codes(done: dict[str, Any]) -> set[int]:
    return {error["code"] for error in done["errors"]}


def test_many_terminals_lose_no_update_at_any_isolation_level(stage: Stage) -> None:
    # So many deliveries that districts often have no new order: they wait for the next one.
    workload = only(new_order=40, payment=36, order_status=4, delivery=16, stock_level=4)
    for name, statements in isolations(stage).items():
        # Servers are set to it as they come; there every way is tried.
        for way in ways(stage) if name == "REPEATABLE READ" else ["each"]:
            server = fresh(stage) | {"init_sql": statements}
            done = stage.events(server, workload | {"ask": way}, 400, connections=12)
            # Whatever had to begin again did, and nothing else went wrong.
            assert done["failed"] == 0 and codes(done) <= {1213, 1205, 1020}, (name, way)
            assert done["retries"] == sum(error["count"] for error in done["errors"])
            assert broken(stage) == {}, (name, way)


def test_a_payment_keeps_what_another_wrote_down_meanwhile(stage: Stage) -> None:
    """Of a customer with bad credit, who has paid elsewhere since this payment began."""
    others = "UPDATE customer SET c_data = LEFT(CONCAT('elsewhere|', c_data), 500)"
    for name, statements in isolations(stage).items():
        for way in ways(stage):
            server = fresh(stage) | {"init_sql": statements}
            query(stage.server, "UPDATE tpcc.customer SET c_credit = 'BC'")
            workload = only(payment=1) | {"ask": way}
            done = run_while_locked(
                stage,
                [others],
                lambda server=server, workload=workload: stage.events(  # type: ignore[misc]
                    server, workload, 1, connections=1
                ),
            )
            assert done["failed"] == 0
            paid = "SELECT c_data FROM tpcc.customer WHERE c_payment_cnt = 2"
            assert "|elsewhere|" in number(stage, paid), (name, way)
            assert codes(done) == ({1020} if name == "snapshots" else set()), (name, way)


def test_a_delivery_takes_an_order_that_came_after_it_began(stage: Stage) -> None:
    """It waits for a district's only new order, which is older than what it sees."""
    order = tpcc_data.PEOPLE + 1
    comes = [
        f"INSERT INTO orders VALUES ({order}, 2, 1, 7, NOW(), NULL, 1, 1)",
        f"INSERT INTO order_line VALUES ({order}, 2, 1, 1, 1, 1, NULL, 5, 12.5, 'x')",
        f"INSERT INTO new_order VALUES ({order}, 2, 1)",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 2",
    ]
    gone = f"o_w_id = 1 AND o_d_id = 2 AND o_id > {tpcc_data.DELIVERED}"
    for name, statements in isolations(stage).items():
        for way in ways(stage):
            server = fresh(stage) | {"init_sql": statements}
            query(
                stage.server,
                "USE tpcc",
                "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2",
                f"UPDATE order_line JOIN orders ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND"
                f" ol_o_id = o_id SET ol_delivery_d = NOW(), ol_amount = 0 WHERE {gone}",
                f"UPDATE orders SET o_carrier_id = 1 WHERE {gone}",
            )
            assert broken(stage) == {}
            workload = only(delivery=1) | {"ask": way}
            done = run_while_locked(
                stage,
                comes,
                lambda server=server, workload=workload: stage.events(  # type: ignore[misc]
                    server, workload, 1, connections=1
                ),
            )
            assert done["failed"] == 0
            # Condition 10 sees a delivery that was booked to the wrong customer.
            assert broken(stage) == {}, (name, way)
            assert codes(done) <= ({1020} if name == "snapshots" else set()), (name, way)
            taken = f"SELECT o_carrier_id IS NOT NULL FROM tpcc.orders WHERE o_id = {order}"
            assert number(stage, taken) == 1, (name, way)


def test_a_transaction_that_cannot_succeed_is_given_up_and_the_run_says_why(stage: Stage) -> None:
    server = fresh(stage) | {"init_sql": ["SET SESSION innodb_lock_wait_timeout = 1"]}
    errors = {"retry_limit": 1}
    with contextlib.closing(stage.server.connect()) as connection:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT * FROM tpcc.warehouse FOR UPDATE")
        lines, code, words = stage.run(
            server, only(payment=1), connections=2, measure_s=60, events=2, errors=errors
        )
    assert (code, lines[-1]["type"]) == (1, "error")
    assert "2 were given up after 2 retries" in words
    assert "1205" in words and "retry_limit" in words


def test_deadlocks_without_end_have_a_limit_and_are_told(stage: Stage) -> None:
    server = fresh(stage)
    query(
        stage.server,
        "USE tpcc",
        "CREATE TRIGGER deadlocks BEFORE UPDATE ON warehouse FOR EACH ROW"
        " SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'",
    )
    try:
        errors = {"retry_limit": 4}
        for way in ways(stage):
            workload = only(payment=1) | {"ask": way}
            load = {"connections": 2, "measure_s": 60, "errors": errors}
            lines, code, words = stage.run(server, workload, events=6, **load)
            assert (code, lines[-1]["type"], lines[-1]["code"]) == (1, "error", 1213), way
            assert "6 were given up after 24 retries" in words, way
            assert "1213: Deadlock found" in words and "retry_limit" in words, way
            # With others that succeed the run goes on, and counts them.
            both = only(payment=1, new_order=1) | {"ask": way}
            lines, code, _ = stage.run(server, both, events=20, **load)
            done = lines[-1]
            assert (code, done["type"], done["retries"]) == (0, "done", 4 * done["failed"]), way
            assert done["events"] > 0 and done["failed"] > 0, way
    finally:
        query(stage.server, "DROP TRIGGER tpcc.deadlocks")
    assert broken(stage) == {}
