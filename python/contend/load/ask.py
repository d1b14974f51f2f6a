"""Questions to contend-load besides runs: its engine for a plan, distances of CPUs and memory
nodes, facts about a script, errors in a plan, `prepare` of a script. And the fill of a schema's
tables: made, loaded from a seed, keys built."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from contend.errors import RequestError
from contend.experiment.model import DataSpec
from contend.files import PROGRAM
from contend.load.plan import Address
from contend.load.process import Child, LoadFailed, judge, parse
from contend.metrics.plan import Server
from contend.metrics.probed import CpuState, NodeMatrix

ASK_S = 60.0
WORK_S = 24 * 3600.0
"""Limit of a fill, and of a script's own prepare."""

SILENCE_S = 900.0
"""Silence after which a fill counts as hanging. It reports its progress several times a second."""


@dataclass(frozen=True, slots=True)
class ClientEngine:
    """The engine that moves bytes in and out of the sockets.

    Args:
        refused: why it is not io_uring, if the kernel refused that.
    """

    name: str
    refused: str | None = None


def ask_engine(program: Path, plan: Mapping[str, Any]) -> ClientEngine:
    """The engine of the contend-load at `program` for `plan`: the plan's, or its own choice.

    Raises:
        RequestError: the plan cannot have the engine that it names.
        LoadFailed: the kernel refuses the engine that it names.
    """
    lines, code, tail = _answer([str(program), "engine", "-"], plan)
    if code == 2 and tail:
        raise RequestError(tail.splitlines()[-1].removeprefix(f"{PROGRAM}: "))
    answer = _last(lines, code, tail, "engine")
    return ClientEngine(name=str(answer["engine"]), refused=answer.get("refused"))


def cpus_together(program: Path) -> float:
    """Capacity of all CPUs of this host at once, in units of one of them alone: the number of CPUs
    if each is a core of its own.

    Raises:
        LoadFailed: contend-load could not measure it.
    """
    answer = _last(*_answer([str(program), "cpus"]), "cpus")
    return float(answer["together"] / answer["alone"])


def cpu_state(program: Path, *, memory: bool = False) -> CpuState:
    """The present distance between the CPUs of this host; with many CPUs, for a fixed selection of
    pairs. `memory` measures a load from memory too, which empties the caches.

    Raises:
        LoadFailed: contend-load could not measure it.
    """
    argv = [str(program), "cpus", "--state", *(["--memory"] if memory else [])]
    answer = _last(*_answer(argv), "cpu_state")
    return cast(CpuState, {name: answer[name] for name in CpuState.__annotations__})


def cpu_calls(program: Path) -> dict[str, Any]:
    """What this host's kernel needs for a call, a switch and a wake-up: see docs/reference/cpus.md.

    Raises:
        LoadFailed: contend-load could not measure it.
    """
    return _last(*_answer([str(program), "cpus", "--calls"]), "cpu_calls")


def memory_nodes(program: Path) -> NodeMatrix:
    """The distance of each node's memory from each node of this host. With one node it takes some
    tenths of a second, with many nodes at most some ten seconds.

    Raises:
        LoadFailed: contend-load could not measure it.
    """
    answer = _last(*_answer([str(program), "cpus", "--nodes"]), "memory_nodes")
    return cast(NodeMatrix, {name: answer[name] for name in NodeMatrix.__annotations__})


def model_runs(
    program: Path, runs: Sequence[Mapping[str, Any]], *, on_progress: Callable[[int], None]
) -> list[dict[str, Any]]:
    """The results of runs of the model server in virtual time, in their order; they run side by
    side on all CPUs.

    Args:
        runs: the keys are in docs/reference/model-run.md, under `--runs`.
        on_progress: called with the number of runs that ended.

    Raises:
        RequestError: a run is impossible.
        LoadFailed: contend-load gave no result.
    """
    text = "".join(json.dumps(one) + "\n" for one in runs)
    found: list[dict[str, Any]] = []
    with Child([str(program), "model-run", "--runs", "-"], {}) as child:
        child.send(text.encode())
        for line in child.lines(silence_s=SILENCE_S):
            found.append(json.loads(line))
            on_progress(len(found))
        code, tail = child.wait(), child.stderr_tail()
    _require_accepted("run", code, tail)
    if len(found) < len(runs):
        raise LoadFailed(f"{PROGRAM} ended {len(found)} of {len(runs)} runs in virtual time")
    return found


