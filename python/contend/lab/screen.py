"""Runs a screen: pairs of the design, round by round; then whether the lines that matter work
together; then the proof, which compares the old set with only these lines to the whole new set.

Each block compares two cells, on two servers that are started for it. Which lines matter is decided
once, when the first part ends: the other parts use none of its measurements.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from contend.errors import ContendError, RequestError
from contend.experiment import (
    LINES,
    OF_LINES,
    PROOF,
    TOGETHER,
    Cell,
    CellSpec,
    Experiment,
    Planned,
    all_new,
    all_old,
    cell_of,
    cells,
    part_of,
    round_of_lines,
    runs_of_pairs,
    without_line,
)
from contend.experiment.settings.load import Slicing
from contend.experiment.settings.screen import LINES_MIN
from contend.findings import (
    PairNoise,
    ScreenFound,
    crossed_lines,
    left_out_text,
    noise_of_pairs,
    only,
    screen_found,
)
from contend.lab.design import Design
from contend.lab.effort import Effort
from contend.lab.events import Listener, Notice
from contend.lab.runner import Runner
from contend.lab.walk import PlannedRuns
from contend.metrics.probed import LeftOut
from contend.servers.options import as_text
from contend.stats import crossing_pairs
from contend.store import RunFolder, RunRecord

LINES_SHARE, TOGETHER_SHARE = 0.6, 0.15
"""Parts of the given time for the lines, and for crossing those that matter; the proof has the
rest."""

ROUNDS_MIN = 2
"""Rounds of the design: a single one may leave nothing to estimate the noise from."""

PASSES_MIN = 2
"""Passes of the crossing."""

PROOF_PAIRS = 4
"""For each wanted repeat, if no time is given."""

SLICES_MIN = 3
MEASURED_S, MEASURED_S_MIN, MEASURED_S_MAX = 1.5, 0.5, 4.0
"""Time of the slices of a pair: at first, and its limits. The noise of few pairs may look like that
of their slices alone, which would ask for any length."""

PAIRS_MIN = 24
"""Pairs of the proof that have to fit into its time: few pairs show their noise badly."""


class ScreenEffort(Effort):
    """Measures each pair for the time that makes the answer most certain."""

    measured_s = MEASURED_S
    start_s = 0.0
    """Time of a pair besides its slices."""

    @property
    def pair_s(self) -> float:
        """Expected duration of the next pair."""
        return self.start_s + self.measured_s

    def _plan(self) -> None:
        """`learn_noise` sets the time."""

    def slices(self, run: Cell, cells: Sequence[CellSpec]) -> Slicing:
        usual = super().slices(run, cells)
        known_s = self.observations.round_s.get(self.observations.context(run))
        round_s = 2 * usual.round_s if known_s is None else known_s
        return replace(usual, rounds=max(SLICES_MIN, round(self.measured_s / round_s)))

    def learn_noise(self, noise: PairNoise, pair_s: float) -> None:
        """Starts of servers are worth their time as long as pairs differ by more than the noise of
        their slices.

        Args:
            pair_s: mean duration of the pairs with this noise.
        """
        round_s = next(iter(self.observations.round_s.values()), 0.0)
        if round_s <= 0:
            return
        self.start_s = max(round_s, pair_s - noise.slices * round_s)
        ratio = noise.of_slice * round_s / noise.of_pair if noise.of_pair > 0 else math.inf
        best_s = min(MEASURED_S_MAX, math.sqrt(self.start_s * ratio))
        self.measured_s = max(MEASURED_S_MIN, best_s)

    def fit(self, pairs: int, room_s: float) -> bool:
        """Whether this number of pairs fits into a time. For that, their slices are shortened, at
        most to a half."""
        each_s = room_s / pairs - self.start_s
        if each_s < max(MEASURED_S_MIN, self.measured_s / 2):
            return False
        self.measured_s = min(self.measured_s, each_s)
        return True


class ScreenSchedule(PlannedRuns):
    """Hands out one pair at a time, and adds pairs to the part that has time left."""

    effort: ScreenEffort
    effort_class = ScreenEffort

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        design: Design,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(experiment, folder, design, clock)
        self._records = list(folder.records())
        self._found: ScreenFound | None = None
        """The answer when the first part ended."""

    @property
    def left_s(self) -> float | None:
        left_s = self.effort.left_s
        return None if math.isinf(left_s) else max(0.0, left_s)

    def next(self) -> list[Planned]:
        run = self._next_planned()
        if run is None or self._is_out_of_time(run):
            run = self._extended(self._more() if run is None else self._why_over())
        if run is None:
            return []
        return [each for each in self._planned if each.block == run.block]

    def ended(self, records: Sequence[RunRecord]) -> None:
        self._ended |= {record.run for record in records}
        self._records += records
        self.effort.ended(records)

    def _is_out_of_time(self, run: Planned) -> bool:
        """Whether a planned pair of the proof has no time; the other parts are planned whole."""
        return part_of(run.cell) == PROOF and self.effort.left_s < self._pair_s

    @property
    def _pair_s(self) -> float:
        """Expected duration of a pair, with the start of its servers."""
        if self.effort.start_s > 0:
            return self.effort.pair_s
        return self._mean_pair_s

    @property
    def _mean_pair_s(self) -> float:
        pairs = len({record.block for record in self._records})
        return self.effort.spent_s / pairs if pairs else 0.0

    def _more(self) -> tuple[Planned, ...] | str:
        """The runs to add, or why none is."""
        part = part_of(self._planned[-1].cell)
        if part == OF_LINES:
            noise = noise_of_pairs(self._experiment, self._records)
            if noise is not None:
                self.effort.learn_noise(noise, self._mean_pair_s)
            if self._wants_round():
                return round_of_lines(self._experiment, self._planned)
        self._found = self._found or screen_found(self._experiment, self._records)
        if self._found is None:
            return "nothing was measured"
        if part != PROOF and (pairs := self._crossing()):
            return runs_of_pairs(self._planned, TOGETHER, pairs)
        pairs = self._proof()
        return runs_of_pairs(self._planned, PROOF, pairs) if pairs else self._why_over()

    def _made(self, part: str) -> int:
        """Pairs of a part that were planned."""
        return sum(part_of(run.cell) == part for run in self._planned) // 2

    def _wants_round(self) -> bool:
        compare = self._experiment.compare
        each = self._pairs_of_a_round
        rounds = self._made(OF_LINES) // each
        if rounds < ROUNDS_MIN:
            return True
        if compare.until is not None and self._is_narrow(compare.until):
            return False
        if compare.at_most_s is None:
            return compare.until is not None or rounds < compare.repeats
        room_s = LINES_SHARE * compare.at_most_s - self.effort.spent_s
        if self.effort.start_s > 0:
            return self.effort.fit(each, room_s)
        return each * self._mean_pair_s <= room_s

    @property
    def _pairs_of_a_round(self) -> int:
        return len(self._experiment.factors[0].levels) // 2

    def _is_narrow(self, until: float) -> bool:
        found = screen_found(self._experiment, self._records)
        changes = [one.finding.change for one in found.lines] if found is not None else []
        return bool(changes) and all(
            math.sqrt(one.high / one.low) - 1 <= until if one.low > 0 else False for one in changes
        )

    def _crossing(self) -> list[tuple[str, str]]:
        """One more pass over the edges of the lines that matter; none if its time is over, or has
        no room for `PASSES_MIN` passes."""
        assert self._found is not None
        lines, at_most_s = len(self._experiment.lines), self._experiment.compare.at_most_s
        made = self._made(TOGETHER)
        room = math.inf if at_most_s is None else TOGETHER_SHARE * at_most_s / self._pair_s
        chosen = self._crossed or crossed_lines(self._found)
        while not made and len(chosen) > 2 and PASSES_MIN * len(crossing_pairs(len(chosen))) > room:
            chosen = crossed_lines(self._found, len(chosen) - 1)
        if len(chosen) < 2:
            return []
        edges = crossing_pairs(len(chosen))
        if at_most_s is None:
            room = max(PASSES_MIN, self._experiment.compare.repeats // 2) * len(edges)
        wanted = max(made + len(edges), PASSES_MIN * len(edges))
        if wanted > room or self.effort.left_s < len(edges) * self._pair_s:
            return []
        number = made // len(edges)
        pairs = [
            tuple(only(lines, itertools.compress(chosen, corner)) for corner in edge)
            for edge in edges
        ]
        # An edge has its places exchanged in every other pass.
        return [
            (one, other) if (number + at) % 2 == 0 else (other, one)
            for at, (one, other) in enumerate(pairs)
        ]

    @property
    def _crossed(self) -> tuple[int, ...]:
        """The lines of the passes that were planned."""
        crossing = [run.cell for run in self._planned if part_of(run.cell) == TOGETHER]
        lines = range(len(self._experiment.lines))
        return tuple(at for at in lines if any(str(one[LINES.path])[at] == "1" for one in crossing))

    def _proof(self) -> list[tuple[str, str]]:
        """Two more pairs of the old set with the lines that matter, and the new set. None if there
        is not enough time, or if every line matters."""
        assert self._found is not None
        lines, made = len(self._experiment.lines), self._made(PROOF)
        few, new = only(lines, self._found.matter), all_new(lines)
        if few == new:
            return []
        at_most_s = self._experiment.compare.at_most_s
        if at_most_s is not None and made == 0:
            self.effort.fit(PAIRS_MIN, self.effort.left_s)
        if at_most_s is None and made >= PROOF_PAIRS * self._experiment.compare.repeats:
            return []
        if at_most_s is not None and self.effort.left_s < 2 * self._pair_s:
            return []
        return [(few, new), (new, few)]

    def _why_over(self) -> str:
        counts = ", ".join(
            f"{self._made(part)} pairs {of}"
            for part, of in (
                (OF_LINES, "of the lines"),
                (TOGETHER, "of lines together"),
                (PROOF, "of the proof"),
            )
            if self._made(part)
        )
        is_late = self._experiment.compare.at_most_s is not None
        return f"{'the time is up' if is_late else 'all planned pairs are done'}: {counts}"


class ScreenRunner(Runner):
    """Makes both runs of a pair at once: the first at the first server, the second at the second;
    with one server it is switched between them."""

    def _testbed_of(self, run: Planned) -> int:
        return (run.run - 1) % 2 % len(self._testbeds)


# --- lines that do not start ---

Start = Callable[[Experiment, Cell | None], None]
"""Starts a server with the options of a cell, or of all cells, on an empty folder; raises
ContendError. A start that was accepted is not made again."""


def starting_lines(
    experiment: Experiment, start: Start, listen: Listener
) -> tuple[Experiment, list[LeftOut]]:
    """The experiment without the lines with which a server does not start, and these lines.

    Raises:
        RequestError: fewer than two lines are left.
        ContendError: a server does not start with the old set either.
    """
    left_out: list[LeftOut] = []
    while (refused := _refused(experiment, start)) is not None:
        digits, error = refused
        if digits == all_old(len(experiment.lines)):
            raise error
        numbers, error = _smallest(experiment, digits, start, error)
        *others, line = (experiment.lines[number] for number in numbers)
        names = [one.name for one in others]
        new = cell_of(all_new(len(experiment.lines)))
        needs_others = not names and _refusal(experiment, new, start) is None
        value = "" if line.new is None else as_text(line.new)
        left_out.append(
            {
                "line": line.name,
                "value": value,
                "together_with": names,
                "needs_others": needs_others,
                "message": error.message,
            }
        )
        listen(Notice(f"{left_out_text(left_out[-1])}: {error.message}"))
        if len(experiment.lines) <= LINES_MIN:
            raise RequestError(
                f"fewer than {LINES_MIN} lines are left: {left_out_text(left_out[-1])}",
                hint="Correct the line, and screen it again.",
                detail=error.message,
            )
        experiment = without_line(experiment, line.name)
    return experiment, left_out


def _refused(experiment: Experiment, start: Start) -> tuple[str, ContendError] | None:
    """The first cell of the design that does not start; the old set comes first."""
    with contextlib.suppress(ContendError):
        # One server that is restarted takes less time than many.
        start(experiment, None)
        return None
    lines = len(experiment.lines)
    ordered = sorted(cells(experiment), key=lambda cell: cell[LINES.path] != all_old(lines))
    for cell in ordered:
        if (error := _refusal(experiment, cell, start)) is not None:
            return str(cell[LINES.path]), error
    return None


def _refusal(experiment: Experiment, cell: Cell, start: Start) -> ContendError | None:
    try:
        start(experiment, cell)
    except ContendError as error:
        return error
    return None


def _smallest(
    experiment: Experiment, digits: str, start: Start, error: ContendError
) -> tuple[list[int], ContendError]:
    """Lines of a cell that does not start, which all are needed to prevent it.

    Each is found by halving: the last line of the shortest beginning of the list with which the
    lines found so far do not start.
    """
    lines = len(experiment.lines)
    left = [number for number, digit in enumerate(digits) if digit == "1"]
    needed: list[int] = []

    def fails(numbers: Sequence[int]) -> bool:
        nonlocal error
        found = _refusal(experiment, cell_of(only(lines, numbers)), start)
        error = found or error
        return found is not None

    # A start that failed once may be accepted when it is made again.
    while left and not fails(needed):
        low, high = 1, len(left)
        while low < high:
            middle = (low + high) // 2
            if fails([*needed, *left[:middle]]):
                high = middle
            else:
                low = middle + 1
        needed.append(left[low - 1])
        left = left[: low - 1]
    return sorted(needed), error
