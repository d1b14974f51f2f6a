"""Levels that are several servers: what a file may say of them, and which of them a plan asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contend.errors import RequestError
from contend.experiment import CellSpec, Experiment, SpecError, cell_specs
from contend.experiment.settings import launch_of
from contend.experiment.settings.load import Slicing
from contend.experiment.settings.model import Need
from contend.experiment.settings.topology import MEMBER_ROUND_TRIP, ROUTE, TOPOLOGY, members_in
from contend.load import Address, ArmSpec, AskedMember, plan_in_slices, plan_of

Load = Callable[..., Experiment]

SPIDER = """
[server]
use = "mariadb+spider"
topology = "spider"
backends = 2
[data]
schema = "tpcc"
warehouses = 5
[workload]
kind = "tpcc"
[load]
route = "{route}"
"""


def cell_of(load: Load, text: str) -> CellSpec:
    (cell,) = cell_specs(load(text))
    return cell


def member(name: str, owns: int | None, pid: int, *, reaches_all: bool) -> AskedMember:
    return AskedMember(name, Address(socket=f"/{name}"), pid, owns, reaches_all)


FRONT = member("front-1", None, 10, reaches_all=True)
MEMBERS = (
    FRONT,
    member("backend-1", 2, 11, reaches_all=False),
    member("backend-2", 5, 12, reaches_all=False),
)


def test_the_first_front_is_asked_and_all_members_are_watched(load: Load) -> None:
    cell = cell_of(load, SPIDER.format(route="first"))
    plan = plan_of(cell, FRONT.address, seed=1, watch_pid=10, members=MEMBERS)
    assert plan["watch"] == {"pid": 10, "more": [11, 12]}
    assert "nodes" not in plan and "route" not in plan["load"]
    assert members_in(cell.values) == 3


def test_by_key_owners_are_asked_and_fronts_for_what_crosses(load: Load) -> None:
    cell = cell_of(load, SPIDER.format(route="key"))
    plan = plan_of(cell, FRONT.address, seed=1, watch_pid=10, members=MEMBERS)
    assert [node["name"] for node in plan["nodes"]] == ["backend-1", "backend-2", "front-1"]
    assert plan["load"]["route"] == {
        "by": "key",
        "owners": [{"upto": 2, "node": "backend-1"}, {"upto": 5, "node": "backend-2"}],
        "through": ["front-1"],
    }
    # So that a warehouse without an owner is refused.
    assert plan["workload"]["warehouses"] == 5
    slices = Slicing(slice_s=0.1, settle_s=0.0, rounds=2)
    arms = [ArmSpec("a", cell, FRONT.address, 10, members=MEMBERS)]
    (arm,) = plan_in_slices(arms, slices, seed=1)["arms"]
    assert arm["route"] == plan["load"]["route"] and arm["nodes"] == plan["nodes"]
    assert arm["watch"] == plan["watch"]


def test_nodes_that_have_all_rows_need_no_front(load: Load) -> None:
    text = SPIDER.format(route="key").replace("spider", "galera")
    cell = cell_of(load, text.replace("backends = 2", "nodes = 2"))
    nodes = tuple(member(f"node-{n}", owns, n, reaches_all=True) for n, owns in ((1, 2), (2, 5)))
    plan = plan_of(cell, nodes[0].address, seed=1, watch_pid=1, members=nodes)
    assert [node["name"] for node in plan["nodes"]] == ["node-1", "node-2"]
    assert "through" not in plan["load"]["route"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'schema = "tpcc"\nwarehouses = 5\n[workload]\nkind = "tpcc"',
            'rows = 5\n[workload]\nkind = "point_select"',
            "divides tables by warehouse",
        ),
        ("warehouses = 5", "warehouses = 1", "a warehouse for each of 2 backends"),
        ("warehouses = 5", "warehouses = 5\nforeign_keys = true", "conflicts with data.foreign"),
        ("warehouses = 5", 'warehouses = 5\nengine = "Aria"', "needs InnoDB"),
        ("backends = 2", 'warm = "cold"', "only a single server"),
        ("backends = 2", "backends = 9", "backends"),
        ('topology = "spider"', "", "has one"),
        ('topology = "spider"', 'topology = "spyder"', 'must be "single", "spider" or "galera"'),
        ('kind = "tpcc"', 'kind = "sql"\ntext = "SELECT 1"', "needs warehouses"),
    ],
)
def test_what_no_server_could_have_is_refused(load: Load, old: str, new: str, words: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(SPIDER.format(route="key").replace(old, new))
    assert words in str(refused.value) + str(refused.value.hint)


def test_what_the_server_at_hand_cannot_be_is_refused(load: Load) -> None:
    cell = cell_of(load, SPIDER.format(route="first"))
    with pytest.raises(RequestError, match="needs private servers"):
        TOPOLOGY.refuse(cell.values, own=False)
    for name in ("mariadb", "mariadb+galera", "mysql", "/usr/sbin/spider"):
        with pytest.raises(RequestError) as refused:
            TOPOLOGY.refuse(cell.having(**{"server.use": name}).values, own=True)
        assert 'server.use = "mariadb+spider"' in (refused.value.hint or "")
    for name in ("mariadb+spider", "mariadb+spider@bookworm", "mariadb+galera+spider"):
        TOPOLOGY.refuse(cell.having(**{"server.use": name}).values, own=True)
    ROUTE.refuse(cell.values, own=True)


def test_members_are_as_far_apart_as_the_client_or_as_is_said(load: Load) -> None:
    def far(member: str, client: str, more: str = "") -> CellSpec:
        text = SPIDER.format(route="first")
        keys = f"member_round_trip = {member}\nround_trip = {client}\n{more}"
        return cell_of(load, text.replace("backends = 2\n", f"backends = 2\n{keys}"))

    def apart_s(cell: CellSpec) -> float | None:
        return launch_of(cell.values).member_round_trip_s

    near, same, other = far('"0us"', '"1ms"'), far('"as_client"', '"1ms"'), far('"2ms"', '"1ms"')
    assert [apart_s(one) for one in (near, same, other)] == [0.0, 0.001, 0.002]
    # One server has nobody to be apart from.
    assert apart_s(same.having(**{"server.topology": "single"})) is None
    moved = far('"as_client"', '"3ms"')
    assert MEMBER_ROUND_TRIP.between(same.values, moved.values) is Need.RESTART
    assert MEMBER_ROUND_TRIP.between(near.values, far('"0us"', '"3ms"').values) is Need.NOTHING
    assert "restarts servers" in (MEMBER_ROUND_TRIP.why_not_in_slices(same.values) or "")
    assert MEMBER_ROUND_TRIP.why_not_in_slices(other.values) is None


@pytest.mark.parametrize("value", ['"near"', "-1", "true", '"2 parsecs"'])
def test_a_distance_that_is_none_is_refused(load: Load, value: str) -> None:
    text = SPIDER.format(route="first").replace(
        "backends = 2", f"backends = 2\nmember_round_trip = {value}"
    )
    with pytest.raises(SpecError, match=r"member_round_trip must be a duration"):
        load(text)


def test_shares_that_are_not_among_the_warehouses_are_refused(load: Load) -> None:
    text = '[workload]\nkind = "tpcc"\n[data]\nschema = "tpcc"\nwarehouses = 3\n'
    with pytest.raises(SpecError, match="2 to 4 is not a range"):
        load(f"{text}first_warehouse = 2\nlast_warehouse = 4\n")
    assert load(f"{text}first_warehouse = 2\n") is not None
