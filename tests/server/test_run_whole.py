"""A whole small experiment on a real server, from the command to the report."""

from __future__ import annotations

from pathlib import Path

import pytest
import together
from run_lab import RUNS, Finished, Lab, as_json, finish

from contend.servers import debian

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory, tiny_run: Finished) -> Finished:
    """The same experiment once more, with figures for programs."""

    def make(folder: Path) -> None:
        finish(tiny_run.lab.beside(folder), "--json")

    return Finished.of(tiny_run.lab.beside(together.once(tmp_path_factory, "second", make)))


@pytest.fixture(scope="module")
def two_sizes(tmp_path_factory: pytest.TempPathFactory, tiny_run: Finished) -> Finished:
    """A table of two sizes, the larger with one row more."""

    def make(folder: Path) -> None:
        lab = tiny_run.lab.beside(folder)
        lab.edit('"load.connections" = [1, 4]', '"data.rows" = [11_811, 11_812]')
        finish(lab, "--json")

    return Finished.of(tiny_run.lab.beside(together.once(tmp_path_factory, "two-sizes", make)))


def test_it_ends_with_table_sentence_and_report(tiny_run: Finished) -> None:
    lab, done = tiny_run.lab, tiny_run.done
    assert "Does it help?" in done.stdout
    assert "key_cache_segments" in done.stdout
    assert str(lab.out / "report.html") in done.stdout
    assert (lab.out / "report.html").stat().st_size > 10_000
    assert (lab.out / "logs" / "server.log").exists()
    assert f"server: {lab.server}\n" in done.stderr
    records = lab.records()
    assert [r.status for r in records] == ["ok"] * RUNS
    assert [r.run for r in records] == list(range(1, RUNS + 1))
    assert not any((r.done or {})["errors"] for r in records)
    assert all(lab.answered().values())


def test_each_run_has_what_explains_it(tiny_run: Finished) -> None:
    lab = tiny_run.lab
    for record in lab.records():
        assert record.probes["status"]["Key_reads"] == 0
        assert record.probes["variables_that_differ"]["key_buffer_size"]["value"] == "16777216"
        assert record.probes["dataset"]["rows"] == 10_000
        assert record.probes["server"]["kind"] == "mariadb"
        warmed = record.probes["warmed"]
        assert (warmed["cache"], warmed["why_not"]) == (True, None)
        # Looked at, and told: the kernel may take a page out again at any time.
        assert isinstance(warmed["files"], bool)
        segments = record.cell["server.options.key_cache_segments"]
        assert len(record.probes["key_caches"]) == max(1, int(segments))
        if (record.done or {})["queries"]:
            assert record.probes["status"]["Key_read_requests"] > 0
            assert (record.done or {})["server"]["cpu_us"] > 0
    assert all(lab.answered().values())


def test_a_point_asks_the_key_cache_as_often_as_the_depth_of_the_table_says(
    two_sizes: Finished,
) -> None:
    """One row more, and the key has a third level."""
    expected = {11_811: 6, 11_812: 9}
    for cell in as_json(two_sizes.done)["cells"]:
        requests = expected[cell["factors"]["data.rows"]]
        assert cell["expected"] == {"key_requests_per_point": requests}
        assert cell["key_requests_per_point"] == pytest.approx(requests, abs=0.1)


def test_data_may_be_a_factor(two_sizes: Finished) -> None:
    records = two_sizes.lab.records()
    assert {r.cell["data.rows"] for r in records} == {11_811, 11_812}
    assert all(r.probes["dataset"]["rows"] == r.cell["data.rows"] for r in records)


def test_json_alone_is_on_standard_output(second: Finished) -> None:
    document = as_json(second.done)
    assert document["experiment"]
    assert len(document["cells"]) == 4
    assert {c["baseline"] for c in document["comparisons"]} == {0}


def test_the_second_run_starts_from_the_kept_dataset(second: Finished) -> None:
    assert "restoring" in second.done.stderr
    assert "loading" not in second.done.stderr


@pytest.mark.parametrize("engine", ["Aria", "InnoDB"])
def test_other_engines_are_loaded_warmed_and_run(lab: Lab, engine: str) -> None:
    lab.edit('engine = "MyISAM"', f'engine = "{engine}"')
    done = lab.run()
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert [r.status for r in records] == ["ok"] * RUNS
    assert all(r.probes["warmed"]["cache"] for r in records)
    assert not any(w["code"] == "cache-not-warm" for r in records for w in r.warnings)
    assert lab.servers_alive() == []
    assert lab.left() == []


def test_rocksdb_runs_where_the_server_has_it(lab: Lab) -> None:
    lab.edit('engine = "MyISAM"', 'engine = "RocksDB"')
    refused = lab.run()
    assert refused.returncode == 2
    assert "contend server get mariadb+rocksdb" in refused.stderr
    binary = debian.get("mariadb", extras=("rocksdb",))
    done = lab.run("--server", binary.name)
    assert done.returncode == 0, done.stderr
    assert [r.status for r in lab.records()] == ["ok"] * RUNS


def test_an_option_is_changed_by_restart_where_the_file_says_so(lab: Lab) -> None:
    lab.by_runs().edit('change = "in_place"', 'change = "restart"')
    assert lab.run().returncode == 0
    log = (lab.out / "logs" / "server.log").read_text()
    assert log.count("ready for connections") > 2
    assert {r.probes["server"]["change"] for r in lab.records()} == {"restart"}


def test_a_value_the_server_truncates_is_said(lab: Lab) -> None:
    lab.edit("[0, 32]", "[0, 100]")
    done = lab.run()
    assert done.returncode == 0, done.stderr
    marks = {
        record.cell["server.options.key_cache_segments"]: [
            w["message"] for w in record.warnings if w["code"] == "option-truncated"
        ]
        for record in lab.records()
    }
    assert marks[0] == []
    (message,) = marks[100]
    assert message.endswith("requested 100, effective 64")
    assert "requested 100" in done.stdout.replace("\n", " ")
