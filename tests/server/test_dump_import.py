"""Dumps on real servers: what is in the tables afterwards, and what is refused where.

The tests of one server share it: each loads into a database of its own.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from needs import program

from contend.data import DumpFailed, DumpRefused, Rules
from contend.data.dump.load import ACCOUNT, DumpResult, load_into
from contend.servers import PrivateServer, ServerBinary

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

SHOP = """\
-- {kind} dump 10.19  Distrib 10.11.6, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
-- Server version\t{version}

/*!40101 SET NAMES utf8mb4 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;

DROP TABLE IF EXISTS `customers`;
CREATE TABLE `customers` (
  `id` int NOT NULL,
  `name` varchar(40) COLLATE {collation} NOT NULL DEFAULT 'it''s; -- "none"',
  `orders` int NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

LOCK TABLES `customers` WRITE;
/*!40000 ALTER TABLE `customers` DISABLE KEYS */;
INSERT INTO `customers` VALUES (0,'zero;\\'/*',0),(1,'J\u00fcrgen\\\\',0),(2,'"; -- `',0);
/*!40000 ALTER TABLE `customers` ENABLE KEYS */;
UNLOCK TABLES;

CREATE TABLE `orders` (
  `id` int NOT NULL AUTO_INCREMENT,
  `customer_id` int NOT NULL,
  `cents` int NOT NULL,
  PRIMARY KEY (`id`),
  KEY `customer_id` (`customer_id`),
  CONSTRAINT `of` FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`nobody`@`%`*/ /*!50003 TRIGGER `counted`
AFTER INSERT ON `orders` FOR EACH ROW BEGIN
  UPDATE `customers` SET `orders` = `orders` + 1 WHERE `id` = NEW.`customer_id`;
END */;;
DELIMITER ;

INSERT INTO `orders` VALUES (1,1,100),(2,1,250),(3,2,-5);

/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`nobody`@`%` SQL SECURITY DEFINER */
/*!50001 VIEW `sales` AS select `customer_id`, sum(`cents`) AS `cents` from `orders`
group by `customer_id` */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;

-- Dump completed on 2026-11-22 10:00:00
"""
"""What mysqldump writes of two tables, a trigger and a view, whose users nobody knows here."""


def shop(collation: str = "utf8mb4_general_ci", version: str = "10.11.6-MariaDB") -> str:
    kind = "MariaDB" if "MariaDB" in version else "MySQL"
    return SHOP.format(kind=kind, version=version, collation=collation)


LOADS: dict[str, Any] = {"skip_log_bin": True, "event_scheduler": "OFF"}
"""Options of a server that loads a dump."""

NUMBERS = itertools.count(1)

Load = Callable[..., DumpResult]


@pytest.fixture
def server(shared_server: Any, any_binary: ServerBinary) -> PrivateServer:
    made: PrivateServer = shared_server(any_binary, LOADS, confined=True)
    return made


@pytest.fixture
def load(server: PrivateServer, tmp_path: Path) -> Iterator[Load]:
    """`load(text, **rules)`: what came of the dump, in a database of the test's own."""
    name = f"import_{next(NUMBERS)}"
    made = {name}

    def do(text: str | Path, **rules: Any) -> DumpResult:
        path = tmp_path / "shop.sql"
        if isinstance(text, Path):
            path = text
        else:
            path.write_text(text, encoding="utf-8")
        loaded = load_into(server, path, Rules(**rules), name)
        made.add(loaded.database)
        return loaded

    yield do
    with server.connect() as connection:
        for database in made:
            connection.query(f"DROP DATABASE IF EXISTS {database}")


def rows(server: PrivateServer, database: str, query: str) -> list[tuple[Any, ...]]:
    with server.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def dump(server: PrivateServer, path: Path, *what: str) -> None:
    """Have the real program of MariaDB write a dump."""
    command = [program("mariadb-dump"), "--no-defaults", f"--socket={server.socket}", "--user=root"]
    with path.open("wb") as file:
        subprocess.run([*command, *what], stdout=file, check=True)


def test_tables_trigger_and_view_are_there_and_work(server: PrivateServer, load: Load) -> None:
    loaded = load(shop())
    assert loaded.database == "shop"
    assert rows(server, loaded.database, "SELECT id, name, orders FROM customers ORDER BY id") == [
        (0, "zero;'/*", 0),
        (1, "J\u00fcrgen\\", 2),
        (2, '"; -- `', 1),
    ]
    # The view's definer is nobody here; it would not answer with him.
    assert rows(server, loaded.database, "SELECT * FROM sales ORDER BY 1") == [(1, 350), (2, -5)]
    with server.connect(loaded.database) as connection:
        connection.query("INSERT INTO orders VALUES (0, 2, 1)")
        connection.query("DELETE FROM customers WHERE id = 1")
    assert rows(server, loaded.database, "SELECT COUNT(*) FROM orders") == [(2,)]


@pytest.mark.parametrize(
    ("text", "rules", "words", "hint"),
    [
        ("SET GLOBAL max_connections=5;", {}, "line 1: SET GLOBAL max_conn", "`--skip-refused`"),
        ("SELECT 1;\n\nLOAD DATA INFILE 'x' INTO TABLE t;", {}, "line 3: LOAD DATA", "refused`"),
        ("SELECT 1;\nSELECT 1 INTO OUTFILE '/tmp/x';", {}, "outside its database", "skip"),
        ("USE shop;\nUSE other;\n", {}, "line 2: USE other is refused", "`--database shop`"),
        ("USE mysql;\n", {}, "line 1: USE mysql is refused", "--database NAME"),
        ("CREATE TABLE t (a INT);\nINSERT INTO mysql.user VALUES (1);", {}, "line 2", "skip"),
        ("USE shop;", {"database": "mysql"}, "has no database mysql", "It has shop"),
        ("USE mysql;", {"database": "mysql"}, "mysql is a system database", "`--name NAME`"),
        ("CREATE DATABASE Sys;", {"database": "Sys"}, "Sys is a system database", "`--name NAME`"),
        ("USE shop;", {"database": "stock"}, "has no database stock", "It has shop"),
        ("-- nothing\n", {}, "no statement that makes a table", None),
        ("source missing.dump ;", {}, "it reads missing.dump", "Put"),
        ("source /etc/passwd", {}, "it reads /etc/passwd", "Put passwd into"),
        ("source shop.sql", {}, "leads back to it", None),
        ("INSERT INTO t VALUES ('a", {}, "ends within a quote that begins in line 1", "cut off"),
        ("CREATE TABLE t (a INT)", {}, "ends within a statement that begins in line 1", "cut off"),
        ("a: [Warning] Don't.\nSELECT 1;", {}, 'line 1: "a: [Warning] Don\'t." is a m', "Delete"),
    ],
)
def test_what_is_wrong_with_a_dump_is_said_with_its_line(
    shared_server: Any,
    mariadb_binary: ServerBinary,
    tmp_path: Path,
    text: str,
    rules: dict[str, Any],
    words: str,
    hint: str | None,
) -> None:
    path = tmp_path / "shop.sql"
    path.write_text(text)
    server: PrivateServer = shared_server(mariadb_binary, LOADS, confined=True)
    with pytest.raises(DumpRefused) as refused:
        load_into(server, path, Rules(**rules), "refused")
    assert words in refused.value.message
    assert (refused.value.hint is None) if hint is None else (hint in str(refused.value.hint))


def test_what_a_private_server_has_no_use_for_is_left_out_and_said(load: Load) -> None:
    text = (
        "SET @@GLOBAL.GTID_PURGED='';\nCREATE TABLE t (a INT);\nCREATE USER imported;\n"
        "GRANT ALL ON *.* TO imported;\nFLUSH TABLES;\nFLUSH PRIVILEGES;\n"
    )
    loaded = load(text)
    assert dict(loaded.left_out) == {"users and privileges": 3, "replication": 1}
    assert loaded.statements == 1


def test_what_is_refused_is_left_out_if_that_is_wanted(server: PrivateServer, load: Load) -> None:
    text = (
        "CREATE TABLE t (a INT);\nSET GLOBAL max_connections=5;\nINSERT INTO mysql.user (user)"
        " VALUES ('x');\nSELECT 1 INTO OUTFILE '/tmp/x';\nINSERT INTO t VALUES (1);\n"
    )
    loaded = load(text, skip_refused=True)
    assert dict(loaded.left_out) == {"outside the database": 3}
    assert rows(server, loaded.database, "SELECT a FROM t") == [(1,)]


def test_of_a_message_of_a_program_the_line_is_left_out(server: PrivateServer, load: Load) -> None:
    """And never what stands behind it."""
    insert = "INSERT INTO `customers`"
    first, last = "mysqldump: [Warning] It's insecure.\n", "mysqldump: Got error: 1045"
    text = shop().replace(insert, f"mariadb-dump: a message\n{insert}", 1)
    loaded = load(first + text + last, skip_refused=True)
    assert dict(loaded.left_out) == {"messages of programs": 3}
    assert rows(server, loaded.database, "SELECT COUNT(*) FROM customers") == [(3,)]


def test_a_message_within_a_statement_is_named(load: Load) -> None:
    text = "CREATE TABLE t (a INT);\nINSERT INTO t VAmysqldump: Error: 'x'\nLUES (1);\n"
    with pytest.raises(DumpFailed) as failed:
        load(text, skip_refused=True)
    assert "Delete the message" in str(failed.value.hint)


@pytest.mark.parametrize("name", ["mysq_", "%", "mysq\\l", "\\%"])
def test_a_name_of_a_database_is_no_pattern(server: PrivateServer, load: Load, name: str) -> None:
    text = f"CREATE DATABASE `{name}`;\nUSE `{name}`;\nCREATE TABLE t (a INT);\n"
    try:
        with pytest.raises(DumpRefused, match="line 4"):
            load(text + "CREATE TABLE mysql.t (a INT);\n")
    finally:
        with server.connect() as connection:
            connection.query(f"DROP DATABASE IF EXISTS `{name}`")


def test_one_database_of_several_is_taken(server: PrivateServer, load: Load) -> None:
    name = f"import_taken_{server.binary.kind}"
    text = (
        f"CREATE DATABASE `other`;\nUSE `other`;\nCREATE TABLE a (i INT);\nGRANT x ON y TO z;\n"
        f"CREATE DATABASE /*!32312 IF NOT EXISTS*/ `{name}`;\nUSE `{name}`;\n"
        f"CREATE TABLE b (i INT);\nINSERT INTO {name}.b VALUES (1);\nUSE `other`;\nDROP TABLE a;\n"
    )
    loaded = load(text, database=name)
    assert (loaded.database, dict(loaded.left_out)) == (name, {"for database other": 3})
    assert rows(server, name, "SELECT i FROM b") == [(1,)]
    assert rows(server, name, "SHOW DATABASES LIKE 'other'") == []
    with server.connect() as connection:
        connection.query(f"DROP DATABASE {name}")


def test_backslashes_are_read_as_the_dump_sets_them(server: PrivateServer, load: Load) -> None:
    loaded = load(
        "CREATE TABLE t (a VARCHAR(9));\nSET @old = @@sql_mode, sql_mode='NO_BACKSLASH_ESCAPES';\n"
        "INSERT INTO t VALUES ('a\\');\nSET sql_mode = @old;\nINSERT INTO t VALUES ('b\\';');\n"
    )
    assert rows(server, loaded.database, "SELECT a FROM t ORDER BY a") == [("a\\",), ("b';",)]


def test_double_quotes_are_read_as_the_dump_sets_them(server: PrivateServer, load: Load) -> None:
    loaded = load(
        'SET sql_mode=\'ANSI_QUOTES\';\nCREATE TABLE "t" ("a\\" VARCHAR(9));\n'
        'INSERT INTO "t" ("a\\") VALUES (\'b\\\';\');\n'
    )
    assert rows(server, loaded.database, "SELECT * FROM t") == [("b';",)]


def test_a_dump_that_is_called_as_a_database_of_the_server_s_own_is_refused(
    shared_server: Any, mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    path = tmp_path / "mysql.sql"
    path.write_text("DROP TABLE IF EXISTS global_priv;\nCREATE TABLE t (a INT);\n")
    server: PrivateServer = shared_server(mariadb_binary, LOADS, confined=True)
    with pytest.raises(DumpRefused, match="mysql is a system database"):
        load_into(server, path, Rules(), "mysql")
    assert len(rows(server, "mysql", "SELECT Host FROM global_priv WHERE User = 'root'")) > 0


def test_all_tables_get_another_engine(server: PrivateServer, load: Load) -> None:
    loaded = load(shop(), engine="MyISAM")
    engines = rows(
        server,
        loaded.database,
        "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
        f" AND TABLE_SCHEMA = '{loaded.database}'",
    )
    assert engines == [("MyISAM",)]


def test_files_that_a_dump_names_are_read_in_their_place(
    server: PrivateServer, load: Load, tmp_path: Path
) -> None:
    """As the employees release has it: tables, then `source` of files that fill them."""
    (tmp_path / "load_a.dump").write_text(
        "INSERT INTO `a` VALUES (1),(2);\nINSERT INTO a VALUES (3);\n"
    )
    loaded = load(
        "SELECT 'CREATING' AS INFO;\nCREATE TABLE a (i INT);\nflush /*!50503 binary */ logs;\n"
        "SELECT 'LOADING a' AS INFO;\nsource load_a.dump ;\n"
    )
    assert rows(server, loaded.database, "SELECT SUM(i) FROM a") == [(6,)]
    assert [name for name, _ in loaded.files] == ["load_a.dump", "shop.sql"]


@pytest.mark.parametrize("any_binary", ["mariadb"], indirect=True)
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_dump_is_unpacked_whatever_its_name(
    server: PrivateServer, load: Load, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "shop.sql.packed"
    packed = pack(shop().encode())
    path.write_bytes(packed)
    assert rows(server, load(path).database, "SELECT COUNT(*) FROM orders") == [(3,)]
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DumpRefused, match="cut off or damaged"):
        load(path)


def test_a_dump_of_mysql_says_which_server_can_load_it(
    shared_server: Any, mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    path = tmp_path / "shop.sql"
    path.write_text(shop("utf8mb4_0900_ai_ci", "8.0.36"))
    server: PrivateServer = shared_server(mariadb_binary, LOADS, confined=True)
    with pytest.raises(DumpFailed) as failed:
        load_into(server, path, Rules(), "dialect")
    assert "line 12: " in failed.value.message
    assert "utf8mb4_0900_ai_ci" in failed.value.message
    assert "made by MySQL 8.0.36" in str(failed.value.hint)
    assert "--server mysql@sid" in str(failed.value.hint)


def test_what_mariadb_dump_writes_comes_back(
    shared_server: Any, mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    """Every byte of rows that hold all bytes, through the real program."""
    server: PrivateServer = shared_server(mariadb_binary, LOADS, confined=True)
    with server.connect() as connection:
        connection.query("CREATE DATABASE bytes")
        connection.query("CREATE TABLE bytes.b (i INT PRIMARY KEY, raw VARBINARY(8)) ENGINE=Aria")
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO bytes.b VALUES (%s, %s)",
                [(i, bytes([i, 39, i, 92, i])) for i in range(256)],
            )
    path = tmp_path / "bytes.sql"
    dump(server, path, "--routines", "--databases", "bytes")
    before = rows(server, "bytes", "CHECKSUM TABLE b")
    with server.connect() as connection:
        connection.query("DROP DATABASE bytes")
    loaded = load_into(server, path, Rules(), "unused")
    assert loaded.database == "bytes"
    assert rows(server, "bytes", "CHECKSUM TABLE b") == before


MADE = (
    "CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL DEFAULT 0) ENGINE=InnoDB",
    "INSERT INTO t VALUES (1, 0), (2, 0)",
    "CREATE TABLE log (a INT) ENGINE=InnoDB",
    "CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC SQL SECURITY INVOKER RETURN 2 * x",
    "CREATE PROCEDURE more(IN x INT) BEGIN INSERT INTO t VALUES (x, 0); END",
    "CREATE TRIGGER seen AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (twice(NEW.a))",
    "CREATE VIEW doubled AS SELECT a, twice(a) AS b FROM t",
    "CREATE SQL SECURITY INVOKER VIEW plain AS SELECT a FROM t",
    "CREATE EVENT daily ON SCHEDULE EVERY 1 DAY DO DELETE FROM log",
)

OF_MYSQL = """\
-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
--
-- Host: localhost    Database: own
-- ------------------------------------------------------
-- Server version\t8.0.36

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5';

CREATE DATABASE /*!32312 IF NOT EXISTS*/ `own` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE `own`;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `log` (
  `a` int DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE `t` (
  `a` int NOT NULL,
  `b` int NOT NULL DEFAULT '0',
  PRIMARY KEY (`a`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
LOCK TABLES `t` WRITE;
/*!40000 ALTER TABLE `t` DISABLE KEYS */;
INSERT INTO `t` VALUES (1,0),(2,0);
/*!40000 ALTER TABLE `t` ENABLE KEYS */;
UNLOCK TABLES;
/*!50003 SET sql_mode              = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `seen` AFTER INSERT ON `t`
FOR EACH ROW INSERT INTO log VALUES (twice(NEW.a)) */;;
DELIMITER ;
/*!50001 CREATE VIEW `doubled` AS SELECT 1 AS `a`, 1 AS `b`*/;
/*!50106 SET @save_time_zone= @@TIME_ZONE */ ;
DELIMITER ;;
/*!50106 CREATE*/ /*!50117 DEFINER=`root`@`localhost`*/ /*!50106 EVENT `daily` ON SCHEDULE
EVERY 1 DAY STARTS '2026-11-28 00:00:00' ON COMPLETION NOT PRESERVE ENABLE DO DELETE FROM log */ ;;
CREATE DEFINER=`root`@`localhost` FUNCTION `twice`(x INT) RETURNS int
    DETERMINISTIC
    SQL SECURITY INVOKER
RETURN 2 * x ;;
CREATE DEFINER=`root`@`localhost` PROCEDURE `more`(IN x INT)
BEGIN INSERT INTO t VALUES (x, 0); END ;;
DELIMITER ;
/*!50001 DROP VIEW IF EXISTS `doubled`*/;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */
/*!50001 VIEW `doubled` AS select `t`.`a` AS `a`,`twice`(`t`.`a`) AS `b` from `t` */;
SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;

-- Dump completed on 2026-11-28 10:00:00
"""
"""The forms of mysqldump 8.0, with GTIDs."""


def require_it_works(server: PrivateServer, database: str) -> None:
    """As root, as a run is; what works has the rights of the account."""
    with server.connect(database) as connection:
        connection.query("CALL more(5)")
    assert rows(server, database, "SELECT * FROM log") == [(10,)]
    assert rows(server, database, "SELECT * FROM doubled ORDER BY 1") == [(1, 2), (2, 4), (5, 10)]
    for table, column in (
        ("TRIGGERS WHERE TRIGGER_SCHEMA", "DEFINER"),
        ("EVENTS WHERE EVENT_SCHEMA", "DEFINER"),
        ("VIEWS WHERE TABLE_SCHEMA", "DEFINER"),
        ("ROUTINES WHERE ROUTINE_SCHEMA", "CONCAT(DEFINER, SECURITY_TYPE)"),
    ):
        found = rows(
            server,
            database,
            f"SELECT DISTINCT {column} FROM information_schema.{table} = '{database}'",
        )
        more = "DEFINER" if "ROUTINES" in table else ""
        assert found == [(f"{ACCOUNT}@localhost{more}",)]


@pytest.mark.parametrize("any_binary", ["mariadb", "mariadb_new"], indirect=True)
def test_a_database_may_name_itself_in_its_own_dump(
    server: PrivateServer, load: Load, tmp_path: Path
) -> None:
    """mariadb-dump writes the name into what uses a sequence, and never says USE."""
    with server.connect() as connection:
        connection.query("CREATE DATABASE myself")
        connection.query("USE myself")
        for statement in (
            "CREATE SEQUENCE s",
            "SELECT SETVAL(s, 41)",
            "CREATE TABLE t (a INT PRIMARY KEY DEFAULT NEXTVAL(s), b INT)",
            "CREATE TABLE log (a INT)",
            "CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO myself.log VALUES (1)",
            "CREATE FUNCTION logged() RETURNS INT RETURN (SELECT COUNT(*) FROM myself.log)",
        ):
            connection.query(statement)
    path = tmp_path / "backup.sql"
    dump(server, path, "--routines", "myself")
    dumped = path.read_text()
    assert ("DO SETVAL" in dumped, "\nUSE " in dumped) == (True, False)
    with server.connect() as connection:
        connection.query("DROP DATABASE myself")
    loaded = load(path)
    assert (loaded.database, dict(loaded.left_out)) == ("myself", {})
    with server.connect("myself") as connection:
        connection.query("INSERT INTO t (b) VALUES (1)")
    assert rows(server, "myself", "SELECT a >= 42, logged() FROM t") == [(1, 1)]


@pytest.mark.parametrize(
    ("head", "rules", "database"),
    [
        ("-- Host: localhost    Database: stock", {}, "stock"),
        ("-- phpMyAdmin SQL Dump\n--\n-- Host: db:3306\n--\n-- Database: `stock`\r", {}, "stock"),
        ("-- Host: localhost    Database: stock", {"database": "mine"}, "mine"),
        ("-- Host: localhost    Database: stock\nCREATE DATABASE a;\nUSE a;", {}, "a"),
        ("-- Host: localhost    Database: ", {}, "import_[0-9]+"),
        ("-- Host: localhost    Database: Mysql", {}, "import_[0-9]+"),
    ],
)
@pytest.mark.parametrize("any_binary", ["mariadb", "mysql"], indirect=True)
def test_a_dump_that_names_no_database_has_that_of_its_head(
    load: Load, head: str, rules: dict[str, str], database: str
) -> None:
    loaded = load(f"{head}\nCREATE TABLE t (a INT);\n", **rules)
    assert re.fullmatch(database, loaded.database)


@pytest.mark.parametrize("any_binary", ["mariadb"], indirect=True)
def test_a_sequence_of_another_database_is_not_set(server: PrivateServer, load: Load) -> None:
    with server.connect() as connection:
        connection.query("CREATE DATABASE others")
        connection.query("CREATE SEQUENCE others.s")
    with pytest.raises(DumpRefused, match="line 2: DO SETVAL"):
        load("CREATE SEQUENCE s;\nDO SETVAL(`others`.`s`, 1001, 0);\n")
    assert rows(server, "others", "SELECT NEXTVAL(s)") == [(1,)]
    with server.connect() as connection:
        connection.query("DROP DATABASE others")


@pytest.mark.parametrize("binary", ["mariadb", "mariadb_new"])
def test_routines_triggers_events_and_views_of_mariadb_dump_work(
    shared_server: Any, request: pytest.FixtureRequest, binary: str, tmp_path: Path
) -> None:
    server = shared_server(request.getfixturevalue(f"{binary}_binary"), LOADS, confined=True)
    with server.connect() as connection:
        connection.query("CREATE DATABASE own")
        connection.query("USE own")
        for statement in MADE:
            connection.query(statement)
    path = tmp_path / "own.sql"
    dump(server, path, "--routines", "--triggers", "--events", "--databases", "own")
    with server.connect() as connection:
        connection.query("DROP DATABASE own")
    loaded = load_into(server, path, Rules(), "unused")
    assert dict(loaded.left_out) == {}
    require_it_works(server, "own")


def test_what_mysqldump_writes_works(
    shared_server: Any, mysql_binary: ServerBinary, tmp_path: Path
) -> None:
    server = shared_server(mysql_binary, LOADS, confined=True)
    path = tmp_path / "own.sql"
    path.write_text(OF_MYSQL)
    loaded = load_into(server, path, Rules(), "unused")
    assert dict(loaded.left_out) == {"replication": 3}
    require_it_works(server, "own")


def test_a_package_with_the_rights_of_whoever_calls_it_is_refused(
    shared_server: Any, mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    path = tmp_path / "package.sql"
    path.write_text(
        "SET sql_mode=ORACLE;\nDELIMITER ;;\n"
        "CREATE PACKAGE p SQL SECURITY INVOKER AS PROCEDURE q(); END;;\n"
        "CREATE PACKAGE BODY p SQL SECURITY INVOKER AS PROCEDURE q() AS BEGIN NULL; END; END;;\n"
    )
    with pytest.raises(DumpRefused, match="package p would run with the rights"):
        load_into(shared_server(mariadb_binary, LOADS, confined=True), path, Rules(), "packages")
