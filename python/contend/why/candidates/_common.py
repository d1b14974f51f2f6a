"""What several candidates use: treatments of one variable and the placebos beside them, figures
that signatures look at, and reasons why something cannot be tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from contend.metrics import DISTURBANCES, Metric, Run
from contend.settings.values import Level
from contend.why.candidate import GLOBALS, OPTIONS, SESSION, Pair, Treatment

NOTHING = Treatment(
    "another variable set in the same way, which nobody asks for",
    {f"{GLOBALS}lock_wait_timeout": 86_399},
)
"""A placebo of what is set while the server runs: how long DDL waits for a lock."""

NOTHING_OF_SESSION = Treatment(
    "another variable that each connection sets for itself, which nobody asks for",
    {f"{SESSION}lock_wait_timeout": 86_399},
)
"""A placebo of what connections set for themselves."""

STARTED = Treatment(
    "the server started with another option in its place, which nobody asks for",
    {f"{OPTIONS}lock_wait_timeout": 86_399},
)
"""A placebo of what takes a start."""


def setting(words: str, *voids: str, **values: Level) -> Treatment:
    """Variables that are set while the server runs; `voids`: others that do nothing then."""
    return Treatment(words, {f"{GLOBALS}{name}": value for name, value in values.items()}, voids)


def started(words: str, **values: Level) -> Treatment:
    """Options that take a start."""
    return Treatment(words, {f"{OPTIONS}{name}": value for name, value in values.items()})


def fewer(pair: Pair) -> tuple[Treatment, ...]:
    """A small dose of whatever comes of many at once: a quarter fewer connections. None among less
    than four, where a quarter is half or all of it."""
    if pair.connections < 4:
        return ()
    count = pair.connections * 3 // 4
    return (Treatment(f"{count} connections in place of {pair.connections}", _load(count)),)


def _load(connections: int) -> Mapping[str, Level]:
    return {"load.connections": connections}


def is_database(pair: Pair) -> bool:
    """Whether it is a server with variables and engines."""
    return not pair.is_model


def per_question(run: Run, count: Callable[[Mapping[str, int]], float]) -> float | None:
    """What is counted in the server's status, for each statement that anybody asked; None if no
    status was recorded, or nothing asked."""
    status = run.probes.get("status")
    asked = (status or {}).get("Questions")
    return None if status is None or not asked else count(status) / asked


def variable(name: str, *values: str) -> Metric:
    """1 in runs of a server whose variable has one of these values in place of its default, else
    0."""

    def read(run: Run) -> float | None:
        differs = run.probes.get("variables_that_differ")
        if differs is None:
            return None
        found = differs.get(name)
        return float(found is not None and str(found["value"]).upper() in values)

    return Metric(f"variable.{name}", name, "", read)


def _idle_share(run: Run) -> float | None:
    host = run.probes.get("host")
    return None if host is None else max(0.0, 1 - host["busy_share"])


IDLE_SHARE = Metric(
    "host_idle_share", "Share of the CPUs' time in which they slept", "", _idle_share
)
STEAL_SHARE = Metric("host_steal_share", "Stolen CPU time", "", DISTURBANCES["steal"])
NEIGHBOURS_SHARE = Metric(
    "host_neighbours_share", "CPU time of others", "", DISTURBANCES["neighbours"]
)

NO_DATABASE = "the model server has nothing of the kind"
NOT_OURS = "it takes a start of the server, and contend does not start a server that is not its own"
NOT_MARIADB = "only MariaDB has it"
NOT_ROOT = "it takes root"
ONE_CPU = "this host has one CPU"
