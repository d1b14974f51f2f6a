"""Checks of a schema: conditions that its tables always meet.

A condition is a query that returns one row per violation; without rows, the condition holds.
All queries run in one consistent snapshot. If clients write to the server meanwhile, contend judges
a single state of the tables, as far as the storage engine supports this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

import pymysql
from pymysql.connections import Connection

from contend.errors import RequestError, WorkError, did_you_mean

TABLES = (
    *("warehouse", "district", "customer", "history"),
    *("orders", "new_order", "order_line", "item", "stock"),
)

CONTROL = "contend_tpcc"
"""Facts that contend's own load records about itself. Tables of other kits have none."""


@dataclass(frozen=True, slots=True)
class Condition:
    """
    Args:
        says: the condition, in a phrase.
        breaking: a query with a row per violation.
        fresh_only: it holds only until the tables are changed.
    """

    name: str
    says: str
    breaking: str
    fresh_only: bool = False


@dataclass(frozen=True, slots=True)
class EquationSide:
    """One side of an equation: its name in examples, and queries that each return the key and an
    amount. `must` is set if every key needs an amount."""

    name: str
    queries: tuple[str, ...]
    must: bool = True


def _unequal(keys: str, left: EquationSide, right: EquationSide) -> str:
    """The keys whose sums differ between the two sides, or that one side lacks."""
    parts = [
        f"SELECT {side} AS side, one.* FROM ({query}) AS one"
        for side, queries in enumerate((left.queries, right.queries))
        for query in queries
    ]
    names = f"side, {keys}, amount"
    lacks = [
        f"OR COUNT(IF(side = {number}, 1, NULL)) = 0"
        for number, side in enumerate((left, right))
        if side.must
    ]
    # The first part names the columns of all parts.
    whole = " UNION ALL ".join(parts)
    return (
        f"WITH sides ({names}) AS ({whole})"
        f" SELECT {keys}, SUM(IF(side = 0, amount, 0)) AS {left.name},"
        f" SUM(IF(side = 1, amount, 0)) AS {right.name}"
        f" FROM sides GROUP BY {keys}"
        f" HAVING NOT ({left.name} <=> {right.name}) OR SUM(amount IS NULL) > 0 {' '.join(lacks)}"
    )


_DISTRICT = "w_id, d_id"
_CUSTOMER = "w_id, d_id, c_id"
_ORDER = "w_id, d_id, o_id"

_LINES_OF_ORDERS = (
    "SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id"
)

_ORDERS = "(SELECT DISTINCT o_w_id, o_d_id, o_id, o_c_id, o_carrier_id FROM orders) AS orders"
"""Read once as a whole, because of the DISTINCT: through MariaDB's Spider a join queries a backend
for each single row, which takes one round trip per row."""

_DELIVERED_TO_CUSTOMERS = (
    f"SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) FROM order_line STRAIGHT_JOIN {_ORDERS}"
    " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
    " WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id"
)

_PAID_BY_CUSTOMERS = (
    "SELECT h_c_w_id, h_c_d_id, h_c_id, -SUM(h_amount) FROM history"
    " GROUP BY h_c_w_id, h_c_d_id, h_c_id"
)

_LAST_ORDERS = """
WITH sides (w_id, d_id, next_o_id, o_id, no_o_id) AS (
  SELECT d_w_id, d_id, d_next_o_id, NULL, NULL FROM district
  UNION ALL
  SELECT o_w_id, o_d_id, NULL, MAX(o_id + 0), NULL FROM orders GROUP BY o_w_id, o_d_id
  UNION ALL
  SELECT no_w_id, no_d_id, NULL, NULL, MAX(no_o_id + 0) FROM new_order GROUP BY no_w_id, no_d_id
)
SELECT w_id, d_id, MAX(next_o_id) AS d_next_o_id, MAX(o_id) AS max_o_id, MAX(no_o_id) AS max_no_o_id
FROM sides GROUP BY w_id, d_id
HAVING NOT (MAX(next_o_id) - 1 <=> MAX(o_id))
  OR (MAX(no_o_id) IS NOT NULL AND NOT (MAX(no_o_id) <=> MAX(o_id)))
"""
"""A district whose orders are all delivered has no new ones to compare with; condition 5 checks
that none is missing. The `+ 0` makes the server search all rows for the maximum: through MariaDB's
Spider a loose index scan returns only the groups of the first partition (10.11.19)."""

_GAPS = """
SELECT no_w_id AS w_id, no_d_id AS d_id, MIN(no_o_id) AS min_no_o_id, MAX(no_o_id) AS max_no_o_id,
  COUNT(*) AS new_orders
FROM new_order GROUP BY no_w_id, no_d_id
HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) OR SUM(no_o_id IS NULL) > 0
"""

