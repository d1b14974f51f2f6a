"""Whatever an accepted experiment asks and however its runs ended, its report is rendered whole: in
the terminal, as a page, as JSON, as every export, and beside another run of it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from made_up_looks import add_looks
from shown import as_text
from synthetic_run import (
    CONNECTIONS,
    DESIGN,
    FACTS,
    POINTS,
    SEGMENTS,
    as_failed,
    in_slices,
    record_of,
)

from contend.errors import RequestError
from contend.experiment import Experiment, Level, Planned, planned_runs, read_experiment, to_dict
from contend.findings import study_of
from contend.metrics import FIXED
from contend.report import Report, as_json, build, html
from contend.report.export import FORMATS, TABLES, csv_of, parquet_of, rows_of
from contend.report.gate import junit_of, markdown_of
from contend.runs.sides import RunSide
from contend.runs.sides_text import lines_of_sides, page_of, report_of_sides, sides_json
from contend.store import RunFolder, RunRecord
from contend.why.studies import STUDIES

LEVELS: Mapping[str, Sequence[Level]] = {
    "load.connections": (1, 8, 64),
    "load.measure": ("1s", "2s"),
    "load.depth": (1, 4),
    "server.options.whole": (0, 32, -5, 99_999_999_999),
    "server.options.text": ("a", "b c", "", "<i>&\"'|`é", "x" * 90),
    "server.options.switch": (True, False),
    "server.options.mixed": ("off", 32, True, 2.5),
    "server.use": ("mariadb@bookworm", "mariadb@trixie"),
    "server.warm": ("index", "full"),
    "data.engine": ("MyISAM", "InnoDB", "Aria"),
    "workload.kind": ("read_only", "point_select", "random_points"),
}
"""All kinds of columns: numbers, texts, switches, durations, and what is none of one kind."""

METRICS = (
    *FIXED,
    *("status.Handler_read_key_per_query", "statement.cheap.qps", "event.dear.response_us_p99"),
)

WORKLOADS = {
    "random_points": "",
    "sql": "text = '''\n@cheap\nSELECT 1;\n@dear\nSELECT 2;\n'''",
    "tpcc": '[data]\nschema = "tpcc"\nwarehouses = 1',
}


@dataclass(frozen=True)
class Drawn:
    """An experiment as its file has it, and what became of its runs, by the seed."""

    text: str
    seed: int
    metrics: tuple[str, ...]


def written(levels: Sequence[Level]) -> str:
    return f"[{', '.join(json.dumps(one) for one in levels)}]"


@st.composite
def experiments(draw: st.DrawFn) -> Drawn:
    chosen = draw(st.lists(st.sampled_from(sorted(LEVELS)), max_size=3, unique=True))
    factors = {
        path: draw(st.lists(st.sampled_from(LEVELS[path]), min_size=1, unique_by=repr))
        for path in chosen
    }
    workload = draw(st.sampled_from(sorted(WORKLOADS)))
    cause = draw(st.sampled_from((None, *sorted(STUDIES))))
    names = st.lists(st.sampled_from(METRICS), min_size=1, max_size=3, unique=True)
    lines = ["[experiment]", 'name = "any"']
    lines += [f'explain = "{cause}"'] if cause else []
    lines += ["[workload]", f'kind = "{workload}"', WORKLOADS[workload]]
    lines += ["[load]", 'measure = "2s"', "[factors]"]
    lines += [f"{json.dumps(path)} = {written(levels)}" for path, levels in factors.items()]
    lines += ["[compare]", f"metric = {json.dumps(draw(names))}"]
    lines += [f"repeats = {draw(st.sampled_from((2, 5)))}"]
    several = [path for path, levels in factors.items() if len(levels) > 1]
    baseline = draw(st.sampled_from((None, *several)))
    if baseline is not None:
        lines += [f"baseline = {{ {json.dumps(baseline)} = {json.dumps(factors[baseline][0])} }}"]
    limits = ("", 'at_most = "10m"', *(['fail_if_slower = "3%"'] if baseline else []))
    lines += [draw(st.sampled_from(limits))]
    if len(factors) > 1 and draw(st.booleans()):
        lines += published(factors, draw(st.sampled_from(("gain_percent", "figures"))))
    return Drawn("\n".join(lines) + "\n", draw(st.integers(0, 9999)), tuple(draw(names)))


def published(factors: Mapping[str, Sequence[Level]], what: str) -> list[str]:
    (columns, levels), (path, (level, *_)), *_ = factors.items()
    figures = [1.0 + n for n in range(len(levels))]
    return [
        *("[published.them]", 'machine = "m"', 'source = "s"'),
        f"columns = {{ {json.dumps(columns)} = {written(levels)} }}",
        f"rows = [{{ cell = {{ {json.dumps(path)} = {json.dumps(level)} }}, {what} = {figures} }}]",
    ]


def experiment_of(text: str) -> Experiment:
    try:
        return read_experiment(text, "any.toml", {})
    except RequestError:
        # What is refused is not accepted, and other tests see to how.
        assume(False)
        raise


def write(path: Path, experiment: Experiment, seed: int) -> None:
    """A run folder some of whose runs failed, were lost or not made, all in one cell or anywhere;
    its figures are of usual size, zero, missing or absurd."""
    chance = random.Random(seed)
    by_slices = experiment.compared is not None and chance.random() < 0.5
    planned = planned_runs(experiment, in_slices=by_slices)
    facts: dict[str, Any] = dict(chance.choice((FACTS, {})))
    odds = chance.choice(((0, 0, 0), (0.1, 0.1, 0.1), (1, 0, 0), (0, 0, 0.6)))
    broken = chance.choice((None, chance.choice(planned).cell))
    with RunFolder.create(
        path, to_dict(experiment), planned, facts | ({"way": DESIGN} if by_slices else {})
    ) as folder:
        clock = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
        for one in planned[: chance.choice((len(planned), chance.randint(0, len(planned))))]:
            clock += timedelta(seconds=2)
            record = record_for(experiment, one, chance, clock, by_slices=by_slices)
            how = chance.choices(("failed", "lost", "", "ok"), (*odds, max(0, 1 - sum(odds))))[0]
            how = "failed" if one.cell == broken else how
            if how in ("failed", "lost"):
                record = as_failed(record, "it broke", how)
            if how:
                folder.append(record)
        if chance.random() < 0.7:
            folder.finish("all planned runs are done")
    if experiment.factors and chance.random() < 0.3:
        add_looks(path, planned, (experiment.compared or experiment.factors[0]).path)


def record_for(
    experiment: Experiment,
    planned: Planned,
    chance: random.Random,
    clock: datetime,
    *,
    by_slices: bool,
) -> RunRecord:
    usual = {POINTS: 10, CONNECTIONS: chance.choice((1, 8)), SEGMENTS: chance.choice((0, 32))}
    noise = math.exp(chance.gauss(0, 0.05))
    record = record_of(experiment, replace(planned, cell=usual), chance, noise, clock)
    if by_slices:
        record = in_slices(record, [chance.uniform(900, 1000) for _ in range(6)], chance)
    done: dict[str, Any] = dict(record.done or {})
    odd = chance.choice((*[{}] * 4, *ODD_FIGURES))
    parts = [named("cheap", 40.0 * noise), named("dear", 100.0)]
    parts = chance.choice(([], parts, [*parts, named("new_order", 70.0)]))
    done |= {**odd, "classes": parts, "kinds": [{**one, "events": 10} for one in parts]}
    kind = planned.cell.get("workload.kind", experiment.base["workload"]["kind"])
    workload = {"kind": kind, "waits_percent": chance.choice((0, 100)), "text": "SELECT 1"}
    plan: Any = {**record.plan, "workload": workload}
    return replace(record, cell=dict(planned.cell), plan=plan, done=done)  # type: ignore[arg-type]


ODD_FIGURES: Sequence[dict[str, Any]] = (
    {"qps": 0.0, "queries": 0, "rows": 0, "latency_us": {"count": 0}, "latency_hdr_ns": ""},
    {"qps": 1e-9},
    {"qps": 1e15},
    {"measured_s": 1e-9},
    {"server": None},
    {"errors": [{"code": 1205, "sqlstate": "HY000", "message": "a\nb", "count": 3}]},
)


def named(name: str, us: float) -> dict[str, Any]:
    """A class of statements and a kind of event."""
    times = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "p999", "max"), us)
    counts = dict.fromkeys(("errors", "rows", "failed", "retries", "rolled_back"), 0)
    return {
        **counts,
        **{"name": name, "queries": 1000, "classes": [name], "latency_hdr_ns": ""},
        "latency_us": {"count": 10, **times},
    }


NO_BASELINE_BUT_TWO_METRICS = """
[experiment]
name = "any"
[workload]
kind = "point_select"
[factors]
"load.connections" = [1, 8]
[compare]
metric = ["qps", "response_us_p99"]
repeats = 2
"""
THREE_FACTORS_WITHOUT_A_BASELINE = """
[experiment]
name = "any"
[workload]
kind = "random_points"
[factors]
"server.options.x" = [0, 1]
"load.depth" = [4, 1]
"server.warm" = ["full", "index"]
"""
ONE_COLUMN_OF_PUBLISHED_FIGURES = """
[experiment]
name = "any"
[workload]
kind = "point_select"
[factors]
"load.connections" = [8]
"server.options.x" = [0, 1]
[compare]
baseline = { "server.options.x" = 0 }
repeats = 2
[published.them]
machine = "m"
source = "s"
columns = { "load.connections" = [8] }
rows = [{ cell = { "server.options.x" = 0 }, figures = [1.0] }]
"""


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(experiments())
@example(Drawn(NO_BASELINE_BUT_TWO_METRICS, 1, ("qps",)))
@example(Drawn(THREE_FACTORS_WITHOUT_A_BASELINE, 523, ("qps",)))
@example(Drawn(ONE_COLUMN_OF_PUBLISHED_FIGURES, 1, ("qps",)))
def test_every_rendering_is_whole(tmp_path_factory: pytest.TempPathFactory, drawn: Drawn) -> None:
    experiment = experiment_of(drawn.text)
    root = tmp_path_factory.mktemp("any")
    for name, seed in (("run", drawn.seed), ("other", drawn.seed + 1)):
        write(root / name, experiment, seed)
    with RunFolder.open(root / "run") as folder, RunFolder.open(root / "other") as other:
        render(folder, build(folder))
        try:
            render(folder, build(folder, drawn.metrics), drawn.metrics)
        except RequestError as error:
            assert "was recorded" in error.message
        sides = [RunSide(one.path.name, (study_of(one),)) for one in (folder, other)]
        try:
            beside = report_of_sides(sides)
        except RequestError as error:
            assert "no cell in common" in error.message
        else:
            assert list(lines_of_sides(beside)) and page_of(beside)
            json.dumps(sides_json(beside), allow_nan=False)


def render(folder: RunFolder, report: Report, metrics: tuple[str, ...] = ()) -> None:
    assert report.missing == ()
    pages = [as_text(report, full=full, width=1000) for full in (False, True)]
    pages.append(html.render(report, {}))
    assert not any("This part is missing" in text for text in pages)
    json.dumps(as_json(report), allow_nan=False)
    charts = html.all_charts(report)
    json.dumps([chart.spec for chart in charts], allow_nan=False)
    assert len({chart.id for chart in charts}) == len(charts)
    if report.gate is not None:
        assert junit_of(report.gate) and markdown_of(report.gate)
    assert FORMATS["json"].content(folder, "runs", metrics)
    for table in TABLES:
        rows = rows_of(folder, table, metrics)
        assert csv_of(rows) and parquet_of(rows)
