"""Where the time of a query goes, with real servers: parts, refusals, a server that dies."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from needs import missing
from run_lab import RUNS, Lab

from contend.findings.budget_parts import CLIENT, FOR_CPU, REMAINDER, USER, WIRE

pytestmark = pytest.mark.timeout(600)

LEVELS = 2


def run(lab: Lab, *more: str | Path) -> None:
    done = lab.run(*more)
    assert done.returncode == 0, done.stderr


def budgets(lab: Lab) -> list[dict[str, Any]]:
    shown = lab.contend("show", lab.out, "--json")
    assert shown.returncode == 0, shown.stderr
    found: list[dict[str, Any]] = json.loads(shown.stdout)["budgets"]
    return found


def test_the_parts_are_known_and_sum_to_the_response_time(lab: Lab) -> None:
    run(lab, "--budget")
    found = budgets(lab)
    assert len(found) == 2 * LEVELS
    for one in found:
        parts = {name: part["mean"] for name, part in one["parts_us"].items()}
        assert {CLIENT, WIRE, USER, FOR_CPU, REMAINDER} <= parts.keys(), one["unknown"]
        assert sum(parts.values()) == pytest.approx(one["response_us"]["mean"], rel=1e-6)
        assert parts[CLIENT] > 0 and parts[USER] > 0
        assert one["look"]["reads"] > 100 and 0 < one["look"]["cpu_share"] < 0.2
        assert one["unknown"] == []
        # The server says which thread serves whom.
        assert one["slow"] is None or one["slow"]["events"] > 0
    assert any(one["slow"] for one in found)
    locks = json.loads(lab.contend("show", lab.out, "--json").stdout)["locks"]
    assert len(locks) == len(found)
    for one in locks:
        # Every query takes the lock of the one cache, or those of its segments.
        (key_cache,) = [name for name in one["waits_us"] if "KEY_CACHE" in name]
        assert one["counts"][key_cache]["mean"] > 1
        assert one["qps"]["mean"] > 0 and one["plain_qps"]["mean"] > 0
    compared = [one for one in found if one["changes_us"]]
    assert len(compared) == LEVELS
    assert "Where the time of a query goes" in (lab.out / "report.html").read_text()
    assert len(lab.records()) == RUNS


def test_a_run_that_is_complete_is_looked_at_later_and_is_as_it_was(lab: Lab) -> None:
    run(lab)
    before = lab.records()
    assert "budgets" not in json.loads(lab.contend("show", lab.out, "--json").stdout)
    done = lab.contend("run", "--resume", lab.out, "--budget", "--server", lab.server)
    assert done.returncode == 0, done.stderr
    assert len(budgets(lab)) == 2 * LEVELS
    assert lab.records() == before


def without_rights(lab: Lab) -> None:
    """Have contend-load run as root without what root may."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        missing("root, and setpriv to lose its rights")
    wrapper = lab.folder / "contend-load-without-rights"
    lose = "setpriv --bounding-set=-all --inh-caps=-all"
    load = lab.environment["CONTEND_LOAD"]
    wrapper.write_text(f'#!/bin/sh\nexec {lose} {load} "$@"\n')
    wrapper.chmod(0o755)
    lab.environment["CONTEND_LOAD"] = str(wrapper)


def test_who_may_not_trace_sees_what_the_scheduler_counts(lab: Lab) -> None:
    without_rights(lab)
    run(lab, "--budget")
    for one in budgets(lab):
        assert FOR_CPU in one["parts_us"] and WIRE not in one["parts_us"]
        (said,) = one["unknown"]
        assert said.startswith("where threads wait: ") and "ermi" in said
