"""Whatever stands in a file or an override: it loads, or it is refused in one sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contend.experiment import (
    Experiment,
    SpecError,
    cell_spec,
    from_dict,
    load_experiment,
    planned_runs,
    recipe_text,
    to_dict,
)
from contend.experiment.keys import known_paths

RECIPE = recipe_text("segmented-key-cache")
TOKENS = re.findall(r'"[^"\n]*"|[A-Za-z_]+|[0-9_.]+|[\[\]{}=,.]|\n', RECIPE)
VALUES = st.sampled_from(
    [
        *("true", "-1", "0", "1.5", "inf", "nan", '""', '"2s"', '"x"', "[]", "[[]]", "{}"),
        *("[0, 1]", "[1, 1]", "{ a = 1 }", "1979-05-27", '"\\u0000"', "99999999999", "[{}]"),
    ]
)

no_limits = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def try_text(folder: Path, text: str, sets: tuple[str, ...] = ()) -> Experiment | None:
    path = folder / "it.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        experiment = load_experiment(str(path), sets=sets)
    except SpecError as error:
        assert "\n" not in error.message
        return None
    check(experiment)
    return experiment


def check(experiment: Experiment) -> None:
    """What loads can be planned, run and stored."""
    if len(experiment.factors) <= 3 and experiment.compare.repeats <= 10:
        for run in planned_runs(experiment)[:5]:
            cell_spec(experiment, run.cell)
    assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


@no_limits
@given(st.integers(0, len(TOKENS) - 1), st.integers(0, len(TOKENS) - 1))
def test_tokens_of_the_recipe_exchanged(tmp_path: Path, one: int, other: int) -> None:
    tokens = list(TOKENS)
    tokens[one], tokens[other] = tokens[other], tokens[one]
    try_text(tmp_path, " ".join(tokens).replace("\n ", "\n"))


@no_limits
@given(st.integers(0, RECIPE.count("\n") - 1), VALUES)
def test_values_of_the_recipe_replaced(tmp_path: Path, line: int, value: str) -> None:
    lines = RECIPE.split("\n")
    if " = " in lines[line]:
        lines[line] = lines[line].split(" = ")[0] + " = " + value
    try_text(tmp_path, "\n".join(lines))


@no_limits
@given(st.sampled_from((*known_paths(), "compare.baseline", "server.options.x")), VALUES)
@example("compare.baseline", "{}")
def test_any_path_overridden_with_any_value(tmp_path: Path, path: str, value: str) -> None:
    try_text(tmp_path, RECIPE, (f"{path}={value}",))


@no_limits
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_override(tmp_path: Path, path: str, value: str) -> None:
    try_text(tmp_path, RECIPE, (f"{path}={value}", f"data.engine={value}"))


@no_limits
@given(st.text(max_size=60))
@example("\ud800")
@example("a = '''\r\n")
def test_any_text(tmp_path: Path, text: str) -> None:
    try_text(tmp_path, text)


@pytest.mark.parametrize("value", ["true", "[0, 1]"])
def test_the_fuzzing_reaches_what_loads(tmp_path: Path, value: str) -> None:
    assert try_text(tmp_path, RECIPE, (f"server.options.x={value}",)) is not None
