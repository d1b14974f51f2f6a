"""How far do sessions of this host differ beyond their own errors?

    python bench/sessions.py [--sessions 24] [--every 10m] [--for 60s] [--name DATE] [--keep FOLDER]
    python bench/sessions.py --show [--name DATE]

A session is one `contend run` of the main job's cell with 8 connections and 10 points, 32 segments
over none. One begins every ten minutes, or when the one before is done, so 24 take four hours. Each
is kept as a line of `bench/results/sessions/NAME.jsonl`, with the state of the CPUs before and
after; begun anew, the command goes on. In the end, and with `--show`, it prints the standard
deviation between sessions with its interval, and how often the interval of one session holds the
common mean of the others: by its own error only, and with what sessions differ by. `--keep` keeps
the run folders too.

Alone on the machine: a neighbour is a state of the host too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rounds import machine

from contend.experiment import from_dict
from contend.lab.observations import Observations
from contend.lab.sessions import results_of
from contend.load import cpu_state, find_program
from contend.metrics.read import distance_ns
from contend.stats import Session, between, finite
from contend.stats.student import t_quantile
from contend.store import RunFolder
from contend.units import parse_duration_s

FOLDER = Path(__file__).parent / "results" / "sessions"
EXPERIMENT = "segmented-key-cache"
CELL = (
    "load.connections=[8]",
    "workload.points=[10]",
    "server.options.key_cache_segments=[0, 32]",
)

Line = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=24, help="how many there are in the end")
    parser.add_argument("--every", default="10m", help="from one begin to the next")
    parser.add_argument("--for", dest="time", default="60s", help="what each of them measures")
    parser.add_argument("--name", default=datetime.now(UTC).date().isoformat())
    parser.add_argument("--keep", type=Path, help="where the run folders stay")
    parser.add_argument("--show", action="store_true", help="record nothing")
    parser.add_argument("--set", action="append", default=[], help="of `contend run`, such as rows")
    args = parser.parse_args()
    path = FOLDER / f"{args.name}.jsonl"
    if not args.show:
        sets = [*CELL, *args.set]
        every_s = parse_duration_s(args.every)
        record(path, args.sessions, every_s, args.time, sets, args.keep)
    print(summary(read(path)))


def read(path: Path) -> list[Line]:
    """The sessions that were recorded; a line that was broken off is none."""
    if not path.exists():
        return []
    lines = []
    for line in path.read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            print(f"a line of {path} is damaged and left out", file=sys.stderr)
    return lines


def record(
    path: Path,
    sessions: int,
    every_s: float,
    time_each: str,
    sets: Sequence[str],
    keep: Path | None = None,
) -> None:
    """Make the sessions that are missing, one at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in range(len(read(path)) + 1, sessions + 1):
        begun_s = time.monotonic()
        line = {"session": number, **made(time_each, sets, keep)}
        torn = path.exists() and not path.read_bytes().endswith(b"\n")
        with path.open("a") as file:
            file.write(("\n" if torn else "") + json.dumps(line, separators=(",", ":")) + "\n")
        print(f"{number}/{sessions}: {told(line)}", file=sys.stderr, flush=True)
        if number < sessions:
            time.sleep(max(0.0, every_s - (time.monotonic() - begun_s)))


