"""What is stored in a run folder is read back equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from contend.spec import SPEC_FORMAT, Experiment, SpecError, from_dict, load_experiment, to_dict

Load = Callable[..., Experiment]


@pytest.mark.parametrize("variant", ["default", "quick", "full"])
def test_a_recipe_through_json(variant: str) -> None:
    experiment = load_experiment("segmented-key-cache", variant=variant, sets=["data.seed=4"])
    assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


def test_words_are_stored_and_an_older_experiment_has_none() -> None:
    experiment = load_experiment("tpcc")
    words = from_dict(json.loads(json.dumps(to_dict(experiment)))).words["workload.ask"]
    assert words.name("multi_row") == "multi-row inserts" and words.is_plural("multi_row")
    assert words.name("another") is None and not words.is_plural("each")
    older = {name: part for name, part in to_dict(experiment).items() if name != "words"}
    assert from_dict({**older, "format": 3}).words == {}


def test_an_empty_experiment_through_json(load: Load) -> None:
    experiment = load("")
    assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


def test_levels_keep_their_type(load: Load) -> None:
    experiment = load('[factors]\n"server.options.x" = [true, 1.5, 2, "3"]')
    (factor,) = from_dict(json.loads(json.dumps(to_dict(experiment)))).factors
    assert [type(level) for level in factor.levels] == [bool, float, int, str]


def test_a_newer_format_is_refused() -> None:
    stored = to_dict(load_experiment("segmented-key-cache"))
    stored["format"] = SPEC_FORMAT + 1
    with pytest.raises(
        SpecError, match=f"has format {SPEC_FORMAT + 1}, and this version of contend reads"
    ):
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


def test_an_experiment_of_an_earlier_format_is_read() -> None:
    stored = to_dict(load_experiment("segmented-key-cache"))
    base: dict[str, Any] = {"server": {}, "data": {}, "load": {}}
    for path, value in stored["base"].items():
        section, _, name = path.partition(".")
        if section in base and path not in NEW:
            in_seconds = name in ("warmup", "measure", "interval")
            base[section][f"{name}_s" if in_seconds else name] = value
    parameters = dict(stored["base"]["workload"])
    base["workload"] = {"kind": parameters.pop("kind"), "parameters": parameters}
    assert from_dict({**stored, "format": 2, "base": base}) == load_experiment(
        "segmented-key-cache"
    )


NEW = {
    *("server.use", "server.env", "server.wrap", "server.warm", "load.answer_timeout"),
    *("load.arrival", "load.errors", "load.events", "load.events_each", "load.idle_connections"),
    *("load.reconnect_every", "load.storm"),
}
"""What experiments of format 2 could not say."""
