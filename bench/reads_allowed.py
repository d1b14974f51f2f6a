"""What the list of reads lets through, sent to real servers by a user that may only SELECT.

    python bench/reads_allowed.py [--statements 1000000] [--servers mariadb,mysql] [--seed 1]

A grammar makes statements: the list's functions with arguments that the server itself accepts,
subqueries, CTEs, windows, hints, comments, SHOW and EXPLAIN. One in four gets a part that changes,
locks or waits for something, or has such a part and then lost, doubled or swapped some tokens.
`contend-load recording import` takes them as a log, and `recording ask` sends those that count as
reads. A server that refuses one for lack of a privilege shows a hole in the list.

Some of these parts need no privilege (GET_LOCK, SLEEP, variables). Statements with an unchanged
part are therefore also imported apart: none may count as a read.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
from pymysql.converters import encoders
from rounds import machine

from contend.load import find_program
from contend.servers import PrivateServer, error_log
from contend.servers.find import find_server

READS = Path(__file__).parents[1] / "load" / "crates" / "recording" / "src" / "reads.rs"
BATCH = 30_000
"""Statements of a log: fewer templates than a recording keeps apart."""

PRIVILEGES = {
    1044: "database",
    1045: "login",
    1095: "KILL of a different user",
    1142: "table",
    1143: "column",
    1227: "administration",
    1290: "server's options",
    1345: "EXPLAIN of a view",
    1356: "view",
    1370: "routine",
    1410: "GRANT",
    1419: "SUPER",
    1792: "read-only transaction",
    3546: "SUPER",
}
"""Errors that a lack of privileges has, or that a writing statement has."""

SYNTAX = {1064, 1149, 1327}

SCHEMA = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (a INT PRIMARY KEY, b VARCHAR(20), c DECIMAL(8,2), d DATETIME, j JSON,"
    " KEY k (b), FULLTEXT (b))",
    "CREATE TABLE shop.u (a INT, b VARCHAR(20), e INT, KEY (a)) PARTITION BY HASH (a) PARTITIONS 2",
    "INSERT INTO shop.t VALUES (1, 'one', 1.5, '2026-01-01 10:00:00', '{\"a\": [1, 2]}'),"
    " (2, 'two', 2.5, '2026-02-01 10:00:00', '[1, \"x\"]'), (3, NULL, NULL, NULL, NULL)",
    "INSERT INTO shop.u VALUES (1, 'one', 10), (1, 'uno', 11), (2, 'due', 20)",
    "CREATE VIEW shop.v AS SELECT a, b FROM shop.t",
    "CREATE FUNCTION shop.f (x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA"
    " BEGIN INSERT INTO shop.u VALUES (x, 'f', x); RETURN x; END",
    "CREATE PROCEDURE shop.p () INSERT INTO shop.u VALUES (9, 'p', 9)",
    "CREATE USER reader@localhost IDENTIFIED BY 'reader'",
    "GRANT SELECT ON shop.* TO reader@localhost",
]
SEQUENCE = "CREATE SEQUENCE shop.s"

ARGUMENTS = """
()|(N)|(S)|(D)|(J)|(G)|(N, N)|(S, S)|(S, N)|(D, N)|(D, D)|(J, '$.a')|(G, G)|(N, S)|(D, S)
(N, N, N)|(S, S, S)|(S, N, N)|(S, N, S)|(S, S, N)|(J, '$.a', N)|(J, 'one', '$.a')|(J, J)
(N, S, S)|(D, '+00:00', '+01:00')|(N, N, N, N)|(S, N, N, S)|(N, 'Y', 'N')|(S, S, N, N)
(N USING utf8mb4)|(S AS CHAR(5))|(N AS SIGNED)|(S IN S)|(YEAR FROM D)|(DAY_HOUR FROM D)
(LEADING 'x' FROM S)|(BOTH FROM S)|(S FROM 2 FOR 3)|(D, INTERVAL N DAY)|(DAY, N, D)|(DAY, D, D)
(DATE, 'USA')|(DISTINCT N)|(DISTINCT S ORDER BY a DESC SEPARATOR ';')|(*)|(DISTINCT a, b)
() OVER ()|() OVER (PARTITION BY b ORDER BY a)|(N) OVER (ORDER BY a)|(N, 1) OVER (ORDER BY a)
(2) OVER (ORDER BY a)|(0.5) WITHIN GROUP (ORDER BY a) OVER (PARTITION BY b)
(N) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)|(b)|('$', N)|('a', N)
(S, '//a')|('POINT(1 1)')|('POINT(1 1)', 4326)|(UUID())|(UNHEX(REPLACE(UUID(), '-', '')))
""".replace("\n", "|").strip("|")
"""Arguments that functions have. N, S, D, J, G: a number, a text, a date, JSON, a shape."""

LETTER = re.compile(r"'[^']*'|\b([NSDJG])\b")
SHAPES = ["ST_GeomFromText('POINT(1 1)')", "ST_GeomFromText('POLYGON((0 0,0 2,2 2,0 0))')"]
HOSTILE = [
    "FOR UPDATE",
    "FOR UPDATE NOWAIT",
    "FOR UPDATE SKIP LOCKED",
    "FOR SHARE",
    "LOCK IN SHARE MODE",
    "INTO @x",
    "INTO OUTFILE 'contend-x'",
    "INTO DUMPFILE 'contend-y'",
    "PROCEDURE ANALYSE ( )",
    "/*!50000 FOR UPDATE */",
    "/*M!100000 FOR UPDATE */",
    "/*!99999 x */",
]
"""Parts behind a statement that may not be sent."""

HOSTILE_VALUES = [
    "GET_LOCK ( 'contend' , 0 )",
    "RELEASE_LOCK ( 'contend' )",
    "IS_FREE_LOCK ( 'contend' )",
    "RELEASE_ALL_LOCKS ( )",
    "SLEEP ( 0 )",
    "BENCHMARK ( 2 , 1 )",
    "LOAD_FILE ( '/etc/passwd' )",
    "MASTER_POS_WAIT ( 'x' , 1 , 0 )",
    "@x := 1",
    "( @x := a )",
    "NEXTVAL ( s )",
    "NEXT VALUE FOR s",
    "SETVAL ( s , 50 )",
    "SETVAL ( shop . s , 50 , 1 )",
    "LASTVAL ( s )",
    "PREVIOUS VALUE FOR s",
    "f ( 1 )",
    "shop . f ( 2 )",
    "`f` ( 3 )",
    "`shop` . `f` ( 4 )",
    "`count` ( a )",
    "LAST_INSERT_ID ( 5 )",
    "no_such ( 1 )",
    "/*!50000 SLEEP ( 0 ) */ 1",
    "DEFAULT ( n )",
    "COUNT ( a )",
    "ESCAPE ( 1 )",
]
WHOLE = (
    """
