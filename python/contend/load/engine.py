"""Which engine contend-load takes for a plan on this host, asked before anything is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import RequestError
from contend.load.child import Child
from contend.load.process import judge
from contend.program import PROGRAM

ASK_S = 60.0


@dataclass(frozen=True, slots=True)
class Engine:
    """The way bytes get in and out of the sockets.

    Args:
        name: `io_uring` or `epoll`.
        refused: why it is not io_uring, if the kernel refused that.
    """

    name: str
    refused: str | None = None


def ask_engine(program: Path, plan: Mapping[str, Any]) -> Engine:
    """What the contend-load at `program` takes for `plan`: what the plan names, or its choice.

    Raises:
        RequestError: the plan cannot have the engine that it names.
        LoadFailed: the kernel refuses the engine that it names.
    """
    last: dict[str, Any] | None = None
    with Child([str(program), "engine", "-"], {}) as child:
        child.send(json.dumps(plan).encode())
        for line in child.lines(limit_s=ASK_S):
            last = json.loads(line)
        code, tail = child.wait(), child.stderr_tail()
    if code == 2 and tail:
        raise RequestError(tail.splitlines()[-1].removeprefix(f"{PROGRAM}: "))
    said = judge(last, code, tail, done="engine")
    return Engine(name=str(said["engine"]), refused=said.get("refused"))
