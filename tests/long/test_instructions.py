"""The request path of contend-load costs no more instructions than the record says.

Times on a shared machine hide a loss of some percent; instructions do not. Where the figures
cannot be compared (another compiler, machine or C library made the program) this says so.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from needs import missing, program

BENCH = Path(__file__).resolve().parents[2] / "bench"
MARGIN = 0.03
RECORD = json.loads((BENCH / "instructions.json").read_text())


def load_bench() -> ModuleType:
    """`bench/instructions.py`, which no package holds."""
    spec = importlib.util.spec_from_file_location("instructions", BENCH / "instructions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", RECORD["instructions"])
def test_request_path_costs_what_the_record_says(
    case: str, load_program: Path, record_property: Callable[[str, object], None]
) -> None:
    program("valgrind")
    if load_program.parent.name == "debug":
        missing(f"{load_program} is not built for release")
    bench = load_bench()
    here = bench.made_by(load_program)
    if here != RECORD["made_by"]:
        pytest.skip(f"the record was made by {RECORD['made_by']}, this program by {here}")
    recorded = RECORD["instructions"][case]
    found = round(bench.instructions_a_query(load_program, case))
    record_property(f"instructions a query, {case}", found)
    assert found <= recorded * (1 + MARGIN), (
        f"{case}: {found} instructions a query, the record says {recorded}; "
        f'run `python bench/instructions.py --case "{case}"` to see where'
    )
    assert found >= recorded * (1 - MARGIN), (
        f"{case}: {found} instructions a query, the record says {recorded}; "
        "run `python bench/instructions.py --record` to keep what was won"
    )


@pytest.mark.timeout(600)
def test_the_end_of_an_interval_costs_the_worker_less_than_a_query(
    load_program: Path, record_property: Callable[[str, object], None]
) -> None:
    # At 10,000 queries a second of one worker and intervals of 0.1 s that is below 0.1 %.
    program("valgrind")
    if load_program.parent.name == "debug":
        missing(f"{load_program} is not built for release")
    case = "point_select prepared"
    found = round(load_bench().instructions_an_interval(load_program, case))
    record_property("instructions an interval", found)
    assert found <= RECORD["instructions"][case]