DELETE FROM t|UPDATE t SET a = 4|CALL p ( )|DO f ( 1 )|SET @x = 1|HANDLER t OPEN
TABLE t INTO OUTFILE 'contend-z'|VALUES ROW ( 1 )|ANALYZE SELECT 1|EXPLAIN ANALYZE SELECT 1
EXPLAIN DELETE FROM t|SHOW ENGINE INNODB STATUS|SHOW MASTER STATUS|SHOW BINARY LOGS
SHOW SLAVE STATUS|SHOW REPLICAS|SHOW GRANTS FOR root@localhost|SHOW CREATE USER root@localhost
SHOW CREATE FUNCTION f|SET STATEMENT max_statement_time = 1 FOR SELECT 1
WITH x AS ( SELECT 1 ) DELETE FROM t|WITH x AS ( SELECT 1 ) UPDATE t SET a = 1
LOCK TABLES t READ|FLUSH TABLES|INSERT INTO t SELECT 1|KILL 1|TRUNCATE t
SELECT /*+ SET_VAR(sort_buffer_size=99999) */ 1
""".strip()
    .replace("\n", "|")
    .split("|")
)
AFTER_SELECT = [
    "",
    "",
    "",
    "DISTINCT ",
    "SQL_NO_CACHE ",
    "HIGH_PRIORITY ",
    "STRAIGHT_JOIN ",
    "SQL_CALC_FOUND_ROWS ",
    "SQL_SMALL_RESULT ",
    "/*+ NO_MERGE() */ ",
    "ALL ",
]
SHOWS = (
    """
