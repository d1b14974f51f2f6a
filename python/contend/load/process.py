"""One run of contend-load as a process: plan in, outcomes out, never longer than planned.

The program answers on its standard output, one JSON document a line, and speaks to people on its
standard error, of which the end is kept for the error message.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from contend.load.child import Child, LoadFailed
from contend.load.plan import planned_s
from contend.outcome import Done, Outcome
from contend.plan import Plan
from contend.program import PROGRAM

OUTCOME_VERSION = 1
OnEvent = Callable[[Outcome], None]

GRACE_S = 20.0
"""How much longer than planned a run may take: connecting, the last answers, the summary."""


class Load(Protocol):
    """What drives load: the process, or a fake of it."""

    def run(self, plan: Plan, *, env: Mapping[str, str], on_event: OnEvent) -> Done: ...


class LoadProcess:
    """contend-load at `program`, run once a plan."""

    def __init__(self, program: Path, *, grace_s: float = GRACE_S) -> None:
        self.program = program
        self.grace_s = grace_s

    def run(self, plan: Plan, *, env: Mapping[str, str], on_event: OnEvent) -> Done:
        """Run `plan` to its end and return the `done` outcome.

        Args:
            env: added to the environment; where a password goes.
            on_event: called with every outcome as it arrives, the last one too.

        Raises:
            LoadFailed: the run was refused, broke, or did not end in its time.
        """
        connect_s = float(plan["server"].get("connect_timeout_s", 10.0))
        limit_s = planned_s(plan) + connect_s + self.grace_s
        last: dict[str, Any] | None = None
        with Child([str(self.program), "run", "-"], env) as child:
            child.send(json.dumps(plan).encode())
            for line in child.lines(limit_s=limit_s):
                last = parse(line)
                on_event(cast(Outcome, last))
            code = child.wait()
            tail = child.stderr_tail()
        return cast(Done, judge(last, code, tail))


def judge(
    last: dict[str, Any] | None, code: int, tail: str, *, done: str = "done"
) -> dict[str, Any]:
    """The outcome of type `done`, or the reason why there is none."""
    kind = last.get("type") if last else None
    if last is not None and kind == done and code == 0:
        return last
    if last is not None and kind == "error":
        raise LoadFailed(
            str(last.get("message", "the run failed")),
            hint=last.get("hint"),
            code=last.get("code"),
            sqlstate=last.get("sqlstate"),
            statement=last.get("statement"),
        )
    how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
    raise LoadFailed(f"{PROGRAM} ended with {how} and no result", detail=tail or None)


def parse(line: bytes) -> dict[str, Any]:
    try:
        outcome = json.loads(line)
    except ValueError:
        outcome = None
    if not isinstance(outcome, dict) or "type" not in outcome:
        raise LoadFailed(
            f"{PROGRAM} wrote a line that is not an outcome",
            detail=line[:200].decode(errors="replace"),
        )
    if outcome["type"] == "hello" and outcome.get("version") != OUTCOME_VERSION:
        raise LoadFailed(
            f"{PROGRAM} writes outcome version {outcome.get('version')}, and this contend reads "
            f"{OUTCOME_VERSION}",
            hint="Install both from the same version of contend.",
        )
    return outcome
