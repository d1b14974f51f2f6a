"""`contend why`: treatments are measured on real servers, and nothing of them stays."""

from __future__ import annotations

import json

import pytest
from run_lab import Lab

from contend.experiment.settings.treatments import UNTREATED
from contend.store import RunFolder

pytestmark = pytest.mark.timeout(600)  # a busy machine may take its time

LIMIT = "eq_range_index_dive_limit"


def test_what_fits_is_tried_in_a_folder_within_the_runs(lab: Lab) -> None:
    """Two points a query and a hundred: what is asked for decides, whatever the machine does."""
    lab.edit('"server.options.key_cache_segments" = [0, 32]', '"workload.points" = [2, 100]')
    lab.edit('"server.options.key_cache_segments" = 0 }', '"workload.points" = 2 }')
    lab.edit('"load.connections" = [1, 4]\n', "")
    lab.edit("repeats = 2", "repeats = 5")
    lab.by_runs()  # on one server, counters belong to a level only if it was alone
    done = lab.contend("run", lab.file, "--out", lab.out, "--yes")
    assert done.returncode == 0, done.stderr
    planned = lab.contend("why", lab.out, "--plan")
    assert planned.returncode == 0, planned.stderr
    assert "placebo:" in planned.stderr
    assert not (lab.out / "why").exists()
    told = lab.contend("why", lab.out, "--yes", "--minutes", "0.5", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    tried = [one["record"] for one in found["tried"]["candidates"]]
    assert tried
    with RunFolder.open(lab.out / "why") as folder:
        records = [one for one in folder.records() if one.status == "ok"]
    treated = {str(one.cell["treatment"]) for one in records}
    assert {UNTREATED, *(name for one in tried for name in (*one["doses"], one["placebo"]))} == (
        treated
    )
    for one in records:
        differs = one.probes["variables_that_differ"]
        wanted = one.cell["treatment"] in ("key-cache-visits.1", "index-estimates.1")
        assert (LIMIT in differs) is wanted
    again = lab.contend("show", lab.out)
    assert "Why: what removes the difference" in again.stdout.replace("\n ", " ")
