"""A tiny population of TPC-C, consistent as loaded: two warehouses of two districts, ten customers
and as many orders each, of which seven are delivered. The tables have the specification's columns
as far as the conditions read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

WAREHOUSES, DISTRICTS, CUSTOMERS, DELIVERED, LINES = 2, 2, 10, 7, 5

_DDL = {
    "warehouse": "w_id INT PRIMARY KEY, w_ytd DECIMAL(12,2)",
    "district": "d_id INT, d_w_id INT, d_ytd DECIMAL(12,2), d_next_o_id INT,"
    " PRIMARY KEY (d_w_id, d_id)",
    "customer": "c_id INT, c_d_id INT, c_w_id INT, c_balance DECIMAL(12,2),"
    " c_ytd_payment DECIMAL(12,2), PRIMARY KEY (c_w_id, c_d_id, c_id)",
    "history": "h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT,"
    " h_amount DECIMAL(6,2)",
    "orders": "o_id INT, o_d_id INT, o_w_id INT, o_c_id INT, o_carrier_id INT, o_ol_cnt INT,"
    " PRIMARY KEY (o_w_id, o_d_id, o_id)",
    "new_order": "no_o_id INT, no_d_id INT, no_w_id INT, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    "order_line": "ol_o_id INT, ol_d_id INT, ol_w_id INT, ol_number INT, ol_delivery_d DATETIME,"
    " ol_amount DECIMAL(6,2), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    "item": "i_id INT PRIMARY KEY",
    "stock": "s_i_id INT, s_w_id INT, PRIMARY KEY (s_w_id, s_i_id)",
}


def make(cursor: Any) -> None:
    """The tables, empty, in the database that the cursor is in."""
    for name, body in _DDL.items():
        cursor.execute(f"CREATE TABLE {name} ({body}) ENGINE=InnoDB")


def fill(cursor: Any) -> None:
    """The rows, in place of whatever is there."""
    for name in _DDL:
        cursor.execute(f"DELETE FROM {name}")
    for name, rows in _rows():
        marks = ", ".join(["%s"] * len(rows[0]))
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def _rows() -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    warehouses = range(1, WAREHOUSES + 1)
    districts = [(w, d) for w in warehouses for d in range(1, DISTRICTS + 1)]
    numbers = range(1, CUSTOMERS + 1)
    # A payment of 10 for each customer.
    yield "warehouse", [(w, 10 * CUSTOMERS * DISTRICTS) for w in warehouses]
    yield "district", [(d, w, 10 * CUSTOMERS, CUSTOMERS + 1) for w, d in districts]
    yield "customer", [(c, d, w, -10, 10) for w, d in districts for c in numbers]
    yield "history", [(c, d, w, d, w, 10) for w, d in districts for c in numbers]
    yield (
        "orders",
        [
            (o, d, w, CUSTOMERS + 1 - o, 3 if o <= DELIVERED else None, LINES)
            for w, d in districts
            for o in numbers
        ],
    )
    yield "new_order", [(o, d, w) for w, d in districts for o in numbers if o > DELIVERED]
    yield (
        "order_line",
        [
            # Those that were loaded as delivered cost nothing (clause 4.3.3.1).
            (o, d, w, n, *(("2026-01-01", 0) if o <= DELIVERED else (None, 7.5)))
            for w, d in districts
            for o in numbers
            for n in range(1, LINES + 1)
        ],
    )
