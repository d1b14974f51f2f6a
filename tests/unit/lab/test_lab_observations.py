"""What the lab goes by is what the report prints: the same ratios, the same interval."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_run import host_use, latency_histogram, study, write_run, write_slices

from contend.findings import Reading, analysis_of, log_ratio, rule_of, study_of, table_of
from contend.lab.observations import Observations
from contend.metrics import metric_of
from contend.stats import progress
from contend.store import RunFolder, RunRecord


@pytest.mark.parametrize("metric", ["qps", "response_us_p99", "client_cpu_us_per_query"])
def test_a_run_stops_at_the_width_that_its_report_prints(tmp_path: Path, metric: str) -> None:
    experiment = study("quick", [f'compare.metric="{metric}"'])
    with RunFolder.open(write_slices(tmp_path / "run", experiment)) as folder:
        records = folder.records()
        reported = study_of(folder)
    observations = Observations(experiment)
    for _, block in itertools.groupby(records, lambda one: one.block):
        observations.add(list(block))
        observations.log_ratios(reported.repeats)  # What was asked before must not stay.
    printed = analysis_of(reported, metric_of(metric))
    assert printed is not None
    (d,) = tables = observations.log_ratios(reported.repeats)
    np.testing.assert_array_equal(d, printed.table.d)
    rule = rule_of(experiment)
    assert rule.interval_confidence == reported.family("first").confidence
    told = progress(tables, observations.shape, rule, spent_s=0, unit_s=1)
    wholes = [printed.answer.whole(level) for level in range(printed.answer.levels)]
    assert told.half_width == pytest.approx(
        max(math.sqrt(one.high / one.low) - 1 for one in wholes)
    )


@pytest.mark.parametrize("write", [write_run, write_slices])
def test_it_allows_for_what_the_report_allows_for(
    tmp_path: Path, write: Callable[..., Path]
) -> None:
    """Which in slices is the state of the host in a block, and else what levels differ by."""

    def stolen(record: RunRecord) -> RunRecord:
        share = chance.random() / 10
        return replace(record, probes={**record.probes, "host": host_use(share)})

    chance = random.Random(3)
    experiment = study("quick", ['compare.adjust=["steal"]'])
    with RunFolder.open(write(tmp_path / "run", experiment, change=stolen)) as folder:
        records, reported = folder.records(), study_of(folder)
    observations = Observations(experiment)
    observations.add(records)
    table = table_of(reported, metric_of("qps"))
    assert table is not None
    (printed,) = table.allowed.arrays.values()
    tables = observations.log_ratios(reported.repeats)
    (own,) = observations.covariates(reported.repeats, tables, in_slices=reported.in_slices)
    np.testing.assert_array_equal(own, printed)
    assert np.ptp(own) > 0.01


def test_noise_is_that_of_the_metric_that_decides(tmp_path: Path) -> None:
    """A percentile of a block is one figure, which scatters less the more slices it is of."""
    found = {}
    for metric in ("qps", "response_us_p99"):
        experiment = study("quick", [f'compare.metric="{metric}"'])
        observations = Observations(experiment)
        with RunFolder.open(write_slices(tmp_path / metric, experiment)) as folder:
            observations.add(folder.records())
        components = observations.components()
        assert components is not None
        found[metric] = {one.tier: one.variance for one in components.tiers}
    assert list(found["qps"]) == list(found["response_us_p99"]) == ["unit", "block", "round"]
    assert found["response_us_p99"]["block"] == 0.0
    assert found["response_us_p99"]["round"] != pytest.approx(found["qps"]["round"], rel=0.01)


def test_percentiles_of_blocks_are_of_their_histograms_together() -> None:
    """The logarithms' mean would be another figure."""
    metric = metric_of("response_us_p99")
    narrow, wide = (latency_histogram(100.0, spread) for spread in (0.1, 2.0))
    pair = [Reading(one["p99"], histogram) for histogram, one in (narrow, wide)]
    together = log_ratio(metric, [(pair[0], pair[0]), (pair[0], pair[1])])
    alone = math.log(wide[1]["p99"] / narrow[1]["p99"])
    assert 0.5 * alone < together < alone
    assert math.isnan(log_ratio(metric, [(pair[0], pair[0]), (pair[0], Reading(None, None))]))
    assert math.isnan(log_ratio(metric, []))
