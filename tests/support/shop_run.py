"""Run folders of the shop of docs/guides/index-cost.md with made-up figures: an index makes three
selects a thousandth of what they were, and an insert a fifth dearer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from synthetic_run import write_run

from contend.experiment import load_experiment
from contend.store import LookRecord, RunFolder, RunRecord

INDEX = "setup.by_customer"
SCRIPT = """
@latest weight 1
SELECT id FROM orders WHERE customer = {c:uniform(1, 20000)} ORDER BY day DESC LIMIT 5;
@insert weight 9
INSERT INTO orders (customer) VALUES ({c:uniform(1, 20000)});
"""

SHOP = f"""
setup = [
  {{ name = "by_customer", do = "CREATE INDEX by_customer ON orders (customer)", undo = "DROP INDEX by_customer ON orders" }},
]

[experiment]
name = "shop"
question = "Does this index make my reads faster, and what does it cost my inserts?"

[data]
rows = 200_000

[workload]
kind = "sql"
text = '''{SCRIPT}'''

[load]
connections = 8

[factors]
"{INDEX}" = [false, true]

[compare]
baseline = {{ "{INDEX}" = false }}
repeats = 8
"""  # noqa: E501

_US = {"latest": (60_000.0, 25.0), "insert": (14.5, 17.6)}
_REDO, _ROWS = {"latest": (0, 0), "insert": (184, 240)}, {"latest": (200_000, 5), "insert": (0, 0)}

Change = Callable[[RunRecord], RunRecord]

SCAN = {"table": "orders", "type": "ALL", "key": None, "rows": 200_000, "extra": "Using filesort"}
BY_INDEX = {**SCAN, "type": "ref", "key": "by_customer", "rows": 10}
TRIVIAL = {"table": "orders", "type": "ALL", "key": None, "rows": None, "extra": ""}


def times(us: float, count: int) -> dict[str, float]:
    mean = dict.fromkeys(("mean", "min", "p50", "p90", "p95", "p99", "p999", "max"), us)
    return {"count": count, **mean}


def done_of(us: Any, *, cpu_us: float, events: int) -> dict[str, Any]:
    """An outcome of these kinds."""
    named = [
        {"name": kind, "latency_us": times(one, events), "rows": events, "errors": 0}
        for kind, one in us.items()
    ]
    total = events * len(us)
    return {
        "arrival": "closed-loop",
        "measured_s": 1.0,
        "queries": total,
        "rows": total,
        "events": total,
        "events_in_parts": float(total),
        "qps": float(total),
        "errors": [],
        "latency_us": times(max(us.values()), total),
        "server": {"cpu_us": cpu_us},
        "client": {"cpu_us": 1000.0},
        "classes": [{**one, "queries": events} for one in named],
        "kinds": [{**one, "events": events, "classes": [one["name"]]} for one in named],
    }


def as_shop(record: RunRecord) -> RunRecord:
    has_index = bool(record.cell[INDEX])
    wobble = 1 + (record.run * 7 % 5 - 2) / 400
    events = 100_000 if has_index else 600
    us = {kind: both[has_index] * wobble for kind, both in _US.items()}
    alone = {
        kind: {
            "done": done_of({kind: one}, cpu_us=0.9 * one * 100, events=100),
            "status": {
                "Questions": 122,
                "Innodb_lsn_current": round(120 * _REDO[kind][has_index] * wobble),
                "Handler_read_rnd_next": round(120 * _ROWS[kind][has_index] * wobble),
                "Innodb_row_lock_time": 0,
            },
        }
        for kind, one in us.items()
    }
    step = {
        "name": "by_customer",
        "do": "CREATE INDEX by_customer ON orders (customer)",
        "seconds": 1.3 * wobble,
        "at": record.started_at,
        "tables": {"orders": [5_783_552, 9_469_952]},
    }
    both = done_of(us, cpu_us=1e6, events=round(events * wobble))
    probes = {**record.probes, "alone": alone, "settings": {"setup": [step] if has_index else []}}
    plan = {**record.plan, "workload": {"kind": "sql", "text": SCRIPT}}
    return replace(record, done=both, plan=plan, probes=probes)  # type: ignore[arg-type]


def looks_at_plans(**error: str) -> list[LookRecord]:
    """What the server explains without the index and with it."""

    def statement(name: str, *tables: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "shape": f"shape of {name}", "tables": list(tables), "why_not": None}

    def look(has_index: bool) -> LookRecord:
        select = BY_INDEX if has_index else SCAN
        figures = {"statements": [statement("latest", select), statement("insert", TRIVIAL)]}
        when = "2026-03-01T10:20:00.000+00:00"
        kept = {} if error else figures
        return LookRecord("plans", 1, {INDEX: has_index}, when, when, kept, **error)

    return [look(False), look(True)]


def write_shop(
    folder: Path,
    text: str = SHOP,
    *,
    change: Change = lambda record: record,
    looks: list[LookRecord] | None = None,
) -> Path:
    """A run folder in `folder`."""
    file = folder / "shop.toml"
    file.write_text(text, encoding="utf-8")
    made = load_experiment(str(file))
    path = write_run(folder / "run", made, change=lambda record: change(as_shop(record)))
    with RunFolder.open(path, write=True) as kept:
        kept.add_looks(*(looks_at_plans() if looks is None else looks))
    return path