_LINES_OF_NO_DELIVERY = f"""
SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, ol_number, ol_delivery_d, o_carrier_id
FROM order_line LEFT JOIN {_ORDERS}
  ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)
"""

CONDITIONS = (
    Condition(
        "1",
        "w_ytd is the sum of d_ytd",
        _unequal(
            "w_id",
            EquationSide("w_ytd", ("SELECT w_id, w_ytd FROM warehouse",)),
            EquationSide("sum_of_d_ytd", ("SELECT d_w_id, d_ytd FROM district",)),
        ),
    ),
    Condition("2", "d_next_o_id - 1 is the greatest o_id, and the greatest no_o_id", _LAST_ORDERS),
    Condition("3", "the no_o_id of a district have no gap", _GAPS),
    Condition(
        "4",
        "a district has as many order lines as its orders say",
        _unequal(
            _DISTRICT,
            EquationSide(
                "sum_of_o_ol_cnt",
                ("SELECT o_w_id, o_d_id, SUM(o_ol_cnt) FROM orders GROUP BY o_w_id, o_d_id",),
            ),
            EquationSide(
                "order_lines",
                ("SELECT ol_w_id, ol_d_id, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id",),
            ),
        ),
    ),
    Condition(
        "5",
        "an order has no carrier if and only if it is in new_order",
        _unequal(
            _ORDER,
            EquationSide(
                "orders_without_carrier",
                ("SELECT o_w_id, o_d_id, o_id, 1 FROM orders WHERE o_carrier_id IS NULL",),
            ),
            EquationSide("new_orders", ("SELECT no_w_id, no_d_id, no_o_id, 1 FROM new_order",)),
        ),
    ),
    Condition(
        "6",
        "an order has o_ol_cnt lines",
        _unequal(
            _ORDER,
            EquationSide("o_ol_cnt", ("SELECT o_w_id, o_d_id, o_id, o_ol_cnt FROM orders",)),
            EquationSide("order_lines", (_LINES_OF_ORDERS,)),
        ),
    ),
    Condition(
        "7",
        "a line has no delivery date if and only if its order has no carrier",
        _LINES_OF_NO_DELIVERY,
    ),
    Condition(
        "8",
        "w_ytd is the sum of the warehouse's h_amount",
        _unequal(
            "w_id",
            EquationSide("w_ytd", ("SELECT w_id, w_ytd FROM warehouse",)),
            EquationSide(
                "sum_of_h_amount", ("SELECT h_w_id, SUM(h_amount) FROM history GROUP BY h_w_id",)
            ),
        ),
    ),
    Condition(
        "9",
        "d_ytd is the sum of the district's h_amount",
        _unequal(
            _DISTRICT,
            EquationSide("d_ytd", ("SELECT d_w_id, d_id, d_ytd FROM district",)),
            EquationSide(
                "sum_of_h_amount",
                ("SELECT h_w_id, h_d_id, SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id",),
            ),
        ),
    ),
    Condition(
        "10",
        "c_balance is the amount delivered to the customer less the amount paid",
        _unequal(
            _CUSTOMER,
            EquationSide("c_balance", ("SELECT c_w_id, c_d_id, c_id, c_balance FROM customer",)),
            EquationSide(
                "delivered_less_paid", (_DELIVERED_TO_CUSTOMERS, _PAID_BY_CUSTOMERS), must=False
            ),
        ),
    ),
    Condition(
        "11",
        "seven of ten orders of a district are delivered: 2,100 of 3,000",
        _unequal(
            _DISTRICT,
            EquationSide(
                "orders_less_new_orders",
                (
                    "SELECT o_w_id, o_d_id, COUNT(*) FROM orders GROUP BY o_w_id, o_d_id",
                    "SELECT no_w_id, no_d_id, -COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id",
                ),
            ),
            EquationSide(
                "seven_tenths_of_customers",
                (
                    "SELECT c_w_id, c_d_id, COUNT(*) * 7 DIV 10 FROM customer"
                    " GROUP BY c_w_id, c_d_id",
                ),
            ),
        ),
        fresh_only=True,
    ),
    Condition(
        "12",
        "c_balance + c_ytd_payment is the amount delivered to the customer",
        _unequal(
            _CUSTOMER,
            EquationSide(
                "c_balance_and_c_ytd_payment",
                ("SELECT c_w_id, c_d_id, c_id, c_balance + c_ytd_payment FROM customer",),
            ),
            EquationSide("delivered", (_DELIVERED_TO_CUSTOMERS,), must=False),
        ),
    ),
)


