"""How warm a server is, and its list of pages, on every kind of server."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contend.cli.main import main
from contend.servers import Dsn, PrivateServer, ServerBinary
from contend.servers.existing import ExistingServer
from contend.undo import Journal, put_back
from contend.undo.back import ASIDE, PAGE_LIST, move_back
from contend.warm import server_list
from contend.warm.server_list import ServerHost, take

OPTIONS = {"innodb_buffer_pool_size": "32M", "innodb_buffer_pool_dump_at_shutdown": 0,
           "innodb_buffer_pool_load_at_startup": 0,
           # MySQL keeps 1,024 pages free by default, which is half of this pool.
           "innodb_lru_scan_depth": 100}  # fmt: skip

TABLES = (
    "CREATE TABLE plain (id INT AUTO_INCREMENT PRIMARY KEY, k INT, t VARCHAR(200), long_one TEXT,"
    " KEY k (k), KEY t (t)) ENGINE=InnoDB",
    "CREATE TABLE `we-ird` (id INT, v VARCHAR(200), KEY v (v)) ENGINE=InnoDB",
    "CREATE TABLE parted (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB"
    " PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (3000),"
    " PARTITION high VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE squeezed (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB"
    " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
    "CREATE TABLE files (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=MyISAM",
)
PRESSED = {"mariadb": "PAGE_COMPRESSED=1", "mysql": "COMPRESSION='zlib'"}
UNTOLD = {"squeezed": "ROW_FORMAT=COMPRESSED", "pressed": "page compression"}
"""Tables whose files do not say whose their pages are, and why."""

ROWS = 8192


def fill(server: PrivateServer) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("USE shop")
        for statement in TABLES:
            cursor.execute(statement)
        pressed = PRESSED[server.binary.kind]
        cursor.execute(f"CREATE TABLE pressed (id INT PRIMARY KEY, v VARCHAR(200)) {pressed}")
        cursor.execute("CREATE TABLE numbers (n INT PRIMARY KEY)")
        cursor.execute("INSERT INTO numbers VALUES (0)")
        rows = 1
        while rows < ROWS:
            cursor.execute(f"INSERT INTO numbers SELECT n + {rows} FROM numbers")
            rows *= 2
        word = "CONCAT(SHA2(n, 256), n)"
        cursor.execute(
            f"INSERT INTO plain SELECT n + 1, n % 97, {word}, IF(n % 500, NULL, REPEAT('x', 40000))"
            " FROM numbers ORDER BY n"
        )
        cursor.execute(f"INSERT INTO `we-ird` SELECT n, {word} FROM numbers")
        for name in ("parted", "squeezed", "pressed", "files"):
            cursor.execute(f"INSERT INTO {name} SELECT n, {word} FROM numbers ORDER BY n")
        cursor.execute("ANALYZE TABLE plain, `we-ird`, parted, squeezed, pressed")
        cursor.fetchall()


def restart(server: PrivateServer) -> None:
    """All is in the files afterwards, and nothing in the buffer pool."""
    server.stop()
    server.start(server.options)


def asked(server: PrivateServer, statement: str) -> list[tuple[Any, ...]]:
    with server.connect("shop") as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


@pytest.fixture(scope="module")
def server(
    shared_server: Callable[..., PrivateServer], any_binary: ServerBinary
) -> Iterator[PrivateServer]:
    server = shared_server(any_binary, OPTIONS)
    if not asked_databases(server):
        fill(server)
        restart(server)
    return server


def asked_databases(server: PrivateServer) -> bool:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES LIKE 'shop'")
        return bool(cursor.fetchall())


@pytest.fixture
def contend(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    load_program: Path,
) -> Callable[..., tuple[int, str, str]]:
    """`contend(server, …)`: `contend warm` of it, by its socket, with a journal of its own."""
    monkeypatch.setenv("CONTEND_LOAD", str(load_program))

    def run(server: PrivateServer, *arguments: str, database: str = "shop") -> tuple[int, str, str]:
        dsn = f"mysql://root@/{database}?socket={server.socket}"
        capsys.readouterr()
        code = main(["warm", dsn, "--journal", str(tmp_path / "journal"), *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


Contend = Callable[..., tuple[int, str, str]]


def parts(text: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(one["table"], one["index"]): one for one in json.loads(text)["innodb"]["parts"]}


def test_a_list_of_some_percent_has_the_pages_used_last_up_to_so_much_of_the_pool(
    server: PrivateServer, tmp_path: Path
) -> None:
    asked(server, "SELECT SUM(LENGTH(t)) FROM plain FORCE INDEX (PRIMARY)")
    ((_, total),) = asked(server, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_total'")
    with server.connect() as connection, Journal.open(tmp_path, "here") as journal:
        host = ServerHost(server.data_folder)
        whole = list(map(tuple, take(connection, host, journal).tolist()))
        part = list(map(tuple, take(connection, host, journal, percent=5).tolist()))
        put_back(journal, server)
    of = int(total) if server.binary.kind == "mariadb" else len(whole)
    assert abs(len(part) - of // 20) <= 1
    assert len(part) < len(whole)
    # The server reads some page for us in between.
    assert len(set(whole[: len(part)]) & set(part)) > 0.8 * len(part)


def in_the_pool(server: PrivateServer) -> dict[tuple[str, str | None], int]:
    """Pages of each index, by INNODB_BUFFER_PAGE, through which the server walks for it."""
    rows = asked(
        server,
        "SELECT TABLE_NAME, INDEX_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
        " WHERE PAGE_STATE = 'FILE_PAGE' GROUP BY 1, 2",
    )
    counts: Counter[tuple[str, str | None]] = Counter()
    for table, index, pages in rows:
        name = re.sub(r" */\*.*|#[pP]#.*", "", str(table or "").replace("`", ""))
        counts[name, str(index)] += int(pages)
    return counts


def test_status_agrees_with_the_buffer_pool_itself(server: PrivateServer, contend: Contend) -> None:
    # INNODB_BUFFER_PAGE does not say whose the pages of long values are, so there are to be none.
    restart(server)
    asked(server, "SELECT SUM(LENGTH(t)) FROM plain FORCE INDEX (t)")
    asked(server, "SELECT SUM(LENGTH(v)) FROM parted WHERE id < 1500")
    code, out, _ = contend(server, "--status", "--json")
    assert code == 0
    ours = parts(out)
    exact = in_the_pool(server)
    keys = [
        ("shop.plain", "PRIMARY"),
        ("shop.plain", "t"),
        ("shop.plain", "k"),
        ("shop.we-ird", "v"),
    ]
    if server.binary.kind == "mariadb":
        keys.append(("shop.parted", "PRIMARY"))
        assert 0.1 < (ours["shop.parted", "PRIMARY"]["share"] or 0) < 0.9
    else:
        assert "indexes of its partitions" in ours["shop.parted", None]["why_not"]
    for key in keys:
        whole = ours[key]["pages"]
        difference = abs(ours[key]["resident_pages"] - exact.get(key, 0))
        assert difference <= max(1, 0.02 * whole), (key, ours[key], exact)
    assert ours["shop.plain", "t"]["share"] > 0.95


def is_warm(text: str, *tables: str) -> bool:
    """Whether all indexes of these are in the buffer pool, by `--status --json`."""
    found = [one for (table, index), one in parts(text).items() if index and table in tables]
    assert found and all(one["share"] > 0.98 for one in found), found
    return True


def test_on_its_own_host_the_server_is_given_a_list_and_what_has_none_is_scanned(
    server: PrivateServer, contend: Contend
) -> None:
    restart(server)
    code, out, err = contend(server)
    assert code == 0, err
    assert "The server loads InnoDB's pages by itself, by a list of " in out
    status = contend(server, "--status", "--json")[1]
    for table, why in UNTOLD.items():
        assert re.search(rf"shop\.{table}\.PRIMARY  .*has {why}", out)
        assert f"shop.{table}.PRIMARY: " in err
        whole = parts(status)[f"shop.{table}", None]
        assert whole["resident_pages"] > 20
        assert whole["share"] is None
        assert whole["why_not"].endswith(f"{table}.ibd has {why}")
    assert is_warm(status, "shop.plain", "shop.we-ird")
    if server.binary.kind == "mariadb":
        assert is_warm(status, "shop.parted")
    assert not (server.data_folder / ASIDE).exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--scan",), "--scan was asked for"),
        (("--max-latency", "1s"), "limits cannot hold back the server itself"),
    ],
)
def test_scans_say_why_they_are_taken(
    server: PrivateServer, contend: Contend, words: tuple[str, ...], why: str
) -> None:
    code, out, err = contend(server, "--table", "parted", "--dry-run", *words)
    assert code == 0, err
    assert f"InnoDB's tables are scanned, not loaded by a list of pages: {why}.\n" in out


def test_interrupted_the_server_stops_and_its_own_list_is_back(
    server: PrivateServer, contend: Contend, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = server.data_folder / "ib_buffer_pool"
    own.write_text("9,9\n")
    set_now, said = server_list._set, []

    def set_and_stop(connection: Any, trigger: str, value: str = "ON") -> None:
        said.append((trigger, value))
        if trigger == "innodb_buffer_pool_load_now":
            raise KeyboardInterrupt
        set_now(connection, trigger, value)

    with monkeypatch.context() as patched:
        patched.setattr(server_list, "_set", set_and_stop)
        assert contend(server)[0] == 1
    assert ("innodb_buffer_pool_load_abort", "ON") in said
    assert own.read_text() == "9,9\n"
    assert "no warm-up of" in contend(server, "--resume")[2]


def test_a_load_that_somebody_stops_is_made_up_by_scans(
    server: PrivateServer, contend: Contend, monkeypatch: pytest.MonkeyPatch
) -> None:
    restart(server)
    set_now = server_list._set

    def set_and_abort(connection: Any, trigger: str, value: str = "ON") -> None:
        if trigger != "innodb_buffer_pool_load_now":
            set_now(connection, trigger, value)
            return
        aborted = "Buffer pool(s) load aborted on request"
        patched.setattr(server_list, "_status", lambda _connection, _name: aborted)

    with monkeypatch.context() as patched:
        patched.setattr(server_list, "_set", set_and_abort)
        code, _, err = contend(server, "--table", "plain")
    assert code == 0, err
    assert "load aborted on request. InnoDB's tables are scanned instead" in err
    assert is_warm(contend(server, "--status", "--json")[1], "shop.plain")


def test_what_a_kill_leaves_is_put_back(
    server: PrivateServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = server.data_folder / "ib_buffer_pool"
    own.write_text("8,8\n")
    theirs = ExistingServer(Dsn.parse(f"mysql://root@/shop?socket={server.socket}"))
    with Journal.of_server(tmp_path / "journal", theirs) as journal, theirs.connect() as connection:
        # As far as `--status` gets before it is killed.
        journal.note(PAGE_LIST, path=str(server.data_folder))
        own.rename(server.data_folder / ASIDE)
        with connection.cursor() as cursor:
            journal.note("variable", name="innodb_buffer_pool_dump_pct", before=25)
            cursor.execute("SET GLOBAL innodb_buffer_pool_dump_pct = 100")
    words = ["restore", str(theirs.dsn), "--journal", str(tmp_path / "journal")]
    assert main(words) == 0
    assert "ib_buffer_pool" in capsys.readouterr().out
    assert own.read_text() == "8,8\n"
    assert asked(server, "SELECT @@GLOBAL.innodb_buffer_pool_dump_pct") == [(25,)]
    assert not move_back(server.data_folder)


def test_a_full_text_index_has_no_pages_of_its_own(
    server: PrivateServer, contend: Callable[..., tuple[int, str, str]]
) -> None:
    asked(server, "CREATE TABLE articles (id INT PRIMARY KEY, body TEXT, FULLTEXT KEY body (body))")
    try:
        code, out, err = contend(server, "--status")
    finally:
        asked(server, "DROP TABLE articles")
    assert code == 0, err
    assert re.search(r"^shop\.articles ", out, re.MULTILINE)
