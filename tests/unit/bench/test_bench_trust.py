"""What the lab promises, on the committed record of real servers: a small form of `make trust`.

Seeds are fixed, so these cannot fail by chance; bounds are those of so few tables.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench_module import bench_module

from contend.spec import load_experiment
from contend.stats.table import answer_table
from contend.store import RunRecord

record_of_servers = bench_module("trust_record")
tables = bench_module("trust_tables")
trust = bench_module("trust")
units = bench_module("units")

TABLES = 50


@pytest.fixture(scope="module", params=record_of_servers.HOSTS)
def recorded(request: pytest.FixtureRequest) -> object:
    lines = record_of_servers.read_lines(record_of_servers.FOLDER, request.param)
    return tables.record_of(lines)


def made(units: int = 3, processes: int = 3, rounds: int = 4, cells: int = 2) -> object:
    """A record in which every figure tells whose it is."""
    shape = (units, processes, cells, rounds)
    slices = np.exp(np.arange(math.prod(shape)).reshape(shape) / 100)
    return tables.Record(
        tables.TableShape(1, cells), slices, slices[..., 0], slices, slices[..., 0]
    )


def test_the_record_has_the_processes_it_should(recorded: object) -> None:
    assert recorded.slices.shape == (
        record_of_servers.UNITS,
        record_of_servers.PROCESSES,
        recorded.shape.contexts,
        record_of_servers.ROUNDS,
    )
    assert np.all(recorded.slices > 0) and np.all(recorded.runs > 0)


def test_lines_are_sorted_by_unit_process_and_cell() -> None:
    lines = [
        {
            "unit": unit,
            "process": process,
            "cells": [
                {
                    "connections": connections,
                    "points": points,
                    "slices": {
                        "qps": [1000 * unit + 100 * process + connections + points / 1000],
                        "p99_us": [1.0],
                    },
                    "run": {"qps": [1.0], "p99_us": [1.0]},
                }
                for connections in (8, 1)
                for points in (100, 10)
            ],
        }
        for process in (1, 0)
        for unit in (1, 0)
    ]
    record = tables.record_of(lines)
    assert (record.shape.rows, record.shape.columns) == (2, 2)
    assert record.slices[1, 0, :, 0].tolist() == [1001.01, 1008.01, 1001.1, 1008.1]
    assert record.slices[0, 1, 0, 0] == pytest.approx(101.01)


@pytest.mark.parametrize("way", ["slices", "runs"])
def test_whole_processes_are_relabelled(way: str) -> None:
    record = made()
    d = tables.relabelled(record, np.random.default_rng(1), way=way, units=3)
    assert d.shape == (3, 2, 2)
    # All cells of a process go together, so that its distance from another is the same in each.
    assert d[:, 0] == pytest.approx(d[:, 1])
    # Each unit's three processes stand at three places in a row.
    step = 0.08
    for unit in d:
        assert sorted(abs(round(one / step)) for one in unit[0]) in ([1, 1], [1, 2])


def test_crossing_cancels_what_a_process_has_for_life() -> None:
    record = made()
    process = np.array([1.0, 2.0, 3.0])[None, :, None, None]
    slices = np.broadcast_to(process, record.slices.shape)
    record = tables.Record(record.shape, slices, slices[..., 0], slices, slices[..., 0])
    d = tables.relabelled(record, np.random.default_rng(1), way="crossed", units=3)
    assert d.shape == (3, 2, 1)
    assert d == pytest.approx(0)
    assert np.all(tables.relabelled(record, np.random.default_rng(1), units=3) != 0)


def test_a_change_of_all_speeds_moves_the_intervals_and_nothing_else() -> None:
    d = np.random.default_rng(3).normal(0, 0.05, (8, 6, 2))
    shape = tables.TableShape(2, 3)
    plain, moved = answer_table(d, shape), answer_table(d + math.log(1.05), shape)
    for one, other in zip(plain.changes, moved.changes, strict=True):
        assert (other.low, other.high) == pytest.approx((one.low * 1.05, one.high * 1.05))
        assert other.verdict == tables.read_verdict(one.low * 1.05, one.high * 1.05, 0.02)
        assert other.detectable == pytest.approx(one.detectable)


def test_promises_hold_on_the_record(recorded: object) -> None:
    answers = tables.answers_of(tables.Asked(recorded, "slices", 8, TABLES, "test"))
    seen = tables.tally(answers, 8)
    assert 0.02 <= seen.alone_rejects <= 0.09
    assert seen.false_tables <= 0.08
    assert seen.false_cells <= 0.05 and seen.false_pairs <= 0.05
    assert seen.kept >= 0.72
    assert seen.kept_cells >= 0.72
    assert abs(seen.bias) <= 0.2
    assert tables.tally(answers, 8, 0.03).equivalent <= 0.05


def test_a_noisy_cell_makes_no_false_claims(recorded: object) -> None:
    asked = tables.Asked(recorded, "slices", 8, TABLES, "noisy", noisy=4.0)
    seen = tables.tally(tables.answers_of(asked), 8)
    assert seen.false_tables <= 0.08
    assert seen.false_cells <= 0.04


def test_more_units_find_what_they_promise(recorded: object) -> None:
    answers = tables.answers_of(tables.Asked(recorded, "slices", 32, 25, "test"))
    seen = tables.tally(answers, 32)
    assert seen.kept >= 0.65
    assert tables.tally(answers, 32, seen.detectable * 1.5).found >= 0.9


def test_log_ratios_are_of_all_blocks_of_a_unit() -> None:
    experiment = load_experiment(str(units.EXPERIMENTS / "widths.toml"))
    segments, connections = "server.options.key_cache_segments", "load.connections"

    def run(repeat: int, block: int, at: int, level: int, qps: float) -> RunRecord:
        cell = {segments: level, connections: at}
        return RunRecord(0, block, repeat, cell, "ok", "", "", done={"qps": qps})  # type: ignore

    records = [
        *(run(1, 1, 8, 0, 100.0), run(1, 1, 8, 32, 110.0)),
        *(run(1, 2, 8, 0, 100.0), run(1, 2, 8, 32, 121.0)),
        *(run(1, 3, 64, 0, 100.0), run(1, 3, 64, 32, 90.0)),
        *(run(2, 4, 8, 32, 50.0), run(2, 4, 8, 0, 100.0)),
    ]
    d = units.log_ratios(experiment, records)
    assert d.shape == (2, 2, 1)
    assert d[0, :, 0] == pytest.approx([1.5 * math.log(1.1), math.log(0.9)])
    assert d[1, 0, 0] == pytest.approx(math.log(0.5))
    assert np.isnan(d[1, 1, 0])


def test_live_experiments_are_held_against_the_truth() -> None:
    near, far = [0.01, -0.01, 0.02, -0.02], [0.11, 0.09, 0.10, 0.12]
    lines = [{"kind": "alike", "logs": logs} for logs in [near] * 9 + [far]]
    (promise,) = trust.of_live(lines)
    assert promise.cells[0] == "9 of 10"
    assert promise.cells[1].startswith("1 faster, 0 slower")
    assert promise.kept[0]
    (promise,) = trust.of_live([{"kind": "alike", "logs": far}] * 10)
    assert not promise.kept[0]
    (promise,) = trust.of_live([{"kind": "slower", "logs": [x - math.log(1.05) for x in near]}] * 9)
    assert promise.cells[:1] == ["9 of 9"] and promise.kept[0]


def test_tables_are_put_between_their_marks(tmp_path, monkeypatch) -> None:
    page = tmp_path / "trust.md"
    names = ["equal", "power"]
    page.write_text(
        "".join(
            f"# {name}\n<!-- {name}: made by `make trust` -->\nold\n<!-- end of {name} -->\n"
            for name in [*names, "facts"]
        )
    )
    monkeypatch.setattr(trust, "PAGE", page)
    for _ in range(2):
        trust.write({"equal": "| a\\1 |", "power": "| b |", "facts": "said"})
    text = page.read_text()
    assert "old" not in text
    assert text.count("| a\\1 |") == text.count("| b |") == text.count("said") == 1
