"""A recording as a load: the plan has its file, and the file of the experiment its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from contend.data.recordings import Recording
from contend.errors import RequestError
from contend.experiment import Experiment, cell_specs
from contend.experiment.settings.workload import may_write
from contend.lab.twins import KnownRecording, with_recordings
from contend.load import Address, plan_of
from contend.sections.recorded import moved

Load = Callable[..., Experiment]

FILE = '[workload]\nkind = "recorded"\nrecording = "shop"\nblock = "250ms"\n'


def known(*names: str) -> dict[str, KnownRecording]:
    facts = {"digest": "d", "statements": 9, "begin_us": 0, "end_us": 1, "templates": []}
    return {
        name: KnownRecording(
            Path("contend-load"),
            Recording(name, f"digest-of-{name}", ("a.log",), 9, Path("/cache/recordings")),
            facts,  # type: ignore[arg-type]
        )
        for name in names
    }


def test_a_plan_has_the_path_of_the_recording_and_times_in_seconds(load: Load) -> None:
    (cell,) = cell_specs(with_recordings(load(FILE), known("shop")))
    workload = plan_of(cell, Address(socket="/s"), seed=0, watch_pid=None)["workload"]
    assert workload["kind"] == "recorded"
    assert workload["recording"] == "/cache/recordings/digest-of-shop.rec"
    assert workload["block_s"] == 0.25
    assert workload.keys().isdisjoint({"block", "table", "rows"})


def test_other_workloads_keep_what_they_name(load: Load) -> None:
    for text in ("", '[workload]\nkind = "twins"\nrecording = "shop"\n'):
        experiment = load(text)
        assert with_recordings(experiment, known("shop")) is experiment


def test_recordings_are_not_compared_with_each_other(load: Load) -> None:
    experiment = load(f'{FILE}[factors]\n"workload.recording" = ["shop", "bar"]\n')
    with pytest.raises(RequestError, match="cannot be a factor"):
        with_recordings(experiment, known("shop", "bar"))


def test_it_writes_if_it_is_to(load: Load) -> None:
    for more, writes in (("", False), ("writes = false\n", False), ("writes = true\n", True)):
        (cell,) = cell_specs(load(f"{FILE}{more}"))
        assert may_write("recorded", cell["workload"]) is writes


def test_shares_of_templates_are_settings(load: Load) -> None:
    experiment = load(f'{FILE}[factors]\n"workload.shares.t17" = [5, 50]\n')
    shares = [cell["workload"]["shares"] for cell in cell_specs(experiment)]
    assert shares == [{"t17": 5}, {"t17": 50}]


def test_moved_is_the_share_that_would_have_to_be_of_other_templates() -> None:
    recorded = Counter(t1=60, t2=40)
    assert moved(recorded, Counter(t1=6, t2=4)) == pytest.approx(0)
    assert moved(recorded, Counter(t1=1, t2=1)) == pytest.approx(0.1)
    assert moved(recorded, Counter(t3=5)) == pytest.approx(1)


def test_metrics_of_templates_can_be_compared(load: Load) -> None:
    made = load(f'{FILE}[compare]\nmetric = "statement.t17.service_us_p99"\n')
    assert made.compare.metric == ("statement.t17.service_us_p99",)
