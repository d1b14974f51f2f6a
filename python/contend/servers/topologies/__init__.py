"""Topologies: how several private servers belong together, one file each. `deployment_of` makes the
members of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from contend.experiment.settings.model import Values
from contend.experiment.settings.topology import GALERA, SPIDER, TOPOLOGY
from contend.servers.deployment import Deployment, alone
from contend.servers.private import PrivateServer
from contend.servers.topologies import galera, spider

Make = Callable[[str], PrivateServer]
"""A stopped server, by the name of its member; without a name the only one."""

SEVERAL: Mapping[str, Callable[[Values, Make], Deployment]] = {
    SPIDER: spider.deployment,
    GALERA: galera.deployment,
}


def deployment_of(cell: Values, make: Make) -> Deployment:
    several = SEVERAL.get(cell[TOPOLOGY.path])
    return alone(make("")) if several is None else several(cell, make)
