"""`contend` as its users run it: a process, in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forked_contend import Forked

import contend
from contend.files import default_cache
from contend.store import RunFolder, RunRecord

TINY = """
[experiment]
name = "tiny"
question = "Does it help?"

[server]
kind = "mariadb"
change = "in_place"
options = { key_buffer_size = "16M", innodb_buffer_pool_size = "32M", innodb_log_file_size = "8M", \
key_cache_segments = 0 }

[data]
engine = "MyISAM"
rows = 10_000

[workload]
kind = "random_points"

[load]
warmup = "20ms"
measure = "100ms"
slice = "20ms"
settle = "2ms"

[factors]
"server.options.key_cache_segments" = [0, 32]
"load.connections" = [1, 4]

[compare]
baseline = { "server.options.key_cache_segments" = 0 }
repeats = 2
"""
"""Eight runs of a tenth of a second, or of two tenths in slices."""

SMALL_LOG = 'innodb_log_file_size = "8M", '
"""In the options of experiments on MariaDB: its log of 96 MB is most of what a dataset has to have
read, copied and checked. MySQL and the model server do not have it."""

RUNS = 8


UNDRAWN = Path(__file__).parents[1] / "support" / "undrawn"


class Lab:
    """A folder where `contend` is run. Its reports have no charts unless a test asks for them:
    drawing them takes as long as all else that a run as short as these does."""

    def __init__(self, folder: Path, cache_home: Path, program: Path, server: str) -> None:
        self.folder = folder
        self.cache = cache_home / "contend"
        self.server = server
        self._package = str(Path(contend.__file__).parent.parent)
        self.environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(cache_home),
            # A port is taken again by another server, of which nothing is to be put back.
            "XDG_STATE_HOME": str(folder / "state"),
            "CONTEND_LOAD": str(program),
            "COLUMNS": "200",
            "PYTHONPATH": os.pathsep.join([str(UNDRAWN), self._package]),
        }
        # Hundreds are started, and each would compile the package anew.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.file = folder / "tiny.toml"
        self.file.write_text(TINY.replace(SMALL_LOG, "") if server == "model" else TINY)
        self._started: list[subprocess.Popen[str]] = []

    def draw(self) -> Lab:
        """Have the reports of what is run from now on with their charts."""
        self.environment["PYTHONPATH"] = self._package
        return self

    def look_shortly(self) -> Lab:
        """Have looks at causes that take seconds instead of a minute."""
        shorter = UNDRAWN.with_name("short_looks")
        self.environment["PYTHONPATH"] = os.pathsep.join([str(shorter), self._package])
        return self

    def edit(self, old: str, new: str) -> None:
        """Change the experiment file."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def slow(self, measure: str = "300ms") -> Lab:
        """Have runs, or slices, so long that a test meets the lab while it works."""
        self.edit('measure = "100ms"', f'measure = "{measure}"')
        self.edit('slice = "20ms"', 'slice = "50ms"')
        return self

    def by_runs(self) -> Lab:
        """Have one server, which has one level after the other."""
        self.edit("[compare]\n", '[compare]\nby = "runs"\n')
        return self

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Start `contend` and leave it running."""
        process = Forked([str(word) for word in arguments], self.folder, self.environment)
        self._started.append(process)
        return process

    def end(self) -> None:
        """End what a test that failed left running, which other tests would take for theirs."""
        for process in self._started:
            assert process.stdout is not None
            if not process.stdout.closed:
                with process:
                    print(interrupt(process))

    def contend(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `contend` to its end."""
        with self.start(*arguments) as process:
            out, err = process.communicate()
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def run(self, *more: str | Path) -> subprocess.CompletedProcess[str]:
        """`contend run` of the tiny experiment into `out`."""
        return self.contend(*self.arguments(*more))

    def arguments(self, *more: str | Path) -> list[str | Path]:
        server = [] if "--server" in more else ["--server", self.server]
        return ["run", self.file, "--out", self.out, *server, *more]

    def beside(self, folder: Path) -> Lab:
        """Another lab on the same caches."""
        program = Path(self.environment["CONTEND_LOAD"])
        return Lab(folder, self.cache.parent, program, self.server)

    def begin_from(self, other: Lab) -> None:
        """Take over another lab's experiment and run folder, to do with them as one likes."""
        shutil.copyfile(other.file, self.file)
        shutil.copytree(other.out, self.out)

    @property
    def journals(self) -> list[Path]:
        """What is noted of servers that are not contend's own."""
        return list((self.folder / "state" / "contend" / "undo").glob("*.json"))

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def records(self) -> list[RunRecord]:
        with RunFolder.open(self.out) as folder:
            return folder.records()

    def answered(self) -> dict[str, int]:
        """Queries answered in each cell. A run as short as these may be none's turn at all on a
        host that has no time; all of a cell are not."""
        counts: Counter[str] = Counter()
        for record in self.records():
            counts[json.dumps(record.cell)] += (record.done or {})["queries"]
        return dict(counts)

    def ended(self) -> int:
        """How many runs are stored; 0 before there is a run folder."""
        try:
            return len(self.records())
        except Exception:
            return 0

    def wait_for_runs(self, count: int, process: subprocess.Popen[str]) -> None:
        wait_for(lambda: self.ended() >= count or process.poll() is not None)
        assert process.poll() is None, process.communicate()

    def wait_for_load(self, process: subprocess.Popen[str]) -> None:
        """Until a run's load is on: its contend-load is there, and so is a server. Before there is
        one contend-load is also asked to check a plan, and asks a null server to be calibrated."""
        load = os.fsencode(f"--die-with={process.pid}\0run\0")

        def on() -> bool:
            loads = set(alive(load)) - set(alive(b"\0--check\0"))
            return bool(loads) and bool(self.servers_alive())

        wait_for(lambda: on() or process.poll() is not None)
        assert process.poll() is None, process.communicate()

    def left(self) -> list[str]:
        """What its runs left in the folder for what they work with."""
        return [path.name for path in (self.cache / "work").iterdir() if path.name != "sweep.lock"]

    def servers_alive(self) -> list[int]:
        """Processes that have a folder of this lab's cache open as their own."""
        return alive(os.fsencode(self.cache / "work"))


