"""The nine tables of TPC-C, shrunk: small enough to be made anew for each run of a test.

Everything is as after a load of its scale: each customer of a district has an order, and the last
of them are not delivered. `contend_tpcc` says that a district has 30 customers, which have a last
name each; beside them it has 10 more, so that some names have three. The content follows from a
seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

WAREHOUSES = 2
CUSTOMERS = 30
PEOPLE = 40
ITEMS = 100
DELIVERED = 28
C_LOAD = 157
SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")

_ADDRESS = "{0}_street_1 VARCHAR(20) NOT NULL, {0}_street_2 VARCHAR(20) NOT NULL, \
{0}_city VARCHAR(20) NOT NULL, {0}_state CHAR(2) NOT NULL, {0}_zip CHAR(9) NOT NULL"

TABLES = {
    "warehouse": f"w_id INT NOT NULL, w_name VARCHAR(10) NOT NULL, {_ADDRESS.format('w')}, "
    "w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL, PRIMARY KEY (w_id)",
    "district": "d_id TINYINT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10) NOT NULL, "
    f"{_ADDRESS.format('d')}, d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, "
    "d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id)",
    "customer": "c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id INT NOT NULL, "
    "c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, "
    f"{_ADDRESS.format('c')}, c_phone CHAR(16) NOT NULL, c_since DATETIME NOT NULL, "
    "c_credit CHAR(2) NOT NULL, c_credit_lim DECIMAL(12,2) NOT NULL, "
    "c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, "
    "c_ytd_payment DECIMAL(12,2) NOT NULL, c_payment_cnt INT NOT NULL, "
    "c_delivery_cnt INT NOT NULL, c_data VARCHAR(500) NOT NULL, "
    "PRIMARY KEY (c_w_id, c_d_id, c_id), "
    "KEY customer_name (c_w_id, c_d_id, c_last, c_first)",
    "history": "h_c_id INT NOT NULL, h_c_d_id TINYINT NOT NULL, h_c_w_id INT NOT NULL, "
    "h_d_id TINYINT NOT NULL, h_w_id INT NOT NULL, h_date DATETIME NOT NULL, "
    "h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL",
    "orders": "o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id INT NOT NULL, "
    "o_c_id INT NOT NULL, o_entry_d DATETIME NOT NULL, o_carrier_id TINYINT NULL, "
    "o_ol_cnt TINYINT NOT NULL, o_all_local TINYINT NOT NULL, "
    "PRIMARY KEY (o_w_id, o_d_id, o_id), "
    "KEY orders_customer (o_w_id, o_d_id, o_c_id, o_id)",
    "new_order": "no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id INT NOT NULL, "
    "PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    "order_line": "ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id INT NOT NULL, "
    "ol_number TINYINT NOT NULL, ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, "
    "ol_delivery_d DATETIME NULL, ol_quantity TINYINT NOT NULL, "
    "ol_amount DECIMAL(6,2) NOT NULL, ol_dist_info CHAR(24) NOT NULL, "
    "PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    "item": "i_id INT NOT NULL, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL, "
    "i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL, PRIMARY KEY (i_id)",
    "stock": "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity SMALLINT NOT NULL, "
    + "".join(f"s_dist_{number:02} CHAR(24) NOT NULL, " for number in range(1, 11))
    + "s_ytd INT NOT NULL, s_order_cnt INT NOT NULL, s_remote_cnt INT NOT NULL, "
    "s_data VARCHAR(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id)",
}
"""The columns of each table."""


def statements(database: str, seed: int = 1) -> Iterator[str]:
    """What makes the tables in a new database of this name, whatever there was of it."""
    yield f"DROP DATABASE IF EXISTS {database}"
    yield f"CREATE DATABASE {database}"
    yield f"USE {database}"
    yield "CREATE TABLE contend_tpcc (name VARCHAR(64) PRIMARY KEY, value VARCHAR(255) NOT NULL)"
    chance = random.Random(seed)
    for table, body in TABLES.items():
        yield f"CREATE TABLE {table} ({body}) ENGINE=InnoDB"
    for table, rows in _rows(chance).items():
        yield f"INSERT INTO {table} VALUES {', '.join(map(_row, rows))}"
    told = {
        "state": "complete",
        "seed": seed,
        "warehouses": WAREHOUSES,
        "customers_per_district": CUSTOMERS,
        "items": ITEMS,
        "c_load": C_LOAD,
    }
    yield f"INSERT INTO contend_tpcc VALUES {', '.join(_row((n, str(v))) for n, v in told.items())}"


Row = Sequence[object]

_DATE = "2026-01-01 00:00:00"


def _row(values: Row) -> str:
    return f"({', '.join(_literal(value) for value in values)})"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _rows(chance: random.Random) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    address = ("a street", "another street", "a city", "CA", "123411111")

    def text(length: int) -> str:
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=length))

    for item in range(1, ITEMS + 1):
        price = chance.randint(100, 9999) / 100
        rows["item"].append((item, item, text(20), price, text(30)))
    for warehouse in range(1, WAREHOUSES + 1):
        paid = 10.0 * PEOPLE * 10
        rows["warehouse"].append((warehouse, text(8), *address, 0.1, paid))
        for item in range(1, ITEMS + 1):
            info = [text(24) for _ in range(10)]
            quantity = chance.randint(10, 100)
            rows["stock"].append((item, warehouse, quantity, *info, 0, 0, 0, text(40)))
        for district in range(1, 11):
            _add_district(rows, chance, text, warehouse, district, address)
    return rows


def _add_district(
    rows: dict[str, list[Row]],
    chance: random.Random,
    text: Callable[[int], str],
    warehouse: int,
    district: int,
    address: tuple[str, ...],
) -> None:
    orders = PEOPLE + 1
    rows["district"].append((district, warehouse, text(8), *address, 0.2, 10.0 * PEOPLE, orders))
    ordered = chance.sample(range(1, PEOPLE + 1), PEOPLE)
    for number in range(1, PEOPLE + 1):
        name = number - 1 if number <= CUSTOMERS else (number - CUSTOMERS - 1) // 2
        last = "".join(SYLLABLES[int(digit)] for digit in f"{name:03}")
        credit = "BC" if number % 5 == 0 else "GC"
        rows["customer"].append(
            (
                *(number, district, warehouse, text(10), "OE", last, *address, "1" * 16, _DATE),
                *(credit, 50000.0, 0.3, -10.0, 10.0, 1, 0, text(chance.randint(300, 500))),
            )
        )
        rows["history"].append(
            (number, district, warehouse, district, warehouse, _DATE, 10.0, text(20))
        )
        lines, is_delivered = chance.randint(5, 15), number <= DELIVERED
        carrier = chance.randint(1, 10) if is_delivered else None
        customer = ordered[number - 1]
        rows["orders"].append((number, district, warehouse, customer, _DATE, carrier, lines, 1))
        if not is_delivered:
            rows["new_order"].append((number, district, warehouse))
        for line in range(1, lines + 1):
            amount = 0.0 if is_delivered else chance.randint(1, 999999) / 100
            item = chance.randint(1, ITEMS)
            delivered = _DATE if is_delivered else None
            rows["order_line"].append(
                (number, district, warehouse, line, item, warehouse, delivered, 5, amount, text(24))
            )
