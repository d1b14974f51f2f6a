"""Runs the command lines of a JSON file at once and says how each ended: a script for
`forked_contend`, so that a command of contend is a fork that has imported it already."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

AT_ONCE = 3
"""Of those that work; those that only wait for a server go together."""

LIMIT_S = 40
"""Ends what hangs; the test's own limit is shorter."""


def _become(case: dict[str, Any]) -> int:
    os.setpgid(0, 0)
    out = os.open(case["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in (1, 2):
        os.dup2(out, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(case["environment"])
    os.chdir(case["folder"])
    program, *words = case["command"]
    if program != "contend":
        os.execv(program, [program, *words])
    from contend.cli.main import main

    try:
        return main(words)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        return 70


def main() -> None:
    waiting: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())
    running: dict[int, tuple[dict[str, Any], float]] = {}
    ended = []
    while waiting or running:
        while waiting and sum(not case["waits"] for case, _ in running.values()) < AT_ONCE:
            case = waiting.pop(0)
            pid = os.fork()
            if pid == 0:
                code = 71
                try:
                    code = _become(case)
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            running[pid] = (case, time.monotonic())
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid in running:
            case, began_s = running.pop(pid)
            ended.append({
                "name": case["name"],
                "code": os.waitstatus_to_exitcode(status),
                "seconds": time.monotonic() - began_s,
                "megabytes": usage.ru_maxrss / 1024,
                "output": Path(case["output"]).read_text("utf-8", "replace"),
            })  # fmt: skip
            continue
        for late, (_, began_s) in running.items():
            if time.monotonic() - began_s > LIMIT_S:
                os.killpg(late, signal.SIGKILL)
        time.sleep(0.01)
    json.dump(ended, sys.stdout)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
