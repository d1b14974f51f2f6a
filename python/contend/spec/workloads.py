"""Which workloads there are, and what each can be told.

The load generator's plan is the source of these kinds; a test holds this table equal to the
schema that it prints. Repeating it here lets a file be checked, and an editor complete it,
without starting a program. `rows`, `table` and `tables` are missing on purpose: they
follow from `[data]`.
"""

from __future__ import annotations

import math

from contend.spec.values import Key, Options, Real, Tagged, Text, Whole

SCRIPT = "lua"
"""The kind of workload that is a sysbench script."""

SUPPLIED = frozenset({"rows", "table", "tables"})
"""Parameters of the plan that the lab fills in from the dataset."""

_ITER = Key("iter", Whole(1, 2**32 - 1), 12, "how many uniform draws are averaged")

DISTRIBUTION = Tagged(
    noun="distribution",
    default_kind="uniform",
    kinds={
        "uniform": (),
        "gaussian": (_ITER,),
        "special": (
            _ITER,
            Key("pct", Whole(1, 100), 1, "size of the hot middle, in percent of the range"),
            Key("res", Whole(0, 100), 75, "how many percent of the draws fall in the hot middle"),
        ),
        "pareto": (Key("h", Real(0.0, 1.0), 0.2, "shape: smaller is more skewed"),),
        "zipfian": (Key("exp", Real(0.0, math.inf), 0.8, "exponent: larger is more skewed"),),
    },
    descriptions={
        "uniform": "every key equally likely",
        "gaussian": "the mean of `iter` uniform draws: a bell around the middle",
        "special": "`res` percent of the draws in the middle `pct` percent, the rest gaussian",
        "pareto": "a few keys take most draws, as a power law",
        "zipfian": "the i-th most frequent key is drawn in proportion to 1 / i^exp",
    },
)

_DISTRIBUTION_KEY = Key("distribution", DISTRIBUTION, {"kind": "uniform"}, "how keys are drawn")

WORKLOAD = Tagged(
    noun="workload",
    default_kind="point_select",
    kinds={
        "point_select": (_DISTRIBUTION_KEY,),
        "random_points": (
            Key("points", Whole(1, 65_535), 10, "how many keys one query asks for"),
            _DISTRIBUTION_KEY,
        ),
        SCRIPT: (
            Key(
                "script",
                Text(r"[^\x00-\x1f]+", "a bundled script's name, or the path of a file"),
                None,
                "a bundled script by name, or a file: its path, from the folder of this file, has "
                "a slash or ends in .lua",
                required=True,
            ),
            Key("options", Options(), {}, "options of the script"),
        ),
    },
    descriptions={
        "point_select": "SELECT c FROM sbtest WHERE id = ?",
        "random_points": "SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)",
        SCRIPT: "a sysbench script: one of its threads a connection, each query of it counted, "
        "each `event()` an event",
    },
)
