"""Every command that connects, against servers that do what no server should: it ends in words
within a quarter of a minute, needs little memory, and gives its password to nobody."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import many_commands
import pytest
from child_python import import_path
from forked_contend import Forked
from hostile_server import ANSWERS, HostileServer

from contend.files import find_program
from contend.servers.undo import Journal

PASSWORD = "SECRETpw123"
LIMIT_S = 15
L3 = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
# To measure memory, contend-load reads four times a node's caches, whatever the server does.
CACHES_KB = int(L3.read_text().strip("K\n")) if L3.exists() else 0
LIMIT_MB = 500 + min(4 * CACHES_KB // 1024, 1024)

PLAN = {
    "version": 1,
    "workload": {"kind": "point_select", "table": "sbtest", "rows": 100},
    "load": {"connections": 2, "measure_s": 0.5},
}
EXPERIMENT = """
[experiment]
name = "tiny"
question = "?"
[server]
kind = "mysql"
[data]
engine = "MyISAM"
rows = 100
[workload]
kind = "random_points"
[load]
warmup = "0s"
measure = "100ms"
[factors]
"workload.points" = [1, 2]
[compare]
baseline = { "workload.points" = 1 }
repeats = 2
"""

LAB = {
    "doctor": "doctor --server {dsn}",
    "try": "try sort_buffer_size=256K,512K --for 1s --yes --server {dsn} --out try",
    "run": "run tiny.toml --yes --server {dsn} --out run",
    "warm": "warm {dsn} --journal journals",
    "warm-status": "warm {dsn} --status",
    "drop": "data drop --server {dsn}",
    "check": "check tpcc {dsn}",
    "restore": "restore {dsn} --yes --journal changed",
}
LOAD = {
    "load-run": "run plan.json",
    "fill": "fill --host 127.0.0.1 --port {port} --user u --password-env CONTEND_PASSWORD --rows 9",
}
_SYSBENCH = (
    "sysbench oltp_read_only --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=u"
    f" --mysql-password={PASSWORD} --mysql-db=sb --threads=1 --time=1 --tables=1 --table-size=9 "
)
LOAD |= {f"sysbench-{command}": _SYSBENCH + command for command in ("prepare", "run", "cleanup")}
LOAD["mysqlslap"] = (
    f"mysqlslap --host=127.0.0.1 --port={{port}} --user=u --password={PASSWORD}"
    " --auto-generate-sql --number-of-queries=9"
)
LOAD["mysqlslap-query"] = (
    f"mysqlslap --host=127.0.0.1 --port={{port}} --user=u --password={PASSWORD}"
    " --query=SELECT@endless --number-of-queries=9"
)
MAY_END_WELL = frozenset(
    {
        "nulls",
        "null",
        "no-rows",
        "three-columns",
        "too-few-values",
        "not-utf-8",
        "escapes",
        "only-ok",
        "endless-where-asked",
    }
)
"""What these say can be the answer to something."""

SLOW = frozenset({"doctor"})
"""They measure this host first, which is not the server's doing."""

WAITED_FOR = frozenset({"silent", "drip", "frozen", "drips-rows", "many-columns"})
"""Those that nobody can do anything about but wait."""

WAITS_LIKE_ITS_PEER = {
    "sysbench-prepare": {"frozen", "drips-rows"},
    "sysbench-run": {"frozen"},
    "sysbench-cleanup": {"frozen", "drips-rows"},
    "mysqlslap-query": {"endless-where-asked"},
}
"""As long as a statement takes: building a key may take hours, and nobody else asks."""

MEET_ALL = ("drop", "warm-status", *LOAD)
"""Commands that meet every answer; the other ones meet these."""

FEW = (
    "escapes",
    "silent",
    "frozen",
    "drips-rows",
    "endless-rows",
    "error-1820",
    "null",
    "rsa",
    "clear",
)


@dataclass(frozen=True)
class Ended:
    name: str
    code: int
    seconds: float
    megabytes: float
    output: str

    @property
    def faults(self) -> list[str]:
        answer, command = self.name.split(" ")
        allowed = {0, 1, 2} if answer in MAY_END_WELL else {1, 2}
        limit_s = LIMIT_S + (10 if command in SLOW else 0)
        found = []
        if self.code not in allowed:
            found.append(f"exit code {self.code}")
        if "Traceback" in self.output or "panicked" in self.output:
            found.append("a traceback")
        if "\x1b" in self.output or "\x9b" in self.output:
            found.append("what a terminal obeys")
        if PASSWORD in self.output:
            found.append("the password is shown")
        if self.seconds > limit_s:
            found.append(f"{self.seconds:.1f} s")
        if self.megabytes > LIMIT_MB:
            found.append(f"{self.megabytes:.0f} MB")
        return [f"{self.name}: {fault}: {self.output[-500:]}" for fault in found]


