"""The output of `contend try` with option files, and of `contend screen`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from transcripts import check, name_of
from unrun_server import UNRUN

from contend.cli.main import main

DEFAULTS = {
    "innodb_adaptive_hash_index": "OFF",
    "innodb_buffer_pool_size": "134217728",
    "innodb_doublewrite": "ON",
    "innodb_file_per_table": "ON",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_page_size": "16384",
    "key_buffer_size": "134217728",
    "log_bin": "(No default value)",
    "max_connections": "151",
    "skip_name_resolve": "FALSE",
    "sort_buffer_size": "2097152",
}
FLAGS = ("innodb-doublewrite", "innodb-file-per-table", "skip-name-resolve", "log-bin")
HELP = "\n".join(
    [
        "The following groups are read: mysqld server mysqld-10.11 mariadb mariadb-10.11 galera",
        *(f"  --{one}" for one in FLAGS),
        "  --plugin-load-add=name",
        *(
            f"  --{one.replace('_', '-')}=#"
            for one in DEFAULTS
            if one.replace("_", "-") not in FLAGS
        ),
        "",
        "---------- ----------",
        *(f"{name.replace('_', '-')} {value}" for name, value in DEFAULTS.items()),
        "",
    ]
)

OLD = """\
# The settings so far.
[client]
socket = /run/mysqld/mysqld.sock

[mysqld]
user                    = mysql
datadir                 = /var/lib/mysql
socket                  = /run/mysqld/mysqld.sock
server-id               = 7
log-bin                 = /var/log/mysql/bin
ssl-ca                  = /etc/mysql/ca.pem
replicate-do-db         = shop
innodb_file_per_table
innodb_buffer_pool_size = 128M
innodb_flush_log_at_trx_commit = 1 # durable
key_buffer_size         = 16M
sort-buffer-size        = 1M
sort_buffer_size        = 4M
loose-rocksdb_cache     = 1G
skip-name-resolve

[mysqld-8.0]
query_cache_size = 0
"""

NEW = """\
[mysqld]
datadir = /srv/mysql
log_bin = bin
key_buffer_size = 16777216
skip-innodb-doublewrite
sort_buffer_size = 4M
!includedir {folder}
"""

INCLUDED = """\
[mariadb-10.11]
port = 3307
innodb_flush_log_at_trx_commit = 2
skip_name_resolve = ON
"""

Say = Callable[..., None]


@pytest.fixture
def transcript(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Say]:
    """Run a command line in a folder for option files, and keep what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("contend.servers.find.servers_at_hand", lambda: [UNRUN])
    monkeypatch.setattr("contend.servers.find.find_server", lambda _kind, wanted=None: UNRUN)
    monkeypatch.setattr("contend.servers.variables._help", lambda _argv: HELP)
    lines: list[str] = []

    def run(line: str, before: str = "", command: str = "try") -> None:
        code = main([command, *shlex.split(line)])
        output = capsys.readouterr()
        text = f"{output.err}{output.out}".replace(str(tmp_path), "/folder")
        lines.append(f"{before}$ contend {command} {line}\n{text}exit {code}\n")

    yield run
    check(name_of(request.node.name), "\n".join(lines))


def test_try_option_files(transcript: Say, tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "more.cnf").write_text(INCLUDED)
    Path("old.cnf").write_text(OLD)
    Path("new.cnf").write_text(NEW.format(folder=folder))
    transcript("--a old.cnf --b new.cnf --print")
    transcript("--a '' --b conf.d/more.cnf --print")
    Path("conf.d/old.cnf").write_text("[mysqld]\nkey_buffer_size = 128M\nsort_buffer_size = 1M\n")
    Path("old.cnf").write_text("[mysqld]\nkey_buffer_size = 128M\nmax_connections = 151\n")
    transcript("--a conf.d/old.cnf --b old.cnf --print")
    Path("layout.cnf").write_text(f"{OLD}\n[server]\ninnodb_page_size=4K\nmax_connections=500\n")
    transcript("--a layout.cnf --b ./layout.cnf --print")
    Path("other.cnf").write_text(
        f"{OLD}\n[server]\ninnodb-page-size=4096\nmax_connections=500\ndisable-log-bin\n"
    )
    transcript("--a layout.cnf --b other.cnf --connections 200 --print")
    transcript("--a other.cnf --b 'log_bin sort_buffer_size=8M innodb_page_size=4K' --print")


