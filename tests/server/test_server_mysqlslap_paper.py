"""`--only-print` and what needs no server: to the letter what mariadb-slap prints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import slap_peer as peer

G = "--auto-generate-sql"
SMALL = f"-a {G}-write-number=4 {G}-unique-query-number=3"

PAPER = [
    "",
    "-a",
    SMALL,
    f"{SMALL} -vvv --csv -i 2 -e heap,myisam:max_rows=3",
    f"{SMALL} -c 1,3 -e heap,",
    f"{SMALL} {G}-add-autoincrement -y2 -x2",
    f"{SMALL} {G}-guid-primary {G}-load-type=key {G}-secondary-indexes=3",
    f"{SMALL} {G}-guid-primary {G}-load-type=update",
    f"{SMALL} {G}-secondary-indexes=2 {G}-load-type=u",
    f"{SMALL} {G}-load-type=write {G}-unique-write-number=2",
    f"{SMALL} {G}-load-type=read",
    f"{SMALL} {G}-load-type=zebra --csv",
    f"{SMALL} {G}-load-type=READ",
    f"-a {G}-write-number=0 {G}-unique-query-number=1",
    f"{SMALL} -y0 -x0",
    f"{SMALL} -y2:1 -x2:1",
    f"{SMALL} -y2,3 -x1,2",
    f"{SMALL} -yabc -x1x",
    f"{SMALL} -c 2 --number-of-queries=7 --csv",
    f"{SMALL} -c 2 {G}-execute-number=5 --commit=2",
    f"{SMALL} --no-drop --create-schema=other",
    f"{SMALL} --pre-query='select 1;select 2' --post-query='select 3' -F';' --commit=1 --detach=1",
    f"{SMALL} --pre-system='echo hi >&2' --post-system='exit 3'",
    f"{SMALL} {G}-load-type=key",
    "-a --query=x",
    "-a --create=x",
    f"{SMALL} {G}-guid-primary {G}-add-autoincrement",
    f"-a {G}-execute-number=3 --number-of-queries=3",
    "-F';' -q 'select 1;select 2' --create='create table t(a int);insert into t values(1)' -i 20",
    "-F';' -q 'a;b;;c;d' --create='x;;y' --pre-query='p;;q' --csv",
    "-F';' -q 'a; b;  c ;'",
    "-F';' -q 'a;  '",
    "-F'//' -q 'a//b' --csv",
    "-q list.sql",
    "-q list.sql -F';' --csv",
    "-q empty.sql --csv",
    "-q .",
    "--create .",
    "-q nosuch.sql",
    "-q a --create x -e 'heap,'",
    "-q a --create x -e ':o'",
    "-q a --create x -e ''",
    "-q a -c 2,0,3",
    "-q a -c 2x,3",
    "-q a -c '2, 3' --csv=-",
    "-q a -i 0 --create x --csv",
    "-q a -i ''",
    "-q a --number-of-queries=1k --csv",
    "-q a stray1 stray2",
    "-q a -- --foo -x",
    "-q a stray1 stray2 stray3",
    "-q a stray1 -- --foo -x",
    "-q a –c 10 – –i",
    "--quer=a",
    "-q a --skip-query",
    "-q a --skip-ssl --enable-no-drop --verbose -v --silent",
    "-q a --loose-nosuch=3 --loose-iterations=2 --maximum-commit=3",
    "-q a --auto_generate_sql --skip-auto-generate-sql",
    "-q a --auto-generate-sql=maybe",
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
    "--commit=-1",
    "--commit=1.5",
    "--iterations=99999999999999999999",
    "--csv=nosuch/c.csv -q a",
    "-q a --no-defaults",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slap")
    (folder / "list.sql").write_text("select 10;\nselect 11;\n\nselect 12;\n")
    (folder / "empty.sql").write_text("")
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
    line = ["--only-print", *shlex.split(words)]
    theirs = peer.run(peer.find_peer(), line, folder).masked()
    ours = peer.run(peer.ours(load_program), line, folder).masked()
    if "-c" in line:
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
    assert ours.err == theirs.err
    assert ours.code == theirs.code
    # It names the program as it was called.
    assert ours.out.partition("would have")[2] == theirs.out.partition("would have")[2]


def test_a_csv_file_grows(load_program: Path, folder: Path) -> None:
    line = ["--only-print", "-q", "a", "--csv=grows.csv"]
    for _ in range(2):
        assert peer.run(peer.ours(load_program), line, folder).code == 0
    assert len((folder / "grows.csv").read_text().splitlines()) == 2
