"""What several candidates use: treatments of one variable, and the placebos beside them."""

from __future__ import annotations

from contend.findings.candidate import GLOBALS, Pair, Treatment
from contend.spec import Level

NOTHING = Treatment(
    "another variable set in the same way, which nobody asks for",
    {f"{GLOBALS}lock_wait_timeout": 86_399},
)
"""A placebo of what is set while the server runs: how long DDL waits for a lock."""


def setting(words: str, **values: Level) -> Treatment:
    """Variables that are set while the server runs."""
    return Treatment(words, {f"{GLOBALS}{name}": value for name, value in values.items()})


def is_database(pair: Pair) -> bool:
    """Whether it is a server with variables and engines."""
    return not pair.is_model


NO_DATABASE = "the model server has nothing of the kind"
NOT_OURS = "it takes a start of the server, and contend does not start a server that is not its own"
ONE_CPU = "this host has one CPU"
