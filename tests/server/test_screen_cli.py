"""The sets of `contend screen` for real servers. Nothing is measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_lab import Lab
from sql import Factory
from test_run_existing import Theirs

from contend.cli.option_files import as_in_file, is_default, read_file_set
from contend.cli.try_levels import level_of, option_set
from contend.experiment import load_experiment
from contend.servers import ServerBinary
from contend.servers.kinds import KINDS
from contend.servers.variables import program_defaults

LINES = (
    *("sort-buffer_size = 1M", "skip-innodb-doublewrite", "skip-log-bin", "flush = OFF"),
    *("disable_innodb-adaptive-hash-index = 0", "enable-general-log = 0", "skip-name-resolve"),
    *("loose-join-buffer-size = 256K", "maximum-read-buffer-size = 1M", "low-priority-updates"),
)


def test_a_typed_set_is_read_like_a_file(any_binary: ServerBinary, tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("\n".join(("[mysqld]", *LINES)))
    of_file, _ = read_file_set(file, any_binary)
    assert as_in_file(option_set(" ".join(LINES)), any_binary) == of_file.options


def test_a_line_with_its_default_has_no_effect(any_binary: ServerBinary) -> None:
    defaults = program_defaults(any_binary)
    known = KINDS[any_binary.kind].known_options(any_binary)
    names = [name for name, value in defaults.items() if value and name in known]
    assert len(names) > 300
    assert all(is_default(name, level_of(defaults[name]), defaults) for name in names)
    assert not is_default("sort_buffer_size", "999K", defaults)
    switches = {name: is_default(name, True, defaults) for name in ("log_bin", "skip_log_bin")}
    assert sorted(switches.values()) == [False, True]


@pytest.mark.timeout(600)
def test_a_running_server_gives_the_values_that_a_set_lacks(
    lab: Lab, shared_server: Factory, mariadb_binary: ServerBinary
) -> None:
    theirs = Theirs(shared_server(mariadb_binary, {"sync_binlog": "7"}, tcp=True))
    theirs.takes_password(lab)
    sets = ("--a", "sort_buffer_size=1M", "--b", "sync_binlog=0 max_error_count=64")
    done = lab.contend("screen", *sets, "--server", theirs.dsn, "--print")
    assert done.returncode == 0, done.stderr
    assert f"read from {theirs.dsn}, for the old set: sync_binlog=7" in done.stderr
    assert "the same value: max_error_count=64" in done.stderr
    file = lab.folder / "printed.toml"
    file.write_text(done.stdout)
    lines = {line.name: (line.old, line.new) for line in load_experiment(str(file)).lines}
    there = int(theirs.value("sort_buffer_size"))
    assert lines == {"sync_binlog": (7, 0), "sort_buffer_size": ("1M", there)}
