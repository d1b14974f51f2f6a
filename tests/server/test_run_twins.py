"""A recording asked on real servers: from a log and a dump to the template that lost its index."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shop
from run_lab import Lab, NewLab
from shop_statements import TEMPLATES, templates_of
from sql import Factory, query

from contend.servers import PrivateServer, ServerBinary
from contend.store import RunFolder

ORDERS = 5_000
DROPPED = "items_by_product"
EXPERIMENT = f"""
setup = [{{ name = "dropped", do = "{shop.drop_index(DROPPED)}", undo = "CREATE INDEX {DROPPED} ON {shop.INDEXES[DROPPED]}" }}]

[experiment]
name = "dropped"
question = "What do my queries lose without this index?"

[server]
kind = "mariadb"
options = {{ innodb_buffer_pool_size = "64M", innodb_log_file_size = "8M" }}

[data]
schema = "import:asked"

[workload]
kind = "twins"
recording = "peak"
each = 20

[factors]
"setup.dropped" = [false, true]

[compare]
baseline = {{ "setup.dropped" = false }}
repeats = 4
"""  # noqa: E501


@pytest.fixture(scope="module")
def recorded(
    shared_server: Factory, mariadb_binary: ServerBinary, tmp_path_factory: pytest.TempPathFactory
) -> shop.Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    return shop.record(shared_server(mariadb_binary), folder, statements=2000, orders=ORDERS)


@pytest.fixture(scope="module")
def peak(
    recorded: shop.Recorded, tmp_path_factory: pytest.TempPathFactory, new_lab: NewLab
) -> Iterator[Lab]:
    """A lab that has the log and the dump, and has asked the recording once, into `out`."""
    lab = new_lab(tmp_path_factory.mktemp("peak"))
    dump = lab.contend("data", "import", recorded.dump, "--name", "asked", "--server", lab.server)
    assert dump.returncode == 0, dump.stderr
    log = lab.contend("log", "import", recorded.log, "--name", "peak", "--replace")
    assert log.returncode == 0, log.stderr
    lab.file.write_text(EXPERIMENT)
    ran = lab.run("--yes")
    assert ran.returncode == 0, ran.stderr
    yield lab
    lab.end()


def document(lab: Lab, *arguments: str) -> Any:
    shown = lab.contend(*arguments, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def test_the_dropped_index_is_named_and_certain(peak: Lab) -> None:
    shown = document(peak, "show", "out")
    (twins,) = shown["twins"]
    slower = [
        one for one in twins["templates"] if one["change"] and one["change"]["verdict"] == "slower"
    ]
    needy = {one.name for one in TEMPLATES if DROPPED in one.needs}
    for one in slower:
        assert one["plan_differs"], one
        assert needy & set(_names(peak, one["example"])), one
    assert slower, twins
    assert any(one.startswith(f"{len(slower)} of them get") for one in shown["others"])
    # The log was written on these data.
    assert twins["rows_as_logged"] > 0.9 * twins["rows_logged"]
    assert twins["left_out"]["write"]["calls"] > 0


def _names(lab: Lab, number: int) -> list[str]:
    """The shop's names of a statement of the recording."""
    (one,) = document(lab, "log", "show", "peak", "--statement", str(number))["statements"]
    return list(templates_of(one["text"]))


def test_one_template_side_by_side(peak: Lab) -> None:
    (twins,) = document(peak, "show", "out")["twins"]
    first = next(one for one in twins["templates"] if one.get("plan_differs"))
    (one,) = document(peak, "why", "out", "--template", str(first["template"]))
    before, after = one["counters"]
    assert after["Handler_read_rnd_next"] > 10 * before.get("Handler_read_rnd_next", 1)
    assert one["plans"][0] != one["plans"][1]


def test_no_value_of_a_statement_is_in_the_run_folder(peak: Lab, recorded: shop.Recorded) -> None:
    emails = {found for text in recorded.sent for found in re.findall(r"'([^'@]+@[^']+)'", text)}
    assert len(emails) > 5
    for file in peak.out.rglob("*"):
        # The server's own files are in its data folder, not here.
        if file.is_file():
            content = file.read_bytes()
            assert not any(email.encode() in content for email in emails), file
    with RunFolder.open(peak.out) as folder:
        asked = [one for look in folder.looks() for one in look.figures["statements"]]
    refused = [one["why_not"] for one in asked if one["why_not"] is not None]
    # A server's message would quote the statement.
    assert refused and not any("'" in why for why in refused)


def test_another_log_under_the_name_stops_a_resume(
    peak: Lab, recorded: shop.Recorded, tmp_path: Path
) -> None:
    lab = peak.beside(tmp_path)
    log = recorded.log.read_text(encoding="utf-8", errors="surrogateescape")
    part = tmp_path / "part.log"
    part.write_text(log[: log.index("# User@Host", len(log) // 2)], errors="surrogateescape")
    other = lab.contend("log", "import", part, "--name", "other")
    assert other.returncode == 0, other.stderr
    lab.file.write_text(
        EXPERIMENT.replace('"peak"', '"other"').replace("repeats = 4", "repeats = 2")
    )
    assert lab.run("--yes").returncode == 0
    replaced = lab.contend("log", "import", recorded.log, "--name", "other", "--replace")
    assert replaced.returncode == 0
    resumed = lab.contend("run", "--resume", "out", "--budget")
    assert resumed.returncode == 2 and "is not the one that" in resumed.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--log", "peek", "--data", "import:asked"), 'there is no recording "peek"'),
        (("--log", "peak"), "--log needs the data of the recorded server"),
        (("--log", "peak", "--data", "import:asked", "--connections", "4"), "--connections"),
        (("--log", "peak", "--data", "import:asked", "--sql", "SELECT 1"), "--sql"),
    ],
)
def test_refused_requests(peak: Lab, arguments: tuple[str, ...], said: str) -> None:
    options = ("--server", peak.server, "join_buffer_size=256K,1M")
    refused = peak.contend("try", *arguments, *options)
    assert refused.returncode == 2 and said in refused.stderr, refused.stderr


def test_two_running_servers_of_which_one_lacks_a_table(
    peak: Lab,
    recorded: shop.Recorded,
    private_server: Factory,
    mariadb_binary: ServerBinary,
    tmp_path: Path,
) -> None:
    lab = peak.beside(tmp_path)
    servers = [private_server(mariadb_binary) for _ in range(2)]
    for server in servers:
        _fill(server, recorded)
    query(servers[1], "DROP TABLE shop.reviews")
    dsns = [f"mysql://asker@/?socket={server.socket}" for server in servers]
    named = ("--server", f"{dsns[0]},{dsns[1]}", "--for", "12s", "--yes")
    ran = lab.contend("try", "--log", "peak", *named, "--out", "out")
    assert ran.returncode == 0, ran.stderr
    (twins,) = document(lab, "show", "out")["twins"]
    lost = [one for one in twins["templates"] if one["one_sided"]]
    assert lost and all("1146" in one["level"]["errors"] for one in lost)
    assert "tables-missing" in ran.stdout
    assert "shop.reviews" in lab.contend("show", "out", "--full").stdout
    assert "too slow only at" in ran.stdout
    # The login may only read.
    assert query(servers[0], "SHOW DATABASES LIKE 'sbtest%'") == []


def _fill(server: PrivateServer, recorded: shop.Recorded) -> None:
    query(server, "CREATE USER asker@localhost", "GRANT SELECT ON *.* TO asker@localhost")
    with server.connect() as connection:
        connection.query(f"SET timestamp = UNIX_TIMESTAMP('{recorded.size.moment}')")
        shop.fill(connection, orders=ORDERS)
