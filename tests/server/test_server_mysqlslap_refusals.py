"""What nobody can have meant is refused before any server is asked, with words that help."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import slap_peer as peer

G = "--auto-generate-sql"

REFUSED = [
    ("-q nosuch.sql", "--query=nosuch.sql: "),
    ("-q empty.sql", "--query: it contains no statement"),
    ("-q latin1.sql", "--query=latin1.sql: line 2 is not UTF-8"),
    ("-q quote.sql -F';'", "--query=quote.sql, line 2: this quote (') has no end"),
    ("-q 'select 1 /* two'", "--query, line 1: this comment has no end"),
    ("-q .", "--query=.: not a regular file"),
    ("-q x -F ''", "--delimiter= is empty"),
    ("-q x -c 0", '"0" is not a number of clients'),
    ("-q x -c abc", '"abc" is not a number of clients'),
    ("-q x -c 1,,2", '"" is not a number of clients'),
    ("-q x -c=2", '"=2" is not a number of clients'),
    ("-q x -c 1,8 --number-of-queries=4", "--number-of-queries=4 is less than --concurrency=8"),
    ("-q x -i 0", "--iterations=0"),
    ("-q x --commit=1x", "--commit=1x: use a whole number"),
    ("-q x -e heap,,myisam", "--engine=heap,,myisam: one engine"),
    ("-q x --comit=3", "did you mean --commit?"),
    ("-q x --duration=soon", "--duration=soon: "),
    ("-q x --rate=0", "--rate=0"),
    ("-q x --ps-mode=maybe", "--ps-mode=maybe: "),
    ("-q x --ignore-errors=deadlock", "--ignore-errors=deadlock: "),
    ("-q x --protocol=pipe", "Unknown option to protocol: pipe"),
    ("-q x --port=99999 -h 127.0.0.1", "--port=99999: use at most 65535"),
    ("-q x --ssl-mode=perhaps", "--ssl-mode=perhaps: use disabled, preferred"),
    ("-q x --ssl-crl=x", "certificate revocation lists"),
    ("-q x --login-path=x", "use an option file"),
    ("-q x --auto-generate-sql=maybe", "--auto-generate-sql=maybe: use on or off"),
    (f"-q x {G}-execute-number=1 --number-of-queries=1", "can be used!"),
    ("", "add --query, or -a"),
    (f"-a {G}-load-type=zebra", "load-type=zebra: use mixed, update, write, key or read"),
    (f"-a {G}-load-type=key", "without a primary key"),
    (f"-a {G}-unique-write-number=0", "unique-write-number=0: use 1 or more"),
    ("-a -y 2,3", "--number-int-cols=2,3"),
    ("-a -x0 -y0", "a table needs columns"),
    ("--defaults-file=nosuch.cnf", "Could not open required defaults file"),
    ("–concurrency=10 –iterations=2 -a", "two minus signs, --concurrency"),
    ("-a -p 3306", "a port after -P"),
    ("-a -P 888 0", '"0" belongs to no option'),
    ("-a --csv out.csv", "--csv=VALUE"),
    ("-q select 1", '"1" belongs to no option'),
    ("-q x -- -a", '"-a" belongs to no option'),
    ("-a user=sb", "write --user=…"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "empty.sql").write_text("\n\n")
    (folder / "latin1.sql").write_bytes(b"select 1;\nselect '\xfc';\n")
    (folder / "quote.sql").write_text("select 1;\nselect 'two;\n")
    return folder


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_it_is_refused_with_words(words: str, said: str, load_program: Path, folder: Path) -> None:
    done = peer.run([str(load_program), "mysqlslap"], shlex.split(words), folder)
    assert said in done.err
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize("option", ["--help", "-?", "--version", "-V"])
def test_help_and_version_need_nothing(option: str, load_program: Path, folder: Path) -> None:
    done = peer.run([str(load_program), "mysqlslap"], [option], folder)
    assert (done.code, done.err) == (0, "")
    assert "Ver 1.0 (contend-load " in done.out


def test_a_byte_order_mark_is_no_part_of_a_statement(load_program: Path, tmp_path: Path) -> None:
    (tmp_path / "marked.sql").write_text("\ufeffselect 1;\nselect 2;\n", "utf-8")
    (tmp_path / "marked.cnf").write_text("\ufeff[mysqlslap]\nquery=marked.sql\n", "utf-8")
    line = ["--defaults-file=marked.cnf", "--only-print", "--delimiter=;"]
    done = peer.run([str(load_program), "mysqlslap"], line, tmp_path)
    assert (done.out, done.err, done.code) == ("select 1;\nselect 2;\n", "", 0)


def test_it_answers_to_a_link(load_program: Path, tmp_path: Path) -> None:
    for name in ("mysqlslap", "mariadb-slap"):
        link = tmp_path / name
        link.symlink_to(load_program)
        done = peer.run([str(link)], ["--only-print", "-q", "select 1"], tmp_path)
        assert (done.out, done.err, done.code) == ("select 1;\n", "", 0)
