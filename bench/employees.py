"""How long does making the employees dataset take, beside `LOAD DATA` of ready files?

`dataset_fills.py` says what alternates with what.
"""

from __future__ import annotations

import argparse

from dataset_fills import publish_fills

LIMITS_S = {"MyISAM": 30, "InnoDB": 45}
FULL = 300_024
SALARIES = 2_844_047


def aim(engine: str) -> str:
    limit = LIMITS_S.get(engine)
    return f"Aim at full size: at most {limit} s." if limit else "No aim."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--employees", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="+", default=["MyISAM", "InnoDB", "Aria"])
    options = parser.parse_args()
    counts = {"employees": options.employees, "dept_manager": 24}
    if options.employees == FULL:
        counts["salaries"] = SALARIES
    publish_fills(
        "employees",
        [f"--rows={options.employees}"],
        counts,
        aims={engine: aim(engine) for engine in options.engines},
        rounds=options.rounds,
        name="employees",
        title=f"Making the employees dataset, {options.employees:,} employees",
    )


if __name__ == "__main__":
    main()