SHOW TABLES|SHOW FULL COLUMNS FROM t|SHOW INDEX FROM u|SHOW STATUS
SHOW SESSION VARIABLES LIKE 'a%'|SHOW CREATE TABLE t|SHOW WARNINGS|SHOW TABLE STATUS
SHOW COUNT(*) ERRORS|SHOW DATABASES|SHOW COLLATION|SHOW CHARACTER SET|SHOW ENGINES
SHOW FULL PROCESSLIST|SHOW KEYS IN t|SHOW FIELDS FROM t WHERE Field = 'a'
SHOW GLOBAL STATUS LIKE 'Q%'
""".strip()
    .replace("\n", "|")
    .split("|")
)
GLUE = [" ", "\n", "\t", "/**/", " /* it's */ ", " -- x\n", ' # "\n']
TOKEN = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n|\w+|\s+|:=|.", re.S
)


@dataclass
class Grammar:
    """Statements that a server accepts, out of calls that it accepts."""

    drawn: random.Random
    scalars: list[str] = field(default_factory=list)
    aggregates: list[str] = field(default_factory=list)
    windows: list[str] = field(default_factory=list)

    def one_of(self, choices: Sequence[str]) -> str:
        return choices[self.drawn.randrange(len(choices))]

    def filled(self, call: str, depth: int) -> str:
        """The call with values in place of its letters."""
        return LETTER.sub(
            lambda letter: self.value(letter[1], depth) if letter[1] else letter[0], call
        )

    def value(self, kind: str, depth: int = 0) -> str:
        drawn = self.drawn.random()
        if kind == "G":
            return self.one_of(SHAPES)
        if kind == "J":
            return self.one_of(["j", "'[1, 2]'", "'{\"a\": 1}'", "NULL"])
        if kind == "D":
            return self.one_of(["d", "'2026-03-01'", "NOW()", "CURRENT_DATE", "NULL"])
        if depth < 2 and drawn < 0.25:
            return self.filled(self.one_of(self.scalars), depth + 1)
        if depth < 2 and drawn < 0.3:
            inner = self.one_of(["u", "t x", "v"])
            return f"(SELECT MAX(a) FROM {inner} WHERE a < {self.value('N', 2)})"
        if depth < 2 and drawn < 0.35:
            return f"CASE WHEN {self.condition(2)} THEN {self.value(kind, 2)} ELSE 0 END"
        if kind == "N":
            return self.one_of(["a", "c", "0", "1", "-2", "3.5", "1e3", "x'1F'", "NULL", "TRUE"])
        return self.one_of(
            ["b", "'x'", "'it''s; INTO'", "'FOR UPDATE'", '"q"', "''", "_utf8mb4'é'"]
        )

    def condition(self, depth: int = 0) -> str:
        one = lambda: self.value(self.one_of("NS"), depth + 1)  # noqa: E731
        return self.one_of(
            [
                f"{one()} = {one()}",
                # MariaDB 10.11 and 11.8 crash at JSON_EXTRACT(...) <=> CASE ... END.
                f"b <=> {self.value('S', 2)}",
                f"{self.value('N', depth + 1)} IN (1, 2, {one()})",
                f"b LIKE {self.value('S', 2)}",
                "b IS NOT NULL",
                f"a BETWEEN {one()} AND {one()}",
                "EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
                "a = ANY (SELECT a FROM u)",
                "b REGEXP '^o'",
                "@x IS NULL",
                "@@sort_buffer_size > 0",
                "MATCH (b) AGAINST ('one')",
                f"NOT ({one()} XOR 1) AND (a OR {one()})",
                "(a, b) IN (SELECT a, b FROM u)",
            ]
        )

    def body(self) -> str:
        """A SELECT from the table t, without what may stand behind it."""
        word = self.one_of(AFTER_SELECT)
        source = self.one_of(
            ["t"] * 6
            + ["t FORCE INDEX (k)", "shop.t", "`t`", "t IGNORE INDEX FOR ORDER BY (k)", "t AS t"]
        )
        join = self.one_of(
            [""] * 8
            + [" JOIN u w ON w.a = t.a", " LEFT JOIN u w ON (w.a = t.a AND w.e > 1)"]
            + [", (SELECT e FROM u LIMIT 2) x", " JOIN (SELECT 1 AS z UNION SELECT 2) x"]
            + [" JOIN u PARTITION (p0) w ON TRUE"]
            + [", JSON_TABLE('[1,2]', '$[*]' COLUMNS (z INT PATH '$')) x"]
        )
        # Columns of t only: a name alone could be of either table.
        own = lambda text: re.sub(  # noqa: E731
            r"'[^']*'|\(SELECT [^()]*(?:\([^()]*\)[^()]*)*\)|(?<![.\w@`])([abcdj])(?![\w`.'(])",
            lambda name: f"t.{name[1]}" if name[1] else name[0],
            text,
        )
        where = f" WHERE {self.condition()}" if self.drawn.random() < 0.6 else ""
        if self.drawn.random() < 0.3:
            items = ", ".join(
                self.filled(self.one_of(self.aggregates), 1)
                for _ in range(self.drawn.randrange(1, 3))
            )
            having = self.one_of(["", "", " HAVING COUNT(*) > 0"])
            group = self.one_of(["", f" GROUP BY b{having}", " GROUP BY b"])
            return f"SELECT {word}{own(items)} FROM {source}{join}{own(where)}{own(group)}"
        parts = [self.value(self.one_of("NS")) for _ in range(self.drawn.randrange(1, 4))]
        if self.drawn.random() < 0.15:
            parts.append(self.filled(self.one_of(self.windows), 1))
        items = ", ".join(
            f"{part} AS {name}" if self.drawn.random() < 0.3 else part
            for part, name in zip(parts, ["o", "`for update`", "o2", "o3"], strict=False)
        )
        return f"SELECT {word}{own(items)} FROM {source}{join}{own(where)}"

    def statement(self) -> str:
        drawn = self.drawn.random()
        if drawn < 0.03:
            return self.one_of(SHOWS)
        body = self.body()
        if drawn < 0.06:
            # A view's plan needs more privileges than its rows.
            return f"EXPLAIN {body}".replace("FROM v", "FROM u")
        if drawn < 0.12:
            return f"WITH x AS (SELECT a FROM u), y (m) AS (SELECT 2) {body}"
        if drawn < 0.15:
            recursive = "SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5"
            return f"WITH RECURSIVE x (n) AS ({recursive}) SELECT n, {self.value('N', 2)} FROM x, t"
        if drawn < 0.2:
            word = self.one_of(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
            return (
                f"(SELECT a FROM t) {word} (SELECT {self.value('N', 2)} FROM t) ORDER BY 1 LIMIT 3"
            )
        if drawn < 0.22:
            schema = self.one_of(["TABLES", "COLUMNS", "PARTITIONS", "STATISTICS"])
            return f"SELECT COUNT(*) FROM information_schema.{schema} WHERE TABLE_SCHEMA = 'none'"
        tail = self.one_of(["", "", " ORDER BY 1", " ORDER BY 1 DESC LIMIT 2", " LIMIT 1 OFFSET 1"])
        return body + tail + self.one_of(["", "", ";"])

    def hostile(self) -> str:
        """A statement with a part that may not be sent."""
        drawn = self.drawn.random()
        if drawn < 0.15:
            return self.glued(self.one_of(WHOLE))
        if drawn < 0.5:
            return (
                self.statement_of_table().rstrip(";")
                + self.glue()
                + self.glued(self.one_of(HOSTILE))
            )
        value = self.glued(self.one_of(HOSTILE_VALUES))
        return self.one_of(
            [
                f"SELECT {value} FROM t",
                f"SELECT {value}",
                f"SELECT a FROM t WHERE a = {value}",
                f"SELECT (SELECT {value}), b FROM t",
                f"WITH x AS (SELECT {value}) SELECT * FROM x",
                f"SELECT IF(1, {value}, 2) FROM t ORDER BY 1",
                f"SELECT a FROM t GROUP BY a HAVING {value}",
                f"EXPLAIN SELECT {value}",
                f"SELECT 1 UNION SELECT {value}",
            ]
        )

    def statement_of_table(self) -> str:
        return self.one_of([self.body(), "SELECT a FROM t", "(SELECT a FROM t)", "SELECT 1"])

    def glue(self) -> str:
        return self.one_of(GLUE)

    def glued(self, part: str) -> str:
        """With other blanks, and in other cases."""
        words = part.split(" ")
        words = [
            self.one_of([word, word.lower(), word.title()]) if word.isalpha() else word
            for word in words
        ]
        # A function's name and its parenthesis may stand apart; in a text nothing may change.
        if "'" in part or "/*" in part:
            return " ".join(words)
        return "".join(word + (self.glue() if word != "@x" else " ") for word in words).rstrip(
            "\n\t "
        )

    def mutated(self, text: str) -> str:
        tokens = TOKEN.findall(text)
        for _ in range(self.drawn.randrange(1, 3)):
            at = self.drawn.randrange(len(tokens))
            match self.drawn.randrange(4):
                case 0:
                    tokens[at] = ""
                case 1:
                    tokens[at] += " " + tokens[at]
                case 2:
                    to = self.drawn.randrange(len(tokens))
                    tokens[at], tokens[to] = tokens[to], tokens[at]
                case _:
                    tokens[at] = self.one_of(HOSTILE + HOSTILE_VALUES + GLUE + ["(", ")", ",", "."])
        return "".join(tokens)


def functions() -> list[str]:
    """Those of the list, and the words that are functions too."""
    source = READS.read_text(encoding="utf-8")
    listed = re.search(r'const FUNCTIONS: &str = "(.*?)";', source, re.S)
    words = re.search(r"const BEFORE_PARENTHESIS.*?= \[(.*?)\];", source, re.S)
    assert listed is not None and words is not None
    names = listed[1].replace("\\", " ").split()
    return sorted({*names, *re.findall(r'b"(\w+)"', words[1])})


def learn(server: PrivateServer, grammar: Grammar) -> list[str]:
    """Fill the grammar with the calls that the server accepts; returns functions without one."""
    without = []
    # PyMySQL itself: contend's control connection closes at what it cannot decode.
    options = {"unix_socket": str(server.socket), "user": "root", "use_unicode": False}
    with (
        pymysql.connect(database="shop", conv=encoders, **options) as connection,
        connection.cursor() as cursor,
    ):

        def accepts(sql: str) -> bool:
            try:
                cursor.execute(sql)
                cursor.fetchall()
            except pymysql.MySQLError:
                return False
            return True

        samples = {"N": "a", "S": "b", "D": "d", "J": "j", "G": SHAPES[0]}
        for name in functions():
            calls = [f"{name}{one}" for one in ARGUMENTS.split("|")]
            count = 0
            for call in calls:
                sample = LETTER.sub(
                    lambda letter: samples[letter[1]] if letter[1] else letter[0], call
                )
                if not accepts(f"SELECT 1, {sample} FROM t WHERE a < 3"):
                    continue
                count += 1
                if accepts(f"SELECT a FROM t WHERE {sample} IS NULL"):
                    grammar.scalars.append(call)
                elif "OVER (" in call:
                    grammar.windows.append(call)
                else:
                    grammar.aggregates.append(call)
            if not count:
                without.append(name)
    return without


def entry(sql: str, second: int) -> bytes:
    head = (
        "# User@Host: app[app] @ localhost []\n# Thread_id: 7  Schema: shop  QC_hit: No\n"
        "# Query_time: 0.010000  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
        f"SET timestamp={1_770_000_000 + second};\n"
    )
    return (head + sql + ";\n").encode()


def imported(statements: Sequence[str], folder: Path) -> dict[str, Any]:
    log = folder / "slow.log"
    log.write_bytes(b"".join(entry(sql, at // 100) for at, sql in enumerate(statements)))
    command = [find_program(), "recording", "import", log, "--to", folder / "recording"]
    done = subprocess.run([*command, "--format=slow"], check=True, capture_output=True)
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def asked(server: PrivateServer, folder: Path) -> dict[str, Any]:
    plan = {
        **{"version": 1, "recording": str(folder / "recording")},
        **{"each": BATCH, "templates": BATCH, "warm": False, "set_timestamp": False, "limit_s": 5},
        "arms": [
            {
                "name": "server",
                "server": {
                    **{"socket": str(server.socket), "user": "reader"},
                    **{"password_env": "READER_PASSWORD", "database": "shop"},
                },
            }
        ],
    }
    done = subprocess.run(
        [find_program(), "recording", "ask", "-"],
        input=json.dumps(plan).encode(),
        env={"READER_PASSWORD": "reader"},
        capture_output=True,
        check=False,
    )
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if last["type"] != "ask_done":
        number = re.search(r"statement (\d+)", last["message"])
        text = statement_of(folder, "--number", number[1]) if number else ""
        raise SystemExit(f"not asked: {last['message']}\n{text}\n{error_log.tail(server.log())}")
    return last


def statement_of(folder: Path, *which: str) -> str:
    command = [find_program(), "recording", "statement", folder / "recording", *which]
    found = subprocess.run(command, check=True, capture_output=True)
    text: str = json.loads(found.stdout.splitlines()[-1])["text"]
    return text.encode("latin-1").decode(errors="replace")


def refusals(server: PrivateServer, folder: Path, done: dict[str, Any]) -> Iterator[str]:
    """Error and text of a statement of each template that was refused for a privilege; not those
    that a mutation made read a table of a different database."""
    for template in done["templates"]:
        for code in template["arms"][0]["errors"]:
            if int(code) not in PRIVILEGES:
                continue
            which = ("--template", str(template["template"]), "--sample", "1")
            text = statement_of(folder, *which)
            options = {"unix_socket": str(server.socket), "user": "reader", "password": "reader"}
            with pymysql.connect(database="shop", **options) as connection:
                try:
                    connection.query(text)
                except pymysql.MySQLError as error:
                    if "SELECT command denied" in str(error):
                        continue
            yield f"{code}: {text!r}"


@dataclass
class Counts:
    """What became of the statements of one server."""

    made: int = 0
    sent: int = 0
    too_slow: int = 0
    errors: Counter[int] = field(default_factory=Counter)
    hostile: int = 0
    hostile_reads: int = 0
    refused: list[str] = field(default_factory=list)


def measure(server: PrivateServer, grammar: Grammar, wanted: int, folder: Path) -> Counts:
    counts = Counts()
    drawn = grammar.drawn
    while counts.sent < wanted:
        batch = [
            grammar.mutated(one) if drawn.random() < share else one
            for one, share in (
                (grammar.hostile(), 1.0) if drawn.random() < 0.25 else (grammar.statement(), 0.05)
                for _ in range(BATCH)
            )
        ]
        counts.made += imported(batch, folder)["statements"]
        done = asked(server, folder)
        counts.sent += done["asked"]
        figures = done["arms"][0]
        counts.too_slow += figures["too_slow"]
        counts.errors.update({int(code): count for code, count in figures["errors"].items()})
        counts.refused += refusals(server, folder, done)
        hostile = imported([grammar.hostile() for _ in range(BATCH // 4)], folder)
        counts.hostile += hostile["statements"]
        counts.hostile_reads += hostile["reads"]
        told = f"{counts.sent} sent, refused: {counts.refused}, errors: {dict(counts.errors)}"
        print(told, file=sys.stderr, flush=True)
    return counts


@contextlib.contextmanager
def shop(wanted: str) -> Iterator[PrivateServer]:
    folder = Path(tempfile.mkdtemp(prefix="contend-reads-"))
    binary = find_server(None, wanted=wanted)
    try:
        with PrivateServer(binary, folder / "server") as server:
            server.initialise()
            server.start({"log_bin_trust_function_creators": 1})
            sequence = [SEQUENCE] if binary.kind == "mariadb" else []
            with server.connect() as connection, connection.cursor() as cursor:
                for sql in [*SCHEMA, *sequence]:
                    cursor.execute(sql)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def told(server: PrivateServer, counts: Counts, took_s: float) -> Iterator[str]:
    codes = counts.errors
    syntax = sum(codes[code] for code in SYNTAX)
    others = Counter({c: n for c, n in codes.items() if c not in SYNTAX and c not in PRIVILEGES})
    yield f"## {server.variables()['version']}, {took_s:.0f} s"
    yield ""
    yield f"- made: {counts.made}, of which counted as reads and sent: {counts.sent}"
    yield f"- templates refused for lack of a privilege: {len(counts.refused)}"
    yield f"- syntax errors: {syntax}; other errors: {sum(others.values())}"
    frequent = ", ".join(f"{code} ({count})" for code, count in others.most_common(8))
    yield f"- most frequent other errors: {frequent}"
    yield f"- killed after 5 s: {counts.too_slow}"
    yield (
        f"- with an unchanged part that may not be sent: {counts.hostile}, of which counted as "
        f"reads: {counts.hostile_reads}"
    )
    yield from (f"- {one}" for one in counts.refused[:20])
    yield ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--statements", type=int, default=1_000_000, help="sent to each server")
    parser.add_argument("--servers", default="mariadb@bookworm,mariadb@trixie,mysql@sid")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(machine())
    holes = 0
    for wanted in arguments.servers.split(","):
        with shop(wanted) as server, tempfile.TemporaryDirectory() as folder:
            grammar = Grammar(random.Random(arguments.seed))
            without = learn(server, grammar)
            begun = time.monotonic()
            counts = measure(server, grammar, arguments.statements, Path(folder))
            for line in told(server, counts, time.monotonic() - begun):
                print(line)
            print("functions that the server does not have, or has differently:", *without)
            holes += len(counts.refused) + counts.hostile_reads
    return 1 if holes else 0


if __name__ == "__main__":
    sys.exit(main())
