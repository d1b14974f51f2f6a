"""What levels and places are called, and how a sentence is put together from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_findings import compared_of

from contend.experiment import Experiment, load_experiment, roles_of
from contend.metrics import FIXED, metric_of
from contend.report.answer import price_of
from contend.report.sentence import claim_sentence
from contend.sections.naming import as_sentence, naming_of


def experiment_of(tmp_path: Path, factors: str, baseline: str, more: str = "") -> Experiment:
    path = tmp_path / "it.toml"
    compare = f"[compare]\nbaseline = {{ {baseline} }}"
    path.write_text(f"[factors]\n{factors}\n{compare}\n{more}", encoding="utf-8")
    return load_experiment(str(path))


def claim(experiment: Experiment, metric: str = "qps", **tones: str) -> str:
    roles = roles_of(experiment)
    naming = naming_of(experiment)
    level = roles.others[0]
    compared = compared_of(experiment, metric_of(metric), level, 1.21, **tones)  # type: ignore[arg-type]
    return claim_sentence(naming, compared, level)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("multi-row inserts make", "Multi-row inserts make"),
        ("at 8 connections, it", "At 8 connections, it"),
        ("with x = 1, it", "With x = 1, it"),
        ("key_cache_segments = 32 makes", "key_cache_segments = 32 makes"),
        ("engine = InnoDB makes", "engine = InnoDB makes"),
        ("mysql@sid is", "mysql@sid is"),
        ("LOAD DATA makes", "LOAD DATA makes"),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_a_name_has_none(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence


COMMIT = "server.options.innodb_flush_log_at_trx_commit"
NAMES = '[words."server.env.TZ"]\nlevels.b = "bees"\nlevels.a = "an ant"\nplural = ["b"]'


@pytest.mark.parametrize(
    ("path", "levels", "names", "subject", "baseline"),
    [
        (COMMIT, "1, 2", "", "innodb_flush_log_at_trx_commit = 2 makes", "1"),
        ("data.engine", '"MyISAM", "InnoDB"', "", "InnoDB makes", "MyISAM"),
        ("server.env.TZ", '"a", "b"', NAMES, "Bees make", "an ant"),
    ],
)
def test_a_level_is_called_by_its_option_itself_or_the_words_of_the_file(
    tmp_path: Path, path: str, levels: str, names: str, subject: str, baseline: str
) -> None:
    first = levels.partition(",")[0]
    experiment = experiment_of(tmp_path, f'"{path}" = [{levels}]', f'"{path}" = {first}', names)
    sentence = claim(experiment, rest="better")
    assert sentence.startswith(f"{subject} ") and sentence.endswith(f" than {baseline}")
    assert "21 % (±5) faster" in sentence


def test_a_time_that_grows_at_one_place_has_both_amounts(tmp_path: Path) -> None:
    factors = '"data.engine" = ["MyISAM", "InnoDB"]\n"load.connections" = [1, 8, 64]'
    experiment = experiment_of(tmp_path, factors, '"data.engine" = "MyISAM"')
    shorter, longer = claim(experiment, "response_us_p99", first="worse", rest="better").split("; ")
    assert shorter.startswith("From 8 connections on") and "21 % (±5) shorter" in shorter
    assert longer == "at 1 connection, 21 % (±2) longer"


def test_sizes_are_in_order_and_names_are_listed(tmp_path: Path) -> None:
    sizes = '"server.options.sort_buffer_size" = ["1M", "2M", "4M"]\n"data.engine" = ["A", "B"]'
    sizes = sizes.replace('"A", "B"', '"MyISAM", "Aria"')
    experiment = experiment_of(tmp_path, sizes, '"data.engine" = "MyISAM"')
    assert claim(experiment, first="inconclusive", rest="better").startswith(
        "From sort_buffer_size = 2M on, Aria makes"
    )
    names = sizes.replace('["1M", "2M", "4M"]', '["x", "y", "z"]')
    experiment = experiment_of(tmp_path, names, '"data.engine" = "MyISAM"')
    assert claim(experiment, first="inconclusive", rest="better").startswith(
        "With sort_buffer_size = y and z, Aria makes"
    )


def test_the_price_is_what_certainly_matters_on_the_other_side(tmp_path: Path) -> None:
    factors = '"data.engine" = ["MyISAM", "InnoDB"]'
    experiment = experiment_of(tmp_path, factors, '"data.engine" = "MyISAM"')

    def price(tone: str, lead: str = "better", ratio: float = 1.21) -> str:
        beside = [
            compared_of(experiment, metric_of(name), "InnoDB", ratio, rest=tone)
            for name in ("server_cpu_us_per_query", "response_us_p99")
        ]
        return price_of(beside, lead, "InnoDB")

    cpu, time = price("worse").split(", and ")
    assert cpu.startswith("The price: 21 % (±2) more server CPU") and "(±2) longer" in time
    assert price("better").startswith("That also saves CPU: 21 % (±5) less")
    assert price("better", lead="worse").startswith("In return: 21 % (±5) less server CPU")
    assert price("inconclusive") == "" and price("worse", ratio=1.03) == ""


def test_a_metric_with_a_verb_has_a_noun() -> None:
    for metric in FIXED.values():
        assert bool(metric.verb) == bool(metric.noun), metric.name
        assert not metric.verb.endswith("s"), metric.name
