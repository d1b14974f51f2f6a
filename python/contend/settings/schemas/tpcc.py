"""The nine tables of TPC-C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contend.settings.model import Values
from contend.settings.schemas.model import Schema, of_data
from contend.settings.values import Choice, Flag, Key, Refused, WholeNumber

NAME = "tpcc"
"""Of the schema, and of the kind of workload that asks the transactions of TPC-C."""


@dataclass(frozen=True)
class Warehouses(Schema):
    """Counted by warehouses, of which partitions by value want one each."""

    def rows_in_all(self, size: int, own: Mapping[str, Any]) -> int:
        return round(size * self.rows_each / int(own["shrink"]))

    def smallest(self, own: Mapping[str, Any]) -> dict[str, Any]:
        return {**own, "warehouses": min(own["warehouses"], own["partitions"]), "shrink": 100}


def _asked_warehouses(cell: Values) -> None:
    """A workload that says nothing has as many as the data."""
    there = cell["data.warehouses"]
    for name in ("warehouses", "first_warehouse", "last_warehouse"):
        asked = cell["workload"].get(name)
        if cell["data.schema"] == NAME and asked is not None and asked > there:
            raise Refused(
                f"workload.{name} is {asked}, and data.warehouses is {there}",
                hint=f"Write warehouses = {asked} in [data], or leave workload.{name} out.",
                whole=True,
            )


def _enough_warehouses(cell: Values) -> None:
    by_value = cell["data.partition_by"] in ("range", "list")
    if by_value and cell["data.partitions"] > cell["data.warehouses"]:
        raise Refused(
            f"must be {cell['data.warehouses']} or fewer: partitions by "
            f"{cell['data.partition_by']} want a warehouse each"
        )


def _foreign_keys(cell: Values) -> None:
    if not cell["data.foreign_keys"]:
        return
    if cell["data.engine"] != "InnoDB":
        raise Refused(
            f"data.foreign_keys: {cell['data.engine']} has no foreign keys",
            hint='Leave foreign_keys out, or write engine = "InnoDB".',
            whole=True,
        )
    if cell["data.partition_by"] != "none":
        raise Refused(
            "data.foreign_keys and data.partition_by exclude one another: InnoDB has no foreign "
            "keys of, or to, a partitioned table",
            hint="Leave one of them out.",
            whole=True,
        )


def _share(cell: Values) -> None:
    first, last = (cell[f"data.{name}_warehouse"] for name in ("first", "last"))
    there = cell["data.warehouses"]
    if (first or 1) > (last or there) or (last or there) > there:
        raise Refused(
            f"data.first_warehouse and last_warehouse: warehouses {first or 1} to {last or there} "
            f"are not among the {there} of data.warehouses",
            whole=True,
        )


SCHEMA = Warehouses(
    NAME,
    database=NAME,
    tables=(
        *("warehouse", "district", "customer", "history", "orders", "new_order"),
        *("order_line", "item", "stock"),
    ),
    more=(),
    own=(
        of_data(
            Key("warehouses", WholeNumber(1, 100_000), 1, "of tpcc: how many, about 100 MB each"),
            _asked_warehouses,
        ),
        of_data(
            Key(
                "first_warehouse",
                WholeNumber(1, 100_000),
                None,
                "of tpcc: the first warehouse that this server has, of several servers that share "
                "them; a topology shares them out by itself (default: 1)",
            ),
            _share,
        ),
        of_data(
            Key(
                "last_warehouse",
                WholeNumber(1, 100_000),
                None,
                "of tpcc: the last warehouse that this server has (default: the last there is)",
            )
        ),
        of_data(
            Key(
                "partition_by",
                Choice(("none", "hash", "key", "range", "list")),
                "none",
                "of tpcc: how all tables but item are divided, by their warehouse",
            )
        ),
        of_data(
            Key("partitions", WholeNumber(1, 1024), 4, "of tpcc: into how many partitions"),
            _enough_warehouses,
        ),
        of_data(
            Key(
                "foreign_keys", Flag(), False, "of tpcc: the specification's foreign keys (InnoDB)"
            ),
            _foreign_keys,
        ),
        of_data(
            Key(
                "history_key",
                Flag(),
                False,
                "of tpcc: a primary key for history, which has none in the specification",
            )
        ),
        of_data(
            Key(
                "shrink",
                WholeNumber(1, 100),
                1,
                "of tpcc, for a trial: only one in so many of the customers, orders and items",
            )
        ),
    ),
    size_key="warehouses",
    rows_each=600_000,
    row_bytes=250,
    kind=NAME,
    scripts=True,
    in_dumps=True,
    owned_by={
        "warehouse": "w_id",
        "district": "d_w_id",
        "customer": "c_w_id",
        "history": "h_w_id",
        "orders": "o_w_id",
        "new_order": "no_w_id",
        "order_line": "ol_w_id",
        "stock": "s_w_id",
    },
)
