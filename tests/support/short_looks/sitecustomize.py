"""A Python whose looks at causes are short, and which draws no charts: what a test asks of a look
is not how exact it is."""

import sys

sys.modules["vl_convert"] = None  # type: ignore[assignment]


def shorten() -> None:
    from contend.sections import budget, lock_waits, plans, switches

    budget.ROUNDS, budget.SLICE_S, budget.SETTLE_S = 9, 0.15, 0.03
    switches.ROUNDS, switches.SLICE_S, switches.SETTLE_S = 5, 0.05, 0.05
    lock_waits.PARTS, lock_waits.ROUNDS, lock_waits.SLICE_S = 2, 1, 0.1
    plans.SLICE_S = 0.3


if "contend" in sys.orig_argv:
    shorten()
