"""The shop of docs/guides/index-cost.md, small, on a real server: both sides at the same load, what
each statement costs by itself, and what the index takes, adds and changes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_lab import Lab

from contend.metrics.read import alone, at_rate

SHOP = Path(__file__).parents[2] / "bench" / "experiments" / "index-cost.toml"
KINDS = {"latest", "spent", "count", "insert"}

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


def test_a_shop_is_measured_at_the_same_load(lab: Lab) -> None:
    text = SHOP.read_text(encoding="utf-8").replace("200_000", "2_000")
    text = text.replace('at_most = "150s"', 'repeats = 2\nby = "slices"')
    text = text.replace("connections = 8", 'connections = 8\nslice = "40ms"\nsettle = "10ms"')
    lab.file.write_text(text)
    done = lab.contend("run", lab.file, "--server", lab.server, "--equal-load", "--out", lab.out)
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert len(records) == 4 and all(one.status == "ok" for one in records)
    rates = {one.probes["equal_load"]["rate"] for one in records}
    least = {one.probes["equal_load"]["least"] for one in records}
    assert len(rates) == len(least) == 1
    assert rates.pop() == pytest.approx(0.7 * least.pop())
    for one in records:
        assert one.done is not None and "closed" in one.done["arrival"]
        by_rate = at_rate(one)
        assert by_rate is not None and "open" in by_rate["arrival"]
        assert {name: _asked(of) for name, of in alone(one).items()} == {k: {k} for k in KINDS}
    shown = lab.contend("show", lab.out)
    assert "70 % of what the slower level holds" in shown.stdout.replace("\n", " ")
    document = json.loads(lab.contend("show", lab.out, "--json").stdout)
    _index_is_told(document)
    _costs_are_told(document)
    # A run folder that is complete is not measured again for its plans.
    again = lab.contend("run", "--resume", lab.out, "--server", lab.server)
    assert again.returncode == 0 and "complete" in again.stderr
    assert lab.servers_alive() == [] and lab.left() == []


def _index_is_told(document: Any) -> None:
    (step,) = document["setup"]
    assert step["step"] == "by_customer" and step["seconds"]["n"] == len(step["times_s"]) == 2
    assert all(0 < seconds < 600 for seconds in step["times_s"])
    before, after = step["tables"]["orders"]["before"], step["tables"]["orders"]["after"]
    assert 0 < before < after
    plans = {one["statement"]: one for one in step["plans"]}
    assert set(plans) == KINDS
    for name in KINDS - {"insert"}:
        (without,), (having,) = plans[name]["without"], plans[name]["with"]
        assert plans[name]["differs"] and without["way"] == "ALL"
        assert having["key"] == "by_customer"
    assert not plans["insert"]["differs"]
    (told,) = [one for one in document["others"] if "by_customer took" in one]
    assert all(name in told for name in KINDS)


def _costs_are_told(document: Any) -> None:
    costs = {one["name"]: one["cells"] for one in document["statement_costs"]}
    assert set(costs) == KINDS
    for name, (off, on) in costs.items():
        assert not off["factors"]["setup.by_customer"] and on["factors"]["setup.by_customer"]
        for cell in (off, on):
            assert cell["server_cpu_us"]["mean"] > 0 and cell["service_us_p50"]["mean"] > 0
        if name == "insert":
            assert 0 < off["redo_bytes"]["mean"] < on["redo_bytes"]["mean"]
        else:
            # The tables have 2,000 rows and those that were inserted since.
            assert off["rows_examined"]["mean"] >= 1_900 > 200 > on["rows_examined"]["mean"]


def test_parts_of_a_transaction_are_asked_alone(lab: Lab) -> None:
    kinds = {"point_select", "index_update", "delete_insert"}
    lab.file.write_text(
        """[data]
rows = 1_000
[workload]
kind = "read_write"
[load]
connections = 2
slice = "40ms"
settle = "10ms"
[factors]
"server.options.innodb_flush_log_at_trx_commit" = [1, 2]
[compare]
baseline = { "server.options.innodb_flush_log_at_trx_commit" = 1 }
repeats = 2
by = "slices"
"""
    )
    done = lab.contend("run", lab.file, "--server", lab.server, "--alone", "--out", lab.out)
    assert done.returncode == 0, done.stderr
    for one in lab.records():
        assert "equal_load" not in one.probes and kinds <= set(alone(one))
        statements = {name for of in alone(one).values() for name in _asked(of)}
        assert not {"begin", "commit"} & statements
    assert lab.servers_alive() == [] and lab.left() == []


def test_one_kind_alone_is_refused_where_there_is_none(lab: Lab) -> None:
    text = SHOP.read_text(encoding="utf-8").replace('kind = "sql"', 'kind = "list"')
    statements = 'statements = ["SELECT COUNT(*) FROM sbtest"]\n\n[load]'
    lab.file.write_text(re.sub(r"text = '''.*\[load\]", statements, text, flags=re.DOTALL))
    refused = lab.contend("run", lab.file, "--server", lab.server, "--alone", "--out", lab.out)
    assert refused.returncode == 2 and "load.alone" in refused.stderr
    assert "Traceback" not in refused.stderr and not lab.out.exists()


def _asked(done: object) -> set[str]:
    """The classes of statements that were asked."""
    return {one["name"] for one in done["classes"] if one["queries"]}  # type: ignore[index]
