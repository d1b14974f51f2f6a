"""The testbed of a private server: what it does for which change, and what it tells the record."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_fakes import PlaceBench, experiment

from contend.errors import WorkError
from contend.experiment import CellSpec, DataSpec, cell_spec
from contend.host import page_cache
from contend.lab.conditions import Conditions, Connect
from contend.servers.errors import OptionRejected


class Bench(PlaceBench):
    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path)
        self.tiny = experiment(tmp_path)

    def cell(self, segments: int = 0, connections: int = 1, **server: object) -> CellSpec:
        cell = cell_spec(
            self.tiny,
            {"server.options.key_cache_segments": segments, "load.connections": connections},
        )
        return cell.having(**{f"server__{name}": value for name, value in server.items()})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class SeenConditions(Conditions):
    """Keeps when it was to look, and looks at nothing."""

    def __init__(self) -> None:
        self.looks: list[str] = []

    def look(self, connect: Connect, data: DataSpec, when: str, settings: object) -> None:
        self.looks.append(when)

    def close(self) -> None:
        pass


def test_tables_that_were_made_alike_are_looked_at_once_and_none_after_ctrl_c(
    bench: Bench,
) -> None:
    seen = SeenConditions()
    with (
        pytest.raises(KeyboardInterrupt),
        bench.make_testbed(conditions=seen) as testbed,
    ):
        testbed.set(bench.cell())
        assert seen.looks == ["loaded"]
        testbed.spoil_data()
        testbed.set(bench.cell())
        assert seen.looks == ["loaded", "end"]
        more = bench.cell()
        testbed.set(more.having(data__rows=777))
        assert seen.looks == ["loaded", "end", "end", "loaded"]
        raise KeyboardInterrupt
    assert seen.looks == ["loaded", "end", "end", "loaded"]
    assert not bench.server.running


START = "start key_buffer_size=64M key_cache_segments="


def test_the_first_cell_fills_and_starts_the_server(bench: Bench) -> None:
    ready = bench.testbed.set(bench.cell())
    assert bench.life == [START + "0"]
    assert len(bench.provided) == 1
    assert ready.address.socket == str(bench.server.socket)
    assert ready.address.database == "sbtest"
    assert ready.watch_pid == 4711


def writing(cell: CellSpec, kind: str = "update_index", **parameters: object) -> CellSpec:
    return cell.having(workload={"kind": kind, **parameters})


def test_what_may_have_been_written_to_is_made_anew(bench: Bench) -> None:
    for connections in (1, 8):
        bench.testbed.set(writing(bench.cell(connections=connections)))
    # It is what the next run finds that counts, whatever that one does.
    bench.testbed.set(bench.cell())
    bench.testbed.set(bench.cell(connections=8))
    assert len(bench.provided) == 3
    assert bench.life == [START + "0", *["kill", START + "0"] * 2]
    loads = [s for s in bench.server.connection.statements if "LOAD INDEX" in s]
    assert len(loads) == 3


@pytest.mark.parametrize(("script", "copies"), [("/x.lua", 2), ("oltp_read_only", 1)])
def test_what_a_script_made_is_copied_anew_if_it_may_write(
    bench: Bench, script: str, copies: int
) -> None:
    prepare = {"script": script, "options": {"size": 50}}
    cell = writing(bench.cell(), "lua", script=script, options={})
    for _ in range(2):
        ready = bench.testbed.set(cell.having(**{"data.schema": "script", "data.prepare": prepare}))
        assert ready.probes["dataset"]["prepared"] == prepare
    assert len(bench.provided) == copies


def test_every_table_is_warmed(bench: Bench) -> None:
    bench.testbed.set(bench.cell().having(data__tables=3))
    loads = [s for s in bench.server.connection.statements if "LOAD INDEX" in s]
    assert [load.rpartition(".")[2] for load in loads] == ["`sbtest1`", "`sbtest2`", "`sbtest3`"]


def test_a_change_of_load_alone_touches_nothing(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    said = len(bench.server.connection.statements)
    bench.testbed.set(bench.cell(connections=8))
    assert bench.life == [START + "0"]
    assert len(bench.server.connection.statements) == said


def test_an_option_is_changed_in_place_and_the_index_loaded_again(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    bench.testbed.set(bench.cell(segments=32))
    assert bench.life == [START + "0", "set key_cache_segments=32"]
    loads = [s for s in bench.server.connection.statements if "LOAD INDEX" in s]
    assert len(loads) == 2


def test_an_option_that_leaves_the_cache_alone_does_not_load_it_again(bench: Bench) -> None:
    options = {"key_buffer_size": "64M", "max_connections": 10}
    bench.testbed.set(bench.cell(options=options))
    bench.testbed.set(bench.cell(options={**options, "max_connections": 20}))
    assert bench.life[-1] == "set max_connections=20"
    assert sum("LOAD INDEX" in s for s in bench.server.connection.statements) == 1


def test_an_option_is_changed_by_restart_where_the_recipe_says_so(bench: Bench) -> None:
    bench.testbed.set(bench.cell(change="restart"))
    bench.testbed.set(bench.cell(segments=32, change="restart"))
    assert bench.life == [START + "0", "stop", START + "32"]
    assert len(bench.provided) == 1


def test_an_option_that_is_no_longer_named_needs_a_restart(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    bench.testbed.set(bench.cell(options={"key_buffer_size": "64M"}))
    assert bench.life[1:] == ["stop", "start key_buffer_size=64M"]


def test_other_data_replace_the_old(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    more = bench.cell().having(data__rows=2000)
    ready = bench.testbed.set(more)
    assert [data.rows for data in bench.provided] == [1000, 2000]
    assert bench.life == [START + "0", "kill", START + "0"]
    assert ready.probes["dataset"]["rows"] == 2000


def test_a_server_that_died_gets_fresh_data(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    bench.server.dead = True
    exit_error = bench.testbed.exit_error()
    assert exit_error is not None and exit_error.detail == "[ERROR] mariadbd got signal 11"
    assert bench.server.connection.closed
    bench.testbed.set(bench.cell())
    assert len(bench.provided) == 2
    assert bench.server.running


def test_an_option_that_is_contend_s_own_is_refused_before_anything_is_loaded(
    bench: Bench,
) -> None:
    with pytest.raises(OptionRejected, match="contend itself sets the option port"):
        bench.testbed.set(bench.cell(options={"port": 3306}))
    assert bench.provided == []


def test_a_server_that_lives_has_no_death(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    assert bench.testbed.exit_error() is None


def test_a_server_that_we_ended_ourselves_has_no_death(bench: Bench) -> None:
    assert bench.testbed.exit_error() is None
    bench.testbed.set(bench.cell())
    bench.no_data = WorkError("loading 2k rows failed")
    more = bench.cell().having(data__rows=2000)
    with pytest.raises(WorkError, match="loading 2k rows failed"):
        bench.testbed.set(more)
    assert bench.testbed.exit_error() is None


class TestTruncated:
    def test_a_value_the_server_takes_in_part_marks_the_cell(self, bench: Bench) -> None:
        bench.server.truncates = {"key_cache_segments": "64"}
        bench.testbed.set(bench.cell())
        ready = bench.testbed.set(bench.cell(segments=100))
        (warning,) = ready.warnings
        assert warning["code"] == "option-truncated"
        assert warning["message"].endswith("requested 100, effective 64")

    def test_the_mark_goes_with_the_value(self, bench: Bench) -> None:
        bench.server.truncates = {"key_cache_segments": "64"}
        bench.testbed.set(bench.cell(segments=100))
        assert bench.testbed.set(bench.cell(segments=100, connections=8)).warnings
        assert not bench.testbed.set(bench.cell(segments=64)).warnings


class TestWarm:
    def test_a_cache_that_holds_the_index_is_expected_warm(self, bench: Bench) -> None:
        ready = bench.testbed.set(bench.cell())
        assert ready.expected.cache_counter == "Key_reads"
        assert ready.expected.files_cached

    def test_one_that_is_too_small_is_not(self, bench: Bench) -> None:
        bench.server.connection.answers["FROM information_schema.TABLES"] = [
            ("sbtest", "sbtest", "BASE TABLE", "MyISAM", 1000, 2_000_000)
        ]
        ready = bench.testbed.set(bench.cell())
        assert ready.expected.cache_counter is None
        why_not = ready.probes["warmed"]["why_not"]
        assert "sbtest.sbtest.keys: it does not fit in" in why_not
        assert not any("LOAD INDEX" in said for said in bench.server.connection.statements)

    def test_files_beyond_the_memory_are_read_once(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[str] = []

        def warm(path: Path) -> int:
            read.append(path.suffix)
            return 0

        monkeypatch.setattr(page_cache, "resident_bytes", lambda _path: 0)
        monkeypatch.setattr(page_cache, "warm", warm)
        for segments in (0, 32, 0):
            ready = bench.testbed.set(bench.cell(segments))
            assert not ready.expected.files_cached
        assert sorted(read) == [".MYD", ".MYI"]


def test_variables_are_asked_for_once_in_each_state(bench: Bench) -> None:
    for segments in (0, 32, 0, 32):
        ready = bench.testbed.set(bench.cell(segments))
        assert ready.probes["variables_that_differ"] == {
            "key_buffer_size": {"value": "67108864", "default": "134217728"}
        }
    assert bench.server.life.count("differ") == 2


def test_closing_ends_the_server_and_may_be_repeated(bench: Bench) -> None:
    bench.testbed.set(bench.cell())
    bench.testbed.close()
    bench.testbed.close()
    assert bench.life[-1] == "kill"
    assert not bench.server.running
