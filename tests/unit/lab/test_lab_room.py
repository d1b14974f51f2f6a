"""Memory for all servers of a level: refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from contend.errors import RequestError
from contend.lab import design
from contend.lab.design import SERVER_BYTES, members_bytes, refuse_without_memory
from contend.spec import CellSpec, Experiment, load_experiment

TEXT = """
[server]
use = "mariadb+galera"
topology = "galera"
nodes = 4
options = { innodb_buffer_pool_size = "16M" }
[data]
schema = "tpcc"
warehouses = 2
[workload]
kind = "tpcc"
[factors]
"server.nodes" = [2, 4]
"""


def experiment(tmp_path: Path) -> Experiment:
    path = tmp_path / "it.toml"
    path.write_text(TEXT)
    return load_experiment(str(path))


@pytest.mark.parametrize(("available_mib", "fits"), [(100, False), (100_000, True)])
def test_the_largest_level_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available_mib: int, fits: bool
) -> None:
    monkeypatch.setattr(design.host, "memory_available_bytes", lambda: available_mib << 20)
    if fits:
        refuse_without_memory(experiment(tmp_path))
        return
    with pytest.raises(RequestError, match=r"^the 4 servers of a level take about .* 100 MiB are"):
        refuse_without_memory(experiment(tmp_path))


def test_one_server_is_none_of_its_business(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design.host, "memory_available_bytes", lambda: 0)
    path = tmp_path / "one.toml"
    path.write_text("[data]\nrows = 1000\n")
    refuse_without_memory(load_experiment(str(path)))


def test_nodes_have_all_rows_and_backends_their_share() -> None:
    big = {"innodb_buffer_pool_size": "8G", "key_buffer_size": 0, "aria_pagecache_buffer_size": 0}
    cell = CellSpec().having(**{"data.schema": "tpcc", "data.warehouses": 8, "server.options": big})
    galera = cell.having(**{"server.topology": "galera", "server.nodes": 4})
    spider = cell.having(**{"server.topology": "spider", "server.backends": 4})
    of_nodes = members_bytes(galera) - 4 * SERVER_BYTES
    of_backends = members_bytes(spider) - 5 * SERVER_BYTES
    assert of_backends < of_nodes / 2
