"""Lines with which no server starts are found in few starts, and left out."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_screen import screen_of_lines

from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import (
    Cell,
    Experiment,
    cell_spec,
    cells,
    load_experiment,
)
from contend.lab.events import Notice
from contend.lab.screen import (
    starting_lines,
)

LINES, OPTIONS = "screen.lines", "server.options"


class Starts:
    """Servers that start with some options only. As in the lab, a start that was accepted is not
    made again."""

    def __init__(self, refuses: Callable[[Mapping[str, Any]], bool]) -> None:
        self._refuses = refuses
        self._accepted: set[str] = set()
        self.made = 0
        self.halving = 0
        """Those with a cell that is not of the design."""
        self.notices: list[str] = []

    def __call__(self, experiment: Experiment, cell: Cell | None) -> None:
        for one in cells(experiment) if cell is None else [cell]:
            options = cell_spec(experiment, one)[OPTIONS]
            key = repr(sorted(options.items()))
            if key in self._accepted:
                continue
            self.made += 1
            self.halving += one[LINES] not in experiment.factors[0].levels
            if self._refuses(options):
                raise WorkError(f"no start with {key}")
            self._accepted.add(key)

    def left_in(self, experiment: Experiment) -> tuple[Experiment, list[Any]]:
        def listen(event: object) -> None:
            assert isinstance(event, Notice)
            self.notices.append(event.text)

        return starting_lines(experiment, self, listen)


def names(experiment: Experiment) -> list[str]:
    return [line.name for line in experiment.lines]


def test_all_lines_stay_if_all_servers_start(tmp_path: Path) -> None:
    it = screen_of_lines(tmp_path, 7)
    starts = Starts(lambda _options: False)
    assert starts.left_in(it) == (it, [])
    assert starts.made == 16 and starts.notices == []


@settings(max_examples=20)
@given(lines=st.integers(3, 31), seed=st.integers(0, 30))
def test_one_line_is_found_in_few_starts(
    tmp_path_factory: pytest.TempPathFactory, lines: int, seed: int
) -> None:
    it = screen_of_lines(tmp_path_factory.mktemp("starts"), lines)
    bad = f"line_{seed % lines}"
    starts = Starts(lambda options: options[bad] == 2)
    left, left_out = starts.left_in(it)
    assert names(left) == [name for name in names(it) if name != bad]
    (one,) = left_out
    assert (one["line"], one["value"], one["together_with"]) == (bad, "2", [])
    assert "no start with" in one["message"] and not one["needs_others"]
    assert all(cell_spec(left, cell)[OPTIONS][bad] == 1 for cell in cells(left))
    assert starts.halving <= 1 + math.ceil(math.log2(lines))
    designs = len(set(it.factors[0].levels)) + len(set(left.factors[0].levels))
    assert starts.made <= designs + 4 + math.ceil(math.log2(lines))
    (notice,) = starts.notices
    assert notice.startswith(f"{bad}=2 is left out, because no server starts with it: ")


@settings(max_examples=20)
@given(lines=st.integers(3, 31), seed=st.randoms(use_true_random=False))
def test_two_lines_that_exclude_one_another(
    tmp_path_factory: pytest.TempPathFactory, lines: int, seed: Any
) -> None:
    it = screen_of_lines(tmp_path_factory.mktemp("starts"), lines)
    one, other = sorted(seed.sample(range(lines), 2))
    starts = Starts(lambda options: options[f"line_{one}"] == options[f"line_{other}"] == 2)
    left, left_out = starts.left_in(it)
    # The later of the two is left out, and the first is named.
    assert [line["line"] for line in left_out] == [f"line_{other}"]
    assert left_out[0]["together_with"] == [f"line_{one}"]
    assert names(left) == [name for name in names(it) if name != f"line_{other}"]
    assert f"together with line_{one}: " in starts.notices[0]
    assert starts.halving <= 2 + 2 * math.ceil(math.log2(lines))


@settings(max_examples=20)
@given(lines=st.integers(3, 31), seed=st.randoms(use_true_random=False))
def test_a_line_that_needs_another_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, lines: int, seed: Any
) -> None:
    """It cannot be told from the other."""
    it = screen_of_lines(tmp_path_factory.mktemp("starts"), lines)
    one, needed = (f"line_{number}" for number in seed.sample(range(lines), 2))
    starts = Starts(lambda options: options[one] == 2 and options[needed] == 1)
    left, left_out = starts.left_in(it)
    assert [line["line"] for line in left_out] == [one]
    assert left_out[0]["together_with"] == []
    assert left_out[0]["needs_others"] and "while the other lines are old" in starts.notices[0]
    assert needed in names(left) and one not in names(left)


@settings(max_examples=20)
@given(lines=st.integers(5, 20), seed=st.randoms(use_true_random=False))
def test_several_lines_are_left_out_one_after_another(
    tmp_path_factory: pytest.TempPathFactory, lines: int, seed: Any
) -> None:
    it = screen_of_lines(tmp_path_factory.mktemp("starts"), lines)
    bad = {f"line_{number}" for number in seed.sample(range(lines), 3)}
    starts = Starts(lambda options: any(options[name] == 2 for name in bad))
    left, left_out = starts.left_in(it)
    assert {line["line"] for line in left_out} == bad and len(left_out) == 3
    assert names(left) == [name for name in names(it) if name not in bad]


def test_an_absent_line_is_left_out_by_its_name(tmp_path: Path) -> None:
    """The server does not start without an option that only the old set has."""
    file = tmp_path / "it.toml"
    file.write_text("[screen.old]\na = 1\nb = 1\nc = 1\n[screen.new]\na = 2\nb = 2\n")
    starts = Starts(lambda options: "c" not in options)
    left, left_out = starts.left_in(load_experiment(str(file)))
    assert (left_out[0]["line"], left_out[0]["value"]) == ("c", "")
    assert starts.notices[0].startswith("c is left out, because no server starts with it: ")
    assert all(cell_spec(left, cell)[OPTIONS]["c"] == 1 for cell in cells(left))


def test_the_error_of_the_old_set_is_raised(tmp_path: Path) -> None:
    it = screen_of_lines(tmp_path, 5)
    starts = Starts(lambda options: options["line_2"] == 1)
    with pytest.raises(WorkError, match="no start with") as refused:
        starts.left_in(it)
    assert "('line_2', 1)" in refused.value.message
    assert starts.notices == []


def test_two_lines_must_be_left(tmp_path: Path) -> None:
    starts = Starts(lambda options: options["line_1"] == 2)
    with pytest.raises(RequestError) as refused:
        starts.left_in(screen_of_lines(tmp_path, 2))
    assert refused.value.message.startswith("fewer than 2 lines are left: line_1=2 ")
    assert refused.value.hint and "no start with" in (refused.value.detail or "")
    assert len(starts.notices) == 1


@pytest.mark.parametrize("digits", ["10", "01", "11"])
def test_a_start_that_fails_once_gives_no_traceback(tmp_path: Path, digits: str) -> None:
    """Such as one that took too long on a busy host."""
    it = screen_of_lines(tmp_path, 3)
    failing = [f"{digits}0"] * 2

    def start(experiment: Experiment, cell: Cell | None) -> None:
        if cell is None:
            if failing:
                raise WorkError("too slow")
        elif cell[LINES] in failing:
            failing.clear()
            raise WorkError("too slow")

    with contextlib.suppress(ContendError):
        left, left_out = starting_lines(it, start, lambda _event: None)
        assert len(left.lines) == 3 - len(left_out)
