"""The options, files and exit codes of a gate."""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from synthetic_run import CONNECTIONS, POINTS, SEGMENTS, study, with_gate, write_slices

from contend.cli.gate import add_gate, by_policy, check_gate, end_gate
from contend.errors import RequestError
from contend.experiment import load_experiment
from contend.report import Report, as_json, build
from contend.store import RunFolder

CELLS = (f"{CONNECTIONS}=[8, 64]", f"{POINTS}=[10]", f"{SEGMENTS}=[0, 32]", "compare.repeats=8")


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_gate(parser)
    return parser.parse_args(arguments)


def report(path: Path, gain: float, server_sd: float = 0.005) -> Report:
    write_slices(
        path,
        study(sets=CELLS),
        gain=lambda _, __, at: gain if at == 8 else 1.0,
        server_sd=server_sd,
    )
    with_gate(path, 0.03)
    with RunFolder.open(path) as folder:
        return build(folder)


@pytest.mark.parametrize(
    ("gain", "server_sd", "policy", "code", "junit"),
    [
        (1.0, 0.005, "4", 0, (0, 0)),
        (0.9, 0.005, "pass", 3, (1, 0)),
        (1.0, 0.05, "4", 4, (0, 2)),
        (1.0, 0.05, "pass", 0, (0, 0)),
        (1.0, 0.05, "fail", 3, (2, 0)),
    ],
)
def test_exit_code_and_files(
    tmp_path: Path, gain: float, server_sd: float, policy: str, code: int, junit: tuple[int, int]
) -> None:
    built = report(tmp_path / "run", gain, server_sd)
    files = {name: tmp_path / name for name in ("junit", "markdown")}
    args = options("--if-not-certain", policy, *(f"--{n}={path}" for n, path in files.items()))
    assert end_gate(args, by_policy(args, built.gate)) == code
    suite = ET.parse(files["junit"]).getroot()
    assert (int(suite.attrib["failures"]), int(suite.attrib["skipped"])) == junit
    said = {"pass": "let pass", "fail": "failed by"}.get(policy)
    if code in (0, 3) and server_sd == 0.05:
        outs = [one.text or "" for one in suite.iter("system-out")]
        assert said is not None and len(outs) == 2 and all(said in one for one in outs)
        assert said in files["markdown"].read_text().splitlines()[1]
    assert len(suite.findall(".//testcase")) == 2
    assert built.gate is not None
    comment = files["markdown"].read_text()
    assert comment.startswith("<!-- contend gate: ")
    assert all(row.says in comment for row in built.gate.rows)
    assert "\n" not in built.gate.line
    assert as_json(built)["gate"]["line"] == built.gate.line
    assert as_json(built)["gate"]["limits"] == {"qps": 0.03}


def test_without_a_gate_the_code_is_0() -> None:
    assert end_gate(options(), None) == 0


def test_options_of_a_gate_are_refused_without_one(tmp_path: Path) -> None:
    for arguments in (["--junit", "x"], ["--markdown", "x"], ["--if-not-certain", "fail"]):
        with pytest.raises(RequestError, match=f"{arguments[0]} needs a gate"):
            check_gate(options(*arguments), has_gate=False)
    check_gate(options("--junit", str(tmp_path / "x")), has_gate=True)


def test_unwritable_files_are_refused_before_the_measurement(
    tmp_path: Path,
) -> None:
    with pytest.raises(RequestError, match="is a folder"):
        check_gate(options("--junit", str(tmp_path)), has_gate=True)
    with pytest.raises(RequestError, match="cannot be written"):
        check_gate(options("--markdown", str(tmp_path / "no" / "x")), has_gate=True)


def test_width_time_and_margin_of_a_gate() -> None:
    def compare(*sets: str):  # type: ignore[no-untyped-def]
        return load_experiment("segmented-key-cache", variant="full", sets=sets).compare

    assert compare().width is None
    gate = compare("compare.fail_if_slower=1%")
    assert (gate.width, gate.is_width_of_cells, gate.margin) == (pytest.approx(0.007), True, 0.01)
    several = compare("compare.fail_if_slower=p99 10%, throughput 3%")
    assert several.metric == several.deciding == ("qps", "response_us_p99")
    assert several.widths == (pytest.approx(0.021), pytest.approx(0.07))
    own = compare("compare.fail_if_slower=3%", "compare.until=5%", "compare.at_most=1m")
    assert (own.width, own.is_width_of_cells, own.margin) == (0.05, False, 0.02)
    assert own.at_most_s == 60
    with pytest.raises(RequestError, match=r"compare\.margin is 0\.05"):
        compare("compare.fail_if_slower=3%", "compare.margin=0.05")
