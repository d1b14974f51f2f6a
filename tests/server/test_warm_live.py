"""`contend warm` against real servers: what it reads, what it leaves as it was, what it says."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
import pytest
from child_python import import_path
from sql import Factory, query

from contend.cli.main import main
from contend.servers import PrivateServer, ServerBinary
from contend.undo import Journal, journals_in

pytestmark = pytest.mark.timeout(600)

ROWS = 40_000
LONG_VALUES = ROWS // 1000
"""Rows with a value that lies outside of their page."""

POOL = {"innodb_buffer_pool_size": "64M"}

TABLES = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT, note VARCHAR(200) NULL,"
    " big TEXT, twice INT AS (customer * 2) VIRTUAL, KEY customer (customer), KEY note (note))",
    "CREATE TABLE shop.codes (code VARCHAR(20) PRIMARY KEY, n INT)",
    "CREATE TABLE shop.bare (a INT, b VARCHAR(50))",
    "CREATE TABLE shop.unique_only (a INT NOT NULL, b INT, UNIQUE KEY (a))",
    "CREATE TABLE shop.pairs (a INT, b DATETIME(3), c INT, PRIMARY KEY (a, b), KEY c (c))",
    "CREATE TABLE shop.parted (id INT PRIMARY KEY, n INT, KEY n (n))"
    " PARTITION BY HASH (id) PARTITIONS 3",
    "CREATE TABLE shop.squeezed (id INT PRIMARY KEY, n INT) ROW_FORMAT=COMPRESSED",
    "CREATE TABLE shop.`odd``name?` (id INT PRIMARY KEY, `it's` INT, KEY `a?` (`it's`))",
    "CREATE TABLE shop.old (id INT PRIMARY KEY, n INT, s VARCHAR(30), KEY n (n)) ENGINE=MyISAM",
    "CREATE TABLE shop.empty (id INT PRIMARY KEY, n INT, KEY n (n))",
    "CREATE TABLE shop.minus (id INT PRIMARY KEY)",
    "CREATE VIEW shop.seen AS SELECT id FROM shop.orders",
)


def fill(server: PrivateServer) -> None:
    """Rows for all of the tables; the numbers 0 to 9 make the rest."""
    digits = " UNION ALL ".join(f"SELECT {digit} AS d" for digit in range(10))
    numbers = (
        "SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM"
        f" ({digits}) a, ({digits}) b, ({digits}) c, ({digits}) e, ({digits}) f"
    )
    rows = f"FROM ({numbers}) x WHERE n < {ROWS}"
    few = f"FROM ({numbers}) x WHERE n < 300"
    query(
        server,
        *TABLES,
        "INSERT INTO shop.orders (id, customer, note, big) SELECT n * 3, n * 7919 % 1000,"
        " IF(n % 10 = 0, NULL, CONCAT('Note ', SHA2(n, 256))),"
        f" IF(n % 1000, '', REPEAT('x', 9000)) {rows}",
        f"INSERT INTO shop.codes SELECT LEFT(SHA2(n, 256), 20), n {few}",
        f"INSERT INTO shop.bare SELECT n, LEFT(SHA2(n, 256), 50) {few}",
        f"INSERT INTO shop.unique_only SELECT n, n {few}",
        f"INSERT INTO shop.pairs SELECT n % 7, FROM_UNIXTIME(1700000000 + n), n {few}",
        f"INSERT INTO shop.parted SELECT n, n % 5 {few}",
        f"INSERT INTO shop.squeezed SELECT n, n {few}",
        f"INSERT INTO shop.`odd``name?` SELECT n, n {few}",
        f"INSERT INTO shop.old SELECT n, n, LEFT(SHA2(n, 256), 30) {few}",
        f"INSERT INTO shop.minus SELECT n - 150 {few}",
        "ANALYZE TABLE shop.orders, shop.codes, shop.bare, shop.unique_only, shop.pairs,"
        " shop.parted, shop.squeezed, shop.`odd``name?`, shop.old, shop.minus",
    )


@pytest.fixture(scope="module")
def shop(any_binary: ServerBinary, shared_server: Factory) -> PrivateServer:
    return filled(shared_server(any_binary, POOL))


@pytest.fixture(scope="module")
def one_shop(mariadb_binary: ServerBinary, shared_server: Factory) -> PrivateServer:
    """For what no kind of server makes a difference to."""
    return filled(shared_server(mariadb_binary, POOL))


def filled(server: PrivateServer) -> PrivateServer:
    if not query(server, "SHOW DATABASES LIKE 'shop'"):
        fill(server)
    return server


@pytest.fixture
def warm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    load_program: Path,
) -> Callable[..., tuple[int, str, str]]:  # fmt: skip
    """`warm(server, …)`: the command as it is typed; exit code, output, errors."""
    monkeypatch.setenv("CONTEND_LOAD", str(load_program))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def typed(server: PrivateServer, *words: str, database: str = "shop") -> tuple[int, str, str]:
        code = main(["warm", dsn(server, database), *words])
        out, err = capsys.readouterr()
        return code, out, err

    return typed


def dsn(server: PrivateServer, database: str = "shop", user: str = "root") -> str:
    return f"mysql://{user}@/{database}?socket={server.socket}"


def statements_of(server: PrivateServer, run: Callable[[], Any]) -> list[str]:
    """What the server was asked meanwhile, by its general log."""
    log = server.socket.parent / "general.log"
    query(server, f"SET GLOBAL general_log_file = '{log}'", "SET GLOBAL general_log = 1")
    before = len(log.read_bytes())
    try:
        run()
    finally:
        query(server, "SET GLOBAL general_log = 0")
    return log.read_bytes()[before:].decode("utf-8", "replace").splitlines()


def old_blocks_time(server: PrivateServer) -> int:
    return int(query(server, "SELECT @@GLOBAL.innodb_old_blocks_time")[0][0])


def test_the_plan_is_printed_and_nothing_is_read(shop: PrivateServer, warm: Any) -> None:
    code, out, err = warm(shop, "--dry-run")
    assert (code, err) == (0, "")
    pool = out.split("\n\n")[0]
    names = re.findall(r"^  shop\.(\S+) +(\S+)", pool, re.M)
    assert {"orders", "codes", "bare", "unique_only", "pairs", "parted", "squeezed"} <= {
        name for name, _ in names
    }
    assert {index for name, index in names if name == "orders"} == {"PRIMARY", "customer", "note"}
    assert re.search(r"^  shop\.seen +a view holds no rows of its own$", out, re.M)
    assert "MyISAM's key cache" in out


def test_every_range_of_every_table_is_read_and_nothing_is_written(
    shop: PrivateServer, warm: Any
) -> None:
    before = old_blocks_time(shop)
    said: list[Any] = []
    # A limit that nothing reaches makes the ranges short.
    asked = statements_of(shop, lambda: said.append(warm(shop, "--pages-per-second", "1000000")))
    ((code, out, err),) = said
    assert code == 0, err
    assert "Not loaded, or not" not in out
    scans = [line for line in asked if "/* contend warm " in line]
    # What is cut at the values of rows leaves nothing out.
    wheres = [line.partition(" WHERE ")[2] for line in scans if "FORCE INDEX (`note`)" in line]
    assert len(wheres) > 3
    counted = [query(shop, f"SELECT COUNT(*) FROM shop.orders WHERE {w}")[0][0] for w in wheres]
    assert sum(counted) == ROWS
    assert max(counted) < ROWS / 2
    keys = [line for line in scans if "`id` BETWEEN" in line and "`orders`" in line]
    assert len(keys) > 2
    assert not [line for line in asked if re.search(r"INSERT|UPDATE|DELETE|REPLACE", line)]
    assert [line for line in asked if "READ UNCOMMITTED, READ ONLY" in line]
    assert [line for line in asked if "SET GLOBAL innodb_old_blocks_time = 0" in line]
    assert old_blocks_time(shop) == before != 0


def test_only_what_is_named_is_loaded_in_that_order(one_shop: PrivateServer, warm: Any) -> None:
    code, out, _ = warm(one_shop, "--dry-run", "--table", "orders.note", "--table", "shop.codes")
    assert code == 0
    assert re.findall(r"^  shop\.(\S+) +(\S+)", out, re.M) == [
        ("orders", "note"),
        ("codes", "PRIMARY"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--table", "ordres"), 'no table or index ordres.*Did you mean "shop.orders"'),
        (("--table", "seen"), "seen cannot be warmed: a view holds no rows of its own"),
        (("--key-cache", "shop.old=hot"), "no key cache hot"),
        (("--key-cache", "hot"), "is not TABLE=NAME"),
        (("--resume",), "no warm-up of .* was interrupted"),
        (("--hot", "/nowhere/hot"), "hot list /nowhere/hot cannot be read: No such file"),
        (("--max-latency", "5"), "is not a duration such as"),
        (("--max-latency", "5 parsecs"), "is not a unit of time"),
        (("--status", "--table", "orders"), "--table does not go with --status"),
        (("--resume", "--key-cache", "a=b"), "--key-cache does not go with --resume"),
        (("--connections", "0"), "is not a whole number above 0"),
    ],
)
def test_a_wrong_request_has_words(
    one_shop: PrivateServer, warm: Any, words: tuple[str, ...], said: str
) -> None:
    code, out, err = warm(one_shop, *words)
    assert "Traceback" not in err
    assert code == 2
    assert re.search(said, err, re.S), err
    assert not out


def test_a_database_that_is_not_there_is_no_empty_one(one_shop: PrivateServer, warm: Any) -> None:
    for words in (("--dry-run",), ("--status",)):
        code, out, err = warm(one_shop, *words, database="shpo")
        assert (code, out) == (1, "")
        assert "has no database shpo (error 1049)" in err


def test_a_hot_list_comes_first_and_says_what_is_not_there(
    one_shop: PrivateServer, warm: Any, tmp_path: Path
) -> None:
    hot = tmp_path / "hot"
    text = "orders.customer\n# the shop window\nshop.gone  # dropped last year\n"
    hot.write_text(text, encoding="utf-8-sig")
    code, out, _ = warm(one_shop, "--dry-run", "--hot", str(hot))
    assert code == 0
    assert re.findall(r"^  shop\.(\S+) +(\S+)", out, re.M)[0] == ("orders", "customer")
    assert "there is no shop.gone to load first" in out


def asks(server: PrivateServer, statement: str) -> None:
    with contextlib.suppress(pymysql.err.MySQLError):  # it is ended
        query(server, statement)


def end_when_held(server: PrivateServer, statement: str) -> None:
    """End it once the warm-up has counted the running threads often enough, without reading."""
    count, ours, first = "SHOW GLOBAL STATUS LIKE 'Com_show_status'", 0, None
    while True:
        counted = int(query(server, count)[0][1]) - ours
        first = counted if first is None else first
        if counted - first >= 20:
            break
        ours += 1
        time.sleep(0.05)
    for number, text in query(server, "SELECT ID, INFO FROM information_schema.PROCESSLIST"):
        if text == statement:
            query(server, f"KILL QUERY {number}")


def test_others_that_run_hold_it_back_and_all_is_read_in_the_end(
    one_shop: PrivateServer, warm: Any
) -> None:
    busy = "SELECT SLEEP(600)"
    others = [threading.Thread(target=asks, args=(one_shop, busy)) for _ in range(3)]
    others.append(threading.Thread(target=end_when_held, args=(one_shop, busy)))
    for one in others:
        one.start()
    words = ("--pages-per-second", "2000", "--max-threads-running", "1", "--max-latency", "10s")
    code, out, err = warm(one_shop, "--table", "orders", *words)
    for one in others:
        one.join()
    assert code == 0, err
    assert "It was held back for" in out


def test_without_privileges_it_says_which_and_goes_on(
    shop: PrivateServer, warm: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    query(
        shop,
        "CREATE USER reader@localhost IDENTIFIED BY ''",
        "GRANT SELECT ON shop.* TO reader@localhost",
    )
    before = old_blocks_time(shop)
    code = main(["warm", dsn(shop, user="reader"), "--table", "orders"])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "innodb_old_blocks_time cannot be set to 0 (error 1227" in err
    assert "SELECT on mysql.innodb_index_stats: error 1142" in out
    assert old_blocks_time(shop) == before


def started(server: PrivateServer, folder: Path, load: Path, *words: str) -> subprocess.Popen[str]:
    """The command in a process of its own, slow enough to be met at work."""
    environment = {**os.environ, **import_path(), "XDG_STATE_HOME": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "contend", "warm", dsn(server), "--pages-per-second", "200", *words],
        env=environment | {"CONTEND_LOAD": str(load)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def journal_of(folder: Path) -> dict[str, Any] | None:
    files = list((folder / "contend" / "undo").glob("*.json"))
    return json.loads(files[0].read_text()) if files else None


def wait_until_at_work(folder: Path, process: subprocess.Popen[str], ranges: int = 3) -> None:
    """Until some ranges are done, by the journal."""
    while process.poll() is None:
        journal = journal_of(folder)
        if journal and journal["work"] and journal["work"]["upto"] >= ranges:
            return
        time.sleep(0.02)
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_interrupted_it_puts_back_and_is_resumed(
    one_shop: PrivateServer, warm: Any, tmp_path: Path, load_program: Path, sign: signal.Signals
) -> None:
    before = old_blocks_time(one_shop)
    process = started(one_shop, tmp_path, load_program, "--table", "orders")
    wait_until_at_work(tmp_path, process)
    process.send_signal(sign)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert re.search(r"Resume with `contend warm .* --resume`", err)
    assert old_blocks_time(one_shop) == before
    journal = journal_of(tmp_path)
    assert journal is not None and journal["undo"] == []
    upto = journal["work"]["upto"]

    said: list[Any] = []
    asked = statements_of(one_shop, lambda: said.append(warm(one_shop, "--resume")))
    assert said[0][0] == 0, said
    scans = [line for line in asked if "/* contend warm " in line and "KILL" not in line]
    assert 0 < len(scans) <= journal["work"]["total"] - upto
    assert journal_of(tmp_path) is None


def test_killed_it_leaves_what_restore_puts_back(
    one_shop: PrivateServer, warm: Any, tmp_path: Path, load_program: Path
) -> None:
    before = old_blocks_time(one_shop)
    process = started(one_shop, tmp_path, load_program)
    wait_until_at_work(tmp_path, process)
    code, _, err = warm(one_shop)
    assert code == 2
    assert "another contend process is at work on mysql:" in err
    process.kill()
    process.communicate()
    assert old_blocks_time(one_shop) == 0
    code, out, _ = warm(one_shop, "--restore")
    assert code == 0
    assert out.startswith("put back on mysql:")
    assert out.endswith(f": innodb_old_blocks_time = {before}\n")
    assert old_blocks_time(one_shop) == before
    assert "nothing is to be put back" in warm(one_shop, "--restore")[1]
    assert warm(one_shop, "--resume", "--connections", "2")[0] == 0


def test_a_table_that_is_dropped_meanwhile_is_named_and_the_others_are_loaded(
    shop: PrivateServer, warm: Any, tmp_path: Path, load_program: Path
) -> None:
    query(shop, "CREATE TABLE shop.going LIKE shop.orders",
          "INSERT INTO shop.going (id, customer, note) SELECT id, customer, note FROM shop.orders",
          "ANALYZE TABLE shop.going")  # fmt: skip
    words = ("--table", "going.PRIMARY", "--table", "codes", "--pages-per-second", "100")
    process = started(shop, tmp_path, load_program, *words)
    wait_until_at_work(tmp_path, process, 1)
    query(shop, "DROP TABLE shop.going")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert re.search(r"shop\.going\.PRIMARY: .*doesn't exist \(1146\)", out), out
    assert "shop.codes.PRIMARY: " in err


def resident(server: PrivateServer) -> dict[str, int]:
    """Pages of each index of the orders that are in the pool."""
    return dict(
        query(
            server,
            "SELECT INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
            " WHERE TABLE_NAME = '`shop`.`orders`' AND PAGE_TYPE = 'INDEX' GROUP BY 1",
        )
    )


def test_a_server_that_goes_away_and_comes_back_cold_is_warmed_anew(
    any_binary: ServerBinary, private_server: Factory, tmp_path: Path, load_program: Path, warm: Any
) -> None:
    options = POOL | {
        "innodb_buffer_pool_load_at_startup": 0,
        "innodb_buffer_pool_dump_at_shutdown": 0,
    }
    server = private_server(any_binary, options)
    fill(server)
    # Else the recovery after the kill reads what was not in the files yet, and nothing is cold.
    server.stop()
    server.start(options)
    process = started(server, tmp_path, load_program)
    wait_until_at_work(tmp_path, process)
    server.kill()
    _, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "the warm-up broke off" in err
    (noted,) = journals_in(tmp_path / "contend" / "undo")
    with Journal.at(noted, "theirs") as journal:
        assert journal.work is not None

    # It has another socket then, and is the same server.
    server.start(options)
    code, _, err = warm(server, "--resume")
    assert code == 2
    assert "was restarted since, so its caches are empty again" in err
    pages = dict(
        query(
            server,
            "SELECT index_name, stat_value FROM mysql.innodb_index_stats WHERE table_name ="
            " 'orders' AND stat_name = 'n_leaf_pages'",
        )
    )
    cold = resident(server)
    assert all(cold.get(index, 0) < leaves / 2 for index, leaves in pages.items())
    assert warm(server, "--table", "orders")[0] == 0
    now = resident(server)
    # The statistics count pages of long values with the leaves; they are pages of another type.
    pages["PRIMARY"] -= LONG_VALUES
    assert all(now[index] >= leaves * 0.98 for index, leaves in pages.items()), (now, pages)
    if server.binary.kind == "mariadb":
        pool = "FROM information_schema.INNODB_BUFFER_PAGE WHERE PAGE_TYPE = 'BLOB'"
        assert query(server, f"SELECT COUNT(*) {pool}")[0][0] >= LONG_VALUES


def test_a_named_key_cache_is_filled(one_shop: PrivateServer, warm: Any) -> None:
    query(one_shop, "SET GLOBAL hot.key_buffer_size = 1048576")
    code, _, err = warm(one_shop, "--table", "old.keys", "--key-cache", "shop.old=hot")
    assert code == 0, err
    used = "SELECT USED_BLOCKS FROM information_schema.KEY_CACHES WHERE KEY_CACHE_NAME = 'hot'"
    assert query(one_shop, used)[0][0] > 2