class ScriptProcess:
    """Queries contend-load at `program` about the workload of a plan."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def describe(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Facts about the script: whether it is bundled, has a prepare, the files that its body
        loads, and its options.

        Raises:
            RequestError: there is no such script, it has a mistake, or it does not know an option.
        """
        lines, code, tail = _answer([str(self.program), "script", "-"], plan)
        _require_accepted("script", code, tail)
        described: dict[str, Any] = json.loads(b"".join(lines))
        return described

    def check(self, plan: Mapping[str, Any]) -> None:
        """Check the plan, and all of its parts that need no server.

        Raises:
            RequestError: a part of it is wrong.
        """
        _, code, tail = _answer([str(self.program), "run", "-", "--check"], plan)
        _require_accepted("workload", code, tail)

    def prepare(self, plan: Mapping[str, Any], *, env: Mapping[str, str] | None = None) -> None:
        """Run the script's own prepare; the database is made if it does not exist.

        Raises:
            LoadFailed: it failed; the error names the place.
        """
        argv = [str(self.program), "script", "-", "--prepare", "--create-database"]
        _last(*_answer(argv, plan, limit_s=WORK_S, env=env), "prepared")


def import_log(
    program: Path,
    files: Sequence[str],
    target: Path,
    *,
    options: Sequence[str] = (),
    on_progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Read logs into a recording at `target`; returns the last line of contend-load.

    Args:
        on_progress: called with the bytes read so far, and the statements found in them.

    Raises:
        RequestError: a file is not a log of the named format, or of any known one.
        LoadFailed: a file cannot be read.
    """
    argv = [str(program), "recording", "import", "--progress", f"--to={target}", *options]
    last: dict[str, Any] | None = None
    with Child([*argv, "--", *files], {}, takes_input="-" in files) as child:
        for line in child.lines(limit_s=WORK_S):
            last = parse(line)
            if last["type"] == "recording_progress":
                on_progress(int(last["log_bytes"]), int(last["statements"]))
        code, tail = child.wait(), child.stderr_tail()
    if code == 2 and last is not None and last["type"] == "error":
        raise RequestError(last["message"], hint=last["hint"])
    return judge(last, code, tail, done="recording_done")


def show_recording(program: Path, path: Path) -> dict[str, Any]:
    """What a recording holds: see docs/reference/recordings.md.

    Raises:
        LoadFailed: the file cannot be read.
    """
    return _last(*_answer([str(program), "recording", "show", str(path)]), "recording")


def recorded_statements(program: Path, path: Path, *chosen: str) -> list[dict[str, Any]]:
    """Statements of a recording with their values: those that contend-load's options choose.

    Raises:
        RequestError: there is no such statement.
        LoadFailed: the file cannot be read.
    """
    lines, code, tail = _answer([str(program), "recording", "statement", str(path), *chosen])
    if code == 2 and tail:
        raise RequestError(tail.splitlines()[-1].removeprefix(f"{PROGRAM}: "))
    _last(lines, code, tail, "recorded_statement")
    return [json.loads(line) for line in lines]


def _answer(
    argv: list[str],
    plan: Mapping[str, Any] | None = None,
    *,
    limit_s: float = ASK_S,
    env: Mapping[str, str] | None = None,
) -> tuple[list[bytes], int, str]:
    """The output lines of contend-load, its exit code, and the end of its messages."""
    with Child(argv, env or {}) as child:
        if plan is not None:
            child.send(json.dumps(plan).encode())
        return list(child.lines(limit_s=limit_s)), child.wait(), child.stderr_tail()


def _last(lines: list[bytes], code: int, tail: str, done: str) -> dict[str, Any]:
    """The last line, which is of this type; raises LoadFailed if there is none."""
    return judge(json.loads(lines[-1]) if lines else None, code, tail, done=done)


def _require_accepted(document: str, code: int, tail: str) -> None:
    """Raise the refusal of contend-load, with its own text."""
    if code == 0:
        return
    lines = [line for line in tail.splitlines() if line.startswith(f"{PROGRAM}: ")]
    if code == 2 and lines:
        raise RequestError(lines[-1].removeprefix(f"{PROGRAM}: "))
    raise RequestError(f"the {document} could not be read (exit code {code})", detail=tail or None)


OnProgress = Callable[[str, int, int], None]
"""Called with the phase (`load`, `keys`, `done`), the rows sent so far, and all rows."""


@dataclass(frozen=True, slots=True)
class FillResult:
    """The result of a fill.

    Args:
        warnings: texts about slow or unusual steps.
    """

    rows: int
    warnings: tuple[str, ...]


class FillProcess:
    """contend-load at `program`, run once per dataset."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def run(
        self,
        data: DataSpec,
        address: Address,
        *,
        mark: str = "",
        pipe_folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        on_progress: OnProgress,
    ) -> FillResult:
        """Make the tables and fill them. Tables of these names must not exist.

        Args:
            address: the server and the database, which is made if it does not exist.
            mark: in the comments of the filled tables; see `servers.marks`.
            pipe_folder: a folder that a server on this host can read; rows reach MyISAM through a
                pipe in it twice as fast as over the connection.
            env: added to the environment, for a password.

        Raises:
            LoadFailed: the server refused a statement, or went silent.
        """
        argv = [str(self.program), "fill", *fill_arguments(data, address, mark, pipe_folder)]
        result: dict[str, Any] | None = None
        with Child(argv, env or {}) as child:
            for line in child.lines(limit_s=WORK_S, silence_s=SILENCE_S):
                result = parse(line)
                if result["type"] == "fill_progress":
                    rows, total = int(result["rows"]), int(result["rows_total"])
                    on_progress(str(result["phase"]), rows, total)
            code, tail = child.wait(), child.stderr_tail()
        filled = judge(result, code, tail, done="fill_done")
        return FillResult(int(filled["rows"]), tuple(filled["warnings"]))


