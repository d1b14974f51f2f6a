"""What a file says becomes objects; overrides and variants change them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path

import pytest

from contend.experiment import Experiment, Factor, SpecError, load_experiment, recipes

Load = Callable[..., Experiment]


def test_a_file_becomes_objects(load: Load) -> None:
    experiment = load()
    assert (experiment.name, experiment.question) == ("small", "Does it?")
    assert experiment.base["server.options"] == {"key_buffer_size": "64M"}
    assert experiment.base.data.rows == 1000
    assert experiment.base["load.warmup"] == pytest.approx(0.1)
    assert experiment.base["load.measure"] == 2.0
    assert experiment.factors == (
        Factor("server.options.key_cache_segments", (0, 32)),
        Factor("load.connections", (1, 8)),
    )
    assert experiment.compare.baseline == {"server.options.key_cache_segments": 0}
    assert experiment.compared == experiment.factors[0]
    assert experiment.compare.repeats == 4


def test_the_source_is_kept_word_for_word(load: Load, small_text: str) -> None:
    assert load().source == small_text


def test_an_empty_file_is_an_experiment_of_one_cell(load: Load) -> None:
    experiment = load("")
    assert experiment.name == "it"
    assert experiment.factors == ()
    assert experiment.compared is None


def test_a_file_may_begin_with_a_byte_order_mark_and_have_dos_lines(
    tmp_path: Path, small_text: str
) -> None:
    path = tmp_path / "dos.toml"
    path.write_bytes(b"\xef\xbb\xbf" + small_text.replace("\n", "\r\n").encode())
    assert load_experiment(str(path)).name == "small"


def test_options_are_one_name_with_dashes_or_underscores(load: Load) -> None:
    experiment = load(
        "[server]\noptions = { skip-grant-tables = true }\n"
        '[factors]\n"server.options.key-cache-segments" = [0, 1]'
    )
    assert experiment.base["server.options"] == {"skip_grant_tables": True}
    assert experiment.factors[0].path == "server.options.key_cache_segments"


def test_named_caches_have_options_with_a_dot(load: Load) -> None:
    experiment = load('[factors]\n"server.options.hot.key_buffer_size" = ["1M", "2M"]')
    assert experiment.factors[0].path == "server.options.hot.key_buffer_size"


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        pytest.param("data.rows=50", "data.rows", 50, id="number"),
        pytest.param("data.engine=Aria", "data.engine", "Aria", id="bare text"),
        pytest.param('data.engine="Aria"', "data.engine", "Aria", id="quoted text"),
        pytest.param("load.measure=500ms", "load.measure", 0.5, id="bare duration"),
        pytest.param("load.measure = 3", "load.measure", 3.0, id="blanks and seconds"),
        pytest.param("compare.repeats=9", "compare.repeats", 9, id="repeats"),
        pytest.param("experiment.name=mine", "name", "mine", id="name"),
    ],
)
def test_an_override_changes_one_value(load: Load, setting: str, path: str, value: object) -> None:
    experiment = load(sets=[setting])
    assert experiment.overrides == (setting,)
    if path.startswith(("compare", "name")):
        assert operator.attrgetter(path)(experiment) == value
    else:
        assert experiment.base[path] == value


def test_an_override_of_an_option_replaces_the_other_spelling(load: Load) -> None:
    text = "[server]\noptions = { key-buffer-size = 1 }"
    experiment = load(text, sets=["server.options.key_buffer_size=512M"])
    assert experiment.base["server.options"] == {"key_buffer_size": "512M"}


def test_an_override_with_a_list_makes_a_factor(load: Load) -> None:
    experiment = load(sets=["workload.points=[10, 100]"])
    assert experiment.factors[-1] == Factor("workload.points", (10, 100))


def test_an_override_with_a_list_replaces_a_factor_in_its_place(load: Load) -> None:
    experiment = load(sets=["server.options.key-cache-segments=[0, 64]"])
    assert experiment.factors[0] == Factor("server.options.key_cache_segments", (0, 64))


def test_an_override_with_one_value_fixes_a_factor(load: Load) -> None:
    experiment = load(sets=["load.connections=16"])
    assert [factor.path for factor in experiment.factors] == ["server.options.key_cache_segments"]
    assert experiment.base["load.connections"] == 16


def test_the_baseline_can_be_overridden_or_dropped(load: Load) -> None:
    experiment = load(sets=['compare.baseline={"load.connections" = 8}'])
    assert experiment.compare.baseline == {"load.connections": 8}
    assert load(sets=["compare.baseline={}"]).compared is None


def test_later_overrides_win(load: Load) -> None:
    assert load(sets=["data.rows=1", "data.rows=2"]).base.data.rows == 2


def test_a_variant_puts_its_overrides_in_place_and_sets_come_after(load: Load) -> None:
    experiment = load(variant="quick")
    assert experiment.variant == "quick"
    assert experiment.base.data.rows == 100
    assert experiment.base["load.connections"] == 8
    assert len(experiment.factors) == 1
    assert load(variant="quick", sets=["data.rows=7"]).base.data.rows == 7
    assert load().base.data.rows == 1000


def test_a_variant_the_file_does_not_have(load: Load) -> None:
    with pytest.raises(SpecError, match=r"it\.toml has no \[full\] table"):
        load(variant="full")


def test_a_fault_in_a_variant_shows_without_it(load: Load, small_text: str) -> None:
    with pytest.raises(SpecError, match=r"it\.toml:29: \"data\.rowz\" is not a path"):
        load(small_text.replace('[quick]\n"data.rows"', '[quick]\n"data.rowz"'))


def test_published_figures(load: Load, small_text: str) -> None:
    experiment = load(
        small_text
        + """
[published.there]
machine = "a large one"
columns = { "load.connections" = [1, 8] }
rows = [{ cell = { "server.options.key-cache-segments" = 32 }, gain_percent = [-3, 53.5] }]
"""
    )
    (published,) = experiment.published
    assert (published.name, published.machine, published.source) == ("there", "a large one", "")
    assert (published.columns_path, published.columns) == ("load.connections", (1, 8))
    assert published.rows[0].cell == {"server.options.key_cache_segments": 32}
    assert published.rows[0].gain_percent == (-3.0, 53.5)


def test_a_recipe_is_found_by_name() -> None:
    assert "segmented-key-cache" in recipes()
    assert load_experiment("segmented-key-cache").name == "segmented-key-cache"