def why_incomplete(cursor: Any) -> str | None:
    """Why the tables cannot be judged: contend has not finished loading them."""
    cursor.execute(
        "SELECT COUNT(*) FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s",
        (CONTROL,),
    )
    if cursor.fetchone()[0] == 0:
        return None
    cursor.execute(f"SELECT value FROM {CONTROL} WHERE name = 'state'")
    row = cursor.fetchone()
    state = "" if row is None else str(row[0])
    return None if state == "complete" else f"the load is not complete ({CONTROL}: {state!r})"


EXAMPLES = 3
"""The number of violating rows that are shown."""


SCHEMAS = ("tpcc",)
"""The schemas that have conditions, by the names that `data.schema` gives them."""


class Checked(TypedDict):
    """The result of one condition.

    broken: number of violating rows; None if the query did not run.
    examples: some of them, by column.
    """

    name: str
    says: str
    broken: int | None
    examples: list[dict[str, Any]]


class DataInconsistent(WorkError):
    """The tables violate a condition of their schema."""


def require_conditions(name: str) -> None:
    """Raise RequestError if contend knows no conditions of a schema of that name."""
    if name not in SCHEMAS:
        raise RequestError(
            f"contend has no conditions for the schema {name}",
            hint=did_you_mean(name, SCHEMAS) or f"It has some for {', '.join(SCHEMAS)}.",
        )


def check(connection: Connection[Any], database: str, name: str, *, fresh: bool) -> list[Checked]:
    """Check every condition of a schema.

    Args:
        connection: to the server; nothing is changed on it.
        fresh: the tables were not changed since they were loaded, so the conditions that hold only
            then are checked too.

    Raises:
        RequestError: the tables do not exist, or do not match the schema.
        WorkError: the server refused a query.
    """
    require_conditions(name)
    with _errors_of(name), connection.cursor() as cursor:
        cursor.execute(
            "SELECT LOWER(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
            (database,),
        )
        there = {str(row[0]) for row in cursor.fetchall()}
        # A condition without a table may lack the table as well.
        if there:
            connection.select_db(database)
            why = why_incomplete(cursor)
            if why is not None:
                raise RequestError(
                    f"the tables of {name} in {database} cannot be checked: {why}",
                    hint="Run the same `contend-load fill` again to complete it.",
                )
        missing = [table for table in TABLES if table not in there]
        if missing:
            raise RequestError(
                f"the database {database} has no table {', '.join(missing)}",
                hint=f"Name the database with the tables of {name}, or load them first.",
            )
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        checked = [
            _checked(cursor, condition, wanted=fresh or not condition.fresh_only)
            for condition in CONDITIONS
        ]
        # After an error or Ctrl-C the connection is closed, and a ROLLBACK would hide it.
        cursor.execute("ROLLBACK")
    return checked


def _checked(cursor: Any, condition: Condition, *, wanted: bool) -> Checked:
    checked: Checked = {
        "name": condition.name,
        "says": condition.says,
        "broken": None,
        "examples": [],
    }
    if not wanted:
        return checked
    cursor.execute(
        f"SELECT breaking.*, COUNT(*) OVER () FROM ({condition.breaking}) AS breaking"
        f" LIMIT {EXAMPLES}"
    )
    rows = cursor.fetchall()
    columns = [column[0] for column in cursor.description][:-1]
    checked["broken"] = int(rows[0][-1]) if rows else 0
    checked["examples"] = [
        {column: _plain(value) for column, value in zip(columns, row, strict=False)} for row in rows
    ]
    return checked


def _plain(value: object) -> object:
    """A value for JSON; money keeps its digits."""
    return value if value is None or isinstance(value, int) else str(value)


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    try:
        yield
    except pymysql.err.MySQLError as error:
        raise WorkError(
            f"the conditions of {name} could not be checked: {error.args[-1]}",
            hint="The tables may come from a different benchmark kit, with different columns.",
        ) from error


def lines_of(checked: Sequence[Checked]) -> Iterator[str]:
    """For people: one line per condition, and some examples for a violated one."""
    for condition in checked:
        if condition["broken"] is None:
            verdict = "not checked: it holds only until the tables are changed"
        elif condition["broken"] == 0:
            verdict = "holds"
        else:
            verdict = f"BROKEN by {condition['broken']:,}"
        yield f"{condition['name']:>3}  {condition['says']}: {verdict}"
        for example in condition["examples"]:
            values = ", ".join(
                f"{column} = {'NULL' if value is None else value}"
                for column, value in example.items()
            )
            yield f"       {values}"
        if condition["broken"] and condition["broken"] > len(condition["examples"]):
            yield f"       and {condition['broken'] - len(condition['examples']):,} more"
