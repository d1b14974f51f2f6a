"""Settings in the lab: what is applied, undone, thrown away, tried before anything is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lab_fakes import PlaceBench as Bench
from lab_fakes import experiment

from contend.errors import ContendError, RequestError, WorkError
from contend.experiment import CellSpec, Experiment, Level, cell_spec
from contend.experiment.settings.before_run import LOCK_FILES
from contend.experiment.settings.options import layout_options
from contend.experiment.settings.server import REDO_LOG_FOLDER
from contend.experiment.settings.values import Refused
from contend.host import page_cache
from contend.lab import caches, trial
from contend.lab.events import Notice
from contend.lab.private import PrivateTestbed
from contend.lab.testbed import Ready

STEPS: list[dict[str, Any]] = [
    {"do": "CREATE a", "undo": "DROP a", "name": None, "on": True},
    {"do": "CREATE b", "undo": "DROP b", "name": "b", "on": True},
]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path).with_statements(monkeypatch)


def cell(steps: list[dict[str, Any]] = STEPS, **values: object) -> CellSpec:
    return CellSpec({"setup": steps}).having(**values)


DONE = [
    {"do": "CREATE a", "seconds": 0.5},
    {"do": "CREATE b", "seconds": 0.5, "name": "b", "tables": {}},
]


def steps_of(ready: Ready) -> list[dict[str, Any]]:
    """The record of each step that ran, without its time of day."""
    steps = json.loads(json.dumps(ready.probes["settings"]["setup"]))
    assert all(datetime.fromisoformat(step.pop("at")) for step in steps)
    return list(steps)


B_OFF = [STEPS[0], {**STEPS[1], "on": False}]


class TestSetup:
    def test_steps_are_run_in_order_and_undone_in_reverse(self, bench: Bench) -> None:
        ready = bench.testbed.set(cell())
        assert steps_of(ready) == DONE
        bench.testbed.set(cell([]))
        assert bench.said == ["CREATE a", "CREATE b", "DROP b", "DROP a"]
        assert len(bench.provided) == 1

    def test_a_named_step_tells_what_it_adds(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sizes = iter([{"t": 10}, {"t": 15, "u": 2}])
        asked: list[bool] = []

        def table_sizes(_self: object, *, analyse: bool) -> dict[str, int]:
            asked.append(analyse)
            return next(sizes, {})

        monkeypatch.setattr(PrivateTestbed, "table_sizes", table_sizes)
        (_, step) = steps_of(bench.testbed.set(cell()))
        assert step["tables"] == {"t": [10, 15], "u": [0, 2]}
        # Statistics are not renewed if they are what a step is about.
        bench.testbed.set(cell([{**STEPS[1], "do": "ANALYZE TABLE t"}]))
        assert asked == [True, True, False, False]

    def test_they_stay_as_long_as_they_are_the_same(self, bench: Bench) -> None:
        for connections in (1, 8):
            ready = bench.testbed.set(cell(load__connections=connections))
            assert [one["do"] for one in ready.probes["settings"]["setup"]] == [
                *("CREATE a", "CREATE b"),
            ]
        bench.testbed.set(cell(server__options={"x": 1}))
        assert bench.said == ["CREATE a", "CREATE b"]
        bench.testbed.set(cell(B_OFF, server__options={"x": 1}))
        assert bench.said[2:] == ["DROP b", "DROP a", "CREATE a"]

    def test_a_fresh_copy_has_them_anew_and_nothing_to_undo(self, bench: Bench) -> None:
        bench.testbed.set(cell())
        bench.testbed.set(cell(data__rows=20))
        assert bench.said == ["CREATE a", "CREATE b"] * 2
        bench.testbed.close()
        assert "DROP a" not in bench.said

    def test_half_way_only_what_succeeded_is_undone(self, bench: Bench) -> None:
        bench.refuses = {"CREATE b"}
        with pytest.raises(WorkError) as caught:
            bench.testbed.set(cell())
        assert caught.value.message.startswith("setup, step 2 of 2 (b): ")
        assert caught.value.message.endswith("'CREATE b': it is not in the mood")
        assert bench.said == ["CREATE a", "DROP a"]
        bench.testbed.set(cell(B_OFF))
        assert bench.said[2:] == ["CREATE a"]
        assert len(bench.provided) == 1, "the copy is as it was made"

    def test_an_undo_that_fails_is_the_end_of_the_copy(self, bench: Bench) -> None:
        bench.testbed.set(cell())
        bench.refuses = {"DROP b"}
        bench.testbed.set(cell([]))
        assert len(bench.provided) == 2
        (notice,) = [one.text for one in bench.heard if isinstance(one, Notice)]
        assert "'DROP b'" in notice
        assert "the copy of the data is discarded" in notice

    def test_half_way_and_no_way_back_is_too(self, bench: Bench) -> None:
        bench.refuses = {"CREATE b", "DROP a"}
        with pytest.raises(WorkError, match="step 2 of 2"):
            bench.testbed.set(cell())
        bench.refuses = set()
        bench.testbed.set(cell([]))
        assert len(bench.provided) == 2

    def test_without_an_undo_another_copy_takes_its_place(self, bench: Bench) -> None:
        steps = [{**STEPS[0], "undo": None}]
        bench.testbed.set(cell(steps))
        bench.testbed.set(cell(steps, load__connections=8))
        assert len(bench.provided) == 1
        bench.testbed.set(cell([]))
        assert len(bench.provided) == 2


class TestStart:
    def test_wrapper_and_environment_come_with_a_restart(self, bench: Bench) -> None:
        bench.testbed.set(cell([]))
        bench.testbed.set(cell([], server__wrap=["sh", "-c", "x"], server__env={"A": 1}))
        assert bench.server.wrap[0].endswith("/sh") and bench.server.wrap[1:] == ("-c", "x")
        assert bench.server.environment == {"A": "1"}
        bench.testbed.set(cell([]))
        assert (bench.server.wrap, bench.server.environment) == ((), {})
        starts = [what.split()[0] for what in bench.life]
        assert starts == ["start", *["stop", "start"] * 2]

    def test_an_option_that_lays_out_files_gets_files_of_its_own(self, bench: Bench) -> None:
        for size in (16384, 4096):
            bench.testbed.set(cell([], server__options={"innodb_page_size": size}))
        assert [layout_options(one) for one in bench.options] == [
            *({"innodb_page_size": 16384}, {"innodb_page_size": 4096})
        ]
        assert "stop" not in bench.server.life

    def test_the_next_cell_after_a_refused_option_starts_anew(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        in_place = {"server__change": "in_place"}
        bench.testbed.set(cell([], **in_place, server__options={"x": 1}))

        def refuse(_changes: object) -> None:
            raise WorkError("no")

        with monkeypatch.context() as patched:
            patched.setattr(bench.server, "set_global", refuse)
            with pytest.raises(WorkError, match="no"):
                bench.testbed.set(cell([], **in_place, server__options={"x": 2}))
        bench.testbed.set(cell([], **in_place, server__options={"x": 3}))
        assert bench.life == [
            *("start x=1", "stop", "start x=3"),
        ]
        assert len(bench.provided) == 1


COLD: dict[str, Any] = {"server__warm": "cold", "load__warmup": 0.0}


class TestCold:
    def test_every_run_is_started_anew_on_files_out_of_the_page_cache(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dropped: list[bool] = []
        monkeypatch.setattr(
            "contend.lab.private.drop_files", lambda _folder: dropped.append(bench.server.running)
        )
        for _ in range(2):
            ready = bench.testbed.set(cell([], **COLD))
            assert ready.expected.cache_counter is None
            assert ready.probes["warmed"] is None
            assert ready.probes["settings"] == {"server.warm": "cold"}
        assert dropped == [False, False]
        start = bench.server.life[0]
        assert "innodb_buffer_pool_load_at_startup=0" in start
        assert "innodb_buffer_pool_dump_at_shutdown=0" in start
        bench.testbed.set(cell([]))
        assert len(dropped) == 2

    def test_files_are_seen_to_be_gone(self, tmp_path: Path) -> None:
        file = tmp_path / "data" / "t.ibd"
        file.parent.mkdir()
        file.write_bytes(bytes(1 << 20))
        assert page_cache.resident_bytes(file) > 0
        caches.drop_files(tmp_path)
        assert page_cache.resident_bytes(file) == 0

    def test_files_that_stay_are_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t.ibd").write_bytes(b"x")
        monkeypatch.setattr(page_cache, "drop", lambda _path: 4096)
        with pytest.raises(WorkError, match=r"4 KiB of .* stay in the page cache"):
            caches.drop_files(tmp_path)


class TestLockedFiles:
    @pytest.fixture
    def locked(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """The files that are locked, a list for each time that some were."""
        found: list[list[str]] = []

        class Locked:
            def __init__(self, paths: Iterable[Path]) -> None:
                self.names = sorted(path.name for path in paths)
                self.bytes = 1000 * len(self.names)
                found.append(self.names)

            def close(self) -> None:
                self.names.clear()

        monkeypatch.setattr("contend.lab.private.LockedFiles", Locked)
        return found

    def test_those_of_the_tables_are_until_a_cell_wants_it_otherwise(
        self, bench: Bench, locked: list[list[str]]
    ) -> None:
        for _ in range(2):
            ready = bench.testbed.set(cell([], server__lock_files=True))
            assert ready.probes["settings"]["server.lock_files"] == "7.81 KiB"
        (names,) = locked
        assert len(names) == 8 and {"sbtest1.MYD", "sbtest1.MYI"} <= set(names)
        bench.testbed.set(cell([]))
        assert locked == [[]]
        assert bench.server.life == ["start ", "differ"]

    def test_a_restart_and_new_data_lock_anew(self, bench: Bench, locked: list[list[str]]) -> None:
        bench.testbed.set(cell([], server__lock_files=True))
        bench.testbed.set(cell([], server__lock_files=True, server__options={"x": 1}))
        assert [bool(one) for one in locked] == [False, True]
        bench.testbed.set(cell([], server__lock_files=True, data__rows=7))
        assert [bool(one) for one in locked] == [False, False, True]
        bench.testbed.set(cell([], data__rows=8))
        assert not any(locked)

    def test_the_end_lets_go_of_them(self, bench: Bench, locked: list[list[str]]) -> None:
        bench.testbed.set(cell([], server__lock_files=True))
        bench.testbed.close()
        assert locked == [[]]

    def test_another_s_server_has_none_locked(self) -> None:
        with pytest.raises(RequestError, match="needs a private server"):
            LOCK_FILES.refuse(cell([], server__lock_files=True).values, own=False)

    def test_what_is_to_be_cold_cannot_be_locked(self) -> None:
        with pytest.raises(Refused, match="conflicts with server"):
            LOCK_FILES.check(cell([], **COLD, server__lock_files=True).values)


class TestRedoLogFolder:
    def test_the_server_is_started_anew_with_its_log_there(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        bench.testbed.set(cell([]))
        bench.testbed.set(cell([], server__redo_log_folder=str(tmp_path)))
        assert bench.server.redo_log_folder == str(tmp_path)
        assert bench.life == ["start ", "stop", "start "]

    @pytest.mark.parametrize(
        ("folder", "own", "said"),
        [
            ("/dev/shm", False, "needs a private server"),
            ("/nowhere", True, "not a writable folder"),
        ],
    )
    def test_what_cannot_be_is_refused(self, folder: str, own: bool, said: str) -> None:
        with pytest.raises(RequestError, match=said):
            REDO_LOG_FOLDER.refuse(cell([], server__redo_log_folder=folder).values, own=own)

    def test_a_folder_is_a_whole_path(self) -> None:
        with pytest.raises(Refused, match="whole path"):
            REDO_LOG_FOLDER.key.kind.read("log")


def test_options_that_lay_files_out_do_so_by_any_spelling() -> None:
    options: dict[str, Level] = {"loose-innodb-page-size": "8K", "innodb_undo_tablespaces": 3}
    assert layout_options({**options, "sort_buffer_size": 1}) == {
        "innodb_page_size": "8K",
        "innodb_undo_tablespaces": 3,
    }


class TestWarm:
    @pytest.mark.parametrize(("how", "filled"), [("index", 1), ("as-found", 0)])
    def test_how_says_whether_caches_are_filled(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str, filled: int
    ) -> None:
        calls: list[str] = []
        monkeypatch.setattr(caches.Caches, "fill", lambda _self, how, *_rest: calls.append(how))
        bench.testbed.set(cell([], server__warm=how))
        assert len(calls) == filled


def tiny(tmp_path: Path, **changes: str) -> Experiment:
    return experiment(tmp_path, **changes)


class TestTrial:
    @pytest.fixture
    def strict(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
        bench = Bench(tmp_path, strict=True)
        monkeypatch.setattr(PrivateTestbed, "execute", lambda _self, text: bench.execute(text))
        monkeypatch.setattr(
            trial.FillProcess,
            "run",
            lambda _self, data, *_rest, **_more: bench.said.append(f"{data.rows} rows"),
        )
        return bench

    def try_it(self, bench: Bench, made: Experiment, *, exact: bool = False) -> None:
        trial.try_starts(
            made,
            lambda _cell: bench.program,
            load=Path("/contend-load"),
            kept=bench.folder / "tried",
            listen=bench.heard.append,
            exact=exact,
        )

    def test_each_start_is_tried_once(self, strict: Bench, tmp_path: Path) -> None:
        made = tiny(tmp_path, in_place="restart")
        self.try_it(strict, made)
        starts = [what for what in strict.server.life if what.startswith("start")]
        assert [what[-1] for what in starts] == ["0", "2"]
        assert not strict.server.running
        self.try_it(strict, made)
        assert len(starts) == sum(what.startswith("start") for what in strict.server.life)

    def test_what_is_refused_ends_it(
        self, strict: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_options: object) -> None:
            raise RequestError("it rejects the option")

        monkeypatch.setattr(strict.server, "start", refuse)
        with pytest.raises(RequestError, match=r"segments = 0 \(the baseline\): it rejects"):
            self.try_it(strict, tiny(tmp_path))
        monkeypatch.undo()
        assert not list((strict.folder / "tried").glob("*"))

    def test_what_the_server_changes_is_refused_if_it_is_to_be_exact(
        self, strict: Bench, tmp_path: Path
    ) -> None:
        made = tiny(tmp_path, in_place="restart")
        strict.server.truncates = {"key_cache_segments": "64"}
        self.try_it(strict, made)
        starts = len(strict.server.launches)
        for _ in range(2):
            with pytest.raises(RequestError, match="requested 0, effective 64"):
                self.try_it(strict, made, exact=True)
        assert len(strict.server.launches) == starts, "what was tried is remembered"

    def test_levels_that_leave_the_server_the_same_are_refused_if_it_is_to_be_exact(
        self, strict: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = tiny(tmp_path, in_place="restart")
        seen = iter(({"key_cache_segments": "0"}, {"key_cache_segments": "32"}))
        monkeypatch.setattr(strict.server, "variables", lambda: next(seen))
        self.try_it(strict, made, exact=True)
        monkeypatch.setattr(strict.server, "variables", lambda: {"key_cache_segments": "7"})
        made = tiny(tmp_path, in_place="restart", **{"64M": "65M"})
        self.try_it(strict, made)
        with pytest.raises(RequestError, match="segments = 0 and 32 are equal on mariadb"):
            self.try_it(strict, made, exact=True)

    @pytest.mark.parametrize("refused", ["CREATE a", "DROP a"])
    def test_statements_are_tried_on_a_few_rows(
        self, strict: Bench, tmp_path: Path, refused: str
    ) -> None:
        text = 'setup = [{ do = "CREATE a", undo = "DROP a" }]\n[data]\nrows = 1_000_000'
        made = experiment(tmp_path, text)
        strict.refuses = {refused}
        with pytest.raises(ContendError) as caught:
            self.try_it(strict, made)
        assert isinstance(caught.value, RequestError)
        assert repr(refused) in caught.value.message
        assert strict.said[0] == "100 rows"
        strict.refuses = set()
        self.try_it(strict, made)
        assert strict.said[-2:] == ["CREATE a", "DROP a"]

    def test_an_experiment_without_any_starts_nothing(self, strict: Bench, tmp_path: Path) -> None:
        self.try_it(strict, experiment(tmp_path, "[data]\nrows = 5"))
        assert strict.server.life == []


def test_what_is_recorded_can_be_stored(bench: Bench) -> None:
    ready = bench.testbed.set(cell(server__env={"A": 1}, server__use="mysql@sid"))
    stored = json.loads(json.dumps(ready.probes["settings"]))
    assert {**stored, "setup": steps_of(ready)} == {
        "server.use": "mysql@sid",
        "server.env": {"A": 1},
        "setup": DONE,
    }


def test_cells_of_an_experiment_have_their_settings(tmp_path: Path) -> None:
    made = experiment(tmp_path, '[factors]\n"server.wrap" = ["", "nice -n 5"]')
    assert cell_spec(made, {"server.wrap": ""})["server.wrap"] == []
