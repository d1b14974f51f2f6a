"""Hosts of a load without Dask: the same worker, asked in this process. What happens to a worker of
a real cluster (it dies, it hangs) is done to it here at a moment of the test's choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from contend.load.hosts import cluster
from contend.load.hosts.cluster import LoadHost
from contend.load.hosts.worker import HostWorker
from contend.metrics.outcome import ClockOffset


class Answered:
    """What Dask gives for a call: an answer that may still come."""

    def __init__(self, answer: Any, *, comes: bool = True) -> None:
        self._answer, self._comes = answer, comes

    def done(self) -> bool:
        return self._comes

    def result(self, timeout: float | None = None) -> Any:
        if not self._comes:
            raise TimeoutError(timeout)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class DirectActor:
    """A worker that is asked as Dask's proxy of one is.

    Attributes:
        fault: called with the name of each call; what it gives is the answer in place of the
            worker's, None for the worker's own.
    """

    def __init__(self) -> None:
        self.worker = HostWorker()
        self.fault: Callable[[str], Answered | None] = lambda _name: None

    def __getattr__(self, name: str) -> Callable[..., Answered]:
        def call(*values: Any) -> Answered:
            answer = self.fault(name)
            return Answered(getattr(self.worker, name)(*values)) if answer is None else answer

        return call


class DirectCluster:
    """As `Cluster`, of workers in this process."""

    is_private = True

    def __init__(self, program: Path) -> None:
        self.program = program
        self.known: list[LoadHost] = []
        self.forgotten: list[LoadHost] = []

    def hosts(self, count: int) -> list[LoadHost]:
        while len(self.known) < count:
            actor = DirectActor()
            actor.worker._program = str(self.program)
            name = f"host{len(self.known) + len(self.forgotten)}"
            self.known.append(LoadHost(name, f"tls://127.0.0.1:{len(name)}", actor, {}))
            self.known[-1].facts = self.known[-1].ask("facts")
        return self.known[:count]

    def clock_of(self, host: LoadHost) -> ClockOffset:
        if not host.clock:
            host.clock = f"127.0.0.1:{host.ask('clock_port', '127.0.0.1')}"
        return cluster.ask_clock(self.program, host.clock)

    def forget(self, host: LoadHost) -> None:
        self.known.remove(host)
        self.forgotten.append(host)

    def close(self) -> None:
        for host in [*self.known, *self.forgotten]:
            host.actor.worker.close()
