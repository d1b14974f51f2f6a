"""Dumps that try to reach out of the server that loads them, and mutants of them.

`OUT` in a statement is a folder that the server's user may write to. It holds `bashrc`, to which a
trick would append, and `secret`, which a trick would read.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

SECRET = "hunter2-is-the-secret"

OUT = "@OUT@"
"""In a statement: the folder."""

PREAMBLE = ("CREATE TABLE t (a INT, b TEXT) ENGINE=MyISAM", "INSERT INTO t VALUES (1, 'x')")

PAYLOADS = {
    "general log": (f"SET GLOBAL general_log_file='{OUT}/bashrc'", "SET GLOBAL general_log=1"),
    "general log, variable": (
        f"SET @@GLOBAL.general_log_file='{OUT}/bashrc', @@GLOBAL.general_log=1",
    ),
    "slow log": (
        f"SET GLOBAL slow_query_log_file='{OUT}/bashrc'",
        "SET GLOBAL long_query_time=0, GLOBAL slow_query_log=1",
    ),
    "log output": ("SET GLOBAL log_output='TABLE,FILE'",),
    "error log": (f"SET GLOBAL log_error='{OUT}/bashrc'",),
    "init_connect": (f"SET GLOBAL init_connect='SELECT 1 INTO OUTFILE \"{OUT}/new\"'",),
    "init_file": (f"SET GLOBAL init_file='{OUT}/secret'",),
    "secure_file_priv": ("SET GLOBAL secure_file_priv=''",),
    "local_infile": ("SET GLOBAL local_infile=1",),
    "event scheduler": ("SET GLOBAL event_scheduler=1",),
    "full text": ("SET GLOBAL innodb_ft_server_stopword_table='mysql/user'",),
    "temporary folder": (f"SET SESSION innodb_tmpdir='{OUT}'",),
    "outfile": (f"SELECT 'x' INTO OUTFILE '{OUT}/new'",),
    "outfile by rows": (f"SELECT b FROM t INTO OUTFILE '{OUT}/new' LINES TERMINATED BY '#'",),
    "dumpfile": (f"SELECT 'x' INTO DUMPFILE '{OUT}/new'",),
    "outfile by dots": (f"SELECT 'x' INTO OUTFILE '/dev/null/../..{OUT}/new'",),
    "load_file": (f"INSERT INTO t SELECT 2, LOAD_FILE('{OUT}/secret')",),
    "load_file by dots": (f"INSERT INTO t SELECT 2, LOAD_FILE('/dev/null/../..{OUT}/secret')",),
    "accounts": ("UPDATE mysql.global_priv SET Priv='{}'",),
    "accounts, mysql": ("UPDATE mysql.user SET File_priv='Y'",),
    "accounts, delete": ("DELETE FROM mysql.db",),
    "plugins": ("INSERT INTO mysql.plugin VALUES ('x', 'x.so')",),
    "functions": ("INSERT INTO mysql.func VALUES ('x', 0, 'x.so', 'function')",),
}
"""What a routine may hold as well."""

COMMANDS = {
    "load data": (f"LOAD DATA INFILE '{OUT}/secret' INTO TABLE t (b)",),
    "load data local": (f"LOAD DATA LOCAL INFILE '{OUT}/secret' INTO TABLE t (b)",),
    "load xml": (f"LOAD XML INFILE '{OUT}/secret' INTO TABLE t",),
    "load xml local": (f"LOAD XML LOCAL INFILE '{OUT}/secret' INTO TABLE t",),
    "soname": ("INSTALL SONAME 'ha_federatedx'",),
    "plugin": ("INSTALL PLUGIN federated SONAME 'ha_federatedx.so'",),
    "component": ("INSTALL COMPONENT 'file://component_log_sink_json'",),
    "library": ("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'",),
    "persist": (f"SET PERSIST general_log_file='{OUT}/bashrc'", "SET PERSIST general_log=1"),
    "persist only": (f"SET PERSIST_ONLY log_error='{OUT}/bashrc'",),
    "server": ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h', USER 'u')",),
    "federated": (
        "CREATE TABLE f (a INT) ENGINE=FEDERATED CONNECTION='mysql://root@localhost/mysql/user'",
    ),
    "connect": (
        f"CREATE TABLE c (a CHAR(9)) ENGINE=CONNECT TABLE_TYPE=DOS FILE_NAME='{OUT}/bashrc'",
        "INSERT INTO c VALUES ('x')",
    ),
    "spider": ("CREATE TABLE s (a INT) ENGINE=SPIDER COMMENT='host \"h\", user \"root\"'",),
    "directory, MyISAM": (
        f"CREATE TABLE d (a INT, KEY (a)) ENGINE=MyISAM DATA DIRECTORY='{OUT}'"
        f" INDEX DIRECTORY='{OUT}'",
        "INSERT INTO d VALUES (1)",
    ),
    "directory, Aria": (
        f"CREATE TABLE d (a INT) ENGINE=Aria DATA DIRECTORY='{OUT}'",
        "INSERT INTO d VALUES (1)",
    ),
    "directory, InnoDB": (
        f"CREATE TABLE d (a INT) ENGINE=InnoDB DATA DIRECTORY='{OUT}'",
        "INSERT INTO d VALUES (1)",
    ),
    "directory, partition": (
        "CREATE TABLE d (a INT) ENGINE=InnoDB PARTITION BY HASH (a)"
        f" (PARTITION p DATA DIRECTORY='{OUT}')",
        "INSERT INTO d VALUES (1)",
    ),
    "directory, partition of MyISAM": (
        "CREATE TABLE d (a INT) ENGINE=MyISAM PARTITION BY RANGE (a)"
        f" (PARTITION p VALUES LESS THAN (9) DATA DIRECTORY='{OUT}' INDEX DIRECTORY='{OUT}')",
        "INSERT INTO d VALUES (1)",
    ),
    "directory, later": (
        "CREATE TABLE d (a INT) ENGINE=MyISAM",
        f"ALTER TABLE d DATA DIRECTORY='{OUT}'",
        "INSERT INTO d VALUES (1)",
    ),
    "directory, literal backslash": (
        "SET sql_mode='NO_BACKSLASH_ESCAPES'",
        f"CREATE TABLE d (a INT COMMENT '\\') ENGINE=MyISAM DATA DIRECTORY='{OUT}' COMMENT=''",
    ),
    "directory, quoted names": (
        "SET sql_mode='ANSI_QUOTES'",
        f'CREATE TABLE d ("a\\" INT) ENGINE=MyISAM DATA DIRECTORY=\'{OUT}\' COMMENT=\'"\'',
    ),
    "directory, character set": (
        "SET character_set_client=gbk",
        f"CREATE TABLE d (a INT COMMENT '\xbf\\') ENGINE=MyISAM DATA DIRECTORY='{OUT}'",
    ),
    "tablespace": (f"CREATE TABLESPACE s ADD DATAFILE '{OUT}/s.ibd' ENGINE=InnoDB",),
    "undo tablespace": (f"CREATE UNDO TABLESPACE s ADD DATAFILE '{OUT}/s.ibu'",),
    "log file group": (f"CREATE LOGFILE GROUP g ADD UNDOFILE '{OUT}/g' ENGINE=NDB",),
    "merge": (
        "CREATE TABLE m (a INT) ENGINE=MERGE UNION=(mysql.plugin) INSERT_METHOD=LAST",
        "INSERT INTO m VALUES (1)",
    ),
    "backup": ("BACKUP STAGE START", "BACKUP STAGE FLUSH"),
    "clone": (f"CLONE LOCAL DATA DIRECTORY = '{OUT}/clone'",),
    "import": (f"IMPORT TABLE FROM '{OUT}/*.sdi'",),
    "relay log": (f"CHANGE MASTER TO MASTER_HOST='h', RELAY_LOG_FILE='{OUT}/relay'",),
    "relay log, mysql": (
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='h', RELAY_LOG_FILE='{OUT}/relay'",
    ),
    "binary log": ("BINLOG 'SGVsbG8='", "PURGE BINARY LOGS BEFORE NOW()"),
    "shutdown": ("SHUTDOWN",),
    "restart": ("RESTART",),
    "instance": ("ALTER INSTANCE ROTATE INNODB MASTER KEY",),
    "grant": ("GRANT FILE ON *.* TO CURRENT_USER",),
    "grant, more": ("GRANT ALL PRIVILEGES ON *.* TO contend_import@localhost",),
    "grant by comment": ("/*!50000 GRANT */ /*!50000 SUPER ON *.* */ TO contend_import@localhost",),
    "user": ("CREATE USER other IDENTIFIED BY 'x'",),
    "user, alter": ("ALTER USER root@localhost IDENTIFIED BY 'x'",),
    "password": ("SET PASSWORD FOR root@localhost = 'x'",),
    "role": ("CREATE ROLE r", "SET ROLE r"),
    "authorisation": ("SET SESSION AUTHORIZATION root@localhost",),
    "drop": ("DROP TABLE mysql.global_priv",),
    "drop, mysql": ("DROP TABLE mysql.user",),
    "drop database": ("DROP DATABASE mysql",),
    "use by comment": ("/*!50000 USE */ mysql", "DELETE FROM plugin"),
    "name of a file": ("CREATE TABLE `#mysql50#../../new` (a INT)",),
    "name of a folder": ("CREATE DATABASE `#mysql50#../../new`",),
    "name of a folder, upgrade": ("ALTER DATABASE `#mysql50#../..` UPGRADE DATA DIRECTORY NAME",),
    "default": (f"CREATE TABLE d (a INT, b TEXT DEFAULT (LOAD_FILE('{OUT}/secret')))",
                "INSERT INTO d (a) VALUES (1)"),
    "generated": (f"CREATE TABLE d (a INT, b TEXT AS (LOAD_FILE('{OUT}/secret')))",
                  "INSERT INTO d (a) VALUES (1)"),
    "view": (f"CREATE SQL SECURITY INVOKER VIEW v AS SELECT LOAD_FILE('{OUT}/secret') AS b",),
    "shell": (f"\\! touch {OUT}/new\n",),
    "system": (f"system touch {OUT}/new\n",),
    "tee": (f"tee {OUT}/new\n",),
    "tee, short": (f"\\T {OUT}/new\n",),
    "pager": (f"pager cat > {OUT}/new\n",),
}  # fmt: skip
"""What stands alone."""

_AS_IT_IS = re.compile(r"sql_mode|character_set|^\\|^(system|tee|pager)")

Statements = tuple[str, ...]


def wraps(payload: Statements, definer: str = "", security: str = "") -> dict[str, Statements]:
    """The payload, in everything that runs it at another time, or from a text."""
    body = "BEGIN " + " ".join(f"{one};" for one in payload) + " END"
    texts = [one.replace("'", "''") for one in payload]
    return {
        "trigger": (
            f"CREATE {definer} TRIGGER tr BEFORE INSERT ON t FOR EACH ROW {body}",
            "INSERT INTO t VALUES (3, 'y')",
        ),
        "trigger for later": (
            f"CREATE {definer} TRIGGER tr BEFORE UPDATE ON t FOR EACH ROW {body}",
        ),
        "procedure": (f"CREATE {definer} PROCEDURE p() {security} {body}", "CALL p()"),
        "procedure for later": (f"CREATE {definer} PROCEDURE p() {security} {body}",),
        "function": (
            f"CREATE {definer} FUNCTION f() RETURNS INT DETERMINISTIC {security}"
            f" {body.removesuffix('END')} RETURN 1; END",
            f"CREATE {definer} VIEW v AS SELECT f()",
            "SELECT f()",
        ),
        "event": (
            f"CREATE {definer} EVENT e ON SCHEDULE EVERY 1 SECOND ON COMPLETION PRESERVE DO {body}",
        ),
        "prepare": tuple(
            statement
            for text in texts
            for statement in (f"PREPARE s FROM '{text}'", "EXECUTE s", "DEALLOCATE PREPARE s")
        ),
        "immediate": tuple(f"EXECUTE IMMEDIATE '{text}'" for text in texts),
        "block": (f"BEGIN NOT ATOMIC {body.removeprefix('BEGIN ')}",),
    }


def tricks() -> dict[str, Statements]:
    """By name: each alone, and one of each sort in everything that runs it at another time."""
    found = COMMANDS | PAYLOADS
    for name in ("general log", "outfile", "load_file", "plugins"):
        for how, wrapped in wraps(PAYLOADS[name], security="SQL SECURITY INVOKER").items():
            found[f"{name}, {how}"] = wrapped
    for how, wrapped in wraps(PAYLOADS["general log"], "DEFINER=root@localhost").items():
        found[f"root's {how}"] = wrapped
    for name in ("mysql", "#mysql50#../../new", "%", "m_"):
        head = f"-- Host: localhost    Database: {name}\n"
        found[f"head, {name}"] = (head, *PAYLOADS["plugins"])
    return found


def dump_of(statements: Sequence[str], out: str, lead: Sequence[str] = ()) -> bytes:
    """The dump with the folder put in; bytes as in Latin-1, so that any may be there."""
    lines = ["DELIMITER ;;"]
    for one in (*PREAMBLE, *lead, *statements):
        lines.append(one.rstrip("\n") if one.endswith("\n") else f"{one};;")
    return ("\n".join(lines) + "\n").replace(OUT, out).encode("latin-1")


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    lead: Statements
    statements: Statements

    def dump(self, out: str) -> bytes:
        return dump_of(self.statements, out, self.lead)


_LEADS: Sequence[Statements] = (
    (),
    (),
    ("SET NAMES latin1",),
    ("SET NAMES binary",),
    ("/*!40101 SET NAMES utf8mb4 */",),
    ("SET sql_mode='NO_BACKSLASH_ESCAPES'",),
    ("SET @old=@@sql_mode, sql_mode=CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')",),
    ("SET NAMES cp1251",),
    ("SET sql_mode=''", "SET sql_log_bin=0"),
    ("CREATE TABLE u (a INT COMMENT '\\'')",),
    ("INSERT INTO t VALUES (7, 'a''b; -- \"')", "SET foreign_key_checks=0"),
)
_BLANKS = ("\n", "\t", "  ", "/**/", " /* ; */ ", " -- x\n", " #\n", "/*'*/", '/*"*/')
_PIECES = re.compile(r"('(?:[^'\\]|\\.|'')*'|\"[^\"]*\"|`[^`]*`|/\*.*?\*/|\s+)", re.DOTALL)


def mutants(seed: int, count: int) -> list[Mutant]:
    """Drawn from all tricks, and from all payloads in all that holds one."""
    draw = random.Random(seed)
    return [_mutant(draw) for _ in range(count)]


_DEFINERS = (
    *("", "DEFINER=root@localhost", "DEFINER/*!50000 = root*/ @/**/localhost"),
    *("definer = `root`@`localhost`", "DEFINER='mariadb.sys'@localhost", "/*!50017 DEFINER=a@b */"),
)
_SECURITY = ("", "SQL SECURITY INVOKER", "SQL SECURITY DEFINER", "/*!50003 sql security invoker */")


def _mutant(draw: random.Random) -> Mutant:
    name = draw.choice([*COMMANDS, *PAYLOADS, *PAYLOADS])
    statements = COMMANDS.get(name) or PAYLOADS[name]
    if name in PAYLOADS and draw.random() < 0.8:
        inside = tuple(_changed(draw, one) for one in statements)
        wrapped = wraps(inside, draw.choice(_DEFINERS), draw.choice(_SECURITY))
        how = draw.choice(list(wrapped))
        name, statements = f"{name}, {how}", wrapped[how]
    if any(_AS_IT_IS.search(one) for one in statements):
        return Mutant(name, (), statements)
    return Mutant(name, draw.choice(_LEADS), tuple(_changed(draw, one) for one in statements))


def _changed(draw: random.Random, statement: str) -> str:
    how = draw.random()
    pieces = [_piece(draw, piece) for piece in _PIECES.split(statement)]
    changed = "".join(pieces)
    if how < 0.15:
        return f"/*!50000 {statement} */" if "/*" not in statement else statement
    if how < 0.25:
        first, _, rest = changed.partition(" ")
        return f"/*!{draw.choice(('', '40000', '50701'))} {first} */ {rest}"
    return changed


def _piece(draw: random.Random, piece: str) -> str:
    if piece.isspace():
        return draw.choice(_BLANKS) if draw.random() < 0.2 else piece
    if piece[:1] in ("'", '"', "`", "/"):
        return piece
    # Names are in small letters, and would mean something else in others.
    if piece.isupper() and draw.random() < 0.4:
        return "".join(draw.choice((one.lower(), one)) for one in piece)
    return piece
