"""Studies in which no level does anything, and what a report would claim of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

from synthetic_run import DESIGN, FACTS  # noqa: E402

from contend.experiment import cell_key, load_experiment, planned_runs, roles_of, to_dict  # noqa: E402
from contend.findings import (  # noqa: E402
    Finding,
    Study,
    analyses_of,
    cell_figures,
    compared_of,
    costs_of,
    growth_of,
    leading_cell,
)
from contend.metrics import metric_of  # noqa: E402
from contend.report.notices import unsteady  # noqa: E402
from contend.store import LabSession, Meta, RunRecord  # noqa: E402

COLUMNS = (1, 8, 32, 64)
LEVELS = (0, 32, 64)
STATEMENTS = 3
ROUNDS = 12

EXPERIMENT = f"""
[experiment]
name = "nothing"
question = "Does nothing do anything?"
explain = "engines"

[data]
engine = "MyISAM"
rows = 1000

[workload]
kind = "list"
times = 1
statements = {[f"SELECT {number}" for number in range(STATEMENTS)]}

[load]
protocol = "text"

[factors]
"server.options.key_cache_segments" = {list(LEVELS)}
"load.connections" = {list(COLUMNS)}

[compare]
baseline = {{ "server.options.key_cache_segments" = 0 }}
metric = ["qps", "response_us_mean", "server_cpu_us_per_query"]
repeats = 8
"""


def template() -> Study:
    """An experiment without a run."""
    file = Path("/tmp") / "contend-nothing.toml"
    file.write_text(EXPERIMENT)
    experiment = load_experiment(str(file))
    file.unlink()
    planned = planned_runs(experiment, in_slices=True)
    session = LabSession("2026-01-01T00:00:00+00:00", {**FACTS, "way": DESIGN})
    made = session.started_at
    meta = Meta(1, "0", made, to_dict(experiment), planned, [session], "every run was made")
    metrics = tuple(map(metric_of, experiment.compare.metric))
    nothing: tuple[list[Any], list[Any], dict[Any, Any], dict[Any, Any]] = ([], [], {}, {})
    roles = roles_of(experiment)
    return Study(experiment, meta, roles, metrics, metrics, *nothing, set(), finished=True)


def drawn(study: Study, chance: np.random.Generator) -> Study:
    """Runs of it: servers differ for a whole repeat, blocks by what they have in common, slices by
    themselves; what a query costs goes with its speed in part."""
    by_cell: dict[Any, dict[int, list[RunRecord]]] = {}
    servers: dict[tuple[int, Any], np.ndarray] = {}
    blocks: dict[int, np.ndarray] = {}
    runs = []
    for one in study.meta.planned:
        level = one.cell["server.options.key_cache_segments"]
        server = servers.setdefault((one.repeat, level), chance.normal(0, 0.01, 4 + STATEMENTS))
        block = blocks.setdefault(one.block, chance.normal(0, 0.03, ROUNDS))
        slices = block + server[0] + chance.normal(0, 0.03, ROUNDS)
        own = chance.normal(0, 0.015, 4 + STATEMENTS) + server
        record = _record(one, slices, own)
        by_cell.setdefault(cell_key(one.cell), {}).setdefault(one.repeat, []).append(record)
        runs.append(record)
    return replace(
        study, records=runs, measured=runs, by_cell=by_cell, ended={run.run for run in runs}
    )


def _record(planned: Any, slices: np.ndarray, own: np.ndarray) -> RunRecord:
    speeds = 1000 * np.exp(slices)
    qps, queries = float(np.mean(speeds)), 10_000
    time_us = 8e6 / qps * math.exp(own[1] / 3)

    def times(at: float) -> dict[str, float]:
        return {"count": queries, "mean": at, "p50": at, "p95": 2 * at, "p99": 3 * at}

    done: Any = {
        "ended": "time",
        "measured_s": queries / qps,
        "queries": queries,
        "qps": qps,
        "latency_us": times(time_us),
        "latency_hdr_ns": "",
        "client": {"cpu_us": 20.0 * queries * math.exp(own[1])},
        "server": {
            "cpu_us": 400.0 * queries * math.exp(own[2] - own[0] / 2),
            "voluntary_switches": 2.0 * queries * math.exp(own[3]),
            "involuntary_switches": 0,
            "read_bytes": 100.0 * queries * math.exp(own[0] + own[3]),
        },
        "classes": [
            {"name": f"statement_{number}", "queries": 10, "latency_us": times(math.exp(at))}
            for number, at in enumerate(own[4:], 1)
        ],
    }
    intervals: Any = [
        {"index": index, "start_s": 0.1 * index, "duration_s": 0.1, "qps": float(one), "errors": 0}
        for index, one in enumerate(speeds)
    ]
    return RunRecord(
        run=planned.run,
        block=planned.block,
        repeat=planned.repeat,
        cell=planned.cell,
        status="ok",
        started_at="2026-01-01T00:00:00+00:00",
        ended_at="2026-01-01T00:00:01+00:00",
        plan={"load": {"slices": {"rounds": ROUNDS}}, "workload": {"kind": "list"}},  # type: ignore[typeddict-item]
        done=done,
        intervals=intervals,
        probes={},
    )


def promised(study: Study) -> dict[str, float]:
    """The chance of a false claim that each family may have."""
    names = ("first", "metrics", "costs", "statements", "leads", "growth", "steadiness", "causes")
    return {name: 1 - study.family(name).confidence for name in names}


def false_claims(study: Study) -> set[str]:
    """The families in which something is claimed to differ, or to change."""
    wrong = {one.contrast.family.name for one in _findings(study) if one.is_certain}
    cells = (cell_figures(study, cell.cell) for cell in study.meta.planned[: len(study.by_cell)])
    if unsteady(study, [one for one in cells if one is not None]):
        wrong.add("steadiness")
    return wrong


def _findings(study: Study) -> Iterator[Finding]:
    first, *beside = compared_of(study)
    assert first is not None
    for analysis in (first, *beside):
        if analysis is not None:
            yield from analysis.compared.findings
            yield from _pairs(study, analysis)
    for compared in costs_of(study):
        yield from compared.wholes
    names = [f"statement.statement_{number}.service_us_mean" for number in range(1, STATEMENTS + 1)]
    for analysis in analyses_of(study, list(map(metric_of, names)), study.family("statements")):
        assert analysis is not None
        yield from analysis.compared.findings
        yield from _pairs(study, analysis)
    for level in first.table.levels:
        lead = leading_cell(study, first, level)
        yield from lead.evidence if lead is not None else ()
    for growth in growth_of(study, [metric_of("qps")], study.family("growth")):
        yield from (one for row in growth.findings for one in row if one is not None)
    expected = [metric_of("switches_per_query"), metric_of("read_bytes_per_query")]
    for analysis in analyses_of(study, expected, study.family("causes"), only_wholes=True):
        assert analysis is not None
        yield from analysis.compared.wholes


def _pairs(study: Study, analysis: Any) -> Iterator[Finding]:
    from contend.findings.changes import finding

    yield from (finding(study, analysis.table, one) for one in analysis.answer.pairs)
