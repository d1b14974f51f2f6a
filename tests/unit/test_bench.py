"""The benchmarks can be started, and the promises of the trust page hold on the committed record.

Seeds are fixed, so these cannot fail by chance; the bounds are those of so few tables.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from bench_module import BENCH, bench_module

COMMANDS = sorted(path.stem for path in BENCH.glob("*.py") if "ArgumentParser(" in path.read_text())
TABLES = 50


@pytest.mark.parametrize("name", COMMANDS)
def test_a_benchmark_says_how_it_is_called(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        bench_module(name).main()
    assert ended.value.code == 0
    assert f"usage: {name}.py" in capsys.readouterr().out


def test_what_is_injected_has_its_candidates() -> None:
    known = bench_module("attribution_rules").CANDIDATES.keys()
    injections = bench_module("attribution").INJECTIONS
    assert {name for one in injections for name in one.accepted} <= known


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return bench_module("trust_tables")


@pytest.fixture(scope="module", params=["quiet", "busy"])
def recorded(request: pytest.FixtureRequest, tables: ModuleType) -> object:
    servers = bench_module("trust_record")
    return tables.record_of(servers.read_lines(servers.FOLDER, request.param))


def test_promises_hold_on_the_record(tables: ModuleType, recorded: object) -> None:
    answers = tables.answers_of(tables.Asked(recorded, "slices", 8, TABLES, "test"))
    seen = tables.tally(answers, 8)
    assert 0.02 <= seen.alone_rejects <= 0.09
    assert seen.false_tables <= 0.08
    assert seen.false_cells <= 0.05 and seen.false_pairs <= 0.05
    assert seen.kept >= 0.72
    assert seen.kept_cells >= 0.72
    assert abs(seen.bias) <= 0.2
    assert tables.tally(answers, 8, 0.03).equivalent <= 0.05


def test_a_noisy_cell_makes_no_false_claims(tables: ModuleType, recorded: object) -> None:
    asked = tables.Asked(recorded, "slices", 8, TABLES, "noisy", noisy=4.0)
    seen = tables.tally(tables.answers_of(asked), 8)
    assert seen.false_tables <= 0.08
    assert seen.false_cells <= 0.04


def test_more_units_find_what_they_promise(tables: ModuleType, recorded: object) -> None:
    answers = tables.answers_of(tables.Asked(recorded, "slices", 32, 25, "test"))
    seen = tables.tally(answers, 32)
    assert seen.kept >= 0.65
    assert tables.tally(answers, 32, seen.detectable * 1.5).found >= 0.9
