"""What a sysbench command line keeps to here: seeds, warm-ups, ends, rates, and its three doors."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import sysbench_peer as peer
from sql import Factory

from contend.servers import PrivateServer, ServerBinary

SCRIPTS = Path(__file__).resolve().parents[1] / "golden" / "sysbench" / "scripts"
TABLES = ["--tables=2", "--table-size=1000"]
BUNDLED = [
    "oltp_common",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
]

Statements = dict[int, list[str]]


def start(factory: Factory, binary: ServerBinary, program: Path) -> PrivateServer:
    server = factory(binary)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE sbtest")
    done = run(program, server, "oltp_read_write", *TABLES, "prepare")
    assert done.code == 0, done
    return server


@pytest.fixture(scope="module")
def server(
    mariadb_binary: ServerBinary, shared_server: Factory, load_program: Path
) -> Iterator[PrivateServer]:
    yield start(shared_server, mariadb_binary, load_program)


def command(program: Path, server: PrivateServer) -> list[str]:
    return [str(program), "sysbench", f"--mysql-socket={server.socket}", "--mysql-user=root"]


def run(program: Path, server: PrivateServer, *words: str) -> peer.Done:
    return peer.run(command(program, server), words, folder=SCRIPTS)


def test_lines_that_threads_print_at_the_same_time_stay_whole(
    load_program: Path, server: PrivateServer
) -> None:
    done = run(
        load_program, server, "--threads=4", "--os-threads=on", "print_many_lines.lua", "share"
    )
    assert done.code == 0, done
    lines = done.out.split("Initializing worker threads...\n\n")[1].splitlines()
    each = {f"thread\t{thread}\tnil\t{line}" for thread in range(4) for line in range(1, 501)}
    assert len(lines) == len(each) and set(lines) == each


@pytest.mark.parametrize(
    ("threads", "events", "rounds", "made"),
    [
        (4, 4_000, 20, True),
        # Many threads: what goes round seldom within an event does not, however many events...
        (32, 96_000, 20, False),
        # ...and what goes round often does.
        (32, 9_600, 1_000, True),
    ],
)
def test_many_threads_make_machine_code_only_of_what_goes_round_often_within_an_event(
    threads: int, events: int, rounds: int, made: bool, load_program: Path, server: PrivateServer
) -> None:
    options = [f"--threads={threads}", f"--events={events}", f"--rounds={rounds}", "--time=0"]
    done = run(load_program, server, *options, "machine_code.lua", "run")
    assert done.code == 0, done
    pieces = [int(count) for count in re.findall(r"^made (\d+)$", done.out, re.MULTILINE)]
    assert len(pieces) == threads
    assert any(pieces) == made


def logged(program: Path, server: PrivateServer, *words: str) -> Statements:
    """What each connection of a run sent, from the server's own log."""
    log = server.data_folder / "general.log"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL general_log_file = %s", (str(log),))
        cursor.execute("SET GLOBAL general_log = 1")
        done = run(program, server, *words)
        cursor.execute("SET GLOBAL general_log = 0")
        assert done.code == 0, done
    sent: Statements = defaultdict(list)
    lines = log.read_text(errors="replace")
    log.unlink()
    for thread, statement in re.findall(
        r"^\S*(?:[ \d:]*)\t\s*(\d+) (?:Query|Execute)\t(.*)$", lines, re.MULTILINE
    ):
        sent[int(thread)].append(statement)
    return {thread: statements for thread, statements in sent.items() if len(statements) > 3}


@pytest.mark.parametrize("more", [[], ["--percentile=0", "--report-interval=1"]])
def test_a_seed_makes_all_threads_send_the_same_again(
    load_program: Path, server: PrivateServer, more: list[str]
) -> None:
    words = ["seeded.lua", "--threads=5", "--time=60", "--rand-seed=7", "run"]
    first = sorted(logged(load_program, server, *words).values())
    assert [len(statements) for statements in first] == [50] * 5
    assert sorted(logged(load_program, server, *words, *more).values()) == first
    other = logged(load_program, server, *words, "--rand-seed=8")
    assert sorted(other.values()) != first