def made(time_each: str, sets: Sequence[str], keep: Path | None) -> Line:
    """One `contend run` from beginning to end."""
    program = find_program()
    with tempfile.TemporaryDirectory(prefix="contend-bench-") as place:
        out = (keep or Path(place)) / f"run-{now().replace(':', '')}"
        command = [sys.executable, "-m", "contend", "run", EXPERIMENT, "--yes", f"--out={out}"]
        command += [f"--for={time_each}", *(f"--set={one}" for one in sets)]
        begun_at, load_1m = now(), os.getloadavg()[0]
        before = cpu_state(program, memory=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = cpu_state(program, memory=True)
        if done.returncode:
            raise SystemExit(f"contend run failed:\n{done.stdout}\n{done.stderr}")
        with RunFolder.open(out) as folder:
            return {
                "begun_at": begun_at,
                "ended_at": now(),
                "machine": machine(),
                "load_1m": load_1m,
                "before": before,
                "after": after,
                "for": time_each,
                "sets": list(sets),
                **of_folder(folder),
            }


def of_folder(folder: RunFolder) -> Line:
    """What a run said, and how it was planned: enough to plan it otherwise afterwards."""
    meta, records = folder.meta(), folder.records()
    experiment = from_dict(meta.experiment)
    said = results_of(experiment, folder)
    learned = Observations(experiment)
    learned.add(records)
    logs = learned.log_ratios(sorted({one.repeat for one in records}))[:, 0, 0]
    components = learned.components()
    tiers = components.tiers if components else ()
    cuts = [one.plan["load"]["slices"] for one in records if one.plan["load"].get("slices")]
    states = {one.block: one.probes["state"] for one in records if "state" in one.probes}
    looks = [look for state in states.values() for look in (state["before"], state["after"])]
    return {
        "finished": meta.finished,
        "wholes": said["wholes"] if said else [],
        "logs": [finite(float(one)) for one in logs],
        "blocks": len({one.block for one in records}),
        "rounds": [cut["rounds"] for cut in cuts[:: len(learned.others) + 1]],
        "variances": {one.tier: finite(one.unbiased) for one in tiers},
        "distance_ns": [distance_ns([look]) for look in looks],
    }


def told(line: Line) -> str:
    """One session: its gain with half of its interval."""
    found = []
    for one in line["wholes"]:
        session = Session(one["log_ratio"], one["se"], one["df"])
        half = math.expm1(session.half_width())
        found.append(f"{one['level']}: {percent(one['log_ratio'])} ±{100 * half:.1f} %")
    return f"{', '.join(found)} ({len(line['logs'])} repeats)"


def summary(lines: Sequence[Line]) -> str:
    """All sessions, and for each level what they say together."""
    rows = [
        "| begun | gain | repeats | CPUs before and after, ns | load before |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        ends = [distance_ns([line[when]]) for when in ("before", "after")]
        apart = ", ".join("?" if ns is None else f"{ns:.0f}" for ns in ends)
        gain, _, repeats = told(line).partition(" (")
        repeats = repeats.removesuffix(" repeats)")
        rows.append(
            f"| {line['begun_at']} | {gain} | {repeats} | {apart} | {line['load_1m']:.1f} |"
        )
    levels = dict.fromkeys(
        (one["metric"], one["level"]) for line in lines for one in line["wholes"]
    )
    return "\n".join([*rows, "", *(together(lines, *of) for of in levels)])


def together(lines: Sequence[Line], metric: str, level: object) -> str:
    sessions = [
        Session(one["log_ratio"], one["se"], one["df"])
        for line in lines
        for one in line["wholes"]
        if (one["metric"], one["level"]) == (metric, level)
    ]
    found, left_out = between(sessions), left_out_of(sessions)
    if found is None:
        return (
            f"{metric}, {level}: {len(sessions)} sessions are too few to say how far they differ."
        )
    tau, low, high = (100 * math.expm1(one) for one in (found.tau, found.low, found.high))
    text = (
        f"{metric}, {level}: {found.n} sessions, common mean {percent(found.mean)} "
        f"±{100 * math.expm1(found.half_width):.1f} %; between sessions a standard deviation of "
        f"{tau:.1f} % [{low:.1f}, {high:.1f}] beyond their own errors; 95 % of them lie within "
        f"±{100 * math.expm1(found.spread):.1f} % of that mean."
    )
    if left_out is None:
        return text
    counts = [f"{100 * share:.0f} %" for share in left_out]
    return (
        f"{text} The interval of a session holds the common mean of the others in {counts[0]} of "
        f"{found.n} by its own error only, and in {counts[1]} with what the others differ by."
    )


def left_out_of(sessions: Sequence[Session]) -> tuple[float, float] | None:
    """Share of sessions whose 95 % interval holds the common mean of all others, 0 to 1: by their
    own error only, and with what the others differ by; None if too few tell."""
    told = [one for one in sessions if one.tells]
    own = with_tau = 0
    for at, one in enumerate(told):
        others = between([*told[:at], *told[at + 1 :]])
        if others is None:
            return None
        off, half = abs(one.log_ratio - others.mean), one.se * t_quantile(one.df, 0.975)
        own += off <= half
        with_tau += off <= math.hypot(half, others.spread, others.half_width)
    return (own / len(told), with_tau / len(told)) if told else None


def percent(log: float) -> str:
    return f"{100 * math.expm1(log):+.1f} %"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


if __name__ == "__main__":
    main()
