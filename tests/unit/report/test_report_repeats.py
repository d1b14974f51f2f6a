"""The causes count over repeats: the runs of one share its servers, and are no more of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from closed_run import ENGINES, write_closed
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, write_run

from contend.experiment import Words, roles_of
from contend.findings import Compared, Study, means_of_repeats, study_of
from contend.report import build
from contend.sections.model import Shown
from contend.sections.naming import Naming, naming_of
from contend.sections.why import cause_of
from contend.store import RunFolder, RunRecord
from contend.why.explain import Evidence
from contend.why.studies.segmented_key_cache import requests

REPEATS = 8
DRAWS = 300
SMALL = (f"{CONNECTIONS}=[1, 4, 8, 16]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]")


def with_status(record: RunRecord, **counted: int) -> RunRecord:
    status = {**record.probes["status"], **counted}
    return replace(record, probes={**record.probes, "status": status})


def changed(whole: Study, change: Callable[[RunRecord], list[RunRecord]]) -> Study:
    """The same study with other records in place of each."""
    by_cell = {
        cell: {repeat: [new for run in runs for new in change(run)] for repeat, runs in own.items()}
        for cell, own in whole.by_cell.items()
    }
    measured = [new for run in whole.measured for new in change(run)]
    return replace(whole, measured=measured, by_cell=by_cell)


def test_servers_that_differ_for_a_whole_repeat_are_what_n_counts(tmp_path: Path) -> None:
    """All eight runs of a repeat ask 3 % more or less together: of 95 % intervals, 95 % hold."""
    chance = random.Random(5)
    expected = 9_000_000
    held, counted, names = 0, set(), Naming(roles_of(study(sets=SMALL)), Words())
    with RunFolder.open(write_run(tmp_path / "run", study(sets=SMALL))) as folder:
        whole = study_of(folder)
    for _ in range(DRAWS):
        server = {repeat: chance.gauss(1, 0.03) for repeat in whole.repeats}

        def drawn(run: RunRecord, server: dict[int, float] = server) -> list[RunRecord]:
            requests = round(expected * server[run.repeat] * chance.gauss(1, 0.003))
            return [with_status(run, Key_read_requests=requests, Handler_read_key=expected // 9)]

        drawn_study = changed(whole, drawn)
        evidence = Evidence(drawn_study, Compared(drawn_study.metrics[0]), 2, names)
        sentence = requests(evidence) or ""
        found = re.match(r"A point makes (\S+) ±(\S+) requests .* \(n = (\d+ \w+)\)", sentence)
        assert found is not None, sentence
        held += abs(float(found[1]) - 9) <= float(found[2])
        counted.add(found[3])
    assert counted == {f"{REPEATS} repeats"}
    assert 0.91 <= held / DRAWS <= 0.99


def segments(folder: Path) -> Path:
    return write_run(folder / "run", study(sets=SMALL))


def query_cache(folder: Path) -> Path:
    chance = random.Random(3)

    def cached(run: RunRecord) -> RunRecord:
        hits = chance.randrange(400, 600)
        counted = {"Qcache_hits": hits, "Com_select": 1000, "Qcache_inserts": 1000 - hits}
        return with_status(run, **counted, Qcache_lowmem_prunes=hits // 9)

    return write_run(folder / "run", study(sets=SMALL), change=cached)


def engines(folder: Path) -> Path:
    chance = random.Random(4)

    def scanned(run: RunRecord) -> RunRecord:
        return with_status(run, Handler_read_rnd_next=chance.randrange(900, 1100))

    return write_closed(folder, ENGINES, change=scanned)


@pytest.mark.parametrize(
    ("name", "write"),
    [("segmented-key-cache", segments), ("engines", engines), ("query-cache", query_cache)],
)
def test_another_block_that_says_the_same_tells_nothing_new(
    tmp_path: Path, name: str, write: Callable[[Path], Path]
) -> None:
    with RunFolder.open(write(tmp_path)) as folder:
        once, report = study_of(folder), build(folder)

    def cause(whole: Study) -> Shown:
        explained = replace(whole, experiment=replace(whole.experiment, explain=name))
        found = cause_of(explained, naming_of(explained.experiment), report.compared[0])
        assert found is not None
        # A chart has the last digits of a sum.
        return replace(found, charts=())

    assert cause(changed(once, lambda run: [run, run])) == cause(once)


def test_a_repeat_counts_once_however_many_runs_it_has(tmp_path: Path) -> None:
    with RunFolder.open(segments(tmp_path)) as folder:
        runs = study_of(folder).measured
    first, second = (
        [run for run in runs if run.repeat == 1],
        [run for run in runs if run.repeat == 2],
    )
    values = dict.fromkeys((run.run for run in first[:2]), 1.0) | {
        second[0].run: 4.0,
        first[2].run: 7,
    }
    assert means_of_repeats(runs, lambda run: values.get(run.run)) == [3.0, 4.0]
    assert means_of_repeats(runs, lambda _run: None) == []
