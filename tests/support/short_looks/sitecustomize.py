"""A Python whose looks at causes are short, and which draws no charts: what a test asks of a look
is not how exact it is."""

import sys

sys.modules["vl_convert"] = None  # type: ignore[assignment]


def shorten() -> None:
    from contend.lab import lock_look, looks, plan_look, switch_look

    looks.ROUNDS, looks.SLICE_S, looks.SETTLE_S = 9, 0.15, 0.03
    switch_look.ROUNDS, switch_look.SLICE_S, switch_look.SETTLE_S = 5, 0.05, 0.05
    lock_look.PARTS, lock_look.ROUNDS, lock_look.SLICE_S = 2, 1, 0.1
    plan_look.SLICE_S = 0.3


if "contend" in sys.orig_argv:
    shorten()
