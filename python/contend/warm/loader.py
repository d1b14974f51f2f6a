"""Loads a plan: key caches by their statement, everything else by scans of contend-load; holds them
back if limits are given; notes how far it is."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pymysql
from pymysql.connections import Connection

from contend.load.plan import PLAN_VERSION
from contend.load.process import LoadDriver, LoadFailed
from contend.outcome import Done, Outcome, Scanned
from contend.plan import Plan, Server
from contend.servers.client import fetch
from contend.servers.kinds import KINDS
from contend.undo import Journal
from contend.warm.model import within_s
from contend.warm.throttle import NO_PROBE, Limits, Throttle
from contend.warm.work import WarmingBroke, WarmProgress, WarmUpResult, Work

LONGEST_S = 30 * 24 * 3600.0
INTERVAL_S = 0.1
NOTED_EVERY_S = 1.0

READ_ONLY = "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY"
"""The server itself then refuses any write, and keeps no old versions of rows for us."""


def load_parts(
    load: LoadDriver,
    server: Server,
    work: Work,
    journal: Journal,
    *,
    connect: Callable[[], Connection[Any]],
    env: Mapping[str, str],
    limits: Limits,
    connections: int,
    listen: Callable[[WarmProgress], None],
) -> WarmUpResult:
    """Have contend-load read all parts that are not done.

    Args:
        work: asked for `sizes` (bytes of each item by name), `kind` of the server, and `pages` of a
            range, by which `limits` count.
        env: where the password is.

    Raises:
        WarmingBroke: it did not come to its end.
    """
    ranges = work.ranges()
    sizes: Mapping[str, int] = work.asked["sizes"]
    limit = limits.pages_per_second
    pause_s = work.asked["pages"] * connections / limit if limit is not None else 0.0
    started_s = time.monotonic()
    noted_s = started_s
    last: Scanned | None = None
    skipped = _bytes_done(_skipped(work), ranges, sizes)

    def heard(outcome: Outcome) -> None:
        nonlocal noted_s, last
        if outcome["type"] == "hello":
            throttle.hold(outcome["pid"])
        if outcome["type"] != "interval" and outcome["type"] != "done":
            return
        scanned = outcome.get("scanned")
        if scanned is None:
            return
        last = scanned
        done = _bytes_done({p["name"]: p["ranges"] for p in scanned["parts"]}, ranges, sizes)
        work.upto = scanned["upto"]
        now_s = time.monotonic()
        if now_s >= noted_s + NOTED_EVERY_S:
            work.note(journal)
            noted_s = now_s
        listen(WarmProgress(done, sizes, now_s - started_s, throttle.held))

    with Throttle(connect, limits, _probe(work.parts), connections) as throttle:
        try:
            plan = _plan(server, work, work.asked["kind"], connections, pause_s)
            # A load that is held back, for however long, would not have looked for answers.
            if not limits.are_watched:
                plan["load"]["answer_timeout_s"] = within_s(max(sizes.values(), default=0))
            ended = load.run(plan, env=env, on_event=heard)
        except LoadFailed as error:
            raise WarmingBroke(
                f"the warm-up broke off: {throttle.broken or error.message}",
                hint="What is done is noted: go on with `contend warm --resume`.",
                detail=error.detail,
            ) from error
        finally:
            work.note(journal)
        held_s = throttle.held_s
    done = _bytes_done(_counted(last), ranges, sizes)
    return WarmUpResult(
        sum(done.values()) - sum(skipped.values()),
        time.monotonic() - started_s,
        held_s,
        _refused(ended, last),
    )


def _plan(server: Server, work: Work, kind: str, connections: int, pause_s: float) -> Plan:
    plan = {
        "version": PLAN_VERSION,
        "server": {**server, "init_sql": [KINDS[kind].patience, READ_ONLY]},
        "workload": {"kind": "scan", "parts": work.parts, "skip": work.upto},
        "load": {
            "connections": connections,
            "measure_s": LONGEST_S,
            "interval_s": INTERVAL_S,
            "protocol": "text",
            # Each connection rests between two ranges, so a limit of pages is never exceeded.
            "arrival": {"kind": "closed", "think_s": pause_s},
            # A table that is gone is no reason to leave the others cold; a lost server is.
            "errors": {"ignore_all": True, "reconnect": False},
        },
        "seed": 0,
    }
    return cast("Plan", plan)


def _skipped(work: Work) -> dict[str, int]:
    """Ranges that an earlier run has done, by name."""
    left, found = work.upto, {}
    for name, count in work.ranges().items():
        found[name] = min(left, count)
        left -= found[name]
    return found


def _bytes_done(
    done: Mapping[str, int], ranges: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, float]:
    return {name: sizes.get(name, 0) * done.get(name, 0) / count for name, count in ranges.items()}


def _counted(scanned: Scanned | None) -> dict[str, int]:
    return {} if scanned is None else {part["name"]: part["ranges"] for part in scanned["parts"]}


def _refused(ended: Done, scanned: Scanned | None) -> dict[str, str]:
    """Item -> why. Errors are counted by code, each with one statement as its example."""
    names = [part["name"] for part in scanned["parts"] if part["refused"]] if scanned else []
    said = [f"{error['message']} ({error['code']})" for error in ended["errors"]]
    why = said[0] if len(said) == 1 else "; or ".join(said)
    return dict.fromkeys(names, why or "the server refused it")


def _probe(parts: Sequence[Mapping[str, Any]]) -> Callable[[], str]:
    """A statement that reads a row by its key, another one each time; if no table has a whole
    number as its key, one that reads nothing."""
    draw = random.Random(0)
    for part in parts:
        keys, statement = part.get("keys"), str(part["statement"])
        if keys is not None and "FORCE INDEX (`PRIMARY`)" in statement:
            _, _, source = statement.partition(" FROM ")
            where = source.removesuffix(" BETWEEN")
            return lambda: (
                f"SELECT 1 FROM {where} = {draw.randint(keys['first'], keys['last'])} LIMIT 1"
            )
    return lambda: NO_PROBE


def end_marked(connection: Connection[Any], mark: str) -> int:
    """End statements of a warm-up that still run; how many. A user may always end its own."""
    ended = 0
    for row in fetch(connection, "SHOW FULL PROCESSLIST"):
        if f"/* {mark} */" in str(row[7] or ""):
            # It may have come to its end by itself.
            with contextlib.suppress(pymysql.err.MySQLError):
                fetch(connection, f"KILL QUERY {int(row[0])}")
                ended += 1
    return ended
