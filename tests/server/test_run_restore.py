"""A server that is not ours is as it was after `contend run`, or `contend restore` makes it so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from run_lab import Lab, wait_for
from sql import Factory, query

from contend.servers import Dsn, PrivateServer, ServerBinary
from contend.servers.existing import ExistingServer
from contend.servers.undo import Journal
from contend.servers.undo.variables import change

DIRTY = "innodb_max_dirty_pages_pct"
EXPERIMENT = f"""
[experiment]
name = "dirty"
question = "Does it matter how much of the pool may be dirty?"

[server]
change = "in_place"
options = {{ {DIRTY} = 90 }}

[data]
rows = 1_000

[workload]
kind = "point_select"

[load]
warmup = "20ms"
measure = "100ms"

[factors]
"server.options.{DIRTY}" = [90, 80]

[compare]
baseline = {{ "server.options.{DIRTY}" = 90 }}
by = "runs"
repeats = 2
"""

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


class Borrowed:
    """Somebody's server, and a lab that works on it."""

    def __init__(self, lab: Lab, server: PrivateServer) -> None:
        self.lab, self.server = lab, server
        self.dsn = f"socket:{server.socket}"
        lab.file.write_text(EXPERIMENT)
        lab.edit("[server]", f'[server]\nkind = "{server.binary.kind}"')
        self.sql(f"SET GLOBAL {DIRTY} = 90")

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        return query(self.server, statement)

    def value(self, name: str = DIRTY) -> Any:
        return self.sql(f"SELECT @@GLOBAL.{name}")[0][0]

    def run(self, *more: str) -> Any:
        return self.lab.run("--server", self.dsn, "--yes", *more)

    def restore(self, *more: str | Path) -> Any:
        return self.lab.contend("restore", *more)

    def is_left(self) -> None:
        """As a command leaves it that is killed after its change."""
        folder = self.lab.folder / "state" / "contend" / "undo"
        server = ExistingServer(Dsn(user="root", socket=self.server.socket))
        with Journal.of_server(folder, server) as journal, self.server.connect() as connection:
            change(connection, journal, DIRTY, 80)


@pytest.fixture
def borrowed(lab: Lab, shared_server: Factory, mariadb_binary: ServerBinary) -> Borrowed:
    return Borrowed(lab, shared_server(mariadb_binary, tcp=True))


def test_a_number_with_a_fraction_is_put_back_and_there_is_a_report(
    lab: Lab, private_server: Factory, any_binary: ServerBinary
) -> None:
    theirs = Borrowed(lab, private_server(any_binary))
    # MySQL by runs, the others in slices, which switch the variable all the time.
    if theirs.server.binary.kind == "mariadb":
        lab.edit('by = "runs"', 'by = "slices"')
    theirs.sql("SET GLOBAL max_connections = 123")
    # The server lowers it with the other.
    theirs.sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 85")
    lab.edit(f"options = {{ {DIRTY}", f"options = {{ max_connections = 99, {DIRTY}")
    done = theirs.run()
    assert done.returncode == 0, done.stderr
    assert theirs.value() == 90
    assert theirs.value("max_connections") == 123
    assert theirs.value("innodb_max_dirty_pages_pct_lwm") == 85
    assert (lab.out / "report.html").exists()
    assert lab.journals == []
    again = theirs.restore()
    assert (again.returncode, again.stdout) == (0, "nothing to revert.\n")


