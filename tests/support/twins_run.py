"""Answers of `contend-load recording ask`, and run folders of them, with made-up figures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthetic_run import FACTS, write_run

from contend.experiment import load_experiment
from contend.lab.twins import answers_of_arms
from contend.metrics.twins import RecordedTemplate
from contend.store import LookRecord, RunFolder, RunRecord

INDEX = "setup.dropped"
TWINS = f"""
setup = [
  {{ name = "dropped", do = "DROP INDEX by_product ON items", undo = "CREATE INDEX by_product ON items (product)" }},
]

[experiment]
name = "twins"
question = "What do my queries lose without this index?"

[data]
schema = "import:shop"

[workload]
kind = "twins"
recording = "shop-peak"

[factors]
"{INDEX}" = [false, true]

[compare]
baseline = {{ "{INDEX}" = false }}
repeats = 6
"""  # noqa: E501

TEXTS = (
    "SELECT name FROM products WHERE id = ?",
    "SELECT SUM(quantity) FROM items WHERE product = ?",
    "SELECT id FROM orders WHERE customer = ? ORDER BY placed DESC LIMIT ?",
    "SELECT COUNT(*) FROM orders WHERE placed > NOW() - INTERVAL ? DAY",
    "SELECT city, COUNT(*) FROM customers GROUP BY city",
)
US = (40.0, 300.0, 120.0, 900.0, 20_000.0)
CALLS = (20_000, 900, 4_000, 300, 20)
PAIRS = 50


def asked(
    arms: Sequence[str],
    ratios: Mapping[int, float],
    *,
    noise: float = 0.0,
    seed: int = 0,
    change: Callable[[dict[str, Any]], None] = lambda _outcome: None,
) -> dict[str, Any]:
    """The last line of a run on these arms.

    Args:
        ratios: of the time of each later arm to that of the first, by template; 1 for the others.
        noise: standard deviation of each template's log-ratio.
        change: alters the outcome.
    """
    drawn = random.Random(f"asked {seed}")
    times = [us * calls for us, calls in zip(US, CALLS, strict=True)]
    templates = []
    for at, us in enumerate(US):
        logs = [math.log(ratios.get(at, 1.0)) + drawn.gauss(0, noise) for _ in arms[1:]]
        templates.append(
            {
                "template": at,
                "hash": f"{at:016x}",
                "read": True,
                "calls": CALLS[at],
                "share": times[at] / sum(times),
                "asked": PAIRS,
                "planned": PAIRS,
                "left_out": {},
                "one_sided": 0,
                "rows_only": 0,
                "not_compared": PAIRS if "NOW()" in TEXTS[at] else 0,
                "stopped": None,
                "arms": [_figures(us * math.exp(log)) for log in (0.0, *logs)],
                "pairs": [
                    {
                        "arm": arm,
                        "pairs": PAIRS,
                        "mean_ln_ratio": log,
                        "var_ln_ratio": 0.01,
                        "rows_differ": 0,
                        "results_differ": 0,
                        "ties_differ": 0,
                    }
                    for arm, log in zip(arms[1:], logs, strict=True)
                ],
            }
        )
    outcome = {
        "type": "ask_done",
        "ended": "done",
        "elapsed_s": 5.0,
        "warm_s": 1.0,
        "shares_of": "time",
        "asked": PAIRS * len(US),
        "planned": PAIRS * len(US),
        "warm": 25,
        "incomplete_templates": 0,
        "arms": [
            {"arm": arm, "reconnects": 0, "watched_cpu_us": 1e6, **_of_arm(templates, at)}
            for at, arm in enumerate(arms)
        ],
        "templates": templates,
        "left_out": {"write": {"templates": 2, "calls": 1_500, "share": 0.0}},
        "missing_tables": [],
        "missing_tables_total": 0,
        "missing_tables_share": 0.0,
        "timestamp_refused": None,
    }
    change(outcome)
    return outcome


def _figures(us: float) -> dict[str, Any]:
    return {
        "count": PAIRS,
        "sum_us": us * PAIRS,
        "mean_ln_us": math.log(us),
        **dict.fromkeys(("p50_us", "p95_us", "p99_us", "max_us"), us),
        "rows": PAIRS,
        "errors": {},
        "no_database": 0,
        "too_slow": 0,
        "rows_logged": PAIRS,
        "rows_as_logged": PAIRS,
        "not_rolled_back": 0,
    }


def _of_arm(templates: list[dict[str, Any]], at: int) -> dict[str, Any]:
    every = [one["arms"][at] for one in templates]
    summed = ("count", "sum_us", "rows", "rows_logged", "rows_as_logged")
    return {**_figures(1.0), **{name: sum(one[name] for one in every) for name in summed}}


RECORDED: list[RecordedTemplate] = [
    {
        "template": at,
        "text": text,
        "calls": CALLS[at],
        "mean_us": US[at],
        "p99_us": US[at],
        "rows_sent_mean": 1.0,
        "rows_examined_mean": 12.0,
    }
    for at, text in enumerate(TEXTS)
]


def looks_at_twins(*, differs: Sequence[int] = (1,)) -> list[LookRecord]:
    """What the pass at the end finds: these templates lose their index."""
    scan = {"table": "items", "type": "ALL", "key": None, "rows": 240_000, "extra": "Using where"}
    by_key = {**scan, "type": "ref", "key": "by_product", "rows": 12, "extra": ""}

    def look(is_dropped: bool) -> LookRecord:
        statements = []
        for at in range(len(TEXTS)):
            lost = is_dropped and at in differs
            statements.append(
                {
                    "template": at,
                    "number": 100 + at,
                    "shape": f"template {at}",
                    "tables": [scan if lost else by_key],
                    "why_not": None,
                    "counted": {
                        "Handler_read_key": 0 if lost else 1,
                        "Handler_read_rnd_next": 240_001 if lost else 0,
                    },
                }
            )
        when = "2026-03-01T10:20:00.000+00:00"
        figures = {"statements": statements}
        return LookRecord("twin_plans", 1, {INDEX: is_dropped}, when, when, figures)

    return [look(False), look(True)]


def write_twins(
    folder: Path,
    ratios: Mapping[int, float],
    *,
    text: str = TWINS,
    noise: float = 0.02,
    change: Callable[[dict[str, Any]], None] = lambda _outcome: None,
    looks: Sequence[LookRecord] | None = None,
) -> Path:
    """A run folder in `folder`, in which these templates take so many times the time without the
    index."""
    file = folder / "twins.toml"
    file.write_text(text, encoding="utf-8")
    made = load_experiment(str(file))

    def as_twins(record: RunRecord) -> RunRecord:
        outcome = asked(("off", "on"), ratios, noise=noise, seed=record.repeat, change=change)
        twins = answers_of_arms(outcome)[bool(record.cell[INDEX])]
        step = {
            "name": "dropped",
            "do": "DROP INDEX by_product ON items",
            "seconds": 0.1 + record.run % 7 / 500,
        }
        steps = [{**step, "at": record.started_at, "tables": {}}] if record.cell[INDEX] else []
        probes = {**record.probes, "twins": twins, "settings": {"setup": steps}}
        return replace(record, probes=probes)  # type: ignore[arg-type]

    facts = {
        **FACTS,
        "recordings": {
            "shop-peak": {
                "digest": "0" * 64,
                "statements": sum(CALLS),
                "begin_us": 0,
                "end_us": 3_600_000_000,
                "templates": RECORDED,
            }
        },
    }
    path = write_run(folder / "run", made, change=as_twins, facts=facts)
    with RunFolder.open(path, write=True) as kept:
        kept.add_looks(*(looks_at_twins() if looks is None else looks))
    return path
