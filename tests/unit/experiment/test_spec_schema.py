"""The JSON Schema accepts what the reader accepts and refuses what it refuses."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from contend.cli.main import main
from contend.experiment import json_schema, recipe_text, recipes

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_follows_it(name: str) -> None:
    VALIDATOR.validate(tomllib.loads(recipe_text(name)))


def test_the_example_of_the_tests_follows_it(small_text: str) -> None:
    VALIDATOR.validate(tomllib.loads(small_text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('[load]\nmesure = "2s"', id="unknown key"),
        pytest.param("[sever]", id="unknown table"),
        pytest.param('[load]\nmeasure = "5 parsecs"', id="unit"),
        pytest.param("[load]\nmeasure = 0", id="nothing to measure"),
        pytest.param("[load]\nconnections = 0", id="range"),
        pytest.param('[data]\nengine = "InoDB"', id="choice"),
        pytest.param('[factors]\n"load.connections" = []', id="empty factor"),
        pytest.param('[factors]\n"load.connections" = [1, 1]', id="level twice"),
        pytest.param('[factors]\n"load.conections" = [1]', id="path"),
        pytest.param('[factors]\n"compare.repeats" = [2, 3]', id="no factor"),
        pytest.param('[workload]\nkind = "point_select"\npoints = 5', id="parameter"),
        pytest.param('[workload.distribution]\nkind = "zipf"', id="distribution"),
        pytest.param("[server]\noptions = { a = [1] }", id="option"),
        pytest.param('[quick]\n"load.conections" = 1', id="variant"),
        pytest.param("[compare]\nbaseline = { a = 1, b = 2 }", id="baseline"),
        pytest.param("[published.a]\nrows = []", id="published"),
        pytest.param('[words."workload.ask"]\nlevel = "x"', id="words"),
    ],
)
def test_faults_do_not(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(tomllib.loads(text))


def described(schema: dict[str, Any], name: str = "") -> Iterator[tuple[str, bool]]:
    """Every named property of the schema, and whether it says what it means."""
    for key, part in schema.get("properties", {}).items():
        yield f"{name}.{key}", bool(part.get("description"))
        yield from described(part, f"{name}.{key}")


def test_every_key_is_described() -> None:
    missing = [
        name
        for name, has in described(SCHEMA)  # `kind` lists its kinds, each with a description
        if not has and not name.endswith(".kind")
    ]
    assert missing == []


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
