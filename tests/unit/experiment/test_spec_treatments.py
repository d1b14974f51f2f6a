"""A treatment is laid over a cell: over its base, and over levels of factors."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from contend.experiment import (
    Experiment,
    SpecError,
    cell_spec,
    from_dict,
    json_schema,
    load_experiment,
    need_of,
    planned_runs,
    to_dict,
)
from contend.experiment.settings.model import Need

TEXT = """
[server]
options = { key_buffer_size = "64M" }
[treatments.small]
"server.options.key_buffer_size" = "1M"
"load.connections" = 2
[treatments.set]
"server.globals.key_buffer_size" = 1_000_000
[factors]
treatment = ["none", "small", "set"]
"server.options.key_cache_segments" = [0, 32]
[compare]
baseline = { "server.options.key_cache_segments" = 0 }
"""

SEGMENTS = "server.options.key_cache_segments"


def experiment(tmp_path: Path, text: str) -> Experiment:
    path = tmp_path / "treated.toml"
    path.write_text(text, encoding="utf-8")
    return load_experiment(str(path))


def test_it_is_laid_over_all_levels_alike(tmp_path: Path) -> None:
    made = experiment(tmp_path, TEXT)
    assert len(planned_runs(made)) == 6 * made.compare.repeats
    for level in (0, 32):
        plain = cell_spec(made, {"treatment": "none", SEGMENTS: level})
        small = cell_spec(made, {"treatment": "small", SEGMENTS: level})
        assert plain["server.options"] == {"key_buffer_size": "64M", "key_cache_segments": level}
        assert small["server.options"] == {"key_buffer_size": "1M", "key_cache_segments": level}
        assert (plain["load.connections"], small["load.connections"]) == (1, 2)
    assert from_dict(to_dict(made)) == made


def test_it_is_laid_over_levels_of_factors_too(tmp_path: Path) -> None:
    text = TEXT.replace("[compare]", '"load.connections" = [4, 8]\n[compare]')
    made = experiment(tmp_path, text)
    cell = cell_spec(made, {"treatment": "small", SEGMENTS: 0, "load.connections": 8})
    assert cell["load.connections"] == 2


def test_it_takes_what_its_values_take(tmp_path: Path) -> None:
    assert need_of("treatment", experiment(tmp_path, TEXT)) is Need.RESTART
    only_set = TEXT.replace('["none", "small", "set"]', '["none", "set"]')
    assert need_of("treatment", experiment(tmp_path, only_set)) is Need.IN_PLACE


def test_editors_know_it() -> None:
    document = {"treatments": {"a": {"load.connections": 2}}, "factors": {"treatment": ["a"]}}
    jsonschema.validate(document, json_schema())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"small", "set"', '"smal", "set"', 'unknown treatment "smal"'),
        ('"load.connections" = 2', '"load.conections" = 2', '"load.conections" is not a path'),
        ('"load.connections" = 2', '"load.connections" = 0', "a whole number from 1"),
        ('"load.connections" = 2', '"compare.repeats" = 2', "is not a setting"),
        ('"load.connections" = 2', 'treatment = "set"', "cannot be part of a treatment"),
        ("[treatments.small]", "[treatments.none]", '"none" means no treatment'),
        ("[treatments.small]", '[treatments."a b"]', "is not the name of a treatment"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        experiment(tmp_path, TEXT.replace(old, new))
    assert said in str(error.value)
