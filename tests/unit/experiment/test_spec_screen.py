"""Screens in experiment files: lines, their cells and the order of runs, and what is refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_screen import EXPERIMENT, new_lines

from contend.experiment import (
    PROOF,
    TOGETHER,
    Experiment,
    Planned,
    SpecError,
    all_new,
    all_old,
    cell_of,
    cell_spec,
    cells,
    from_dict,
    is_open,
    part_of,
    planned_runs,
    round_of_lines,
    runs_of_pairs,
    sets_as_figures,
    to_dict,
    without_line,
)
from contend.experiment.screen import factors_of, mirror, rows_of

Load = Callable[..., Experiment]

OPTIONS, LINES = "server.options", "screen.lines"
LINES_OF_NEW = [
    "innodb_flush_log_at_trx_commit",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "table_open_cache",
    "thread_cache_size",
    "query_cache_type",
    "innodb_adaptive_hash_index",
]
SHARED = EXPERIMENT.replace(
    'kind = "mariadb"', 'kind = "mariadb"\noptions = { max_connections = 50, sort_buffer_size = 1 }'
)
SMALL = '[screen.old]\nthread_cache_size = 1\n\n[screen.new]\nthread_cache_size = 2\nflush = "ON"\n'


def digits_of(planned: list[Planned] | tuple[Planned, ...]) -> list[str]:
    return [str(one.cell[LINES]) for one in planned]


def pairs_of(planned: tuple[Planned, ...]) -> list[tuple[str, str]]:
    """The digits of both cells of each block, in the order of their runs."""
    blocks: dict[int, list[Planned]] = {}
    for one in planned:
        blocks.setdefault(one.block, []).append(one)
    found = []
    for runs in blocks.values():
        first, second = sorted(runs, key=lambda one: one.run)
        found.append((str(first.cell[LINES]), str(second.cell[LINES])))
    return found


# --- what a file becomes ---


def test_two_sets_become_a_factor_of_cells_and_a_baseline(load: Load) -> None:
    it = load(EXPERIMENT)
    assert [line.name for line in it.lines] == LINES_OF_NEW
    assert [(line.old, line.new) for line in it.lines[:2]] == [(1, 2), ("256M", "64M")]
    assert (it.lines[-1].old, it.lines[-1].new) == (None, "ON")
    (lines,) = it.factors
    assert lines.path == LINES
    assert len(set(lines.levels)) == len(lines.levels) == 16
    assert it.compare.baseline == {LINES: all_old(7)}
    assert it.compared == lines
    assert is_open(it)


def test_lines_of_the_new_set_come_first(load: Load) -> None:
    text = "[screen.old]\nflush = 1\nport_open_timeout = 3\n[screen.new]\nsync_frm = 0\nflush = 0\n"
    it = load(text)
    assert [line.name for line in it.lines] == ["sync_frm", "flush", "port_open_timeout"]
    assert (it.lines[-1].old, it.lines[-1].new) == (3, None)


def test_a_file_without_sets_screens_nothing(load: Load) -> None:
    it = load()
    assert it.lines == () and it.base[LINES] is None
    assert cell_spec(it, next(iter(cells(it))))[OPTIONS]["key_cache_segments"] in (0, 32)


@pytest.mark.parametrize(
    ("digits", "options"),
    [
        ("00", {"thread_cache_size": 1}),
        ("10", {"thread_cache_size": 2}),
        ("01", {"thread_cache_size": 1, "flush": "ON"}),
        ("11", {"thread_cache_size": 2, "flush": "ON"}),
    ],
)
def test_an_option_of_one_set_is_absent_from_cells_with_the_other(
    load: Load, digits: str, options: dict[str, object]
) -> None:
    assert cell_spec(load(SMALL), cell_of(digits))[OPTIONS] == options


def test_an_option_of_the_old_set_only_is_absent_from_new_cells(load: Load) -> None:
    it = load("[screen.old]\nflush = 1\nsync_frm = 1\n\n[screen.new]\nflush = 0\n")
    assert [line.name for line in it.lines] == ["flush", "sync_frm"]
    assert cell_spec(it, cell_of("01"))[OPTIONS] == {"flush": 1}
    assert cell_spec(it, cell_of("10"))[OPTIONS] == {"flush": 0, "sync_frm": 1}


def test_options_of_all_cells_stay(load: Load) -> None:
    it = load(SHARED)
    for cell in cells(it):
        spec = cell_spec(it, cell)
        new = new_lines(it, str(cell[LINES]))
        assert spec[OPTIONS]["max_connections"] == 50
        assert spec[OPTIONS]["sort_buffer_size"] == 1
        assert ("innodb_adaptive_hash_index" in spec[OPTIONS]) == (
            "innodb_adaptive_hash_index" in new
        )
        for line in it.lines[:-1]:
            assert spec[OPTIONS][line.name] == (line.new if line.name in new else line.old)
    # The base has none of the lines.
    assert set(it.base[OPTIONS]) == {"max_connections", "sort_buffer_size"}


# --- the design ---


@given(st.integers(2, 31))
def test_rows_tell_any_number_of_lines_apart(lines: int) -> None:
    rows = rows_of(lines)
    assert rows[0] == all_new(lines)
    assert len(rows) > lines and len(rows) % 4 == 0
    assert {len(row) for row in rows} == {lines}
    of_lines = [[1 if digit == "1" else -1 for digit in line] for line in zip(*rows, strict=True)]
    # Each line is new in half of the rows, and in half of those in which another one is new.
    assert all(sum(one) == 0 for one in of_lines)
    for one, other in itertools.combinations(of_lines, 2):
        assert sum(a * b for a, b in zip(one, other, strict=True)) == 0


@given(st.integers(2, 31))
def test_cells_are_the_rows_and_their_mirrors(lines: int) -> None:
    rows = rows_of(lines)
    levels = factors_of(lines)[0].levels
    assert set(levels) == {*rows, *map(mirror, rows)}
    for row in rows:
        pairs = zip(row, mirror(row), strict=True)
        assert all({one, other} == {"0", "1"} for one, other in pairs)
        assert mirror(mirror(row)) == row
    # Both whole sets are among them.
    assert {all_old(lines), all_new(lines)} <= set(levels)


# --- the order of runs ---


def text_of(lines: int) -> str:
    old, new = (
        "\n".join(f"option_{number} = {level}" for number in range(lines)) for level in (0, 1)
    )
    return f"[screen.old]\n{old}\n\n[screen.new]\n{new}\n"


@pytest.mark.parametrize("lines", [2, 3, 4, 7, 11, 12, 19, 31])
def test_each_round_has_each_row_once(load: Load, lines: int) -> None:
    it = load(text_of(lines))
    rows = rows_of(lines)
    planned = planned_runs(it)
    assert planned == round_of_lines(it, ())
    orders = []
    for number in range(4):
        more = planned if number == 0 else round_of_lines(it, planned)
        planned = more if number == 0 else (*planned, *more)
        pairs = pairs_of(more)
        # The row comes first in every other round, and its mirror in the others.
        firsts = [pair[number % 2] for pair in pairs]
        assert sorted(firsts) == sorted(rows)
        assert all(one == mirror(other) for one, other in pairs)
        orders.append(tuple(firsts))
    if lines > 3:
        assert len(set(orders)) == 4
    assert [one.run for one in planned] == list(range(1, len(planned) + 1))
    assert [one.block for one in planned] == [(n // 2) + 1 for n in range(len(planned))]
    assert all(one.repeat == one.block for one in planned)
    assert {part_of(one.cell) for one in planned} == {"lines"}


def test_another_seed_gives_another_order(load: Load) -> None:
    one, other = (planned_runs(load(EXPERIMENT, sets=[f"load.seed={seed}"])) for seed in (1, 2))
    assert digits_of(one) != digits_of(other)
    assert sorted(digits_of(one)) == sorted(digits_of(other))
    assert planned_runs(load(EXPERIMENT, sets=["load.seed=1"])) == one


def test_parts_of_a_screen_follow_one_another(load: Load) -> None:
    it = load(SMALL)
    first = planned_runs(it)
    crossing = runs_of_pairs(first, TOGETHER, [("10", "00"), ("01", "00")])
    proof = runs_of_pairs((*first, *crossing), PROOF, [("10", "11")])
    planned = (*first, *crossing, *proof)
    assert [one.run for one in planned] == list(range(1, len(planned) + 1))
    assert pairs_of((*crossing, *proof)) == [("10", "00"), ("01", "00"), ("10", "11")]
    assert [one.block for one in proof] == [crossing[-1].block + 1] * 2
    assert {part_of(one.cell) for one in crossing} == {TOGETHER}
    assert {part_of(one.cell) for one in proof} == {PROOF}
    # Rounds are counted by the pairs of the lines alone.
    (_first, second), *_ = pairs_of(round_of_lines(it, planned))
    assert second in rows_of(2)


# --- stored, and changed ---


def test_it_is_stored_with_its_lines(load: Load) -> None:
    it = load(SHARED)
    again = from_dict(json.loads(json.dumps(to_dict(it))))
    assert again == it and again.lines == it.lines
    assert planned_runs(again) == planned_runs(it)
    for cell in cells(it):
        assert cell_spec(again, cell) == cell_spec(it, cell)


def test_what_was_stored_before_there_were_screens_has_no_lines(load: Load) -> None:
    older = to_dict(load())
    for path in ("screen.old", "screen.new", "screen.lines", "screen.part"):
        older["base"].pop(path, None)
    assert from_dict(older).lines == ()


@pytest.mark.parametrize(
    ("name", "kept"),
    [("thread_cache_size", 256), ("innodb_adaptive_hash_index", None)],
)
def test_without_a_line_all_cells_have_its_old_value(load: Load, name: str, kept: object) -> None:
    it = load(SHARED)
    less = without_line(it, name)
    assert [line.name for line in less.lines] == [one for one in LINES_OF_NEW if one != name]
    assert less.compare.baseline == {LINES: all_old(6)}
    assert less.factors == factors_of(6)
    for cell in cells(less):
        options = cell_spec(less, cell)[OPTIONS]
        assert options.get(name) == kept
        assert options["max_connections"] == 50
    assert len(list(cells(it))) == len(list(cells(less))) == 16
    assert from_dict(json.loads(json.dumps(to_dict(less)))) == less
    # The file is unchanged.
    assert less.source == it.source and len(it.lines) == 7


def test_without_a_line_of_the_old_set_only(load: Load) -> None:
    it = load("[screen.old]\nflush = 1\na = 1\nb = 1\n[screen.new]\nflush = 0\na = 2\n")
    less = without_line(it, "b")
    assert [line.name for line in less.lines] == ["flush", "a"]
    assert cell_spec(less, cell_of("11"))[OPTIONS] == {"b": 1, "flush": 0, "a": 2}


def test_figures_of_a_screen_are_those_of_its_sets(load: Load) -> None:
    it = sets_as_figures(load(EXPERIMENT))
    assert it.compared is None and it.compare.baseline == {}
    assert [cell[LINES] for cell in cells(it)] == ["0000000", "1111111"]
    assert list(it.words[LINES].levels.values()) == ["the old set", "the new set"]


# --- what is refused ---

ONE_LINE = "[screen.old]\nflush = 1\n\n[screen.new]\nflush = 0\n"

# (id, text of the file, message, hint)
FAULTS = [
    (
        "one line",
        ONE_LINE,
        "it.toml:1: [screen] has one line that differs, and a screen needs at least two",
        "Compare its two values with `contend try NAME=OLD,NEW`.",
    ),
    (
        "32 lines",
        text_of(32),
        "it.toml:1: [screen] has 32 lines that differ, and a screen can have 31",
        "Screen a half of them at a time, with the other half in server.options; then screen the "
        "lines that matter together.",
    ),
    (
        "the same value",
        f"{SMALL}key_a = 5\n".replace("\n\n", "\nkey_a = 5\n\n"),
        "it.toml:8: key_a is 5 in both sets of the screen",
        "Put it into server.options.",
    ),
    (
        "the layout of files",
        f"{SMALL}innodb_page_size = 4096\n",
        "it.toml:7: innodb_page_size decides the layout of the data files: no line can change it",
        "Set it in server.options, or compare it by itself.",
    ),
    (
        "the layout of files, old and loose",
        SMALL.replace("\n\n", "\nloose_innodb_page_size = 4096\n\n"),
        "it.toml:3: loose_innodb_page_size decides the layout of the data files: no line can "
        "change it",
        "Set it in server.options, or compare it by itself.",
    ),
    (
        "an option of all cells",
        f"{SMALL}[server.options]\nflush = 1\n",
        "it.toml:6: screen.new.flush is in server.options too",
        "Leave one of them out.",
    ),
    (
        "an option of all cells, typed with dashes",
        SMALL.replace("\n\n", '\n"sync-frm" = 4\n\n') + '[server.options]\n"sync-frm" = 1\n',
        "it.toml:1: screen.old.sync_frm is in server.options too",
        "Leave one of them out.",
    ),
    (
        "lines",
        f'[screen]\nlines = "01"\n{SMALL}',
        "it.toml:2: screen.lines is chosen by contend",
        "Leave it out.",
    ),
    (
        "lines without sets",
        '[screen]\nlines = "01"\n',
        "it.toml:2: screen.lines is chosen by contend",
        "Leave it out.",
    ),
    (
        "lines as a factor",
        f'{SMALL}[factors]\n"screen.lines" = ["01", "10"]\n',
        "it.toml:8: screen.lines is chosen by contend",
        "Leave it out.",
    ),
    (
        "the part",
        f'[screen]\npart = "proof"\n{SMALL}',
        "it.toml:2: screen.part is chosen by contend",
        "Leave it out.",
    ),
    (
        "a factor",
        f'{SMALL}[factors]\n"load.connections" = [1, 8]\n',
        "it.toml:8: a screen varies its lines only, and cannot be combined with [factors]",
        "Give load.connections one value.",
    ),
    (
        "a line as a factor",
        f'{SMALL}[factors]\n"screen.new.sync_frm" = [1, 8]\n',
        "it.toml:8: a screen varies its lines only, and cannot be combined with [factors]",
        "Give screen.new.sync_frm one value.",
    ),
    (
        "published figures",
        f'{SMALL}[published.paper]\nsource = "a paper"\n',
        "it.toml:7: published figures cannot be combined with a screen",
        "Leave one of them out.",
    ),
    (
        "a kind of workload of its own",
        f'{SMALL}[workload]\nkind = "twins"\nrecording = "x"\n',
        'it.toml:8: workload.kind = "twins" cannot be combined with a screen',
        "Leave it out.",
    ),
]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [pytest.param(*fault, id=name) for name, *fault in FAULTS],
)
def test_files_that_are_refused(load: Load, text: str, message: str, hint: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(text)
    assert (refused.value.message, refused.value.hint) == (message, hint)


@pytest.mark.parametrize("lines", [2, 31])
def test_the_fewest_and_the_most_lines(load: Load, lines: int) -> None:
    assert len(load(text_of(lines)).lines) == lines


def test_values_of_different_types_are_different_lines(load: Load) -> None:
    assert len(load(f"{SMALL}a = 1\n".replace("\n\n", "\na = true\n\n")).lines) == 3


LEFT_OUT = "Leave one of them out."


@pytest.mark.parametrize(
    ("setting", "message", "hint"),
    [
        ("experiment.why=true", "experiment.why cannot", LEFT_OUT),
        ("experiment.explain=steps", "experiment.explain cannot", LEFT_OUT),
        ("compare.fail_if_slower=3%", "compare.fail_if_slower cannot", LEFT_OUT),
        ("compare.layout=matched", "compare.layout cannot", LEFT_OUT),
        ("compare.by=slices", "compare.by cannot", LEFT_OUT),
        ("compare.by=runs", "compare.by cannot", LEFT_OUT),
        ('compare.adjust=["distance"]', "compare.adjust cannot", LEFT_OUT),
        ("load.rate=equal", 'load.rate = "equal" cannot', "Leave it out."),
        ("load.alone=true", "load.alone = true cannot", "Leave it out."),
        ("server.profile=old", 'server.profile = "old" cannot', "Leave it out."),
        ("server.change=in_place", 'server.change = "in_place" cannot', "Leave it out."),
    ],
)
def test_what_cannot_be_combined_with_a_screen(
    load: Load, setting: str, message: str, hint: str
) -> None:
    path = setting.partition("=")[0]
    with pytest.raises(SpecError) as refused:
        load(EXPERIMENT, sets=[setting])
    assert refused.value.message == f"--set {path}: {message} be combined with a screen"
    assert refused.value.hint == hint


def test_a_goal_cannot_be_combined_with_a_screen(load: Load) -> None:
    with pytest.raises(SpecError) as refused:
        load(f'{EXPERIMENT}\n[goal]\nhold = "p99<20ms"\n')
    assert refused.value.message.endswith(": goal.hold cannot be combined with a screen")
    assert refused.value.hint == LEFT_OUT


def test_a_baseline_cannot_be_combined_with_a_screen(load: Load) -> None:
    with pytest.raises(SpecError, match=r"^it.toml:8: compare.baseline ") as refused:
        load(f'{SMALL}[compare]\nbaseline = {{ "server.options.flush" = 1 }}\n')
    assert refused.value.hint