def all_ended(
    pairs: list[tuple[str, str]], folder: Path
) -> tuple[list[Ended], list[HostileServer]]:
    program = str(find_program())
    with contextlib.ExitStack() as servers:
        cases, there = [], []
        for number, (answer, command) in enumerate(pairs):
            server = servers.enter_context(HostileServer(answer))
            there.append(server)
            own = folder / str(number)
            own.mkdir()
            dsn = f"mysql://u@127.0.0.1:{server.port}/sb"
            (own / "tiny.toml").write_text(EXPERIMENT)
            at = {"host": "127.0.0.1", "port": server.port, "user": "u"}
            at |= {"password_env": "CONTEND_PASSWORD", "database": "sb"}
            (own / "plan.json").write_text(json.dumps(PLAN | {"server": at}))
            if command == "restore":
                with Journal.open(own / "changed", dsn) as journal:
                    journal.note("variable", name="sort_buffer_size", before=262144, ours=[524288])
            words = (LAB | LOAD)[command].format(dsn=dsn, port=server.port).split()
            cases.append({
                "name": f"{answer} {command}",
                "waits": answer in WAITED_FOR,
                "command": ["contend" if command in LAB else program, *words],
                "output": str(own / "output"),
                "folder": str(own),
                "environment": {"CONTEND_PASSWORD": PASSWORD, "XDG_STATE_HOME": str(own)},
            })  # fmt: skip
        (folder / "cases.json").write_text(json.dumps(cases))
        environment = {**os.environ, **import_path(), "CONTEND_LOAD": program}
        process = Forked(["cases.json"], folder, environment, script=many_commands.__file__)
        out, err = process.communicate()
        assert process.returncode == 0, err
        return [Ended(**ended) for ended in json.loads(out)], there


def check(pairs: list[tuple[str, str]], folder: Path) -> None:
    # Those that wait wait together, beside those that work.
    pairs = sorted(pairs, key=lambda pair: pair[0] not in WAITED_FOR)
    ended, servers = all_ended(pairs, folder)
    assert len(ended) == len(pairs)
    faults = [fault for one in ended for fault in one.faults]
    for (answer, command), server in zip(pairs, servers, strict=True):
        if PASSWORD.encode() in server.received or server.secrets:
            faults.append(f"{answer} {command}: the server has the password")
    assert not faults, "\n".join(faults)


def test_every_command_ends_in_words(tmp_path: Path) -> None:
    few = [command for command in LAB if command not in MEET_ALL]
    check([(answer, command) for command in few for answer in FEW], tmp_path)


@pytest.mark.parametrize("command", MEET_ALL)
def test_every_answer_is_met_with_words(command: str, tmp_path: Path) -> None:
    waits = WAITS_LIKE_ITS_PEER.get(command, set())
    check([(answer, command) for answer in ANSWERS if answer not in waits], tmp_path)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (command, answer)
        for command, waits in WAITS_LIKE_ITS_PEER.items()
        for answer in sorted(waits)
    ],
)
def test_what_waits_for_a_server_ends_by_a_signal(command: str, answer: str) -> None:
    with HostileServer(answer) as server:
        words = LOAD[command].format(port=server.port).split()
        with subprocess.Popen([find_program(), *words], stdout=subprocess.DEVNULL) as child:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(1)
            child.send_signal(signal.SIGTERM)
            child.wait(LIMIT_S)


def test_a_password_that_is_given_away_by_name_arrives(tmp_path: Path) -> None:
    """So the fake server can read one: else nothing above would mean anything."""
    for answer, key in {
        "clear": "enable_cleartext_plugin=1",
        "rsa": "get_server_public_key=1",
    }.items():
        with HostileServer(answer) as server:
            dsn = f"mysql://u@127.0.0.1:{server.port}/sb?{key}"
            subprocess.run(
                [sys.executable, "-m", "contend", "data", "drop", "--server", dsn],
                env=os.environ | {"CONTEND_PASSWORD": PASSWORD},
                check=False,
                capture_output=True,
            )
            option = "--" + key.removesuffix("=1").replace("_", "-")
            words = (LOAD["fill"].format(port=server.port) + f" {option}").split()
            subprocess.run(
                [find_program(), *words],
                env=os.environ | {"CONTEND_PASSWORD": PASSWORD},
                check=False,
                capture_output=True,
            )
            read = server.secrets if answer == "rsa" else [bytes(server.received)]
            assert sum(text.count(PASSWORD.encode()) for text in read) >= 2


def test_a_test_that_fails_does_not_wait_for_what_it_started(tmp_path: Path) -> None:
    forever = tmp_path / "forever.py"
    forever.write_text("import time\ntime.sleep(3600)\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        pytest.raises(ZeroDivisionError),
        Forked([], tmp_path, environment, script=str(forever)) as process,
    ):
        _ = 1 / 0
    assert process.returncode == -signal.SIGKILL
