"""What voids the cases of `bench/attribution.py`, and what does not."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench_module import bench_module

import contend
from contend.why import tried
from contend.why.candidate import Pair, Proposal
from contend.why.candidates import CANDIDATES

SOURCES = Path(contend.__file__).parents[1]

attribution = bench_module("attribution")
attribution_rules = bench_module("attribution_rules")


def now() -> str:
    return attribution_rules.hash_of(attribution_rules.rules(attribution.INJECTIONS))


@pytest.fixture(scope="module")
def before() -> str:
    return now()


def test_a_bound_of_a_sign_is_in_the_hash(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = CANDIDATES["missing-index"]
    sign, *rest = one.signature
    assert sign.least == 100
    changed = replace(one, signature=(replace(sign, least=101), *rest))
    monkeypatch.setitem(CANDIDATES, "missing-index", changed)
    assert now() != before


def test_what_is_proposed_is_in_the_hash(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = CANDIDATES["key-cache-lock"]

    def less(pair: Pair) -> Proposal | str:
        found = one.propose(pair)
        return found if isinstance(found, str) else replace(found, least=found.least - 0.01)

    monkeypatch.setitem(CANDIDATES, "key-cache-lock", replace(one, treat=less))
    assert now() != before


def test_a_rule_of_the_verdicts_is_in_the_hash(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only where it is a constant."""
    monkeypatch.setattr(tried, "_grows", lambda _d, _record: False)
    assert now() != before


@pytest.mark.parametrize("name", ["CONFIDENCE", "OVER_PLACEBO", "DOSE_SLACK"])
def test_constants_of_the_verdicts_are_in_the_hash(
    before: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tried, name, 0.9 * getattr(tried, name))
    assert now() != before


def test_injections_are_in_the_hash(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *rest = attribution.INJECTIONS
    monkeypatch.setattr(attribution, "INJECTIONS", (replace(first, accepted=[]), *rest))
    assert now() != before


def test_words_and_code_of_another_shape_are_not(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = CANDIDATES["missing-index"]
    other = replace(one, title="in other words", needs=(), treat=lambda given: one.propose(given))
    monkeypatch.setitem(CANDIDATES, "missing-index", other)
    grows = tried._grows
    monkeypatch.setattr(tried, "_grows", lambda d, the_record: grows(d, the_record))
    assert now() == before


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_hash_is_the_same_in_another_process(before: str, seed: str) -> None:
    """No address and no order of a set is in it."""
    code = (
        "import attribution as a, attribution_rules as r, json; "
        "dump = r.rules(a.INJECTIONS); "
        "print(r.hash_of(dump)); print(json.dumps(dump, default=r._plain))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(attribution.__file__).parent,
        # Of the sources that this process has, also if another contend is installed.
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    found, dump = done.stdout.splitlines()
    rules = attribution_rules.rules(attribution.INJECTIONS)
    here = json.loads(json.dumps(rules, default=attribution_rules._plain))
    for part, there in json.loads(dump).items():
        assert there == here[part], part
    assert found == before


def test_a_round_of_cases_has_each_kind() -> None:
    round_of = list(itertools.islice(attribution.drawn(), 80))
    assert len({key for key, *_ in round_of}) == 80
    without = {one.name: taken for _, one, _, taken in round_of if taken}
    assert without == {one.name: one.accepted[0] for one in attribution.ALONE}
    assert sum(one.name == "none" for _, one, _, _ in round_of) == 13
    assert sum(len(one.accepted) == 2 for _, one, _, _ in round_of) == 13
    assert sum(one.on_model for _, one, _, _ in round_of) == 6
    assert {name for one in attribution.INJECTIONS for name in one.accepted} <= CANDIDATES.keys()


def test_a_candidate_that_is_taken_out_is_unknown_to_contend(tmp_path: Path) -> None:
    done = attribution.contend("why", "--help", folder=tmp_path, without="log-flush")
    assert done.returncode == 0 and "usage: contend why" in done.stdout
    missing = attribution.contend("why", "--help", folder=tmp_path, without="no-such")
    assert "KeyError: 'no-such'" in missing.stderr
