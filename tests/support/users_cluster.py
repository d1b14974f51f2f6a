"""A Dask cluster as a user has one: a scheduler and workers, each a process of its own, that talk
over TLS and log all that they can to files. Its workers are not started again when they die."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

START_S = 120.0


class UsersCluster:
    """Keys and logs are in `folder`.

    Attributes:
        address: of the scheduler, as `--scheduler` takes it.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self._keys = _keys(folder)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._start("scheduler", "--port=0", "--no-show", "--no-dashboard")
            self.address = self._told("scheduler", r"Scheduler at:\s*(tls://\S+)")
            for number in range(workers):
                options = ("--no-nanny", "--nthreads=1", "--no-dashboard", self.address)
                self._start("worker", *options, name=f"worker-{number}")
            self._by_address = {
                self._told(name, r"Start worker at:\s*(tls://\S+)"): name
                for name in self._processes
                if name != "scheduler"
            }
        except BaseException:
            self.close()
            raise

    @property
    def settings(self) -> dict[str, Any]:
        """What Dask's own configuration must say for who connects to it."""
        tls = "distributed.comm.tls"
        return {
            f"{tls}.ca-file": self._keys["ca-file"],
            f"{tls}.client.cert": self._keys["cert"],
            f"{tls}.client.key": self._keys["key"],
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same, as environment variables of a process."""
        return {
            f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": value
            for name, value in self.settings.items()
        }

    def signal(self, name: str, sign: signal.Signals) -> None:
        """To the scheduler, or to the worker of an address."""
        process = self._processes[self._by_address.get(name, name)]
        process.send_signal(sign)
        if sign == signal.SIGKILL:
            process.wait()

    def logs(self) -> dict[str, str]:
        return {path.stem: path.read_text() for path in self.folder.glob("*.log")}

    def close(self) -> None:
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

    def _start(self, command: str, *options: str, name: str = "") -> None:
        name = name or command
        tls = [f"--tls-{key}={value}" for key, value in self._keys.items()]
        words = [sys.executable, "-m", f"distributed.cli.dask_{command}", "--protocol=tls"]
        if command == "worker":
            words += [f"--local-directory={self.folder / name}", "--memory-limit=0"]
        with (self.folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [*words, *tls, "--host=127.0.0.1", *options],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "DASK_LOGGING__DISTRIBUTED": "debug"},
            )

    def _told(self, name: str, pattern: str) -> str:
        """What its log says, as soon as it does."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._processes[name].poll() is None:
            found = re.search(pattern, (self.folder / f"{name}.log").read_text())
            if found is not None:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"{name} did not start: {self.logs()[name]}")


@contextlib.contextmanager
def users_cluster(folder: Path, workers: int) -> Iterator[UsersCluster]:
    cluster = UsersCluster(folder, workers)
    try:
        yield cluster
    finally:
        cluster.close()


def _keys(folder: Path) -> dict[str, str]:
    """Files of a certificate that all of them have, by the options that want them."""
    from distributed import Security

    made = Security.temporary()
    texts: Sequence[tuple[str, str]] = (
        ("ca-file", made.tls_ca_file),
        ("cert", made.tls_worker_cert),
        ("key", made.tls_worker_key),
    )
    files = {name: folder / f"{name}.pem" for name, _ in texts}
    for name, text in texts:
        files[name].write_text(text)
    return {name: str(file) for name, file in files.items()}