def with_figures(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Those that have figures. A slice as short as a test's may be over before anything is
    answered, on a host that has no time; any other failure is the test's."""
    found = []
    for record in records:
        if "no event ended inside" in str((record.error or {}).get("message")):
            continue
        assert record.status == "ok" and record.done is not None, record.error
        found.append(record)
    assert found, "none has figures"
    return found


def alive(words: bytes) -> list[int]:
    """Processes that have the words in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes()
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except (OSError, IndexError):
            continue
        if words in command and state != "Z":
            found.append(int(folder.name))
    return found


NewLab = Callable[[Path], Lab]


@dataclass(frozen=True)
class Finished:
    """A run that ended well, which tests read and never write to."""

    lab: Lab
    done: subprocess.CompletedProcess[str]

    @classmethod
    def of(cls, lab: Lab) -> Finished:
        """The one that `finish` made in a lab's folder."""
        return cls(lab, subprocess.CompletedProcess(**json.loads(_said(lab).read_text())))


def finish(lab: Lab, *more: str | Path) -> Finished:
    """Run a lab's experiment to its end."""
    done = lab.run(*more)
    assert done.returncode == 0, done.stderr
    _said(lab).write_text(json.dumps(vars(done), default=str))
    return Finished(lab, done)


def _said(lab: Lab) -> Path:
    return lab.folder / "said.json"


def calibrated(lab: Lab) -> Lab:
    """Calibrate the host for a lab's experiment, in short: beside other tests no run keeps what it
    has calibrated, and each would do it anew."""
    done = lab.contend("calibrate", lab.file, "--rounds", "2", "--seconds", "0.05")
    assert done.returncode == 0, done.stderr
    return lab


def cache_in(home: Path) -> Path:
    """A cache with the user's servers and nothing else."""
    (home / "contend").mkdir(parents=True, exist_ok=True)
    if not (home / "contend" / "servers").exists():
        (home / "contend" / "servers").symlink_to(default_cache() / "servers")
    return home


def wait_for(true: Callable[[], bool], limit_s: float = 240.0) -> None:
    """Wait until something is so; the limit only keeps a broken test from hanging."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


def as_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The document that `--json` printed."""
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def interrupt(process: subprocess.Popen[str], sign: signal.Signals = signal.SIGINT) -> str:
    """Send a signal to `contend` alone and return what it said."""
    process.send_signal(sign)
    _out, err = process.communicate()
    return err
