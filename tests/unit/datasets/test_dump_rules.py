"""What becomes of each statement of a dump: run, left out, or refused with its kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.datasets.dump.rules import KINDS, judge

HOME = "shop"


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("GRANT ALL ON *.* TO a@b", "users"),
        ("CREATE USER 'a'@'b' IDENTIFIED BY 'c'", "users"),
        ("/*!50701 CREATE USER a */", "users"),
        ("DROP ROLE r", "users"),
        ("RENAME USER a TO b", "users"),
        ("SET PASSWORD FOR a = 'b'", "users"),
        ("SET DEFAULT ROLE r FOR a", "users"),
        ("SET GLOBAL max_connections = 1", "global"),
        ("SET @a = 1, GLOBAL general_log = 1", "global"),
        ("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'x:1-2'", "global"),
        ("SET PERSIST max_connections = 1", "global"),
        ("/*!50606 SET GLOBAL INNODB_STATS_AUTO_RECALC=OFF */", "global"),
        ("FLUSH PRIVILEGES", "global"),
        ("RESET MASTER", "global"),
        ("CHANGE MASTER TO MASTER_HOST='a'", "global"),
        ("START SLAVE", "global"),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'a')", "global"),
        ("ALTER INSTANCE ROTATE INNODB MASTER KEY", "global"),
        ("CREATE TABLESPACE t ADD DATAFILE 'f.ibd'", "global"),
        ("SHUTDOWN", "global"),
        ("LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "files"),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", "files"),
        ("LOAD XML INFILE 'x' INTO TABLE t", "files"),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", "files"),
        (
            "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW"
            " BEGIN SELECT 1 INTO OUTFILE '/tmp/x'; END",
            "files",
        ),
        ("CREATE TABLE t SELECT LOAD_FILE('/etc/passwd')", "files"),
        ("SELECT a FROM t INTO DUMPFILE '/tmp/x'", "files"),
        ("CREATE TABLE t (a INT) DATA DIRECTORY='/tmp'", "files"),
        ("INSTALL PLUGIN p SONAME 'p.so'", "plugins"),
        ("UNINSTALL SONAME 'p.so'", "plugins"),
        ("CREATE FUNCTION f RETURNS INTEGER SONAME 'f.so'", "plugins"),
        ("CALL p()", "dynamic"),
        ("PREPARE s FROM @x", "dynamic"),
        ("EXECUTE s", "dynamic"),
        ("BEGIN NOT ATOMIC SELECT 1; END", "dynamic"),
        ("INSERT INTO mysql.user VALUES (1)", "other-database"),
        ("INSERT INTO `other`.`t` VALUES ('a.b')", "other-database"),
        ("REPLACE IGNORE other.t SET a = 1", "other-database"),
        ("UPDATE other.t SET a = 1", "other-database"),
        ("DELETE FROM other.t", "other-database"),
        ("DROP TABLE a, other.t", "other-database"),
        ("TRUNCATE other.t", "other-database"),
        ("RENAME TABLE a TO other.a", "other-database"),
        ("LOCK TABLES a READ, other.t WRITE", "other-database"),
        ("CREATE TABLE other.t (a INT)", "other-database"),
        ("CREATE TABLE IF NOT EXISTS other . t (a INT)", "other-database"),
        ("CREATE TABLE t (a INT REFERENCES other.u (a))", "other-database"),
        ("CREATE TABLE t LIKE other.u", "other-database"),
        ("CREATE VIEW v AS select `t`.`a` from (`t` join `other`.`u` on(`t`.`a` = `u`.`a`))",
         "other-database"),
        ("CREATE TRIGGER g BEFORE INSERT ON other.t FOR EACH ROW SET @a = 1", "other-database"),
        ("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW INSERT INTO log.x VALUES (NEW.a)",
         "other-database"),
        ("HANDLER t OPEN", "unknown"),
        ("nonsense", "unknown"),
        ("SET NAMES gbk", "unknown"),
    ],
)  # fmt: skip
def test_what_reaches_further_is_refused_with_its_kind(statement: str, kind: str) -> None:
    verdict = judge(statement.encode(), HOME)
    assert (verdict.action, verdict.kind) == ("refuse", kind)
    assert kind in KINDS
    assert verdict.why


@pytest.mark.parametrize(
    "statement",
    [
        "SET NAMES utf8mb4",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN",
        "SET @@SESSION.SQL_LOG_BIN= 0",
        "SET @old = @@GLOBAL.innodb_stats_auto_recalc",
        "CREATE TABLE `t` (`grant` INT, `a.b` INT, PRIMARY KEY (`grant`)) ENGINE=InnoDB",
        "CREATE TABLE shop.t (a INT)",
        "CREATE TABLE `SHOP`.t (a INT)",
        "INSERT INTO `t` VALUES ('INTO OUTFILE other.x', 1.5)",
        "INSERT INTO t SELECT a.b FROM a",
        "ALTER TABLE t ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES u (b) ON DELETE CASCADE",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "LOCK TABLES `t` WRITE, shop.u AS x READ",
        "UNLOCK TABLES",
        "START TRANSACTION",
        "SELECT 'LOADING departments' AS INFO",
        "select timediff((select update_time from information_schema.tables), now())",
        "CREATE VIEW v AS select `t`.`a` AS `a` from (`t` join `u` on(`t`.`a` = `u`.`a`))",
        "CREATE VIEW v AS select extract(year from `t`.`d`), trim(' ' from `t`.`n`) from `t`",
        "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN UPDATE u SET u.a = NEW.a; END",
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW INSERT INTO u VALUES (NEW.a)"
        " ON DUPLICATE KEY UPDATE u.a = NEW.a",
        "CREATE SEQUENCE s START WITH 1",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
        "DROP TABLE IF EXISTS `t`",
    ],
)
def test_what_a_dump_has_is_run_as_it_stands(statement: str) -> None:
    verdict = judge(statement.encode(), HOME)
    assert (verdict.action, verdict.kind, verdict.why) == ("run", "", "")
    assert verdict.text == statement.encode()


@pytest.mark.parametrize(
    ("statement", "action", "name"),
    [
        ("USE `my shop`", "use", "my shop"),
        ("use shop", "use", "shop"),
        ("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a` /*!40100 DEFAULT CHARACTER SET utf8 */",
         "create", "a"),
        ("DROP SCHEMA IF EXISTS b", "drop", "b"),
        ("ALTER DATABASE `c` CHARACTER SET latin1", "alter", "c"),
        ("FLUSH /*!50503 BINARY */ LOGS", "pass", ""),
        ("FLUSH TABLES", "pass", ""),
        ("/*!40000 */", "pass", ""),
    ],
)  # fmt: skip
def test_what_is_about_the_database_itself_is_told_apart(
    statement: str, action: str, name: str
) -> None:
    verdict = judge(statement.encode(), None)
    assert (verdict.action, verdict.name) == (action, name)


@pytest.mark.parametrize(
    ("statement", "run_as"),
    [
        (
            "/*!50003 CREATE*/ /*!50017 DEFINER=`app`@`%`*/ /*!50003 TRIGGER t BEFORE INSERT ON a"
            " FOR EACH ROW SET NEW.x = 1 */",
            "/*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER t BEFORE INSERT ON a"
            " FOR EACH ROW SET NEW.x = 1 */",
        ),
        ("CREATE DEFINER='a'@'b' VIEW v AS select 1", "CREATE VIEW v AS select 1"),
        ("CREATE DEFINER=a@localhost PROCEDURE p() SELECT 1", "CREATE PROCEDURE p() SELECT 1"),
        ("CREATE DEFINER=CURRENT_USER() VIEW v AS select 1", "CREATE VIEW v AS select 1"),
        ("CREATE DEFINER = `a`@`b` SQL SECURITY DEFINER VIEW v AS select 1",
         "CREATE SQL SECURITY DEFINER VIEW v AS select 1"),
    ],
)  # fmt: skip
def test_a_definer_whom_the_server_does_not_know_is_left_out(statement: str, run_as: str) -> None:
    text = judge(statement.encode(), HOME).text.decode()
    assert text.replace(" ", "") == run_as.replace(" ", "")


@pytest.mark.parametrize(
    ("statement", "run_as"),
    [
        ("CREATE TABLE t (a INT) ENGINE=InnoDB", "CREATE TABLE t (a INT) ENGINE=Aria"),
        ("CREATE TABLE t (engine INT) engine innodb", "CREATE TABLE t (engine INT) engine Aria"),
        ("CREATE TABLE t (a INT) PARTITION BY HASH (a) (PARTITION p ENGINE = InnoDB)",
         "CREATE TABLE t (a INT) PARTITION BY HASH (a) (PARTITION p ENGINE = Aria)"),
        ("CREATE TABLE t (a TEXT DEFAULT 'ENGINE=b')",
         "CREATE TABLE t (a TEXT DEFAULT 'ENGINE=b')"),
    ],
)  # fmt: skip
def test_tables_get_the_engine_that_is_asked_for(statement: str, run_as: str) -> None:
    assert judge(statement.encode(), HOME, "Aria").text.decode() == run_as


def test_the_dump_s_own_default_engine_gives_way() -> None:
    statement = b"/*!50503 set default_storage_engine = InnoDB */"
    assert judge(statement, HOME, "MyISAM").action == "pass"
    assert judge(statement, HOME).action == "run"


def test_a_change_of_the_sql_mode_is_noticed() -> None:
    assert judge(b"/*!50003 SET sql_mode = 'NO_BACKSLASH_ESCAPES' */", HOME).sets_mode
    assert judge(b"SET @@SESSION.SQL_MODE = ''", HOME).sets_mode
    assert not judge(b"SET @a = @@sql_mode", HOME).sets_mode


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *("SET", "CREATE", "TABLE", "DEFINER", "=", "`a`", "@", "'b'", ".", "ON", "(", ")"),
                *(",", "FROM", "INTO", "USER", "VIEW", "/*!50003", "*/", "ENGINE", "'", "/*", "--"),
            ]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_whatever_stands_there_has_a_verdict(statement: str) -> None:
    verdict = judge(statement.encode(), HOME, "Aria")
    assert bool(verdict.kind) == (verdict.action == "refuse")
