"""docs/guides/which-settings-matter.md, command by command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import shop
from run_lab import Lab, cache_in
from sql import Factory
from test_run_existing import Theirs

from contend.servers import PrivateServer, ServerBinary

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "which-settings-matter.md"

OPTIONS_KEPT = 2
"""Of each option file of the guide: fewer lines take fewer pairs."""

SMALL_LOG = "innodb_log_file_size = 8M\n"
SHORT = ("--connections", "2", "--for", "5s")

ANSWER = r"\d of \d lines matters?: (no )?\w+|None of the \d lines certainly changes "
PROOF = (
    r"(This line gives|These \d lines give) all of it: |That is not all: |Nor does "
    r"|Whether that is all |Every line matters, "
)


@pytest.mark.timeout(1200)
def test_every_command_of_the_guide_gives_its_answer(
    load_program: Path, private_server: Factory, mariadb_binary: ServerBinary, tmp_path: Path
) -> None:
    # The guide's names belong to other tests in the cache that they share.
    lab = Lab(tmp_path, cache_in(tmp_path), load_program, mariadb_binary.name)
    text = GUIDE.read_text(encoding="utf-8")
    _write_option_files(text, tmp_path)
    files, pairs, queries, to_file, of_file, running, cnf = _commands(text)

    done = _succeeds(lab, *files, "--connections", "2", "--data", "1000", "--for", "30s", "--yes")
    assert "in both sets: innodb_log_file_size=8M" in done
    shown = _shown(lab, "screened")
    assert re.match(PROOF, shown["others"][0]), shown["others"]

    smallest = _succeeds(lab, *cnf)
    assert re.match(r"# The lines .* certainly help, from \d+ pairs .*\n\[mysqld\]\n", smallest)
    assert all(line["name"] in smallest for line in shown["screen"]["lines"])

    experiment = _succeeds(lab, *pairs, *SHORT, "--print")
    small = experiment.replace('"tpcc"\n', '"tpcc"\nshrink = 30\n', 1)
    small_log = '"mariadb"\noptions = { innodb_log_file_size = "8M" }\n'
    _runs(lab, small.replace('"mariadb"\n', small_log, 1))

    _import_shop(lab, private_server(mariadb_binary))
    _succeeds(lab, *queries, *SHORT, "--out", "queries", "--yes")
    _shown(lab, "queries")

    experiment = _succeeds(lab, *to_file, *SHORT)
    (tables,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    before, after = experiment.split("[data]\n")[0], experiment.split("[load]\n")[1]
    assert of_file == ["run", "shop-lines.toml"]
    _runs(lab, f"{before}{tables}[load]\n{after}")

    theirs = Theirs(private_server(mariadb_binary, tcp=True))
    theirs.takes_password(lab)
    running[running.index("--server") + 1] = theirs.dsn
    changed = "innodb_flush_log_at_trx_commit", "innodb_io_capacity"
    at_first = [theirs.value(name) for name in changed]
    _succeeds(lab, *running, *SHORT, "--data", "1000", "--out", "running", "--yes")
    _shown(lab, "running")
    assert [theirs.value(name) for name in changed] == at_first


def _commands(text: str) -> list[list[str]]:
    """The commands of the guide without `contend`."""
    commands = re.findall(r"^\$ contend (.*?)(?: > [\w.-]+)?$", text, re.MULTILINE)
    return [shlex.split(one) for one in commands]


def _write_option_files(text: str, folder: Path) -> None:
    files = re.findall(r"```ini\n# (\w+\.cnf)\n(.*?)```", text, re.DOTALL)
    assert [name for name, _ in files] == ["old.cnf", "new.cnf"]
    for name, body in files:
        kept = body.splitlines(keepends=True)[: 1 + OPTIONS_KEPT]
        (folder / name).write_text("".join((*kept, SMALL_LOG)), encoding="utf-8")


def _import_shop(lab: Lab, server: PrivateServer) -> None:
    recorded = shop.record(server, lab.folder, statements=1500, orders=4_000)
    _succeeds(lab, "data", "import", recorded.dump)
    _succeeds(lab, "log", "import", recorded.log, "--name", "shop-peak")


def _succeeds(lab: Lab, *command: str | Path) -> str:
    """What a command prints, and for a measurement also its remarks."""
    done = lab.contend(*command)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout + (done.stderr if "--yes" in command else "")


def _runs(lab: Lab, experiment: str) -> None:
    file = lab.folder / "shop-lines.toml"
    file.write_text(experiment, encoding="utf-8")
    out = lab.folder / f"of-{len(experiment)}"
    _succeeds(lab, "run", file, "--out", out, "--yes")
    _shown(lab, out)


def _shown(lab: Lab, out: str | Path) -> Any:
    """The results of a screen, with an answer and an interval of each line."""
    shown = json.loads(_succeeds(lab, "show", out, "--json"))
    assert re.match(ANSWER, shown["answer"]), shown["answer"]
    lines = shown["screen"]["lines"]
    assert len(lines) in (2, 3) and shown["screen"]["pairs"]["lines"] >= 8
    assert all(line["low"] < line["ratio"] < line["high"] for line in lines), lines
    return shown