def test_what_a_kill_left_is_put_back_without_a_measurement(borrowed: Borrowed) -> None:
    lab = borrowed.lab
    lab.edit('measure = "100ms"', 'measure = "2s"')
    process = lab.start(*lab.arguments("--server", borrowed.dsn, "--yes"))
    wait_for(lambda: borrowed.value() == 80 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    before = lab.ended()
    told = borrowed.restore("--dry-run")
    assert told.returncode == 0
    assert f"would be reverted: {DIRTY} (was 90)" in told.stdout
    assert borrowed.value() == 80
    done = borrowed.restore()
    assert done.returncode == 0, done.stderr
    assert f"{DIRTY} = 90\n" in done.stdout
    assert borrowed.value() == 90
    assert lab.ended() == before
    assert borrowed.restore(borrowed.dsn).stdout.startswith("nothing to revert on mysql:")


def test_the_next_run_offers_it(borrowed: Borrowed) -> None:
    borrowed.is_left()
    lab = borrowed.lab
    another = ("run", lab.file, "--out", lab.folder / "another", "--server", borrowed.dsn)
    refused = lab.contend(*another)
    assert refused.returncode == 2
    assert "left changes on mysql://" in refused.stderr
    assert f"{DIRTY} (was 90)" in refused.stderr
    assert "contend restore mysql://" in refused.stderr
    assert borrowed.value() == 80
    done = lab.contend(*another, "--yes")
    assert done.returncode == 0, done.stderr
    assert f"reverted after an earlier command: {DIRTY} = 90" in done.stderr
    assert borrowed.value() == 90
    assert lab.journals == []


def test_a_warm_up_puts_it_back_first(borrowed: Borrowed) -> None:
    borrowed.is_left()
    done = borrowed.lab.contend("warm", borrowed.dsn)
    assert done.returncode == 0, done.stderr
    assert f"reverted after an earlier command: {DIRTY} = 90" in done.stderr
    assert borrowed.value() == 90


def test_what_somebody_else_changed_since_wants_a_yes(borrowed: Borrowed) -> None:
    borrowed.is_left()
    borrowed.sql(f"SET GLOBAL {DIRTY} = 75")
    refused = borrowed.restore()
    assert refused.returncode == 2
    assert "changed it to 75" in refused.stderr
    assert "--yes" in refused.stderr
    assert borrowed.value() == 75
    warmed = borrowed.lab.contend("warm", borrowed.dsn)
    assert warmed.returncode == 0, warmed.stderr
    assert "changed it to 75" in warmed.stderr
    assert borrowed.value() == 75
    done = borrowed.restore("--yes")
    assert done.returncode == 0, done.stderr
    assert borrowed.value() == 90


def test_a_server_that_is_gone_is_told_and_nothing_forgotten(
    lab: Lab, private_server: Factory, mariadb_binary: ServerBinary
) -> None:
    borrowed = Borrowed(lab, private_server(mariadb_binary))
    borrowed.is_left()
    borrowed.server.kill()
    for words in ([], [borrowed.dsn]):
        done = borrowed.restore(*words)
        assert done.returncode == 1
        assert f"{DIRTY} (was 90)" in done.stderr
        assert "does not answer" in done.stderr
        assert "contend restore mysql://" in done.stderr
    assert len(borrowed.lab.journals) == 1


def test_a_journal_that_is_cut_off_is_told(borrowed: Borrowed) -> None:
    borrowed.is_left()
    (journal,) = borrowed.lab.journals
    journal.write_bytes(journal.read_bytes()[:40])
    for words in (["restore"], ["restore", borrowed.dsn], ["warm", borrowed.dsn]):
        done = borrowed.lab.contend(*words)
        assert done.returncode == 1
        assert f"the journal {journal} cannot be read" in done.stderr
        assert "remove the file" in done.stderr
    refused = borrowed.run()
    assert refused.returncode == 1
    assert journal.exists()


def test_what_setup_did_is_noted_before_it_is_done(borrowed: Borrowed) -> None:
    """Killed while the statement runs, which the server brings to its end."""
    borrowed.lab.edit(
        "[data]",
        "[[setup]]\n"
        'do = "CREATE TABLE made_by_setup AS SELECT SLEEP(2) AS a"\n'
        'undo = "DROP TABLE made_by_setup"\n\n[data]',
    )
    process = borrowed.lab.start(*borrowed.lab.arguments("--server", borrowed.dsn, "--yes"))
    wait_for(lambda: is_at_work(borrowed) or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    wait_for(lambda: not is_at_work(borrowed))
    made = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME = 'made_by_setup'"
    if not borrowed.sql(made):
        # The server saw that nobody waits for it any more.
        borrowed.sql("CREATE TABLE sbtest.made_by_setup (a INT)")
    done = borrowed.restore()
    assert done.returncode == 0, done.stderr
    assert "DROP TABLE made_by_setup" in done.stdout
    assert borrowed.sql(made) == []


def is_at_work(borrowed: Borrowed) -> bool:
    return any(
        re.match("CREATE TABLE made_by_setup", str(row[0]))
        for row in borrowed.sql("SELECT INFO FROM information_schema.PROCESSLIST")
    )


def test_one_server_by_two_names_is_left_as_it_was(borrowed: Borrowed) -> None:
    server = borrowed.server
    names = [
        f"mysql://root@/one?socket={server.socket}",
        f"mysql://root@127.0.0.1:{server.port}/two",
    ]
    borrowed.lab.edit(f'"server.options.{DIRTY}" = [90, 80]', f'"server.use" = {json.dumps(names)}')
    borrowed.lab.edit(f'"server.options.{DIRTY}" = 90', f'"server.use" = "{names[0]}"')
    borrowed.lab.edit(f"{DIRTY} = 90", f"{DIRTY} = 70")
    done = borrowed.lab.contend(
        "run", borrowed.lab.file, "--out", borrowed.lab.out, "--yes", "--set", "compare.by=slices"
    )
    assert done.returncode == 0, done.stderr
    assert borrowed.value() == 90
    assert borrowed.lab.journals == []
