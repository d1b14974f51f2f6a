"""The seam to contend-load, against small programs that misbehave in every way."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from child_python import import_path
from fake_load import done_of

from contend.errors import RequestError
from contend.load import LoadFailed, LoadProcess, find_program

PLAN: dict[str, Any] = {
    "version": 1,
    "server": {"socket": "/nowhere", "connect_timeout_s": 0.0},
    "workload": {"kind": "point_select", "rows": 1},
    "load": {"connections": 1, "measure_s": 0.1},
}
DONE = json.dumps(done_of(PLAN))
HELLO = '{"type": "hello", "version": 1}'

Program = Callable[[str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a program in Python that stands in for contend-load."""

    def write(body: str) -> Path:
        path = tmp_path / "contend-load"
        head = f"#!{sys.executable}\nimport json, os, signal, sys, time\n"
        path.write_text(head + "plan = json.load(sys.stdin)\n" + textwrap.dedent(body))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write


def run(path: Path, **changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[dict[str, Any]] = []
    load = LoadProcess(path, grace_s=changes.pop("grace_s", 20.0))
    done = load.run(PLAN, env=changes.pop("env", {}), on_event=events.append)
    return done, events


def test_the_outcomes_arrive_in_order_and_the_last_is_returned(program: Program) -> None:
    done, events = run(program(f"print({HELLO!r}); print(); print({DONE!r})"))
    assert [e["type"] for e in events] == ["hello", "done"]
    assert done == json.loads(DONE)


def test_the_plan_and_the_environment_reach_the_program(program: Program) -> None:
    body = f"""
        done = json.loads({DONE!r})
        done["plan"], done["secret"] = plan, os.environ["SECRET"]
        print(json.dumps(done))
    """
    done, _ = run(program(body), env={"SECRET": "x"})
    assert (done["plan"], done["secret"]) == (PLAN, "x")


def test_a_refusal_of_the_server_keeps_its_code_and_statement(program: Program) -> None:
    error = {
        "type": "error",
        "message": "Table 'a.b' doesn't exist",
        "hint": "load it",
        "code": 1146,
        "sqlstate": "42S02",
        "statement": "SELECT 1",
    }
    with pytest.raises(LoadFailed) as caught:
        run(program(f"print({json.dumps(error)!r}); sys.exit(1)"))
    failed = caught.value
    assert failed.message == "Table 'a.b' doesn't exist"
    assert failed.hint == "load it"
    assert (failed.code, failed.sqlstate, failed.statement) == (1146, "42S02", "SELECT 1")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("sys.stderr.write('oh no'); sys.exit(7)", "exit code 7", id="exit-code"),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV", id="crash"),
        pytest.param(f"print({DONE!r}); sys.exit(1)", "exit code 1", id="done-but-failed"),
        pytest.param("print('hello there')", "not an outcome", id="not-json"),
        pytest.param("print('[1]')", "not an outcome", id="not-an-object"),
        pytest.param(
            'print(\'{"type": "hello", "version": 99}\')', "outcome version 99", id="other-version"
        ),
        pytest.param("", "no result", id="silence"),
    ],
)
def test_a_run_without_a_result_says_how_it_ended(program: Program, body: str, words: str) -> None:
    with pytest.raises(LoadFailed, match=words):
        run(program(body))


def test_a_script_that_ends_the_program_is_named_as_a_cause(program: Program) -> None:
    with pytest.raises(LoadFailed, match="exit code 0 and no result") as caught:
        run(program("sys.exit(0)"))
    assert caught.value.hint is not None and "os.exit()" in caught.value.hint


def test_the_end_of_standard_error_is_kept_and_bounded(program: Program) -> None:
    with pytest.raises(LoadFailed) as caught:
        run(program("sys.stderr.write('x' * 1_000_000 + 'the end'); sys.exit(1)"))
    detail = caught.value.detail
    assert detail is not None
    assert detail.endswith("the end")
    assert len(detail) <= 4096


@pytest.mark.parametrize("stubborn", [False, True], ids=["ends-on-request", "must-be-killed"])
def test_a_run_that_hangs_is_ended(
    program: Program, stubborn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contend.load.process.END_GRACE_S", 0.2)
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: Any, **more: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*words, **more))
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr("contend.load.process.subprocess.Popen", start)
    path = program("time.sleep(600)")
    # What is ignored stays so in the program that is executed, from its first moment on.
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn else signal.SIG_DFL)
    try:
        with pytest.raises(LoadFailed, match="did not end in time"):
            run(path, grace_s=0.5)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert started[0].wait() == -(signal.SIGKILL if stubborn else signal.SIGTERM)


def test_ctrl_c_in_the_lab_ends_the_program(program: Program, tmp_path: Path) -> None:
    path = program(f"print({HELLO!r}, flush=True); time.sleep(600)")
    pids: list[int] = []

    def children() -> set[int]:
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))

    # A test before this one may have left one that nobody has waited for.
    before = children()

    def interrupt(_event: dict[str, Any]) -> None:
        pids.extend(children() - before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LoadProcess(path).run(PLAN, env={}, on_event=interrupt)
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_program_dies_with_a_lab_that_is_killed(load_program: Path) -> None:
    lab = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from contend.load.process import Child\n"
            # It waits for its plan, which never comes.
            f"child = Child([{str(load_program)!r}, 'run', '-'], {{}})\n"
            "print(child._process.pid, flush=True)\n"
            "time.sleep(600)\n",
        ],
        stdout=subprocess.PIPE,
        env=os.environ | import_path(),
    )
    assert lab.stdout is not None
    pid = int(lab.stdout.readline())
    wait_for(lambda: waits_for_input(pid))
    lab.kill()
    lab.wait()
    lab.stdout.close()
    wait_for(lambda: not is_running(pid))


def waits_for_input(pid: int) -> bool:
    """Whether the program has started so far that it reads."""
    status = Path(f"/proc/{pid}/status").read_text()
    return "State:\tS" in status and "Name:\tcontend-load" in status


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False


def wait_for(true: Callable[[], bool], limit_s: float = 60.0) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestFindProgram:
    def test_the_environment_wins(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        path = program("")
        monkeypatch.setenv("CONTEND_LOAD", str(path))
        assert find_program() == path

    def test_a_wrong_environment_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONTEND_LOAD", "/nowhere/contend-load")
        with pytest.raises(RequestError, match="CONTEND_LOAD"):
            find_program()

    def test_beside_this_python_then_on_path(
        self, program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        path = program("")
        monkeypatch.delenv("CONTEND_LOAD", raising=False)
        monkeypatch.setenv("PATH", str(path.parent))
        monkeypatch.setattr(sys, "executable", str(tmp_path / "elsewhere" / "python"))
        assert find_program() == path
        monkeypatch.setattr(sys, "executable", str(path.parent / "python"))
        monkeypatch.setenv("PATH", "")
        assert find_program() == path

    def test_nowhere_says_how_to_install(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.delenv("CONTEND_LOAD", raising=False)
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        with pytest.raises(RequestError) as caught:
            find_program()
        assert "make setup" in (caught.value.hint or "")
