"""Tests that are long by nature: `make test-long`, or `tools/test_long.py PART…` for some of them.

    fuzzing        each fuzz target of load/fuzz, by coverage (needs cargo-fuzz)
    properties     the property tests with other examples than each run of the tests has
    instructions   what a query costs contend-load, beside bench/instructions.json
    soak           minutes of one load: nothing grows, nothing is lost
    wheels         those of `make wheels` run: aarch64 under qemu, the other in a new environment
    kills          nodes of a cluster killed 100 times: nothing acknowledged is lost
    trust          promises of intervals and verdicts, on recorded servers and live (bench/trust.py)

Says when each last ran and what it found, and keeps that in tests/long/last.json, to be committed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "long" / "last.json"
FUZZ = Path("load/fuzz")
FUZZ_S = int(os.environ.get("CONTEND_FUZZ_S", "120"))
"""For each target."""
INPUT_BYTES_MAX = 512
INPUT_S_MAX = 30
"""An input that takes longer hangs."""

Found = tuple[str, dict[str, Any]]
"""What was found, empty if nothing, and figures."""


class NotRun(Exception):
    """A part lacks what it needs: it has found nothing, and its last record stays."""


def main() -> int:
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        print(f"contend: no such part: {unknown[0]}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"{name}: {told(record.get(name))}", flush=True)
    failed = False
    # Of a run folder that somebody broke `make test` tries 80.
    os.environ.setdefault("CONTEND_MUTANTS", "540")
    for name in wanted:
        print(f"\n{name} …", flush=True)
        began = time.monotonic()
        try:
            found, figures = PARTS[name]()
        except NotRun as lacks:
            print(f"{name}: not run: {lacks}", file=sys.stderr)
            failed = True
            continue
        record[name] = {
            "at": datetime.now(UTC).isoformat(timespec="minutes"),
            "commit": commit(),
            "minutes": round((time.monotonic() - began) / 60, 1),
            "found": found or "nothing",
            "figures": figures,
        }
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        print(f"{name}: {told(record[name])}", flush=True)
        failed |= bool(found)
    return 1 if failed else 0


def told(last: dict[str, Any] | None) -> str:
    """A sentence about a part's last run."""
    if last is None:
        return "it never ran"
    return (
        f"last ran at {last['at']} on {last['commit']}, {last['minutes']} min; found: "
        + (last["found"])
    )


def commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", f":!{RECORD}")
    return (git("rev-parse", "--short", "HEAD") or "?") + (" with changes" if changed else "")


def fuzzing() -> Found:
    # No address sanitizer: what the targets reach of ours is safe Rust. Without it the build is
    # cheaper, and any Rust will do.
    cargo_fuzz = ["cargo", "fuzz"]
    options = ["--fuzz-dir", FUZZ, "--sanitizer", "none"]
    if subprocess.run([*cargo_fuzz, "--version"], capture_output=True).returncode:
        raise NotRun("it needs `cargo install cargo-fuzz`")
    # The libraries that contend-load is made of, not the newest.
    shutil.copyfile(ROOT / "Cargo.lock", ROOT / FUZZ / "Cargo.lock")
    if subprocess.run([*cargo_fuzz, "build", *options], cwd=ROOT).returncode:
        return "the targets do not build", {}
    found, executions = [], {}
    for corpus in sorted((ROOT / FUZZ / "corpus").iterdir()):
        dictionary = FUZZ / "dictionaries" / f"{corpus.name}.dict"
        words = [f"-dict={dictionary}"] if (ROOT / dictionary).exists() else []
        words += [f"-max_total_time={FUZZ_S}", f"-timeout={INPUT_S_MAX}"]
        words += [f"-max_len={INPUT_BYTES_MAX}", "-print_final_stats=1"]
        with tempfile.TemporaryDirectory() as new:
            # What is new goes where the first folder is: the committed corpus stays as it is.
            command = [*cargo_fuzz, "run", *options, corpus.name, new, corpus, "--", *words]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        counted = re.search(r"number_of_executed_units: (\d+)", done.stderr)
        executions[corpus.name] = int(counted[1]) if counted else 0
        print(f"  {corpus.name}: {executions[corpus.name]:,} executions", flush=True)
        if done.returncode:
            print(done.stderr[-4000:], file=sys.stderr)
            said = re.search(r"(?:panicked at|ERROR: libFuzzer|error).*", done.stderr)
            found.append(f"{corpus.name}: {said[0] if said else f'exit {done.returncode}'}")
    return "; ".join(found), {"executions": executions}


def tests(*words: str) -> Callable[[], Found]:
    """Run some of pytest's tests."""

    def run() -> Found:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            command = [sys.executable, "-m", "pytest", f"--junitxml={report}", *words]
            command += ["--override-ini=junit_family=xunit1"]  # its cases have properties
            done = subprocess.run(command, cwd=ROOT, check=False)
            if not report.exists():
                return f"pytest ended with exit code {done.returncode}", {}
            cases = list(ElementTree.parse(report).iter("testcase"))
        named = [case.get("name", "?") for case in cases if bad(case)]
        skipped = sum(case.find("skipped") is not None for case in cases)
        figures: dict[str, Any] = {"tests": len(cases), "skipped": skipped}
        figures |= {str(p.get("name")): p.get("value") for c in cases for p in c.iter("property")}
        return "; ".join(named), figures

    return run


def trust() -> Found:
    done = subprocess.run(
        [sys.executable, "bench/trust.py"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    last = done.stdout.splitlines()[-1:] or [""]
    try:
        told = json.loads(last[0])
    except json.JSONDecodeError:
        return f"bench/trust.py ended with exit code {done.returncode}", {}
    return "; ".join(told["broken"]), {"promises": told["promises"]}


def bad(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


PARTS: dict[str, Callable[[], Found]] = {
    "fuzzing": fuzzing,
    "properties": tests("tests/unit", "--hypothesis-profile=further"),
    "instructions": tests("tests/long/test_instructions.py"),
    "soak": tests("tests/long/test_soak.py"),
    "wheels": tests("tests/long/test_wheels.py"),
    "kills": tests("tests/long/test_kills.py"),
    "trust": trust,
}

if __name__ == "__main__":
    sys.exit(main())