def test_a_seed_makes_a_bundled_script_begin_the_same_again(
    load_program: Path, server: PrivateServer
) -> None:
    # How events fall to threads is not the seed's; what a thread sends in its n-th is.
    words = ["read_only_15.lua", *TABLES, "--threads=4", "--time=60", "--rand-seed=3", "run"]
    first, again = (sorted(logged(load_program, server, *words).values()) for _ in range(2))
    assert first == again
    assert [len(statements) for statements in first] == [15 * 16] * 4


def figure(report: str, name: str) -> float:
    """The number behind a name of the report."""
    found = re.search(rf"^ +{name}: +([\d.]+)", report, re.MULTILINE)
    assert found, report
    return float(found[1])


def test_a_warm_up_leaves_no_trace(load_program: Path, server: PrivateServer) -> None:
    done = run(
        load_program, server, "--compat=1.1", "warming.lua", "--threads=2", "--warmup-time=2",
        "--time=2", "--mysql-ignore-errors=1062", "run",
    )  # fmt: skip
    assert done.code == 0, done
    assert re.search(r"^ +write: +0$", done.out, re.MULTILINE), done
    assert re.search(r"^ +ignored errors: +0 ", done.out, re.MULTILINE), done
    # An event that began before does not count; what it asks afterwards does.
    events = figure(done.out, "total number of events")
    assert events > 0 and 0 <= figure(done.out, "read") - events <= 2


