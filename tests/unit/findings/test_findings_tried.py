"""Candidates' verdicts from differences of known size, and their signatures on made-up runs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from contend.findings import tried
from contend.findings.candidate import HostPowers, Pair, Proposal, Treatment
from contend.findings.candidates import CANDIDATES
from contend.probed import TriedRecord
from contend.spec import CellSpec

RECORD: TriedRecord = {
    "candidate": "log-flush",
    "title": "commits wait",
    "refuted_by": "",
    "least": 0.5,
    "doses": ["a.1", "a.2"],
    "placebo": "a.placebo",
    "words": {},
}


def found(
    monkeypatch: pytest.MonkeyPatch,
    left: tuple[float, float, float],
    *,
    gain: float = 0.5,
    noise: float = 0.01,
    repeats: int = 8,
) -> tried.DifferenceTried:
    """With so much of the difference left at half the dose, at the whole, with the placebo."""
    chance = np.random.default_rng(7)
    shares = dict(zip(("none", "a.1", "a.2", "a.placebo"), (1.0, *left), strict=True))
    values = {n: gain * s + noise * chance.standard_normal(repeats) for n, s in shares.items()}
    return of_values(monkeypatch, values)


def of_values(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, np.ndarray]
) -> tried.DifferenceTried:
    monkeypatch.setattr(tried, "_ratios", lambda _study, name: values[name])
    study: Any = SimpleNamespace(
        meta=SimpleNamespace(facts={"why": {"tried": [RECORD], "untested": {}}}),
        roles=SimpleNamespace(baseline=0),
    )
    result = tried.tried_of(study)
    assert result is not None
    return result


@pytest.mark.parametrize("gain", [0.5, -0.5])
@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        ((0.5, 0.1, 1.0), "confirmed"),
        ((1.0, 1.0, 1.0), "refuted"),
        ((0.5, 0.1, 0.1), "refuted"),  # the placebo takes as much
        ((0.9, 0.8, 1.0), "refuted"),  # less than was foretold
        ((0.0, 0.4, 1.0), "not certain"),  # more of it takes less
    ],
)
def test_a_verdict_follows_the_differences(
    monkeypatch: pytest.MonkeyPatch, left: tuple[float, float, float], verdict: str, gain: float
) -> None:
    result = found(monkeypatch, left, gain=gain)
    assert result.certain
    assert [one.verdict for one in result.candidates] == [verdict]


def test_what_is_not_certain_says_how_many_more(monkeypatch: pytest.MonkeyPatch) -> None:
    result = found(monkeypatch, (0.5, 0.1, 1.0), noise=0.9)
    (one,) = result.candidates
    assert one.verdict == "not certain"
    assert one.more is None or one.more > 0


def test_without_a_difference_nothing_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    result = found(monkeypatch, (0.5, 0.1, 1.0), gain=0.0)
    assert not result.certain
    assert [one.verdict for one in result.candidates] == ["not certain"]


def test_the_share_that_is_left_is_as_uncertain_as_the_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a difference that is hardly certain nobody knows well what share of it is left, even if
    it is known to the last digit what went."""
    chance = np.random.default_rng(3)
    untreated = 0.3 + 0.06 * chance.standard_normal(8)
    values = {
        "none": untreated,
        "a.1": 0.5 * untreated,
        "a.2": untreated - 0.15 + 0.001 * chance.standard_normal(8),
        "a.placebo": untreated,
    }
    result = of_values(monkeypatch, values)
    assert result.certain
    (one,) = result.candidates
    spread = (result.log_difference.high - result.log_difference.low) / result.log_difference.mean
    assert one.left.high - one.left.low > 0.5 * one.left.mean * spread


def test_intervals_and_verdicts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    for share in np.linspace(0, 1.2, 25):
        (one,) = found(monkeypatch, (share, share, 1.0), noise=0.03).candidates
        if one.verdict == "refuted":
            assert one.left.low > 0.5
        if one.verdict == "confirmed":
            assert one.left.high < 1


def run(status: dict[str, int], **done: float) -> Any:
    probes = {"status": {"Questions": 1000, **status}, "dataset": {"bytes": 50 << 20}}
    return SimpleNamespace(done=done, probes=probes, plan={})


def pair(slower: Any, faster: Any, **cell: Any) -> Pair:
    spec = CellSpec({"load.connections": 8, **cell})
    return Pair(
        compared="server.profile",
        place={},
        finding=None,  # type: ignore[arg-type]
        cells={"slower": spec, "faster": spec},
        runs={"slower": [slower], "faster": [faster]},
        kind="mariadb",
        own=True,
        here=True,
        host=HostPowers(cpus=2, root=True, groups=True),
    )


