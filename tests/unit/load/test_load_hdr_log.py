"""The histogram log and the outcomes, read by another program of the HdrHistogram family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from null_server import null_server, run_plan

HOUR_NS = 3_600_000_000_000
WORKLOADS = {
    "point_select": {"kind": "point_select", "rows": 1000},
    "read_write": {"kind": "read_write", "rows": 1000},
}


def new_histogram() -> HdrHistogram:
    return HdrHistogram(1, HOUR_NS, 3)


def read_log(path: Path) -> dict[str | None, list[HdrHistogram]]:
    """The intervals of a log by tag. The library knows tags, and hands them over with each."""
    reader = HistogramLogReader(str(path), new_histogram())
    found: dict[str | None, list[HdrHistogram]] = {}
    while (interval := reader.get_next_interval_histogram()) is not None:
        found.setdefault(interval.get_tag(), []).append(interval)
    reader.close()
    return found


def counts(histogram: HdrHistogram) -> dict[int, int]:
    """Counts by value, which two equal histograms share."""
    return {
        item.value_iterated_to: item.count_added_in_this_iter_step
        for item in histogram.get_recorded_iterator()
    }


def added(histograms: list[HdrHistogram]) -> HdrHistogram:
    total = new_histogram()
    for histogram in histograms:
        total.add(histogram)
    return total


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_intervals_of_the_log_add_up_to_the_whole_without_loss(
    name: str, threads: int, load_program: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.hdr"
    with null_server(load_program, tmp_path) as socket:
        plan: dict[str, Any] = {
            "version": 1,
            "server": {"socket": str(socket)},
            "workload": WORKLOADS[name],
            "load": {
                "connections": 4,
                "threads": threads,
                "measure_s": 1.0,
                "interval_s": 0.2,
            },
        }
        lines, code, words = run_plan(load_program, plan, "--hdr-log", str(log))
    assert code == 0, words
    done = lines[-1]
    intervals = [line for line in lines if line["type"] == "interval"]
    by_tag = read_log(log)
    whole = by_tag.pop(None)
    # What ended after the window is the last line of the log.
    ended = [interval["latency_us"]["count"] for interval in intervals]
    assert len(ended) == 5
    ended += [done["drained"]["events"]] if done["drained"]["events"] else []
    assert [histogram.get_total_count() for histogram in whole] == ended
    told = HdrHistogram.decode(done["latency_hdr_ns"])
    assert counts(added(whole)) == counts(told)
    assert told.get_total_count() == done["events"]
    # The ends, for the library rounds the ranks of percentiles otherwise than we do.
    assert told.get_max_value() / 1000 == pytest.approx(done["latency_us"]["max"], rel=0.002)
    assert told.get_min_value() / 1000 == pytest.approx(done["latency_us"]["min"], rel=0.002)

    classes = {figures["name"]: figures["queries"] for figures in done["classes"]}
    if len(classes) > 1:
        assert {tag: added(parts).get_total_count() for tag, parts in by_tag.items()} == classes
    else:
        assert by_tag == {}