def fill_arguments(
    data: DataSpec, address: Address, mark: str, pipe_folder: Path | None
) -> list[str]:
    """The arguments for contend-load that define the fill. They never hold a password."""

    def has(key: str) -> bool:
        return key in data.known.keys

    options: dict[str, object] = {
        "--socket": address.socket,
        "--host": None if address.socket else address.host,
        "--port": None if address.socket else address.port,
        "--user": address.user,
        "--password-env": address.password_env,
        "--database": address.database,
        "--schema": data.schema,
        "--engine": data.engine,
        "--rows": data.rows if has("rows") else None,
        "--tables": data.tables if has("tables") else None,
        "--seed": data.seed,
        "--k": data.k if has("k") else None,
        "--table-options": data.table_options,
        "--mark": mark,
        "--pipe-dir": pipe_folder,
        "--progress": "json",
    }
    # With `=` a value may begin with a dash.
    arguments = [f"{name}={value}" for name, value in options.items() if value not in (None, "")]
    arguments += _guarded(address.guarded or {})
    parameters = {name: value for name, value in data.own.items() if value is not None}
    own = [f"--with={name}={json.dumps(value)}" for name, value in parameters.items()]
    return ["--create-database", *arguments, *own]


def _guarded(server: Server) -> list[str]:
    tls = server.get("tls", {})
    named = {
        "--ssl-mode": tls.get("mode", "").replace("-", "_"),
        "--ssl-ca": tls.get("ca"),
        "--ssl-cert": tls.get("certificate"),
        "--ssl-key": tls.get("key"),
        "--server-public-key-path": server.get("server_public_key_path"),
    }
    switches = {
        "--enable-cleartext-plugin": server.get("enable_cleartext_plugin"),
        "--get-server-public-key": server.get("get_server_public_key"),
    }
    return [f"{name}={value}" for name, value in named.items() if value] + [
        name for name, is_on in switches.items() if is_on
    ]
