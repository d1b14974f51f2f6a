"""What becomes of each statement of a dump: run, left out, or refused with its kind."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.data.dump.rules import REPLICATION, USERS, judge


@pytest.mark.parametrize(
    ("statement", "about"),
    [
        ("GRANT ALL ON *.* TO a@b", USERS),
        ("REVOKE ALL ON *.* FROM a@b", USERS),
        ("CREATE USER 'a'@'b' IDENTIFIED BY 'c'", USERS),
        ("/*!50701 CREATE USER a */", USERS),
        ("DROP ROLE r", USERS),
        ("RENAME USER a TO b", USERS),
        ("SET PASSWORD FOR a = 'b'", USERS),
        ("SET DEFAULT ROLE r FOR a", USERS),
        ("FLUSH PRIVILEGES", USERS),
        ("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'x:1-2'", REPLICATION),
        ("SET GLOBAL gtid_slave_pos='0-1-2'", REPLICATION),
        ("SET @@SESSION.SQL_LOG_BIN= 0", REPLICATION),
        ("SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN", REPLICATION),
        ("RESET MASTER", REPLICATION),
        ("CHANGE MASTER TO MASTER_LOG_FILE='a'", REPLICATION),
        ("START SLAVE", REPLICATION),
    ],
)
def test_what_a_private_server_has_no_use_for_is_left_out(statement: str, about: str) -> None:
    verdict = judge(statement.encode())
    assert (verdict.action, verdict.about) == ("leave", about)


@pytest.mark.parametrize(
    "statement",
    [
        "SET NAMES utf8mb4",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN",
        "SET @a = 1, sql_log_bin = 0",
        "SET GLOBAL max_connections = 1",
        "SET @old = @@GLOBAL.innodb_stats_auto_recalc",
        "CREATE TABLE `t` (`grant` INT, `a.b` INT, PRIMARY KEY (`grant`)) ENGINE=InnoDB",
        "CREATE TABLE shop.user (a INT)",
        "CREATE TABLE t (a INT) DATA DIRECTORY='/tmp'",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "CALL p()",
        "nonsense",
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
    verdict = judge(statement.encode())
    assert (verdict.action, verdict.text) == ("run", statement.encode())


@pytest.mark.parametrize(
    ("statement", "action", "name"),
    [
        ("USE `my shop`", "use", "my shop"),
        ("use shop", "use", "shop"),
        ('USE "shop"', "use", "shop"),
        ('CREATE DATABASE "shop"', "create", "shop"),
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
    verdict = judge(statement.encode())
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
        ("CREATE /* a */ DEFINER=a@b VIEW v AS select 1", "CREATE /* a */ VIEW v AS select 1"),
        ("CREATE DEFINER=user@localhost VIEW v AS select 1", "CREATE VIEW v AS select 1"),
        ('CREATE DEFINER="table"@"b" VIEW v AS select 1', "CREATE VIEW v AS select 1"),
        ("CREATE TABLE t (definer INT DEFAULT 1)", "CREATE TABLE t (definer INT DEFAULT 1)"),
        ("CREATE DEFINER = `a`@`b` SQL SECURITY DEFINER VIEW v AS select 1",
         "CREATE SQL SECURITY DEFINER VIEW v AS select 1"),
    ],
)  # fmt: skip
def test_a_definer_whom_the_server_does_not_know_is_left_out(statement: str, run_as: str) -> None:
    text = judge(statement.encode()).text.decode()
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
        ("CREATE TABLE t (a INT) COMMENT 'x' ENGINE b",
         "CREATE TABLE t (a INT) COMMENT 'x' ENGINE Aria"),
        ("CREATE TABLE t (a INT) -- it's\n ENGINE=b COMMENT='x'",
         "CREATE TABLE t (a INT) -- it's\n ENGINE=Aria COMMENT='x'"),
        ("CREATE TABLE t (a INT) /* ENGINE=b */", "CREATE TABLE t (a INT) /* ENGINE=b */"),
        ("ALTER IGNORE TABLE t ADD engine INT, ENGINE=b",
         "ALTER IGNORE TABLE t ADD engine INT, ENGINE=Aria"),
    ],
)  # fmt: skip
def test_tables_get_the_engine_that_is_asked_for(statement: str, run_as: str) -> None:
    assert judge(statement.encode(), "Aria").text.decode() == run_as


def test_a_set_of_other_variables_too_is_not_left_out() -> None:
    assert judge(b"SET sql_log_bin=0, foreign_key_checks=0").action == "run"


def test_the_dump_s_own_default_engine_gives_way() -> None:
    statement = b"/*!50503 set default_storage_engine = InnoDB */"
    assert judge(statement, "MyISAM").action == "pass"
    assert judge(statement).action == "run"


def test_how_quotes_are_read_may_change_after_what_sets_variables() -> None:
    assert judge(b"/*!50003 SET sql_mode = 'NO_BACKSLASH_ESCAPES' */").requotes
    assert judge(b"EXECUTE s").requotes
    assert not judge(b"INSERT INTO t VALUES (1)").requotes


def test_a_backslash_escapes_only_if_the_server_says_so() -> None:
    statement = b"CREATE TABLE t (a INT COMMENT '\\', engine TEXT COMMENT ') ENGINE=b') ENGINE=c"
    assert judge(statement, "Aria", backslash=False).text == statement[:-1] + b"Aria"


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
    verdict = judge(statement.encode(), "Aria")
    assert bool(verdict.about) == (verdict.action == "leave")
