"""Every counter of a study, compared: what is kept, at which places, in slices and by runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shown import report_of
from synthetic_run import DESIGN, SEGMENTS, host_use, study, write_run, write_slices

from contend.findings import study_of
from contend.metrics.probed import HostUse
from contend.report import as_json, build
from contend.sections.counters import CounterList, counters_of
from contend.store import RunFolder, RunRecord

Change = Callable[[RunRecord], RunRecord]


def listed(path: Path) -> CounterList:
    with RunFolder.open(path) as folder:
        found = counters_of(study_of(folder))
    assert found is not None
    return found


def probed(**more: Callable[[RunRecord], Any]) -> Change:
    """Records with further probes; those of `status` are added to it."""

    def change(record: RunRecord) -> RunRecord:
        probes: dict[str, Any] = dict(record.probes)
        for name, value in more.items():
            probes[name] = {**probes.get(name, {}), **value(record)}
        return replace(record, probes=probes)  # type: ignore[arg-type]

    return change


def queries_of(record: RunRecord) -> int:
    return int(record.probes["status"]["Questions"])


def on_disk(record: RunRecord) -> dict[str, int]:
    """One a query at 32 segments, and none, which is not recorded, at 0."""
    return {"Created_tmp_disk_tables": queries_of(record)} if record.cell[SEGMENTS] else {}


def metrics(found: CounterList) -> list[str]:
    return [one.finding.metric.name for one in found.found]


def test_what_one_side_alone_has_comes_first(tmp_path: Path) -> None:
    path = write_slices(tmp_path / "run", study("quick"), change=probed(status=on_disk))
    found = listed(path)
    first = found.found[0]
    assert first.finding.metric.name == "status.Created_tmp_disk_tables_per_query"
    assert first.finding.change.ratio == float("inf") and first.finding.word == "higher"
    assert (first.baseline, first.level) == (0, pytest.approx(1))
    with RunFolder.open(path) as folder:
        document = as_json(build(folder))["counters"]
    first = document["found"][0]
    assert first["metric"] == "status.Created_tmp_disk_tables_per_query"
    assert (first["only"], first["ratio"], first["high"]) == ("level", None, None)
    assert first["low"] > 100 and first["at_baseline"] == 0


def test_queries_clocks_and_constants_are_no_differences(tmp_path: Path) -> None:
    def change(record: RunRecord) -> dict[str, int]:
        # As many clock ticks in a run, however many queries it had.
        queries = queries_of(record)
        return {"Queries": queries, "Uptime": 10_000, "Handler_commit": 2 * queries}

    path = write_slices(tmp_path / "run", study("quick"), change=probed(status=change))
    names = metrics(listed(path))
    none = ("Queries", "Questions", "Uptime", "Handler_commit")
    assert names and not {f"status.{name}_per_query" for name in none} & set(names)


def test_a_gauge_is_compared_as_it_is(tmp_path: Path) -> None:
    def gauges(record: RunRecord) -> dict[str, int]:
        return {"Key_blocks_used": 4000 if record.cell[SEGMENTS] else 2000, "Threads_connected": 1}

    found = listed(write_slices(tmp_path / "run", study("quick"), change=probed(gauges=gauges)))
    one = next(one for one in found.found if one.counter == "Key_blocks_used")
    assert one.finding.metric.name == "status.Key_blocks_used"
    assert one.finding.change.ratio == pytest.approx(2)
    assert (one.baseline, one.level) == (2000, 4000)
    assert "status.Threads_connected" not in metrics(found)


def host(record: RunRecord) -> HostUse:
    return host_use(0.2 if record.cell[SEGMENTS] else 0.05)


def test_the_host_tells_of_a_level_by_runs_and_of_a_block_in_slices(tmp_path: Path) -> None:
    by_runs = listed(write_run(tmp_path / "runs", study("quick"), change=probed(host=host)))
    assert "host.steal_us_per_query" in metrics(by_runs)
    assert by_runs.per_block == () and "the host" in by_runs.per_level
    sliced = listed(write_slices(tmp_path / "slices", study("quick"), change=probed(host=host)))
    assert "host.steal_us_per_query" not in metrics(sliced)
    assert sliced.per_block == ("the host",)


def test_one_server_that_is_switched_tells_of_its_process_alone(tmp_path: Path) -> None:
    def shared(record: RunRecord) -> RunRecord:
        kept = {k: v for k, v in record.probes.items() if k not in ("status", "key_caches")}
        return replace(record, probes=kept)  # type: ignore[arg-type]

    design = {**DESIGN, "servers": 1}
    found = listed(write_slices(tmp_path / "run", study("quick"), change=shared, design=design))
    assert found.per_level == ("server process", "contend-load")
    assert "SHOW GLOBAL STATUS" in found.per_block


def test_a_counter_that_the_other_server_has_not_is_not_missing(tmp_path: Path) -> None:
    def other_version(record: RunRecord) -> RunRecord:
        if not record.cell[SEGMENTS]:
            return record
        own = {**record.probes["server"], "version": "11.8"}
        status = {**record.probes["status"], "New_counter": queries_of(record)}
        return replace(record, probes={**record.probes, "server": own, "status": status})  # type: ignore[arg-type,typeddict-item]

    found = listed(write_slices(tmp_path / "run", study("quick"), change=other_version))
    assert "status.New_counter_per_query" not in metrics(found)


def test_of_a_level_that_is_several_servers_the_sum_counts(tmp_path: Path) -> None:
    """What its front alone counts says nothing of it: no page is written there."""

    def with_backends(record: RunRecord) -> RunRecord:
        inserts = {"Com_insert": queries_of(record)}
        status = {**record.probes["status"], **inserts, "Innodb_pages_written": queries_of(record)}
        more: dict[str, Any] = {"status": status}
        if record.cell[SEGMENTS]:
            # Of counters of a member only some are kept.
            member = {"role": "backend", "cpu_s": None, "throttled_s": None, "status": inserts}
            members = [{**member, "name": f"backend-{number}"} for number in (1, 2)]
            more = {
                "status": {**record.probes["status"], "Handler_commit": queries_of(record)},
                "members": members,
            }
        return replace(record, probes={**record.probes, **more})  # type: ignore[arg-type]

    found = listed(write_run(tmp_path / "run", study("quick"), change=with_backends))
    assert "status.Innodb_pages_written_per_query" not in metrics(found)
    assert "status.Handler_commit_per_query" not in metrics(found)
    (inserts,) = [one for one in found.found if one.counter == "Com_insert"][:1]
    assert (inserts.baseline, inserts.level) == (pytest.approx(1), pytest.approx(2))


def test_repeats_that_are_too_few_for_any_say_nothing(tmp_path: Path) -> None:
    few = study("quick")
    few = replace(few, compare=replace(few.compare, repeats=3))
    report = report_of(write_slices(tmp_path / "run", few))
    assert report.shown("counters") is None
    assert as_json(report)["counters"]["units"] == 3


def test_a_run_that_is_not_finished_has_no_list(tmp_path: Path) -> None:
    with RunFolder.open(write_slices(tmp_path / "run", study("quick"), blocks=5)) as folder:
        assert counters_of(study_of(folder)) is None
