"""Dumps by the command: imported, kept, and asked in a run like any other data."""

from __future__ import annotations

import json
import re

import pytest
from run_lab import Lab
from test_dump_import import shop

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

ASKED = """
[experiment]
name = "own"
question = "Does an index on what is summed help?"

[server]
options = {{ innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M" }}

[data]
schema = "import:shop"

[workload]
kind = "sql"
text = "SELECT SUM(cents) FROM orders WHERE customer_id = {{c:uniform(1, 2)}};"

[load]
warmup = "20ms"
measure = "100ms"

[factors]
"{factor}" = {levels}

[compare]
baseline = {{ "{factor}" = {baseline} }}
repeats = 2
"""


def test_an_import_is_measured_like_any_other_data(lab: Lab) -> None:
    """From the dump to the report; the second import finds it kept."""
    dump = lab.folder / "shop.sql"
    dump.write_text(shop())
    first = lab.contend("data", "import", dump, "--server", lab.server)
    assert first.returncode == 0, first.stderr
    assert "importing shop.sql" in first.stderr
    assert "import:shop: 6 rows in 2 tables of shop" in first.stdout
    assert "  orders: 3 rows, InnoDB" in first.stdout
    again = lab.contend("data", "import", dump, "--server", lab.server)
    assert "already kept" in again.stdout
    (kept,) = [
        one
        for one in json.loads(lab.contend("data", "list", "--json").stdout)["datasets"]
        if one["inputs"]["schema"] == "import:shop"
    ]
    assert kept["rows"] == 6

    text = ASKED.format(factor="load.connections", levels="[1, 2]", baseline=1)
    text = f'setup = [{{ do = "CREATE INDEX c ON orders (cents)" }}]\n{text}'
    lab.file.write_text(text)
    assert lab.run().returncode == 0
    assert all(count > 0 for count in lab.answered().values())
    record = lab.records()[0]
    about = record.probes["dataset"]
    assert (about["engine"], about["rows"], about["tables"]) == ("InnoDB", 6, 2)
    assert (record.probes["warmed"] or {})["cache"] is True
    assert record.plan["server"]["database"] == "shop"
    shown = lab.contend("show", lab.out, "--full").stdout
    assert "import:shop: InnoDB, 6 rows in 2 tables" in shown

    dump.write_text(shop().replace("100),", "101),"))
    taken = lab.contend("data", "import", dump, "--server", lab.server)
    assert (taken.returncode, "the dump has changed since" in taken.stderr) == (2, True)
    assert "--replace" in taken.stderr
    replaced = lab.contend("data", "import", dump, "--server", lab.server, "--replace")
    assert replaced.returncode == 0


VERSIONED = """
CREATE TABLE price (id INT PRIMARY KEY, cents INT, KEY (cents)) WITH SYSTEM VERSIONING;
INSERT INTO price VALUES (1, 1), (2, 2);
UPDATE price SET cents = 3 WHERE id = 1;
DELETE FROM price WHERE id = 2;
CREATE EVENT later ON SCHEDULE EVERY 1 SECOND DO DELETE FROM price;
"""


def test_a_table_with_system_versioning_is_a_table(lab: Lab) -> None:
    """It is counted and warmed; rows of earlier times are told apart. And events are named."""
    dump = lab.folder / "versioned.sql"
    dump.write_text(VERSIONED)
    done = lab.contend("data", "import", dump, "--server", lab.server)
    assert done.returncode == 0, done.stderr
    assert "import:versioned: 1 rows in 1 tables" in done.stdout
    assert "price: 1 rows and 2 historic rows" in done.stdout
    assert "Events: 1. They do not run" in done.stdout
    text = ASKED.format(factor="load.connections", levels="[1, 2]", baseline=1)
    text = text.replace("import:shop", "import:versioned")
    lab.file.write_text(re.sub('text = ".*"', 'text = "SELECT cents FROM price;"', text))
    assert lab.run().returncode == 0
    about = lab.records()[0].probes
    assert (about["dataset"]["rows"], about["dataset"]["tables"]) == (1, 1)
    assert (about["warmed"] or {})["cache"] is True


def test_an_import_that_is_not_there_is_missed_before_anything_is_done(lab: Lab) -> None:
    text = ASKED.format(factor="load.connections", levels="[1, 2]", baseline=1)
    lab.file.write_text(text.replace("import:shop", "import:shopp"))
    done = lab.run()
    assert (done.returncode, 'there is no import "shopp"' in done.stderr) == (2, True)
    assert not lab.out.exists()


def test_a_dump_that_is_gone_is_missed_before_anything_is_done(lab: Lab) -> None:
    """It has to be loaded again for a level whose files are laid out otherwise."""
    dump = lab.folder / "shop.sql"
    dump.write_text(shop())
    done = lab.contend("data", "import", dump, "--name", "gone", "--server", lab.server)
    assert done.returncode == 0, done.stderr
    dump.unlink()
    sizes = {"factor": "server.options.innodb_page_size", "baseline": '"16K"'}
    text = ASKED.format(levels='["16K", "8K"]', **sizes)
    lab.file.write_text(text.replace("import:shop", "import:gone"))
    done = lab.run()
    assert (done.returncode, lab.out.exists()) == (1, False), done.stderr
    assert "there is no file" in done.stderr
    assert "--name gone --replace" in done.stderr


def test_no_file_of_this_machine_gets_into_the_tables(lab: Lab) -> None:
    secret = lab.folder / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    dump = lab.folder / "sly.sql"
    rows = f"(1),(2),(3),(4),(5),(6),(7),(IFNULL(LENGTH(LOAD_FILE('{secret}')),8))"
    dump.write_text(f"CREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES {rows};\n")
    done = lab.contend("data", "import", dump, "--server", lab.server)
    assert done.returncode == 0, done.stderr
    assert "8 rows" in done.stdout
