"""Exports: columns that stay, Parquet that comes back, JSON that has everything."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from synthetic_run import as_failed, study, write_run

from contend.cli.main import main
from contend.report import export
from contend.store import RunFolder, RunRecord

FACTORS = "server.options.key_cache_segments,workload.points,load.connections"
HEADS = {
    "runs": f"run,block,repeat,status,started_at,ended_at,{FACTORS},qps,response_us_p50,"
    "response_us_p95,response_us_p99,server_cpu_us_per_query,client_cpu_us_per_query,"
    "client_ceiling_share,switches_per_query,read_bytes_per_query,key_requests_per_point,"
    "key_misses_per_query,cpus_busy,error_share,measured_s,queries,rows,bytes_sent,"
    "bytes_received,arrival,warnings,error",
    "comparisons": f"{FACTORS},metric,of,level,baseline,first_column,last_column,ratio,low,high,n,"
    "df,sd_log,detectable,p_sign_flip,robust,robust_low,robust_high,verdict,lost",
    "intervals": f"run,{FACTORS},index,start_s,duration_s,queries,errors,qps,response_us_p50,"
    "response_us_p95,response_us_p99",
}


@pytest.fixture(scope="module")
def quick_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quick variant, with one failed run."""

    def change(record: RunRecord) -> RunRecord:
        return as_failed(record, 'said "no", then left') if record.run == 5 else record

    return write_run(tmp_path_factory.mktemp("quick") / "run", study("quick"), change=change)


@pytest.mark.parametrize("table", sorted(HEADS))
def test_columns_stay_as_they_are(
    quick_path: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(quick_path), "--format", "csv", "--table", table]) == 0
    assert capsys.readouterr().out.partition("\n")[0] == HEADS[table]


def test_every_run_is_a_row(quick_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(quick_path), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 72
    assert rows[4]["status"] == "failed" and rows[4]["qps"] == ""
    assert rows[4]["error"] == 'said "no", then left'
    assert float(rows[0]["qps"]) > 0


@pytest.mark.parametrize("table", sorted(export.TABLES))
def test_parquet_comes_back(quick_path: Path, tmp_path: Path, table: str) -> None:
    out = tmp_path / "table.parquet"
    arguments = ["export", str(quick_path), "--format", "parquet", "--table", table]
    assert main([*arguments, "--out", str(out)]) == 0
    with RunFolder.open(quick_path) as folder:
        rows = export.rows_of(folder, table)
    read = pq.read_table(out)
    assert tuple(read.column_names) == rows.columns
    expected = [{name: row.get(name) for name in rows.columns} for row in rows.rows]
    assert read.to_pylist() == expected


def test_levels_of_several_types_become_text(tmp_path: Path) -> None:
    rows = export.Rows(("a", "b"), [{"a": 1, "b": 1}, {"a": "auto", "b": 2.5}, {"a": True}])
    (tmp_path / "mixed.parquet").write_bytes(export.parquet_of(rows))
    read = pq.read_table(tmp_path / "mixed.parquet").to_pylist()
    assert [row["a"] for row in read] == ["1", "auto", "True"]
    assert [row["b"] for row in read] == [1.0, 2.5, None]


def test_a_new_format_is_one_entry(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines(folder: RunFolder, *about: object) -> str:
        return "".join(f"{row['run']}\n" for row in export.rows_of(folder, *about).rows)

    monkeypatch.setitem(export.FORMATS, "lines", export.Format(lines))
    assert main(["export", str(quick_path), "--format", "lines"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["1", "2", "3"]


def test_json_has_everything(quick_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.json"
    assert main(["export", str(quick_path), "--format", "json", "--out", str(out)]) == 0
    document = json.loads(out.read_text())
    with RunFolder.open(quick_path) as folder:
        assert document["runs"] == [asdict(record) for record in folder.records()]
        assert document["experiment"] == folder.meta().experiment
    assert len(document["planned"]) == 72 and document["format"] == 1


def test_a_folder_is_copied_whole(
    quick_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    assert main(["export", str(quick_path), "--format", "folder", "--out", str(copy)]) == 0
    assert "72 of 72 planned runs" in capsys.readouterr().out
    with RunFolder.open(copy) as one, RunFolder.open(quick_path) as other:
        assert one.records() == other.records()


def test_a_damaged_folder_tells_how_to_save_it_and_that_works(
    quick_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    whole = (quick_path / "results.sqlite").read_bytes()
    (broken / "results.sqlite").write_bytes(whole[: len(whole) // 2])
    (broken / "spec.json").write_bytes((quick_path / "spec.json").read_bytes())
    assert main(["show", str(broken)]) == 1
    error = capsys.readouterr().err
    assert "is damaged" in error and "can still be read" in error and "--format folder" in error
    saved = tmp_path / "saved"
    assert main(["export", str(broken), "--format", "folder", "--out", str(saved)]) == 0
    assert main(["show", str(saved)]) == 0
    assert "so far (" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["parquet", "folder"])
def test_what_cannot_be_printed_needs_a_place(
    quick_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(quick_path), "--format", form]) == 2
    assert f"--format {form} needs --out" in capsys.readouterr().err


def test_parquet_without_its_package_asks_for_it(
    study_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = tmp_path / "runs.parquet"
    assert main(["export", str(study_path), "--format", "parquet", "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "Parquet needs the package pyarrow" in error and "pip install 'contend[export]'" in error
    assert not out.exists()
