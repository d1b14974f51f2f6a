"""What contend-load says of a workload without a server, and the `prepare` of a script."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contend.errors import RequestError
from contend.load.child import Child
from contend.load.process import judge
from contend.program import PROGRAM

DESCRIBE_S = 60.0
"""Reading a script and running its body takes no time; a body that does something may."""

PREPARE_S = 24 * 3600.0


class ScriptProcess:
    """contend-load at `program`, asked about the workload of a plan."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def describe(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """What the script is: whether it is bundled, has a prepare, and which options it takes.

        Raises:
            RequestError: there is no such script, it has a mistake, or an option is none of its.
        """
        with Child([str(self.program), "script", "-"], {}) as child:
            child.send(json.dumps(plan).encode())
            said = b"".join(child.lines(limit_s=DESCRIBE_S))
            code, tail = child.wait(), child.stderr_tail()
        _require_accepted("script", code, tail)
        described: dict[str, Any] = json.loads(said)
        return described

    def check(self, plan: Mapping[str, Any]) -> None:
        """Let the plan be read, and all be made that needs no server.

        Raises:
            RequestError: something in it is wrong.
        """
        with Child([str(self.program), "run", "-", "--check"], {}) as child:
            child.send(json.dumps(plan).encode())
            for _line in child.lines(limit_s=DESCRIBE_S):
                pass
            code, tail = child.wait(), child.stderr_tail()
        _require_accepted("workload", code, tail)

    def prepare(self, plan: Mapping[str, Any], *, env: Mapping[str, str] | None = None) -> None:
        """Run the script's own prepare; the database is made where it is not there.

        Raises:
            LoadFailed: it failed, and says where.
        """
        argv = [str(self.program), "script", "-", "--prepare", "--create-database"]
        last: dict[str, Any] | None = None
        with Child(argv, env or {}) as child:
            child.send(json.dumps(plan).encode())
            for line in child.lines(limit_s=PREPARE_S):
                last = json.loads(line)
            code, tail = child.wait(), child.stderr_tail()
        judge(last, code, tail, done="prepared")


def _require_accepted(what: str, code: int, tail: str) -> None:
    """Raise what contend-load refused, in its own words."""
    if code == 0:
        return
    lines = [line for line in tail.splitlines() if line.startswith(f"{PROGRAM}: ")]
    if code == 2 and lines:
        raise RequestError(lines[-1].removeprefix(f"{PROGRAM}: "))
    raise RequestError(f"the {what} could not be read (exit code {code})", detail=tail or None)
