"""The tables of an experiment file: what is a setting, and what is not.

The reader, the overrides, the factors, the JSON Schema and the reference page are all made from
the keys here and from those of the settings, so that a key is added in one place.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from contend.metrics import DISTURBANCES, THROUGHPUT
from contend.settings import SETTINGS
from contend.settings.model import Setting
from contend.settings.values import Choice, Choices, Duration, Key, Real, Text, Whole, Width
from contend.spec.metric_names import MetricNames

NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits, '.', '_' and '-', for folder names")

CAUSES = tuple(
    sorted(
        Path(each.name).stem.replace("_", "-")
        for each in (files("contend") / "findings" / "causes").iterdir()
        if each.name.endswith(".py") and not each.name.startswith("_")
    )
)
"""Each has a file of its own, which has its name."""

EXPERIMENT = (
    Key("name", NAME, None, "short name; run folders carry it (default: the file's name)"),
    Key("question", Text(), "", "what the experiment asks, one sentence"),
    Key(
        "explain",
        Choice(CAUSES),
        None,
        "which cause the report looks at",
    ),
)

COMPARE = (
    Key(
        "metric",
        MetricNames(),
        (THROUGHPUT,),
        "what is compared; of several the first decides, and the others stand beside it",
    ),
    Key(
        "by",
        Choice(("slices", "runs")),
        None,
        "how levels are compared: slices (a server of its own for each level, all of them warm, "
        "asked in turn a tenth of a second at a time) or runs (one server, one level after the "
        "other); by default slices if they can be had, and the report says why if not",
    ),
    Key(
        "repeats",
        Whole(2, 10_000),
        8,
        "how often each comparison is made, at least: with freshly started servers each time in "
        "slices, with a pair of runs in runs",
    ),
    Key(
        "until",
        Width(),
        None,
        "go on until the answer for each level as a whole is as narrow as this",
    ),
    Key(
        "at_most",
        Duration(),
        None,
        "how long to measure: all of it, or until the answer is as narrow as compare.until",
    ),
    Key(
        "wait_for_calm",
        Duration(),
        None,
        "how long the run waits, in all, for a host whose CPUs are far apart to become better "
        "before a block is measured; it is no part of compare.at_most (default: it does not wait)",
    ),
    Key(
        "layout",
        Choice(("matched", "system")),
        None,
        "memory layout of private servers that are compared in slices: matched (alike in all of "
        "them, drawn anew with each start) or system; by default matched if servers that are alike "
        "turn out to differ",
    ),
    Key(
        "adjust",
        Choices(tuple(DISTURBANCES)),
        (),
        "disturbances that are allowed for: steal (CPU time that the hypervisor took), neighbours "
        "(that other processes took), io (waiting for storage), distance (how far apart the CPUs "
        "were). If levels are compared by runs, by how much more one had of it than the other: the "
        "answer is that of undisturbed runs; in slices, where all levels of a block have the same, "
        "by how much more the block had than usual: the answer is that of the usual state. The "
        "report says what it bought",
    ),
    Key(
        "margin",
        Real(0.0, 1.0),
        0.02,
        "relative difference within which two levels count as equivalent: 0.02 is 2 percent",
    ),
    Key("confidence", Real(0.5, 1.0), 0.95, "confidence of the intervals"),
)

FIXED: dict[str, tuple[Key, ...]] = {"experiment": EXPERIMENT, "compare": COMPARE}
"""Tables of keys that are no settings: no cell depends on them."""


def settings_by_section() -> dict[str, tuple[Setting, ...]]:
    """Section -> its settings, in the order of `SETTINGS`; those of the top of the file have
    none."""
    sections: dict[str, list[Setting]] = {}
    for setting in SETTINGS:
        sections.setdefault(setting.section, []).append(setting)
    return {section: tuple(settings) for section, settings in sections.items()}


def top_level() -> tuple[str, ...]:
    """Every table, and every key outside of one."""
    sections = settings_by_section()
    alone = (setting.key.name for setting in sections.pop("", ()))
    return (
        *("experiment", *sections, *alone),
        *("factors", "compare", "published", *VARIANTS),
    )


VARIANTS = ("quick", "full")
"""Tables of overrides that `--quick` and `--full` put in place."""

MEANINGS = {
    "experiment": "what this is and what it asks",
    "server": "the server under test: a private one unless --server names one",
    "data": "the tables and their content",
    "load": "how hard and how long",
    "factors": "what varies: a path of this file in quotes, and the list of its levels",
    "compare": "what is compared with what, and how surely",
    "compare.baseline": "the factor compared and the level that the others are compared with",
    "published": "figures of other machines, shown beside ours",
    "quick": "overrides for --quick: a path in quotes, and its value or list of levels",
    "full": "overrides for --full: a path in quotes, and its value or list of levels",
}
