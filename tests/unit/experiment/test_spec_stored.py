"""What is stored in a run folder is read back equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from contend.experiment import (
    SPEC_FORMAT,
    Experiment,
    SpecError,
    from_dict,
    load_experiment,
    to_dict,
)

Load = Callable[..., Experiment]


@pytest.mark.parametrize("variant", ["default", "quick", "full"])
def test_a_recipe_through_json(variant: str) -> None:
    experiment = load_experiment("segmented-key-cache", variant=variant, sets=["data.seed=4"])
    assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


def test_words_are_stored() -> None:
    experiment = load_experiment("tpcc")
    words = from_dict(json.loads(json.dumps(to_dict(experiment)))).words["workload.ask"]
    assert words.name("multi_row") == "multi-row inserts" and words.is_plural("multi_row")
    assert words.name("another") is None and not words.is_plural("each")


def test_an_empty_experiment_through_json(load: Load) -> None:
    experiment = load("")
    assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


def test_levels_keep_their_type(load: Load) -> None:
    experiment = load('[factors]\n"server.options.x" = [true, 1.5, 2, "3"]')
    (factor,) = from_dict(json.loads(json.dumps(to_dict(experiment)))).factors
    assert [type(level) for level in factor.levels] == [bool, float, int, str]


@pytest.mark.parametrize("number", [SPEC_FORMAT - 1, SPEC_FORMAT + 1])
def test_a_different_format_is_refused(number: int) -> None:
    stored = {**to_dict(load_experiment("segmented-key-cache")), "format": number}
    with pytest.raises(SpecError, match=f"has format {number}, and this version"):
        from_dict(stored)


@pytest.mark.parametrize("number", [None, "1", 0, True])
def test_without_a_format_it_is_refused(number: object) -> None:
    stored = {**to_dict(load_experiment("segmented-key-cache")), "format": number}
    with pytest.raises(SpecError, match="no format number"):
        from_dict(stored)


@pytest.mark.parametrize("name", ["base", "factors", "compare", "published"])
@pytest.mark.parametrize("damage", [5, {"x": 1}, None])
def test_damage_is_refused(name: str, damage: object) -> None:
    stored: dict[str, Any] = to_dict(load_experiment("segmented-key-cache"))
    stored[name] = damage
    with pytest.raises(SpecError, match="the stored experiment is damaged"):
        from_dict(stored)


@pytest.mark.parametrize("name", ["name", "base", "factors"])
def test_what_is_missing_is_refused(name: str) -> None:
    stored = to_dict(load_experiment("segmented-key-cache"))
    del stored[name]
    with pytest.raises(SpecError, match="the stored experiment is damaged"):
        from_dict(stored)
