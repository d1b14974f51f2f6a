"""The output of `contend try --print`, and its errors."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

import pytest
from transcripts import check, name_of
from unrun_server import UNRUN

from contend.cli.main import main

Say = Callable[[str], None]


@pytest.fixture
def transcript(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Say]:
    """Run a command line and keep what it says; the fixture's end compares all of it."""
    monkeypatch.setattr("contend.servers.find.servers_at_hand", lambda: [UNRUN])
    monkeypatch.setattr("contend.servers.find.find_server", lambda _kind, wanted=None: UNRUN)
    defaults = {"sort_buffer_size": "2097152"}
    monkeypatch.setattr("contend.servers.variables.program_defaults", lambda _binary: defaults)
    lines: list[str] = []

    def run(line: str) -> None:
        code = main(["try", *shlex.split(line)])
        output = capsys.readouterr()
        lines.append(f"$ contend try {line}\n{output.out}{output.err}exit {code}\n")

    yield run
    check(name_of(request.node.name), "\n".join(lines))


def test_try_print(transcript: Say) -> None:
    transcript(
        "key_cache_segments=0,32 --engine MyISAM --workload random_points --connections 8 --print"
    )
    transcript("innodb_flush_log_at_trx_commit=1,2 --connections 8,64 --until 2% --print")
    transcript(
        "\"optimizer_switch='mrr=on,mrr_cost_based=off','mrr=off'\" join_buffer_size=1M "
        "--sql 'SELECT c FROM sbtest WHERE k < {k:uniform(1, 100)}' --sql 'SELECT 1' --print"
    )
    transcript("--a '' --b 'key_cache_segments=32 key_buffer_size=64M' --print")
    transcript("--a skip-log-bin --b 'log_bin sync_binlog = 0' --print")
    transcript("--server mariadb,mysql@sid --workload oltp_read_only --data 1M --for 5m --print")
    transcript("sort_buffer_size=256K,4M --goal 'p99<20ms' --for 2m --print")
    transcript("--goal 'event.new_order.response_us_p95<50ms' --workload tpcc --data tpcc --print")


def test_try_refused(transcript: Say) -> None:
    for line in (
        "",
        "sort_buffer_size",
        "sort_buffer_size=4M",
        "sort_buffer_size=2M",
        "unheard_of=4M",
        "--goal 'p98<20ms'",
        "--goal p99",
        "--goal 'p99>20ms'",
        "--goal 'p99<20ms' --fail-if-slower 3%",
        "--workload read_only --connections 1,8",
        "sort_buffer_size=256K,4M --threads 8",
        "sort_buffer_size=256K,4M --time=60",
        "sort_buffer_size=256K,262144",
        "sort_buffer_size=256K,256K,4M",
        "sort_buffer_size=256K,4M sort-buffer-size=8M",
        "sort_buffer_size=256K,",
        "\"sql_mode='ANSI,''\"",
        "datadir=/a,/b",
        "log_bin=a,/b",
        "--a '' --b 'binlog-ignore-db=a binlog-ignore-db=b'",
        "--a '' --b my.cnf",
        "--a sort_buffer_size=4M",
        "--a sort_buffer_size=256K --b sort_buffer_size=262144",
        "--a sort_buffer_size=1M --b '' sort_buffer_size=4M",
        "--a innodb_page_size=16K --b innodb_page_size=32K",
        "sort_buffer_size=256K,4M --workload oltp_read_writ",
        "sort_buffer_size=256K,4M --workload sql",
        "sort_buffer_size=256K,4M --workload lua",
        "sort_buffer_size=256K,4M --sql 'DELETE FROM sbtest'",
        "sort_buffer_size=256K,4M --sql 'SELECT 1' --workload read_only",
        "sort_buffer_size=256K,4M --sql ' ; '",
        "sort_buffer_size=256K,4M --writes",
        "sort_buffer_size=256K,4M --data emploees",
        "sort_buffer_size=256K,4M --data employees",
        "sort_buffer_size=256K,4M --data 0",
        "sort_buffer_size=256K,4M --data 'import:a b' --sql 'SELECT 1'",
        "sort_buffer_size=256K,4M --data import:shop --engine MyISAM --sql 'SELECT 1'",
        "sort_buffer_size=256K,4M --engine MyIASM",
        "sort_buffer_size=256K,4M --connections 8,0",
        "sort_buffer_size=256K,4M --connections many",
        "sort_buffer_size=256K,4M --for soon",
        "sort_buffer_size=256K,4M --until narrow",
        "sort_buffer_size=256K,4M --metric tps",
        "sort_buffer_size=256K,4M --server mysql://me:secret@db/shop",
        "--server mariadb,mariadb",
        "sort_buffer_size=256K,4M --worklaod read_only",
    ):
        transcript(line)