def test_the_time_ends_a_run_whose_server_hangs(
    load_program: Path, private_server: Factory, mariadb_binary: ServerBinary
) -> None:
    server = start(private_server, mariadb_binary, load_program)
    words = ["oltp_read_only", *TABLES, "--threads=4", "--time=2", "--drain-time=1", "run"]
    child = subprocess.Popen(
        [*command(load_program, server), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    while child.stdout.readline() != "Threads started!\n":
        assert child.poll() is None
    os.kill(server.pid, signal.SIGSTOP)
    try:
        out, err = child.communicate(timeout=60)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert child.returncode == 1, out
    assert "4 of 4 thread(s)" in err
    assert "General statistics:" in out and "Threads fairness:" in out


@pytest.mark.parametrize("name", [name for name in BUNDLED if name != "oltp_common"])
def test_a_bundled_script_takes_the_oltp_common_of_sysbench_itself(
    name: str, load_program: Path, server: PrivateServer, sysbench: str, tmp_path: Path
) -> None:
    theirs = Path(sysbench).resolve().parents[1] / "share" / "sysbench" / "oltp_common.lua"
    (tmp_path / "oltp_common.lua").write_text('print("theirs")\n' + theirs.read_text())
    words = [name, *TABLES, "--events=3", "--time=0", "--mysql-ignore-errors=1062", "run"]
    done = peer.run(command(load_program, server), words, folder=tmp_path)
    assert done.code == 0, done
    assert "theirs\n" in done.out
    assert re.search(r"^ +total number of events: +3$", done.out, re.MULTILINE), done


@pytest.mark.parametrize(
    ("text", "word"),
    [("sysbench 1.0.20 (using LuaJIT)\n", "run"), ("", "run"), ("", "prepare")],
)
def test_a_file_that_was_taken_for_a_bundled_script_is_named(
    text: str, word: str, load_program: Path, server: PrivateServer, tmp_path: Path
) -> None:
    (tmp_path / "oltp_read_write").write_text(text)
    done = peer.run(command(load_program, server), ["oltp_read_write", word], folder=tmp_path)
    assert done.code == 1, done
    assert 'the file "oltp_read_write"' in done.err


def test_a_rate_beyond_what_can_be_served_is_survived_and_said(
    load_program: Path, server: PrivateServer
) -> None:
    done = run(load_program, server, "slow.lua", "--rate=200000", "--time=1", "run")
    assert done.code == 0, done
    waiting = re.search(r"WARNING: overloaded: (\d+) due events", done.err)
    # More than sysbench's queue holds; and what was served had waited for its turn.
    assert waiting and int(waiting[1]) > 131_072
    assert figure(done.out, "avg") > 100
    assert figure(done.out, "total number of events") > 0


def test_ids_beyond_31_bits_are_drawn_and_have_a_column(
    load_program: Path, server: PrivateServer
) -> None:
    words = ["--table-size=3000000000", "--rand-type=uniform", "--time=0", "--events=40"]
    sent = logged(load_program, server, "oltp_point_select", *words, "run")
    ids = [
        int(found)
        for statements in sent.values()
        for found in re.findall(r"\d+$", "\n".join(statements), re.MULTILINE)
    ]
    assert len(ids) == 40 and max(ids) > 2**31
    shown = run(load_program, server, "beyond_31_bits.lua", "--table-size=3000000000", "show")
    assert shown.out.count(" BIGINT ") == 2, shown
    shown = run(load_program, server, "beyond_31_bits.lua", "--table-size=2000000000", "show")
    assert shown.out.count(" INTEGER ") == 2, shown


def test_a_suffix_of_a_size_is_honoured(load_program: Path, server: PrivateServer) -> None:
    shown = run(load_program, server, "beyond_31_bits.lua", "--table-size=4G", "show")
    assert "Inserting 4294967296 records" in shown.out


def test_three_doors_lead_to_the_same_room(
    load_program: Path,
    server: PrivateServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = tmp_path / "sysbench"
    link.symlink_to(load_program.resolve())
    front = [sys.executable, "-c", "import sys; from contend.cli.main import main; main()"]
    entry = command(load_program, server)[2:]
    monkeypatch.setenv("CONTEND_LOAD", str(load_program))
    a_run = ["oltp_read_only", *TABLES, "--events=3", "run"]
    doors = [[str(load_program), "sysbench"], [str(link)], [*front, "sysbench"]]
    for words in (["--version"], ["--help"], ["-"], ["no_such_test", "run"], a_run):
        said = [
            peer.mask(str(peer.run(door, [*entry, *words], folder=SCRIPTS)), counts=False)
            for door in doors
        ]
        assert said[0] == said[1] == said[2]


LISTED = re.compile(r"^  (--[\w-]+(?:\[?=\S+)?) (?:.*?)(?: \[(.*)\])?$", re.MULTILINE)


def options_of(text: str) -> list[tuple[str, str]]:
    """Names and defaults in a list of options; the words between are everybody's own."""
    return [(name, default) for name, default in LISTED.findall(text)]


@pytest.mark.parametrize("name", BUNDLED)
def test_the_help_of_a_bundled_script_lists_the_same(
    name: str, load_program: Path, server: PrivateServer, sysbench: str
) -> None:
    ours = run(load_program, server, name, "help")
    theirs = peer.run([sysbench], [name, "help"], folder=SCRIPTS)
    assert (ours.code, ours.err) == (theirs.code, theirs.err)
    assert options_of(ours.out) == options_of(theirs.out) != []
    # The column where the words begin, too.
    column = [re.match(r"  \S+ +", line) for line in (ours.out + theirs.out).splitlines()]
    assert len({found.end() for found in column if found}) == 1


def test_the_help_lists_all_options_of_sysbench(
    load_program: Path, server: PrivateServer, sysbench: str
) -> None:
    ours = run(load_program, server, "--help")
    theirs = peer.run([sysbench], ["--help"], folder=SCRIPTS)
    assert (ours.code, ours.err) == (theirs.code, theirs.err) == (0, "")
    missing = dict(options_of(theirs.out)).items() - dict(options_of(ours.out)).items()
    # The driver for PostgreSQL is not provided; parts of a second are.
    missing = {(name, default) for name, default in missing if not name.startswith("--pgsql")}
    assert missing == set()
