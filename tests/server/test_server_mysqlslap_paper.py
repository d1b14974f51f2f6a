"""`--only-print` and what needs no server: to the letter what mariadb-slap prints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import slap_peer as peer

G = "--auto-generate-sql"

# SMALL stands for the same small generated load under both programs.
PAPER = [
    "SMALL",
    f"SMALL -vvv --csv -i 2 -e heap,myisam:max_rows=3 {G}-execute-number=6",
    "SMALL -c 1,3 -e heap,myisam",
    f"SMALL {G}-add-autoincrement -y2 -x2",
    f"SMALL {G}-guid-primary {G}-load-type=key {G}-secondary-indexes=3",
    f"SMALL {G}-guid-primary {G}-load-type=update",
    f"SMALL {G}-secondary-indexes=2 {G}-load-type=u",
    f"SMALL {G}-load-type=write {G}-unique-write-number=2",
    f"SMALL {G}-load-type=read",
    "SMALL -y2:1 -x2:1",
    "SMALL -c 2 --number-of-queries=7 --csv",
    f"SMALL -c 2 {G}-execute-number=5 --commit=2",
    "SMALL --pre-query='select 1;select 2' --post-query='select 3' -F';' --commit=1 --detach=1",
    "SMALL --pre-system='echo hi >&2' --post-system='exit 3'",
    f"SMALL {G}-load-type=key",
    "-a --query=x",
    "-a --create=x",
    f"SMALL {G}-guid-primary {G}-add-autoincrement",
    f"-a {G}-execute-number=3 --number-of-queries=3",
    "-F';' -q 'select 1;select 2' --create='create table t(a int);insert into t values(1)' -i 20",
    "-q list.sql",
    "-q list.sql -F';' --csv",
    "-q a -c '2, 3' --csv=-",
    "-q a --number-of-queries=1k --csv",
    "--quer=a",
    "-q a --skip-ssl --enable-no-drop --verbose -v --silent",
    "-q a --loose-nosuch=3 --loose-iterations=2 --maximum-commit=3",
    "-q a --auto_generate_sql --skip-auto-generate-sql",
    "-q a --init-command='set @a=1' --character-sets-dir=x --default-auth=y --plugin-dir=z",
    "-q a -psecret -u me -P 3307 --protocol=tc",
    "--foo",
    "--foo=1",
    "-z",
    "--query",
    "-c",
    "--c=1",
    "--ver",
    "--verbose=3",
    "-q a --no-defaults",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slap")
    (folder / "list.sql").write_text("select 10;\nselect 11;\nselect 12;\n")
    (folder / "a.cnf").write_text(
        '# words\n[client]\nuser=bob\npassword = "se cret"\n[mysqlslap]\n'
        "query='select 1\\nselect\\s2' # tail\nconcurrency=2\n; other\n[mysqlslap_x]\n"
        "concurrency=3\n[mysqld]\ndatadir=/x\n[mariadb-slap]\niterations = 3 # tail\nno_drop\n"
        f"!include {folder}/b.cnf\n"
    )
    (folder / "b.cnf").write_text("[client-mariadb]\ndetach=4\n[client-server]\nhost=h\n")
    (folder / "stray.cnf").write_text("x=1\n[client]\n")
    (folder / "torn.cnf").write_text("[client\nx=1\n")
    return folder


@pytest.mark.parametrize("words", PAPER)
def test_what_is_printed_is_the_same(words: str, load_program: Path, folder: Path) -> None:
    def printed(program: list[str], *options: str) -> peer.Done:
        line = words.replace("SMALL", peer.auto(4, 3, program))
        return peer.run(program, [*options, "--only-print", *shlex.split(line)], folder).masked()

    theirs = printed(peer.find_peer())
    ours = printed(peer.ours(load_program), "--drop-existing")
    if "-c" in words.split():
        # Its clients are threads, whose lines come in any order.
        assert sorted(ours.out.splitlines()) == sorted(theirs.out.splitlines())
    else:
        assert ours.out == theirs.out
    assert (ours.err, ours.code) == (theirs.err, theirs.code)


OPTION_FILES = [
    "--defaults-file=a.cnf --print-defaults",
    "--defaults-file=a.cnf --defaults-group-suffix=_x --print-defaults --query=3",
    "--no-defaults --print-defaults -a",
    "--defaults-file=a.cnf --only-print",
    "--defaults-file=a.cnf --only-print -c1 -i1",
    "--defaults-file=stray.cnf --only-print",
    "--defaults-file=torn.cnf --only-print",
]


@pytest.mark.parametrize("words", OPTION_FILES)
def test_option_files_are_read_alike(words: str, load_program: Path, folder: Path) -> None:
    line = shlex.split(words)
    theirs = peer.run(peer.find_peer(), line, folder).masked()
    ours = peer.run(peer.ours(load_program), line, folder).masked()
    # mariadb-slap has a second line about a file that it cannot read.
    assert theirs.err.startswith(ours.err.removeprefix("slap: "))
    assert ours.code == theirs.code
    # It names the program as it was called.
    assert ours.out.partition("would have")[2] == theirs.out.partition("would have")[2]


def test_a_csv_file_grows(load_program: Path, folder: Path) -> None:
    line = ["--only-print", "-q", "a", "--csv=grows.csv"]
    for _ in range(2):
        assert peer.run(peer.ours(load_program), line, folder).code == 0
    assert len((folder / "grows.csv").read_text().splitlines()) == 2
