"""The shop of our own: its log holds what its application sent, its dump holds its rows, and each
of its indexes is needed by just the statements that say so."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import shop
from shop_statements import TEMPLATES, Size, templates_of
from sql import Factory, query

from contend.data import Rules
from contend.data.dump.load import load_into
from contend.data.recordings import import_recording
from contend.load.ask import recorded_statements, show_recording
from contend.servers import PrivateServer, ServerBinary

ORDERS = 10_000


@pytest.fixture(scope="module")
def server(shared_server: Factory, mariadb_binary: ServerBinary) -> PrivateServer:
    return shared_server(mariadb_binary)


@pytest.fixture(scope="module")
def recorded(
    server: PrivateServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[shop.Recorded]:
    folder = tmp_path_factory.mktemp("shop")
    yield shop.record(server, folder, statements=2000, orders=ORDERS)


def test_the_log_holds_what_the_application_sent(
    recorded: shop.Recorded, load_program: Path, tmp_path: Path
) -> None:
    recording, done = import_recording(load_program, [str(recorded.log)], "shop", cache=tmp_path)
    assert done["left_out"] == {}
    found: Counter[str] = Counter()
    for template in show_recording(load_program, recording.path)["templates"]:
        statements = recorded_statements(
            load_program, recording.path, f"--template={template['template']}"
        )
        # The session that switches the log off has no database.
        texts = [
            one["text"].encode("latin-1").decode()
            for one in statements
            if one["database"] == shop.DATABASE
        ]
        found.update(texts)
        # All of one template of the recording are of one template of the shop.
        assert len({frozenset(templates_of(text)) for text in texts}) <= 1, template
    assert found == recorded.sent


def test_every_template_is_asked_and_their_shares_differ_by_a_thousand(
    recorded: shop.Recorded,
) -> None:
    calls: Counter[str] = Counter()
    for text, times in recorded.sent.items():
        for name in templates_of(text):
            calls[name] += times
    assert set(calls) == {template.name for template in TEMPLATES}
    weights = [template.weight for template in TEMPLATES]
    assert max(weights) >= 1000 * min(weights)


def test_the_same_seed_makes_the_same_rows_and_statements(
    recorded: shop.Recorded, private_server: Factory, mariadb_binary: ServerBinary
) -> None:
    second = private_server(mariadb_binary)
    with second.connect() as connection:
        # The clock of the first, so that dates are the same.
        connection.query(f"SET timestamp = UNIX_TIMESTAMP('{recorded.size.moment}')")
        size = shop.fill(connection, orders=ORDERS)
    assert size == recorded.size == shop.size_of(second)
    assert shop.drive(second, size, 2000) == recorded.sent


def test_its_dump_is_imported(
    recorded: shop.Recorded, private_server: Factory, mariadb_new_binary: ServerBinary
) -> None:
    newer = private_server(mariadb_new_binary, {"skip_log_bin": True}, confined=True)
    loaded = load_into(newer, recorded.dump, Rules(), "shop")
    assert loaded.database == shop.DATABASE
    # It is of the moment before the log, so the rows of its statements are not in it.
    assert shop.size_of(newer) == recorded.size
    assert query(newer, "SELECT COUNT(*) FROM shop.products") == [(2000,)]


@pytest.mark.parametrize("index", shop.INDEXES)
def test_just_the_templates_that_name_an_index_need_it(
    server: PrivateServer, recorded: shop.Recorded, index: str
) -> None:
    before = _rows_read(server, recorded.size)
    query(server, "USE shop", shop.drop_index(index))
    after = _rows_read(server, recorded.size)
    table = shop.INDEXES[index].split()[0]
    query(server, "USE shop", f"CREATE INDEX {index} ON {shop.INDEXES[index]}")
    query(server, f"ANALYZE TABLE shop.{table}")
    needy = {template.name for template in TEMPLATES if index in template.needs}
    assert {name for name, rows in after.items() if rows > 4 * before[name]} == needy


def _rows_read(server: PrivateServer, size: Size) -> dict[str, int]:
    """By the reads of each template, eight of each."""
    drawn = random.Random(1)
    rows = {}
    with server.connect(shop.DATABASE) as connection, connection.cursor() as cursor:
        for template in TEMPLATES:
            texts = [call.text for _ in range(8) for call in template.calls(drawn, size)]
            total = 0
            for text in texts:
                if template.fails or not text.startswith("SELECT"):
                    continue
                cursor.execute("FLUSH STATUS")
                cursor.execute(text)
                cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
                total += sum(int(value) for _, value in cursor.fetchall())
            rows[template.name] = max(total, 1)
    return rows
