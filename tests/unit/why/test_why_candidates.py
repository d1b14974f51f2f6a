"""Candidates on made-up runs: the pairs they fit, and how they are tried there."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from made_up_looks import plans
from made_up_pairs import SIGNS, done, pair, run

from contend.experiment import Experiment, Factor, cell_specs, load_experiment
from contend.experiment.settings.server import is_on_this_host
from contend.why.candidate import HostPowers, Pair, Proposal, Treatment, last_looks
from contend.why.candidates import CANDIDATES

UNTREATED = {
    "bandwidth",
    "bulk-load-beside",
    "burst-beside",
    "disk-beside",
    "mitigations",
    "scan-beside",
    "steal",
    "superfluous-index",
}
"""Candidates with a signature and no treatment."""

USED = done()["server"]
NOT_SHOWN = {"read_bytes": None, "write_bytes": None}

TRIED = sorted(CANDIDATES.keys() - UNTREATED)


def proposal_of(name: str) -> Proposal:
    has_it, _ = SIGNS[name]
    found = CANDIDATES[name].propose(has_it)
    assert isinstance(found, Proposal), found
    return found


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_signature_holds_only_for_a_pair_that_has_it(name: str) -> None:
    has_it, has_it_not = SIGNS[name]
    candidate = CANDIDATES[name]
    assert candidate.name == name
    assert {
        sign.name: sign.holds(has_it) for sign in candidate.signature if not sign.holds(has_it)
    } == {}
    assert candidate.fits(has_it_not) is False


@pytest.mark.parametrize(
    ("slower", "fits"),
    [
        ({"server_us": 1500, "switches": 2.5}, True),
        ({"server_us": 1200, "switches": 2.9}, True),
        ({"server_us": 1250, "switches": 2.6}, False),
    ],
)
def test_a_lock_shows_as_cpu_time_or_as_switches(slower: dict[str, float], fits: bool) -> None:
    keys = {"Key_read_requests": 9000}
    sides = [run(keys, **done(**of)) for of in (slower, {"server_us": 1200, "switches": 2.5})]
    for side in sides:
        side.plan = {"workload": {"kind": "random_points"}}
    assert CANDIDATES["key-cache-lock"].fits(pair(*sides)) is fits


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_signature_that_was_not_recorded_is_unknown(name: str) -> None:
    nothing = SimpleNamespace(done=None, probes={}, plan={})
    assert CANDIDATES[name].fits(pair(nothing, nothing)) is None


@pytest.mark.parametrize("name", TRIED)
def test_a_candidate_has_possible_doses_and_a_placebo(name: str) -> None:
    """All treatments differ, and each gives a cell when applied to that of its pair."""
    has_it, _ = SIGNS[name]
    proposal = proposal_of(name)
    assert 0 < proposal.least < 1
    assert 1 <= len(proposal.doses) <= 2
    assert proposal.placebo.sets
    changed = [dict(one.sets) for one in proposal.treatments]
    assert all(one not in changed[:at] for at, one in enumerate(changed))
    tables = {f"t{at}": sets for at, sets in enumerate(changed)}
    base = has_it.cells["slower"].having(treatments=tables)
    plain: Experiment = load_experiment("server-versus-server")
    experiment = replace(plain, base=base, factors=(Factor("treatment", ("none", *tables)),))
    assert len(list(cell_specs(experiment))) == len(tables) + 1


NOT_OWN = (
    "cpu-contention",
    "cpus-far-apart",
    "doublewrite",
    "instrumentation",
    "log-device",
    "memory-of-another-node",
    "neighbour",
    "preempted-holders",
    "run-queue",
)


@pytest.mark.parametrize("name", TRIED)
def test_a_server_that_is_not_contends_own_is_not_started(name: str) -> None:
    has_it, _ = SIGNS[name]
    found = CANDIDATES[name].propose(replace(has_it, own=False))
    if name in NOT_OWN:
        assert isinstance(found, str)
        assert "its own servers" in found
        return
    assert isinstance(found, Proposal)
    treated = [path for one in (*found.doses, found.placebo) for path in one.sets]
    # The quota is a setting of a server of ours, so the pair is made up.
    assert name == "quota" or not any(
        path.startswith(("server.options.", "place.server.")) for path in treated
    )


@pytest.mark.parametrize(
    ("name", "powers", "because"),
    [
        ("memory-of-another-node", HostPowers(cpus=2), "one memory node"),
        ("frequency", HostPowers(cpus=2), "CPU frequency"),
        ("cpu-contention", HostPowers(cpus=1, groups=True), "one CPU"),
        ("cpu-contention", HostPowers(cpus=2), "control group"),
        ("cpus-far-apart", HostPowers(cpus=2), "share a cache"),
        ("cpus-far-apart", HostPowers(cpus=2, caches=((0,), (1,))), "no two CPUs"),
        ("log-device", HostPowers(cpus=2), "no room"),
        ("neighbour", HostPowers(cpus=2), "root"),
        ("client-bound", HostPowers(cpus=2), "root"),
        ("quota", HostPowers(cpus=2), "root"),
    ],
)
def test_the_reason_names_what_this_host_lacks(name: str, powers: HostPowers, because: str) -> None:
    has_it, _ = SIGNS[name]
    assert because in str(CANDIDATES[name].propose(replace(has_it, host=powers)))


def with_variable(one: Pair, name: str, value: str) -> Pair:
    differs = {name: {"value": value, "default": "7"}}
    runs = {
        side: [
            SimpleNamespace(
                done=each.done,
                plan=each.plan,
                probes={**each.probes, "variables_that_differ": differs},
            )
            for each in of
        ]
        for side, of in one.runs.items()
    }
    return replace(one, runs=runs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        ("key-cache-lock", "eq_range_index_dive_limit", "1"),
        ("index-estimates", "eq_range_index_dive_limit", "1"),
        ("log-flush", "innodb_flush_log_at_trx_commit", "0"),
        ("binary-log-flush", "sync_binlog", "0"),
        ("doublewrite", "innodb_doublewrite", "OFF"),
        ("dirty-pages", "innodb_max_dirty_pages_pct", "95"),
        ("query-cache-lock", "query_cache_size", "0"),
        ("redo-log", "innodb_log_file_size", str(4 << 30)),
        # The server would not take it back.
        ("redo-log", "innodb_log_file_size", str(4 << 20)),
        ("run-queue", "thread_handling", "pool-of-threads"),
        ("thread-cache", "thread_handling", "pool-of-threads"),
        ("table-cache", "table_open_cache", "100000"),
    ],
)
def test_a_setting_that_is_already_there_is_not_tried(name: str, variable: str, value: str) -> None:
    has_it, _ = SIGNS[name]
    assert isinstance(CANDIDATES[name].propose(with_variable(has_it, variable, value)), str)


def test_every_changed_optimizer_variable_gets_its_default() -> None:
    """Any of them changes plans: one left changed would refute the true cause."""
    has_it, _ = SIGNS["plan-changed"]
    found = CANDIDATES["plan-changed"].propose(has_it)
    assert isinstance(found, Proposal)
    sets = found.whole.sets
    assert sets["server.globals.optimizer_max_sel_arg_weight"] == 32_000
    assert sets["server.globals.optimizer_switch"] == "default"
    assert not any("optimizer_max" in path for path in found.doses[0].sets)
    others = {"sort_buffer_size", "optimizer_trace_max_mem_size"}
    for name in others:
        proposal = CANDIDATES["plan-changed"].propose(with_variable(has_it, name, "1"))
        assert isinstance(proposal, Proposal)
        assert not any(name in path for path in proposal.whole.sets)


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_model_server_has_no_variables(name: str) -> None:
    has_it, _ = SIGNS[name]
    found = CANDIDATES[name].propose(replace(has_it, kind="model"))
    treated = found.doses if isinstance(found, Proposal) else ()
    assert not any(
        path.startswith(("server.globals.", "server.options."))
        for one in treated
        for path in one.sets
    )


def test_a_variable_of_a_compared_profile_is_not_treated() -> None:
    """Every difference of two profiles is compared, whichever of them names it."""
    profiles = {
        "old": {"any": {"sync_binlog": 1}, "mariadb": {"query-cache-type": 0}},
        "new": {"any": {"sync_binlog": 1}, "mysql": {"query-cache-type": 1}},
    }
    one = pair(run(), run())
    cells = {
        side: one.cells["slower"].having(server__profiles=profiles, server__profile=name)
        for side, name in (("slower", "old"), ("faster", "new"))
    }
    one = replace(one, compared="server.profile", cells=cells)  # type: ignore[arg-type]
    assert one.compared_names == {"server.profile", "query_cache_type"}

    def touched(path: str, *voids: str) -> str | None:
        return Treatment("", {path: 0}, voids).touches(one.compared_names)

    assert touched("server.globals.query_cache_type") == "query_cache_type"
    assert touched("server.globals.query_cache_size", "query_cache_type") == "query_cache_type"
    assert touched("server.options.loose_query-cache-type") == "query_cache_type"
    assert touched("server.globals.sync_binlog") is None
    assert touched("server.profile") == "server.profile"
    # A treatment of all steps touches each of them.
    assert Treatment("", {"setup": []}).touches({"setup.index"}) == "setup.index"
    assert Treatment("", {"setup": []}).touches({"setups"}) is None


@pytest.mark.parametrize("name", ["key-cache-lock", "cpu-contention"])
def test_a_cause_of_many_connections_is_tried_with_fewer_first(name: str) -> None:
    smaller, whole = proposal_of(name).doses
    assert smaller.sets == {"load.connections": 6}
    assert whole.sets.keys() <= {"server.globals.eq_range_index_dive_limit", "place.server.cpus"}


def test_cpus_of_one_cache_have_as_many_of_several_as_placebo() -> None:
    found = proposal_of("cpus-far-apart")
    assert [one.sets for one in (found.whole, found.placebo)] == [
        {"place.server.cpus": "0,1,2,3"},
        {"place.server.cpus": "0,1,4,5"},
    ]


@pytest.mark.parametrize(
    ("status", "metrics", "fits"),
    [
        ({"Innodb_adaptive_hash_hash_searches": 900}, {}, True),
        ({}, {"adaptive_hash_searches": 900}, True),  # MySQL
        ({}, {}, False),
    ],
)
def test_searches_by_the_adaptive_hash_index_are_counted_on_every_server(
    status: dict[str, int], metrics: dict[str, int], fits: bool
) -> None:
    slower = run(status, {"innodb_metrics": metrics}, **done(switches=0.9))
    assert CANDIDATES["adaptive-hash-index"].fits(pair(slower, run())) is fits


def test_disk_traffic_that_is_hidden_is_not_recorded() -> None:
    """For example if /proc/PID/io of the server belongs to a different user."""
    has_it, _ = SIGNS["disk-beside"]
    hidden: Any = {
        side: [
            SimpleNamespace(**{**vars(one), "done": {**one.done, "server": {**USED, **NOT_SHOWN}}})  # type: ignore[dict-item]
            for one in of
        ]
        for side, of in has_it.runs.items()
    }
    assert CANDIDATES["disk-beside"].fits(has_it) is True
    assert CANDIDATES["disk-beside"].fits(replace(has_it, runs=hidden)) is None


def test_on_many_cpus_half_of_them_is_the_smaller_dose() -> None:
    has_it, _ = SIGNS["cpu-contention"]
    many = replace(has_it, host=HostPowers(cpus=8, root=True, groups=True))
    found = CANDIDATES["cpu-contention"].propose(many)
    assert isinstance(found, Proposal)
    assert [one.sets["place.server.cpus"] for one in found.doses] == ["0-3", "0"]


@pytest.mark.parametrize(
    ("source", "here"),
    [
        ("/usr/sbin/mariadbd", True),
        ("socket:/run/s.sock", True),
        ("mysql://root@/?socket=/tmp/s", True),
        ("mysql://u@127.0.0.1:3307/db", True),
        ("mysql://u@db.example/", False),
        ("mysql://u@db.example/socket", False),
    ],
)
def test_a_server_of_this_host_is_known_by_its_name(source: str, here: bool) -> None:
    assert is_on_this_host(source) is here


def test_an_index_is_tried_where_queries_search_by_k() -> None:
    has_it, _ = SIGNS["missing-index"]
    propose = CANDIDATES["missing-index"].propose

    def proposal(text: str) -> Proposal | str:
        cell = has_it.cells["slower"].having(workload={"kind": "sql", "text": text})
        return propose(replace(has_it, cells={"slower": cell, "faster": cell}))

    assert isinstance(proposal("SELECT c FROM sbtest WHERE k IN (1, 2);"), Proposal)
    assert isinstance(proposal("SELECT c FROM sbtest WHERE id = 1;"), str)


def explained_pair(slower: int = 0, faster: int = 1) -> Pair:
    """Sides whose statements were explained; place 0 reads a whole table."""
    has_it, _ = SIGNS["missing-index"]
    looks: Any = {
        side: {"plans": plans(place, {"a": place}).figures}
        for side, place in (("slower", slower), ("faster", faster))
    }
    return replace(has_it, looks=looks)


def test_a_missing_index_is_found_in_recorded_plans() -> None:
    own = explained_pair()
    candidate = CANDIDATES["missing-index"]
    assert candidate.fits(own)
    proposal = candidate.propose(own)
    assert isinstance(proposal, Proposal)
    (step,) = proposal.whole.sets["setup"]
    assert step["do"].startswith("ALTER TABLE sbtest ADD INDEX ")
    assert step["undo"] == step["do"].replace("ADD", "DROP").removesuffix(" (`k`)")
    (placebo,) = proposal.placebo.sets["setup"]
    assert placebo["do"].endswith("(`k`) IGNORED")
    (mysql,) = candidate.propose(replace(own, kind="mysql")).placebo.sets["setup"]  # type: ignore[union-attr]
    assert mysql["do"].endswith("(`k`) INVISIBLE")


@pytest.mark.parametrize("name", ["missing-index", "plan-changed"])
def test_recorded_plans_can_rule_out_a_candidate(name: str) -> None:
    """Without plans, the other signs decide."""
    has_it, candidate = SIGNS[name][0], CANDIDATES[name]
    for looks, fits in ((explained_pair(), True), (explained_pair(1, 1), False)):
        assert candidate.fits(replace(has_it, looks=looks.looks)) is fits
    assert candidate.fits(replace(has_it, looks={})) is True


def test_a_pair_has_the_last_successful_look_at_its_sides() -> None:
    looks = [plans(0, {"a": 0}), plans(1, {"a": 0}), plans(0, {"a": 1})]
    looks += [replace(plans(0, {"a": 0}), figures={}, error="the server ended")]
    found = last_looks(looks, {"a": 0})
    assert found == {"plans": looks[1].figures}


@pytest.mark.parametrize("kind", ["mariadb", ""])
def test_a_candidate_has_a_proposal_or_a_reason_on_any_server(kind: str) -> None:
    for name, candidate in CANDIDATES.items():
        found = candidate.propose(replace(SIGNS[name][0], kind=kind))
        assert isinstance(found, str if name in UNTREATED else Proposal | str)
