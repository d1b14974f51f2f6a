"""Where the time of a query goes, with real servers: parts, switches, plans, refusals, a server
that dies. One run is looked at, in full and as others would; its looks are short."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from needs import missing
from run_lab import Lab, NewLab

from contend.host.switch_trace import why_no_switch_trace
from contend.sections.budget_parts import CLIENT, FOR_CPU, REMAINDER, USER, WIRE
from contend.store import RunFolder, RunRecord

pytestmark = pytest.mark.timeout(600)

LEVELS = 2


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, new_lab: NewLab) -> Lab:
    """A complete run of two levels at one place."""
    lab = new_lab(tmp_path_factory.mktemp("budget")).look_shortly()
    lab.edit('"load.connections" = [1, 4]', '"load.connections" = [4]')
    done = lab.run()
    assert done.returncode == 0, done.stderr
    return lab


@pytest.fixture(scope="module")
def records(measured: Lab) -> list[RunRecord]:
    """What was measured, before anybody looked."""
    assert "budgets" not in shown(measured)
    return measured.records()


@pytest.fixture(scope="module")
def document(measured: Lab, records: list[RunRecord]) -> dict[str, Any]:
    """What the run says after it was looked at."""
    done = look(measured)
    assert done.returncode == 0, done.stderr
    assert measured.records() == records
    return shown(measured)


def look(lab: Lab) -> Any:
    return lab.contend("run", "--resume", lab.out, "--budget", "--server", lab.server)


def shown(lab: Lab) -> dict[str, Any]:
    done = lab.contend("show", lab.out, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_parts_are_known_and_sum_to_the_response_time(
    measured: Lab, document: dict[str, Any]
) -> None:
    found = document["budgets"]
    assert len(found) == LEVELS
    for one in found:
        parts = {name: part["mean"] for name, part in one["parts_us"].items()}
        assert {CLIENT, WIRE, USER, FOR_CPU, REMAINDER} <= parts.keys(), one["unknown"]
        assert sum(parts.values()) == pytest.approx(one["response_us"]["mean"], rel=1e-6)
        assert parts[CLIENT] > 0 and parts[USER] > 0
        assert one["look"]["reads"] > 20 and 0 < one["look"]["cpu_share"] < 0.2
        assert one["unknown"] == []
        # The server says which thread serves whom.
        assert one["slow"] is None or one["slow"]["events"] > 0
    assert any(one["slow"] for one in found)
    assert sum(bool(one["changes_us"]) for one in found) == LEVELS - 1
    assert "Where the time of a query goes" in (measured.out / "report.html").read_text()


def test_locks_are_counted_on_servers_of_their_own(document: dict[str, Any]) -> None:
    assert len(document["locks"]) == LEVELS
    for one in document["locks"]:
        # Every query takes the lock of the one cache, or those of its segments.
        (key_cache,) = [name for name in one["waits_us"] if "KEY_CACHE" in name]
        assert one["counts"][key_cache]["mean"] > 1
        assert one["qps"]["mean"] > 0 and one["plain_qps"]["mean"] > 0


def test_what_is_asked_is_explained(document: dict[str, Any]) -> None:
    assert len(document["plans"]) == LEVELS
    for one in document["plans"]:
        (plan,) = one["plans"]
        assert "WHERE k IN (?, ...)" in plan["statement"]
        (table,) = plan["tables"]
        assert (table["table"], table["key"]) == ("sbtest", "k")
        assert one["changed"] == []


def test_switches_are_traced(document: dict[str, Any]) -> None:
    if (why := why_no_switch_trace()) is not None:
        missing(why)
    assert len(document["switches"]) == LEVELS
    for one in document["switches"]:
        figures = {name: figure["mean"] for name, figure in one["of_query"].items()}
        # How often a thread sleeps for a query depends on how busy the host is; some do.
        assert figures["slept"] > 0 and figures["woken_us"] >= 0
        assert one["lost"] == 0 and one["look"]["speed_ratio"]["mean"] > 0


def test_a_server_that_dies_in_a_look_loses_that_look_alone(
    tmp_path: Path, new_lab: NewLab, measured: Lab, records: list[RunRecord]
) -> None:
    lab = new_lab(tmp_path).look_shortly()
    lab.begin_from(measured)
    started = lab.start("run", "--resume", lab.out, "--budget", "--server", lab.server)
    lab.wait_for_load(started)
    os.kill(lab.servers_alive()[0], signal.SIGKILL)
    _, said = started.communicate(timeout=300)
    assert started.returncode == 0 and "Traceback" not in said, said
    assert "server ended unexpectedly" in said
    with RunFolder.open(lab.out) as folder:
        looks = folder.looks()
    # Whatever the run was looked at before: of this session the first look, at all levels.
    found = {one.look: one.error for one in looks[-4 * LEVELS :]}
    assert "ended unexpectedly" in str(found.pop("budget"))
    assert set(found.values()) == {None}
    assert "with 4 connections failed" in (lab.out / "report.html").read_text()
    assert lab.records() == records


def without_rights(lab: Lab, *, hidden: bool = False) -> None:
    """Have contend-load run as root without what root may; `hidden`: as another user than the
    server's, who sees its own processes alone (`hidepid=2`)."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        missing("root, and setpriv to lose its rights")
    wrapper = lab.folder / "contend-load-without-rights"
    load = lab.environment["CONTEND_LOAD"]
    lose = f'setpriv --bounding-set=-all --inh-caps=-all {load} "$@"'
    if hidden:
        if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
            missing("the right to have a mount namespace of one's own")
        files = "--inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override"
        lose = (
            "unshare --mount sh -c 'mount -t proc -o hidepid=2 proc /proc && "
            f'exec setpriv --reuid=65534 --regid=65534 --clear-groups {files} {load} "$@"\' sh "$@"'
        )
    wrapper.write_text(f"#!/bin/sh\nexec {lose}\n")
    wrapper.chmod(0o755)
    lab.environment["CONTEND_LOAD"] = str(wrapper)


def test_who_may_not_trace_sees_what_the_scheduler_counts(
    tmp_path: Path, new_lab: NewLab, measured: Lab
) -> None:
    lab = new_lab(tmp_path).look_shortly()
    lab.begin_from(measured)
    without_rights(lab)
    done = look(lab)
    assert done.returncode == 0, done.stderr
    for one in shown(lab)["budgets"]:
        assert FOR_CPU in one["parts_us"] and WIRE not in one["parts_us"]
        (said,) = one["unknown"]
        assert said.startswith("where threads wait: ") and "ermi" in said


def test_a_server_that_is_hidden_leaves_the_client_alone(
    tmp_path: Path, new_lab: NewLab, measured: Lab
) -> None:
    lab = new_lab(tmp_path).look_shortly()
    lab.begin_from(measured)
    without_rights(lab, hidden=True)
    done = look(lab)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    for one in shown(lab)["budgets"]:
        assert CLIENT in one["parts_us"]
        assert not {FOR_CPU, USER, WIRE} & one["parts_us"].keys()
        assert one["unknown"]
