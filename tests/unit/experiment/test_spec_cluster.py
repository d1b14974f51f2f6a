"""A cluster of the user's own: servers with roles, on the command line and in the file."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from contend.cli.run import add_run
from contend.errors import RequestError
from contend.experiment import CellSpec, Experiment, SpecError, cell_specs
from contend.experiment.settings.server import USE
from contend.experiment.settings.topology import (
    MEMBER_ROUND_TRIP,
    MEMBERS,
    TOPOLOGY,
    has_role,
    named_members,
    overrides_of,
    topology_of,
)

Load = Callable[..., Experiment]

FRONT, ONE, TWO = "front=socket:/f", "backend=mysql://db1:3307/", "backend=mysql://db2/?socket=/x y"

TEXT = """
[server]
use = "mariadb+spider"
topology = "spider"
[data]
schema = "tpcc"
warehouses = 4
[workload]
kind = "tpcc"
[load]
route = "key"
"""


def cell_of(load: Load, text: str, *, sets: list[str]) -> CellSpec:
    (cell,) = cell_specs(load(text, sets=sets))
    return cell


def test_a_role_and_a_dsn_are_told_from_one_server() -> None:
    assert all(map(has_role, (FRONT, ONE, TWO, "frnt=socket:/f")))
    others = ("socket:/f", "mysql://h/?socket=/x", "mariadb@sid", "/usr/bin/x=y", "model", "a=b")
    assert not any(map(has_role, others))


def test_the_first_is_one_that_reaches_all() -> None:
    assert named_members([ONE, FRONT, TWO]) == [
        ("front-1", "front", "socket:/f"),
        ("backend-1", "backend", "mysql://db1:3307/"),
        ("backend-2", "backend", "mysql://db2/?socket=/x y"),
    ]
    assert topology_of(named_members([ONE, FRONT])) == "spider"
    assert topology_of(named_members(["node=socket:/a"])) == "galera"


def test_what_the_command_line_names_is_in_every_cell(load: Load) -> None:
    cell = cell_of(load, TEXT, sets=overrides_of([ONE, FRONT, TWO]))
    shape = [cell[f"server.{name}"] for name in ("topology", "fronts", "backends", "use")]
    assert shape == ["spider", 1, 2, "socket:/f"]
    assert named_members(cell["server.members"])[2][2] == "mysql://db2/?socket=/x y"
    TOPOLOGY.refuse(cell.values, own=False)
    USE.refuse(cell.values, own=False)
    MEMBERS.refuse(cell.values, own=False)
    with pytest.raises(RequestError, match=r"server\.members and --server"):
        MEMBERS.refuse(cell.values, own=True)
    apart = cell.having(**{"server.member_round_trip": 0.001})
    with pytest.raises(RequestError, match="needs servers that contend starts"):
        MEMBER_ROUND_TRIP.refuse(apart.values, own=False)
    assert overrides_of([]) == []


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["frnt=socket:/f", ONE], "unknown role 'frnt'"),
        (["front=/f"], "is not ROLE=DSN"),
        ([FRONT, "backend=socket:/f"], "socket:/f is named twice"),
        ([ONE, TWO], "backend are not a cluster"),
        ([FRONT, ONE, "node=socket:/n"], "backend, front, node are not a cluster"),
    ],
)
def test_what_is_no_cluster_is_refused(texts: list[str], words: str) -> None:
    with pytest.raises(RequestError, match=words) as refused:
        topology_of(named_members(texts))
    assert refused.value.hint


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["server.backends=1"], 'server.backends = "2"'),
        (["server.topology=single"], 'server.topology = "spider"'),
        (['server.members="x"'], "is not ROLE=DSN"),
    ],
)
def test_a_file_that_says_otherwise_is_refused(load: Load, more: list[str], words: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(TEXT.replace('route = "key"', ""), sets=[*overrides_of([ONE, FRONT, TWO]), *more])
    assert words in str(refused.value)


def test_the_option_is_given_for_each_server(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_run(parser)
    given = [word for text in (FRONT, ONE) for word in ("--server", text)]
    found = parser.parse_args(["it.toml", *given])
    assert (found.server, found.members) == (None, (FRONT, ONE))
    assert parser.parse_args(["it.toml", "--server", "model"]).server == "model"
    with pytest.raises(SystemExit):
        parser.parse_args(["it.toml", "--server", "socket:/a", "--server", "socket:/b"])
    assert "roles: --server front=DSN" in capsys.readouterr().err
