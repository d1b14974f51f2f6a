"""`contend show RUN --json` keeps its shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from synthetic_run import study, write_run

from contend.cli.main import main
from contend.report import Report, as_json, build
from contend.store import RunFolder

NUMBER = {"type": ["number", "null"]}
LEVELS = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
    "minProperties": 1,
}
COMPARISON = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        *("metric", "cell", "level", "baseline", "ratio", "low", "high", "n", "verdict"),
        "detectable",
    ],
    "properties": {
        "metric": {"type": "string"},
        "cell": LEVELS,
        "level": {"type": ["string", "number", "boolean"]},
        "baseline": {"type": ["string", "number", "boolean"]},
        "ratio": NUMBER,
        "low": NUMBER,
        "high": NUMBER,
        "n": {"type": "integer", "minimum": 1},
        "verdict": {
            "enum": ["faster", "slower", "lower", "higher", "equivalent", "inconclusive", None]
        },
        "detectable": NUMBER,
        "columns": {"type": "array", "minItems": 2, "maxItems": 2},
    },
}
CELL = {
    "type": "object",
    "required": [
        "factors",
        "qps",
        "response_us",
        "server_cpu_us_per_query",
        "client_cpu_us_per_query",
        "switches_per_query",
        "key_requests_per_point",
        "expected",
        "warnings",
    ],
    "properties": {
        "factors": LEVELS,
        "n": {"type": "integer", "minimum": 1},
        "qps": NUMBER,
        "response_us": {
            "type": "object",
            "additionalProperties": False,
            "required": ["p50", "p95", "p99"],
            "properties": {"p50": NUMBER, "p95": NUMBER, "p99": NUMBER},
        },
        "server_cpu_us_per_query": NUMBER,
        "client_cpu_us_per_query": NUMBER,
        "switches_per_query": NUMBER,
        "key_requests_per_point": NUMBER,
        "expected": {"type": "object", "additionalProperties": {"type": "number"}},
        "intervals": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "prefixItems": [NUMBER, NUMBER],
                "minItems": 2,
                "maxItems": 2,
            },
        },
        "warnings": {"type": "array", "items": {"type": "string"}},
    },
}
SCHEMA = {
    "type": "object",
    "required": ["experiment", "run", "levels", "columns", "rows", "comparisons", "cells"],
    "properties": {
        "experiment": {"type": "string"},
        "run": {"type": "string"},
        **{
            name: {"type": "array", "items": COMPARISON}
            for name in ("levels", "columns", "rows", "comparisons")
        },
        "others": {"type": "array", "items": {"type": "string"}},
        "basis": {"type": "array", "items": {"type": "string"}},
        "cells": {"type": "array", "items": CELL},
    },
}


def check(document: object) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(document)
    json.dumps(document, allow_nan=False)


def test_a_complete_run_fits_the_schema(study_report: Report) -> None:
    document = as_json(study_report)
    check(document)
    assert document["experiment"] == "segmented-key-cache"
    assert len(document["comparisons"]) == 42 and len(document["levels"]) == 2
    assert len(document["rows"]) == 6 and len(document["columns"]) == 34
    assert [8, 128] in [one["columns"] for one in document["columns"]]
    assert len(document["cells"]) == 63
    for cell in document["cells"]:
        assert cell["key_requests_per_point"] == pytest.approx(9.045, abs=0.005)
        assert cell["expected"] == {"key_requests_per_point": 9}


@pytest.mark.parametrize("runs", [0, 1, 2, 9])
def test_a_partial_run_fits_the_schema(tmp_path: Path, runs: int) -> None:
    with RunFolder.open(write_run(tmp_path / "run", study("quick"), runs=runs)) as folder:
        check(as_json(build(folder)))


def test_the_command_prints_one_document(
    study_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(study_path), "--json"]) == 0
    captured = capsys.readouterr()
    check(json.loads(captured.out))
    assert captured.err == ""
