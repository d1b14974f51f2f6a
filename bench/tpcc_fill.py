"""How long does making the data of TPC-C take, beside `LOAD DATA` of ready files and beside the
prepare of a script?

`dataset_fills.py` says what alternates with what; the script is `tpcc_prepare.lua`. Rows a
second and warehouses a minute follow from the medians.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dataset_fills import publish_fills

SCRIPT = Path(__file__).with_name("tpcc_prepare.lua")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--shrink", type=int, default=1, help="a trial: one row in so many")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="+", default=["InnoDB"])
    options = parser.parse_args()
    warehouses, shrink = options.warehouses, options.shrink
    size = (f"--with=warehouses={warehouses}", f"--with=shrink={shrink}")
    counts = {
        "warehouse": warehouses,
        "customer": warehouses * 10 * (3_000 // shrink),
        "orders": warehouses * 10 * (3_000 // shrink),
        "new_order": warehouses * 10 * (3_000 // shrink * 3 // 10),
        "stock": warehouses * (100_000 // shrink),
    }
    publish_fills(
        "tpcc",
        size,
        counts,
        aims=dict.fromkeys(options.engines, "Aim: at most 1.1 times the files."),
        rounds=options.rounds,
        name="tpcc-fill",
        title=f"Making the data of TPC-C, {warehouses} warehouses",
        script=(str(SCRIPT), f"--warehouses={warehouses}", f"--shrink={shrink}"),
    )


if __name__ == "__main__":
    main()
