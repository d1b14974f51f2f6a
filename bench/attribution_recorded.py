"""Does `contend why` pick the causes that this host cannot have?

    python bench/attribution_recorded.py [RUN]

Memory of another node, a low frequency, stolen time and mitigations of the kernel cannot be put
into a server here. So a run of two servers that are alike is recorded (or RUN is taken, one of
`new-server-slower` with such a pair), and of the second server the records are changed as each of
them would change them: so many queries fewer, and the CPU time of the server and of the client as
the cause has it. Then it is asked which candidates fit on a host that could try all of them, and
what would be tried. What an experiment would say of them is not in it.
"""

from __future__ import annotations

import argparse
import copy
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from attribution import KEPT, RUN_S, command_between, contend
from lab import private_server
from rounds import machine, markdown_table

from contend.findings import compared_of, study_of
from contend.findings.study import Study
from contend.store import RunFolder, RunRecord
from contend.why.candidate import HostPowers, pair_of
from contend.why.plan import fitting

FEWER = (0.15, 0.30, 0.60)
"""Of the queries a second, how many the cause takes away."""

CPU = ("server_cpu_us_per_query", "client_cpu_us_per_query")
POWERS = HostPowers(cpus=2, root=True, groups=True, nodes=2, frequency=True)

Change = Callable[[RunRecord, float], None]


def _all_cpu_dearer(run: RunRecord, fewer: float) -> None:
    """The CPU time that was used did fewer queries."""


def _server_cpu_dearer(run: RunRecord, fewer: float) -> None:
    _done(run)["client"]["cpu_us"] *= 1 - fewer


def _stolen(run: RunRecord, fewer: float) -> None:
    for side in ("client", "server"):
        _done(run)[side]["cpu_us"] *= 1 - fewer
    run.probes["host"]["steal_share"] = fewer
    run.probes["host"]["own_cpu_s"] *= 1 - fewer


CAUSES: dict[str, Change] = {
    "memory-of-another-node": _server_cpu_dearer,
    "frequency": _all_cpu_dearer,
    "mitigations": _all_cpu_dearer,
    "steal": _stolen,
}


def _done(run: RunRecord) -> Any:
    assert run.done is not None
    return run.done


def changed(run: RunRecord, change: Change, fewer: float) -> RunRecord:
    """The record as it would be if the cause had been at work."""
    found = replace(run, done=copy.deepcopy(run.done), probes=copy.deepcopy(run.probes))
    done = _done(found)
    for name in ("qps", "queries", "events"):
        done[name] *= 1 - fewer
    for name in ("voluntary_switches", "involuntary_switches"):
        done["server"][name] *= 1 - fewer
    done["latency_us"]["mean"] /= 1 - fewer
    status = found.probes.get("status") or {}
    for name in status:
        status[name] = round(status[name] * (1 - fewer))
    change(found, fewer)
    return found


def altered(study: Study, change: Change, fewer: float) -> Study:
    """The study with the second server's records changed."""
    assert study.roles.compared is not None
    path, slow = study.roles.compared.path, study.roles.others[0]
    runs = {
        run.run: changed(run, change, fewer) if run.cell[path] == slow else run
        for run in study.measured
    }
    return replace(
        study,
        measured=list(runs.values()),
        by_cell={
            cell: {repeat: [runs[run.run] for run in each] for repeat, each in repeats.items()}
            for cell, repeats in study.by_cell.items()
        },
    )


def record(folder: Path) -> Path:
    """A run of two servers that are alike."""
    with private_server(KEPT) as one, private_server(KEPT) as other:
        given = (f"compare.at_most={RUN_S}s", "experiment.why=false", "load.connections=8")
        out = folder / "run"
        command = command_between((one, other), given)
        done = contend(*command, "--out", str(out), folder=folder)
        if done.returncode:
            raise SystemExit(done.stderr)
    return out


def rows_of(path: Path) -> list[list[str]]:
    with RunFolder.open(path) as folder:
        study, looks = study_of(folder, percentiles=False), folder.looks()
    rows = []
    for name, change in CAUSES.items():
        for fewer in FEWER:
            so = altered(study, change, fewer)
            (analysis, *_) = compared_of(so)
            assert analysis is not None
            (finding, *_) = analysis.compared.comparisons
            pair = pair_of(so, finding, POWERS, looks)
            dearer = [f"{pair.times(metric) or math.nan:.2f}" for metric in CPU]
            untested: dict[str, str] = {}
            fits = [one.name for one, _ in fitting(pair, untested)]
            reason = "would be tried" if name in fits else untested[name]
            others = ", ".join(f"`{one}`" for one in fits if one != name)
            change_of_qps = f"{finding.change.ratio - 1:+.0%}"
            rows.append([f"`{name}`", change_of_qps, *dearer, reason, others or "none"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, nargs="?")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="contend-attr-") as folder:
        rows = rows_of(args.run or record(Path(folder)))
    print(f"{machine()}\n")
    head = [
        "changed as by",
        "q/s",
        "server CPU",
        "client CPU",
        "of it",
        "others that would be tried",
    ]
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