def test_try_option_files_refused(transcript: Say) -> None:
    for text in (
        "",
        "[client]\nuser = me\n",
        "sort_buffer_size = 1M\n",
        "[mysqld\n",
        "[mysqld]\n!include my.cnf\n",
        "[mysqld]\n\nsort_buffer = 1M\n",
        "[mysqld]\nsort_bufer_size = 1M\n",
        "[mysqld]\ninnodb_buffer_pool_instances = 8\n",
        "[mysqld]\nsort_buffer_size\n",
        "[mysqld]\n--sort_buffer_size = 1M\n",
        "[mysqld]\nsort buffer size = 1M\n",
        "[mysqld]\nplugin_load_add = ha_one\nplugin_load_add = ha_two\n",
        "[mysqld]\ninnodb_page_size = 4K\n",
        "[mysqld]\ndatadir = /data\n",
    ):
        Path("new.cnf").write_text(text)
        transcript("--a '' --b new.cnf --print", f"new.cnf: {text!r}\n")
    transcript("--a '' --b gone.cnf")
    transcript("--a ./new.cnf --b '' --server mysql://db/shop")
    transcript("--a new.cnf")


def test_screen_print(transcript: Say, tmp_path: Path) -> None:
    Path("old.cnf").write_text(OLD)
    Path("new.cnf").write_text(NEW.format(folder=tmp_path / "conf.d"))
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "more.cnf").write_text(INCLUDED)
    for line in (
        "--a old.cnf --b new.cnf",
        "--a '' --b 'skip-innodb-doublewrite sort_buffer_size=4M key_buffer_size=128M' "
        "--sql 'SELECT 1' --sql 'UPDATE sbtest SET k = 1 WHERE id = 1' --writes --connections 1",
        "--options 'innodb_flush_log_at_trx_commit=1,2 sort_buffer_size = 2M,8M' --until 2% "
        "--workload tpcc --data tpcc --metric qps --connections 200 --engine myisam",
    ):
        transcript(f"{line} --print", command="screen")


def test_screen_refused(transcript: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("old.cnf").write_text("[mysqld]\nsort_buffer_size = 1M\nmax_connections = 99\n")
    Path("new.cnf").write_text("[mysqld]\nmax_connections = 99\n")
    Path("page.cnf").write_text("[mysqld]\ninnodb_page_size = 4K\nsort_buffer_size = 4M\n")
    Path("typo.cnf").write_text("[mysqld]\n\nsort_bufer_size = 1M\n")
    for line in (
        "",
        "--a old.cnf",
        "--a old.cnf --b new.cnf --options 'sort_buffer_size=1M,2M'",
        "--a old.cnf --b ./old.cnf",
        "--a old.cnf --print-cnf new",
        "--print-cnf new",
        "--a '' --b 'sort_buffer_size=2097152'",
        "--a old.cnf --b new.cnf",
        "--a '' --b log_bin",
        "--a old.cnf --b page.cnf",
        "--a old.cnf --b typo.cnf",
        "--a old.cnf --b sort_bufer_size=1M",
        "--a old.cnf --b 'datadir=/x sort_buffer_size=4M'",
        "--a old.cnf --b new.cnf --server mysql://db/shop",
        "--options ''",
        "--options 'sort_buffer_size=1M,2M'",
        "--options 'sort_buffer_size=1M,2M key_buffer_size=8M'",
        "--options 'sort_buffer_size=1M,2M key_buffer_size=8M,16M,32M'",
        "--options 'sort_buffer_size=1M,2M sort-buffer-size=8M,16M'",
        "--options 'sort_buffer_size=1M,1024K key_buffer_size=8M,16M'",
        "--options 'sort_buffer_size=1M,2M skip_name_resolve'",
        "--options 'sort_buffer_size=1M,2M innodb_page_size=4K,8K'",
        "--options 'sort_buffer_size=1M,2M key_bufer_size=8M,16M'",
        '--options "sort_buffer_size=1M,2M sql_mode=\'ANSI"',
        "--options 'sort_buffer_size=1M,2M key_buffer_size=8M,16M' --connections 8,64",
        "--a '' --b page.cnf --workload read_only,write_only",
        "--a '' --b page.cnf --server mariadb,mysql",
        "--a '' --b page.cnf --goal 'p99<20ms'",
        "--a '' --b page.cnf --threads 8",
    ):
        transcript(line, command="screen")
    monkeypatch.setattr("contend.servers.variables._help", lambda _argv: "")
    many = " ".join(f"option_{number}=1,2" for number in range(1, 41))
    transcript(f"--options '{many}'", command="screen")
