"""How many instructions of ours a query costs: what no noise of a machine can touch.

    python bench/instructions.py [--case "point_select prepared"] [--record]

Each case runs contend-load under callgrind against its own null server, by a native workload or
a bundled script, for two numbers of queries on one connection, and looks at the worker thread
alone: what the others do (reading the plan, summing up) depends on how long answers took. The
difference of the two, divided, is the cost of a query; the worker's own start cancels out, and
what the kernel does is not in it. The functions that cost most are listed below each case.

`--record` writes the figures to `bench/instructions.json`, which a test holds the program to.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contend.load import find_program

RECORD = Path(__file__).with_suffix(".json")
POINT_SELECT: dict[str, Any] = {"kind": "point_select", "rows": 1_000_000}
RANDOM_POINTS: dict[str, Any] = {"kind": "random_points", "rows": 1_000_000, "points": 10}
SCRIPT: dict[str, Any] = {"kind": "lua", "script": "oltp_point_select", "rows": 1_000_000}
# Workload, protocol, and the nodes that events are routed to by their keys; 0: one server.
CASES = {
    "point_select prepared": (POINT_SELECT, "prepared", 0),
    "point_select text": (POINT_SELECT, "text", 0),
    "point_select, two nodes": (POINT_SELECT, "prepared", 2),
    "random_points prepared": (RANDOM_POINTS, "prepared", 0),
    "random_points text": (RANDOM_POINTS, "text", 0),
    "oltp_point_select.lua": (SCRIPT, "prepared", 0),
}

QUERIES = (1_000, 11_000)
LISTED = 24
INTERVAL_S = 0.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES, help="only this one")
    parser.add_argument("--record", action="store_true", help="write the figures down")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("contend: valgrind is missing: install it (make test-needs)", file=sys.stderr)
        return 1
    program = find_program()
    figures = {}
    for case in [arguments.case] if arguments.case else CASES:
        figures[case] = round(instructions_a_query(program, case))
        print(f"{case}: {figures[case]} instructions a query\n{hot_functions(program, case)}\n")
    interval = instructions_an_interval(program, "point_select prepared")
    print(f"the end of an interval: {interval:.0f} instructions")
    if arguments.record:
        kept = json.loads(RECORD.read_text())["instructions"] if RECORD.exists() else {}
        record = {"made_by": made_by(program), "instructions": kept | figures}
        RECORD.write_text(json.dumps(record, indent=2) + "\n")
    return 0


def made_by(program: Path) -> dict[str, str]:
    """What else the figures depend on: they are only comparable where this is the same."""
    found = re.search(rb"rustc version ([^\0]+)", program.read_bytes())
    return {
        "rustc": found.group(1).decode() if found else "unknown",
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        # It decides which system calls there are, and which CPU the C library sees.
        "valgrind": subprocess.run(
            ["valgrind", "--version"], capture_output=True, text=True, check=True
        ).stdout.strip(),
    }


def instructions_a_query(program: Path, case: str) -> float:
    """The cost of one query of a case, in instructions outside the kernel."""
    few, many = QUERIES
    with null_server(program) as folder:
        counts = [total(profile(program, case, folder, queries)) for queries in QUERIES]
    return (counts[1] - counts[0]) / (many - few)


def instructions_an_interval(program: Path, case: str) -> float:
    """What the end of one interval costs the worker, in instructions outside the kernel."""
    with null_server(program) as folder:
        path, none = measured(program, case, folder, QUERIES[1])
        without = total(path)
        path, ended = measured(program, case, folder, QUERIES[1], interval_s=INTERVAL_S)
        return (total(path) - without) / (ended - none)


def hot_functions(program: Path, case: str) -> str:
    """The functions that a case spends most instructions in, as callgrind lists them."""
    with null_server(program) as folder:
        listed = subprocess.run(
            ["callgrind_annotate", "--auto=no", str(profile(program, case, folder, QUERIES[1]))],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    costs = [line for line in listed.splitlines() if re.match(r"\s*[\d,]+ \( *[\d.]+%\)", line)]
    return "\n".join(costs[:LISTED])


def total(profile: Path) -> int:
    """All instructions of a profile."""
    found = re.search(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)
    return int(found.group(1)) if found else 0


@contextmanager
def null_server(program: Path) -> Iterator[Path]:
    """Serves canned answers at `null.sock` of a folder until the block is left."""
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "null.sock"
        process = subprocess.Popen(
            [str(program), "null-server", f"--socket={socket}", "--threads=1"],
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield socket.parent
        finally:
            process.kill()
            process.communicate()


def profile(program: Path, case: str, folder: Path, queries: int) -> Path:
    """Run so many queries of a case. Returns the profile of the worker thread."""
    return measured(program, case, folder, queries)[0]


def measured(
    program: Path, case: str, folder: Path, queries: int, *, interval_s: float = 0
) -> tuple[Path, int]:
    """Run so many queries of a case. Returns the worker's profile, and how many intervals ended."""
    workload, protocol, nodes = CASES[case]
    server = {"socket": str(folder / "null.sock")}
    plan: dict[str, Any] = {
        "version": 1,
        "seed": 303,
        "server": server,
        "workload": workload,
        # The limit of time is never reached; valgrind knows no io_uring.
        "load": {"connections": 1, "threads": 1, "measure_s": 3600, "interval_s": interval_s,
                 "events_each": queries, "protocol": protocol, "engine": "epoll"},
    }  # fmt: skip
    if nodes:
        plan["nodes"] = [{"name": f"n{place}", "server": server} for place in range(nodes)]
        plan["load"]["route"] = {"by": "key"}
    out = folder / "callgrind.out"
    ran = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--separate-threads=yes"),
            *(f"--callgrind-out-file={out}", str(program), "run", "-"),
        ],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    last = lines[-1] if lines else {}
    # The first thread is the controller; of the others the worker is the busiest.
    threads = [path for path in folder.glob(f"{out.name}-*") if not path.name.endswith("-01")]
    if not threads or last.get("queries") != queries:
        raise RuntimeError(f"callgrind counted nothing:\n{ran.stdout[-1000:]}{ran.stderr[-2000:]}")
    intervals = sum(line["type"] == "interval" for line in lines)
    return max(threads, key=total), intervals


if __name__ == "__main__":
    sys.exit(main())
