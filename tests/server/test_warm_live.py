"""`contend warm` against real servers: what it reads and what it has the server load, what it
leaves as it was, what it says; and how warm they are."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from child_python import import_path
from sql import Factory, query

from contend.cli.main import main
from contend.servers import PrivateServer, ServerBinary
from contend.servers.dsn import Dsn
from contend.servers.existing import ExistingServer
from contend.servers.undo import Journal, journals_in, put_back
from contend.servers.undo.back import ASIDE, PAGE_LIST, move_back
from contend.warm import server_list
from contend.warm.server_list import ServerHost, take

pytestmark = pytest.mark.timeout(600)

ROWS = 40_000
LONG_VALUES = ROWS // 1000
"""Rows with a value that lies outside of their page."""

POOL = {
    "innodb_buffer_pool_size": "64M",
    "innodb_buffer_pool_dump_at_shutdown": 0,
    "innodb_buffer_pool_load_at_startup": 0,
    # MySQL keeps 1,024 pages free by default, which is a quarter of this pool.
    "innodb_lru_scan_depth": 100,
}
PRESSED = {"mariadb": "PAGE_COMPRESSED=1", "mysql": "COMPRESSION='zlib'"}

TABLES = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer INT, note VARCHAR(200) NULL,"
    " big TEXT, twice INT AS (customer * 2) VIRTUAL, KEY customer (customer), KEY note (note))",
    "CREATE TABLE shop.codes (code VARCHAR(20) PRIMARY KEY, n INT)",
    "CREATE TABLE shop.bare (a INT, b VARCHAR(50))",
    "CREATE TABLE shop.unique_only (a INT NOT NULL, b INT, UNIQUE KEY (a))",
    "CREATE TABLE shop.pairs (a INT, b DATETIME(3), c INT, PRIMARY KEY (a, b), KEY c (c))",
    "CREATE TABLE shop.parted (id INT PRIMARY KEY, v VARCHAR(200)) PARTITION BY RANGE (id)"
    " (PARTITION low VALUES LESS THAN (3000), PARTITION high VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE shop.squeezed (id INT PRIMARY KEY, v VARCHAR(200)) ROW_FORMAT=COMPRESSED",
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
    some, few = (f"FROM ({numbers}) x WHERE n < {count}" for count in (8000, 300))
    query(
        server,
        *TABLES,
        "CREATE TABLE shop.pressed (id INT PRIMARY KEY, v VARCHAR(200))"
        f" {PRESSED[server.binary.kind]}",
        "INSERT INTO shop.orders (id, customer, note, big) SELECT n * 3, n * 7919 % 1000,"
        " IF(n % 10 = 0, NULL, CONCAT('Note ', SHA2(n, 256))),"
        f" IF(n % 1000, '', REPEAT('x', 9000)) {rows}",
        f"INSERT INTO shop.codes SELECT LEFT(SHA2(n, 256), 20), n {few}",
        f"INSERT INTO shop.bare SELECT n, LEFT(SHA2(n, 256), 50) {few}",
        f"INSERT INTO shop.unique_only SELECT n, n {few}",
        f"INSERT INTO shop.pairs SELECT n % 7, FROM_UNIXTIME(1700000000 + n), n {few}",
        *(
            f"INSERT INTO shop.{name} SELECT n, CONCAT(SHA2(n, 256), n) {some}"
            for name in ("parted", "squeezed", "pressed")
        ),
        f"INSERT INTO shop.`odd``name?` SELECT n, n {few}",
        f"INSERT INTO shop.old SELECT n, n, LEFT(SHA2(n, 256), 30) {few}",
        f"INSERT INTO shop.minus SELECT n - 150 {few}",
        "ANALYZE TABLE shop.orders, shop.codes, shop.bare, shop.unique_only, shop.pairs,"
        " shop.parted, shop.squeezed, shop.pressed, shop.`odd``name?`, shop.old, shop.minus",
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
    assert re.search(r"^  shop\.seen +a view ", out, re.M)
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
    assert "Not loaded, or only in part" not in out
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--table", "ordres"), 'no table or index ordres.*Did you mean "shop.orders"'),
        (("--table", "seen"), "seen cannot be warmed: a view"),
        (("--resume",), "no interrupted warm-up of "),
        (("--max-latency", "5"), "is not a duration such as"),
        (("--max-latency", "5 parsecs"), "is not a unit of time"),
        (("--status", "--table", "orders"), "--table cannot be combined with --status"),
        (("--json",), "--json needs --status"),
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


def test_a_bound_holds_it_back_at_the_beginning_and_all_is_read_in_the_end(
    one_shop: PrivateServer, warm: Any
) -> None:
    words = ("--pages-per-second", "2000", "--max-latency", "10s")
    code, out, err = warm(one_shop, "--table", "orders", *words)
    assert code == 0, err
    assert "It was slowed down for" in out


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
    assert "innodb_old_blocks_time" in err and "(error 1227" in err
    assert "mysql.innodb_index_stats: error 1142" in out
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
    ranges = sum(part.get("keys", {}).get("ranges", 1) for part in journal["work"]["parts"])
    assert 0 < len(scans) <= ranges - upto
    assert journal_of(tmp_path) is None


def test_killed_it_leaves_what_restore_puts_back(
    one_shop: PrivateServer, warm: Any, tmp_path: Path, load_program: Path
) -> None:
    before = old_blocks_time(one_shop)
    process = started(one_shop, tmp_path, load_program)
    wait_until_at_work(tmp_path, process)
    code, _, err = warm(one_shop)
    assert code == 2
    assert "another contend process is using mysql:" in err
    process.kill()
    process.communicate()
    assert old_blocks_time(one_shop) == 0
    assert main(["restore", dsn(one_shop)]) == 0
    assert old_blocks_time(one_shop) == before
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
    server = private_server(any_binary, POOL)
    fill(server)
    # Else the recovery after the kill reads what was not in the files yet, and nothing is cold.
    server.stop()
    server.start(POOL)
    process = started(server, tmp_path, load_program)
    wait_until_at_work(tmp_path, process)
    server.kill()
    _, err = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "the warm-up stopped early" in err
    (noted,) = journals_in(tmp_path / "contend" / "undo")
    with Journal.at(noted, "theirs") as journal:
        assert journal.work is not None

    # It has another socket then, and is the same server.
    server.start(POOL)
    code, _, err = warm(server, "--resume")
    assert code == 2
    assert "was restarted since" in err
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


UNTOLD = {"squeezed": "ROW_FORMAT=COMPRESSED", "pressed": "page compression"}
"""Tables whose files do not say whose their pages are, and why."""


def restart(server: PrivateServer) -> None:
    """All is in the files afterwards, and nothing in the buffer pool."""
    server.stop()
    server.start(server.options)


def parts(text: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(one["table"], one["index"]): one for one in json.loads(text)["innodb"]["parts"]}


def test_a_list_of_some_percent_has_the_pages_used_last_up_to_so_much_of_the_pool(
    shop: PrivateServer, tmp_path: Path
) -> None:
    query(shop, "SELECT SUM(LENGTH(note)) FROM shop.orders FORCE INDEX (PRIMARY)")
    ((_, total),) = query(shop, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_total'")
    with shop.connect() as connection, Journal.open(tmp_path, "here") as journal:
        host = ServerHost(shop.data_folder)
        whole = list(map(tuple, take(connection, host, journal).tolist()))
        part = list(map(tuple, take(connection, host, journal, percent=5).tolist()))
        put_back(journal, shop)
    of = int(total) if shop.binary.kind == "mariadb" else len(whole)
    assert abs(len(part) - of // 20) <= 1
    assert len(part) < len(whole)
    # The server reads some page for us in between.
    assert len(set(whole[: len(part)]) & set(part)) > 0.8 * len(part)


def in_the_pool(shop: PrivateServer) -> dict[tuple[str, str | None], int]:
    """Pages of each index, by INNODB_BUFFER_PAGE, through which the server walks for it."""
    rows = query(
        shop,
        "SELECT TABLE_NAME, INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
        " WHERE PAGE_STATE = 'FILE_PAGE' GROUP BY 1, 2",
    )
    counts: Counter[tuple[str, str | None]] = Counter()
    for table, index, pages in rows:
        name = re.sub(r" */\*.*|#[pP]#.*", "", str(table or "")).strip("`")
        name = name.replace("`.`", ".").replace("``", "`")
        counts[name, str(index)] += int(pages)
    return counts


def test_status_agrees_with_the_buffer_pool_itself(shop: PrivateServer, warm: Any) -> None:
    # INNODB_BUFFER_PAGE does not say whose the pages of long values are, so there are to be none.
    restart(shop)
    query(shop, "SELECT SUM(LENGTH(note)) FROM shop.orders FORCE INDEX (note)")
    query(shop, "SELECT SUM(LENGTH(v)) FROM shop.parted WHERE id < 1500")
    code, out, _ = warm(shop, "--status", "--json")
    assert code == 0
    ours = parts(out)
    exact = in_the_pool(shop)
    keys = [
        ("shop.orders", "PRIMARY"),
        ("shop.orders", "note"),
        ("shop.orders", "customer"),
        ("shop.odd`name?", "a?"),
    ]
    if shop.binary.kind == "mariadb":
        keys.append(("shop.parted", "PRIMARY"))
        assert 0.1 < (ours["shop.parted", "PRIMARY"]["share"] or 0) < 0.9
    else:
        assert "indexes of its partitions" in ours["shop.parted", None]["why_not"]
    for key in keys:
        whole = ours[key]["pages"]
        difference = abs(ours[key]["resident_pages"] - exact.get(key, 0))
        assert difference <= max(1, 0.02 * whole), (key, ours[key], exact)
    assert ours["shop.orders", "note"]["share"] > 0.95


def is_warm(text: str, *tables: str) -> bool:
    """Whether all indexes of these are in the buffer pool, by `--status --json`."""
    found = [one for (table, index), one in parts(text).items() if index and table in tables]
    assert found and all(one["share"] > 0.98 for one in found), found
    return True


def test_on_its_own_host_the_server_is_given_a_list_and_what_has_none_is_scanned(
    shop: PrivateServer, warm: Any
) -> None:
    restart(shop)
    code, out, err = warm(shop)
    assert code == 0, err
    assert "InnoDB's pages, from a list of " in out
    status = warm(shop, "--status", "--json")[1]
    for table, why in UNTOLD.items():
        assert re.search(rf"shop\.{table}\.PRIMARY  .*has {why}", out)
        assert f"shop.{table}.PRIMARY: " in err
        whole = parts(status)[f"shop.{table}", None]
        assert whole["resident_pages"] > 20
        assert whole["share"] is None
        assert whole["why_not"].endswith(f"{table}.ibd has {why}")
    assert is_warm(status, "shop.orders", "shop.codes")
    if shop.binary.kind == "mariadb":
        assert is_warm(status, "shop.parted")
    assert not (shop.data_folder / ASIDE).exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--scan",), "--scan was given"),
        (("--max-latency", "1s"), "a server that loads a list"),
    ],
)
def test_scans_say_why_they_are_taken(
    shop: PrivateServer, warm: Any, words: tuple[str, ...], why: str
) -> None:
    code, out, err = warm(shop, "--table", "parted", "--dry-run", *words)
    assert code == 0, err
    assert re.search(rf"InnoDB's tables are scanned, .*{why}\.\n", out)


def test_interrupted_the_server_stops_and_its_own_list_is_back(
    shop: PrivateServer, warm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = shop.data_folder / "ib_buffer_pool"
    own.write_text("9,9\n")
    set_now, said = server_list._set, []

    def set_and_stop(connection: Any, trigger: str, value: str = "ON") -> None:
        said.append((trigger, value))
        if trigger == "innodb_buffer_pool_load_now":
            raise KeyboardInterrupt
        set_now(connection, trigger, value)

    with monkeypatch.context() as patched:
        patched.setattr(server_list, "_set", set_and_stop)
        assert warm(shop)[0] == 1
    assert ("innodb_buffer_pool_load_abort", "ON") in said
    assert own.read_text() == "9,9\n"
    assert "no interrupted warm-up of" in warm(shop, "--resume")[2]


def test_a_load_that_somebody_stops_is_made_up_by_scans(
    shop: PrivateServer, warm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    restart(shop)
    set_now = server_list._set

    def set_and_abort(connection: Any, trigger: str, value: str = "ON") -> None:
        if trigger != "innodb_buffer_pool_load_now":
            set_now(connection, trigger, value)
            return
        aborted = "Buffer pool(s) load aborted on request"
        patched.setattr(server_list, "_status", lambda _connection, _name: aborted)

    with monkeypatch.context() as patched:
        patched.setattr(server_list, "_set", set_and_abort)
        code, _, err = warm(shop, "--table", "orders")
    assert code == 0, err
    assert "load aborted on request. Scanning" in err
    assert is_warm(warm(shop, "--status", "--json")[1], "shop.orders")


def test_what_a_kill_leaves_is_put_back(
    shop: PrivateServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = shop.data_folder / "ib_buffer_pool"
    own.write_text("8,8\n")
    theirs = ExistingServer(Dsn.parse(f"mysql://root@/shop?socket={shop.socket}"))
    with Journal.of_server(tmp_path / "journal", theirs) as journal, theirs.connect() as connection:
        # As far as `--status` gets before it is killed.
        journal.note(PAGE_LIST, path=str(shop.data_folder))
        own.rename(shop.data_folder / ASIDE)
        with connection.cursor() as cursor:
            journal.note("variable", name="innodb_buffer_pool_dump_pct", before=25)
            cursor.execute("SET GLOBAL innodb_buffer_pool_dump_pct = 100")
    words = ["restore", str(theirs.dsn), "--journal", str(tmp_path / "journal")]
    assert main(words) == 0
    assert "ib_buffer_pool" in capsys.readouterr().out
    assert own.read_text() == "8,8\n"
    assert query(shop, "SELECT @@GLOBAL.innodb_buffer_pool_dump_pct") == [(25,)]
    assert not move_back(shop.data_folder)


def test_a_full_text_index_has_no_pages_of_its_own(shop: PrivateServer, warm: Any) -> None:
    query(
        shop, "CREATE TABLE shop.articles (id INT PRIMARY KEY, body TEXT, FULLTEXT KEY body (body))"
    )
    try:
        code, out, err = warm(shop, "--status")
    finally:
        query(shop, "DROP TABLE shop.articles")
    assert code == 0, err
    assert re.search(r"^shop\.articles ", out, re.MULTILINE)