CPU = {"queries": 1000, "measured_s": 1.0}
SWITCHES = {"voluntary_switches": 800, "involuntary_switches": 0, "cpu_us": 1_500_000}
CALM = {"voluntary_switches": 10, "involuntary_switches": 0, "cpu_us": 600_000}
BUSY: dict[str, Any] = {**CPU, "server": SWITCHES, "client": {"cpu_us": 100_000}}
IDLE: dict[str, Any] = {**CPU, "server": CALM, "client": {"cpu_us": 100_000}}

SIGNS: dict[str, tuple[Pair, Pair]] = {
    "log-flush": (
        pair(run({"Innodb_data_fsyncs": 500}), run({})),
        pair(run({"Innodb_data_fsyncs": 1}), run({})),
    ),
    "buffer-pool-reads": (
        pair(run({"Innodb_buffer_pool_reads": 500}), run({})),
        pair(run({"Innodb_buffer_pool_reads": 500}), run({"Innodb_buffer_pool_reads": 500})),
    ),
    "key-cache-lock": (
        pair(run({"Key_read_requests": 9000}, **BUSY), run({}, **IDLE)),
        pair(run({"Key_read_requests": 9000}, **IDLE), run({}, **IDLE)),
    ),
    "cpu-contention": (
        pair(run({}, **BUSY), run({}, **IDLE)),
        pair(run({}, **IDLE), run({}, **IDLE)),
    ),
}


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_signature_holds_of_what_has_it_and_of_nothing_else(name: str) -> None:
    has_it, has_it_not = SIGNS[name]
    assert CANDIDATES[name].fits(has_it) is True
    assert CANDIDATES[name].fits(has_it_not) is False


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_candidate_has_doses_and_a_placebo_apart_from_them(name: str) -> None:
    has_it, _ = SIGNS[name]
    proposal = CANDIDATES[name].propose(has_it)
    if isinstance(proposal, str):
        return
    assert proposal.placebo.sets
    assert all(dose.sets and dose.sets != proposal.placebo.sets for dose in proposal.doses)
    assert 0 < proposal.least < 1


def test_a_model_server_has_no_log() -> None:
    has_it, _ = SIGNS["log-flush"]
    model = Pair(**{**{f: getattr(has_it, f) for f in Pair.__slots__}, "kind": "model"})
    assert "model server" in str(CANDIDATES["log-flush"].propose(model))


def test_a_variable_of_a_compared_profile_is_not_treated() -> None:
    """What the two levels have otherwise is what is compared, whoever names it."""
    profiles = {
        "old": {"any": {"sync_binlog": 1}, "mariadb": {"query-cache-type": 0}},
        "new": {"any": {"sync_binlog": 1}, "mysql": {"query-cache-type": 1}},
    }
    cells = {
        side: CellSpec({"server.profiles": profiles, "server.profile": name})
        for side, name in (("slower", "old"), ("faster", "new"))
    }
    one = replace(pair(run({}), run({})), cells=cells)  # type: ignore[arg-type]
    assert one.compared_names == {"server.profile", "query_cache_type"}

    def touched(path: str, *voids: str) -> str | None:
        return Treatment("", {path: 0}, voids).touches(one.compared_names)

    assert touched("server.globals.query_cache_type") == "query_cache_type"
    assert touched("server.globals.query_cache_size", "query_cache_type") == "query_cache_type"
    assert touched("server.options.loose_query-cache-type") == "query_cache_type"
    assert touched("server.globals.sync_binlog") is None
    assert touched("server.profile") == "server.profile"


def test_a_treatment_of_all_steps_touches_each_of_them() -> None:
    assert Treatment("", {"setup": []}).touches({"setup.index"}) == "setup.index"
    assert Treatment("", {"setup": []}).touches({"setups"}) is None


@pytest.mark.parametrize("name", ["key-cache-lock", "cpu-contention"])
def test_a_cause_that_many_make_is_tried_with_fewer_first(name: str) -> None:
    has_it, _ = SIGNS[name]
    for run_ in (*has_it.runs["slower"], *has_it.runs["faster"]):
        run_.plan["workload"] = {"kind": "random_points"}
        run_.probes["status"] |= {"Handler_read_key": 1000, "Key_read_requests": 9000}
    proposal = CANDIDATES[name].propose(has_it)
    assert isinstance(proposal, Proposal)
    smaller, whole = proposal.doses
    assert smaller.sets == {"load.connections": 6}
    assert whole.sets.keys() <= {"server.globals.eq_range_index_dive_limit", "place.server.cpus"}
    many = replace(has_it, host=HostPowers(cpus=8, root=True, groups=True))
    if name == "cpu-contention":
        found = CANDIDATES[name].propose(many)
        assert isinstance(found, Proposal)
        assert [one.sets["place.server.cpus"] for one in found.doses] == ["0-3", "0"]
