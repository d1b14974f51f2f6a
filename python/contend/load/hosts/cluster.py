"""The workers that generate load: contend's own processes on this host, or those of the user's
scheduler. Each is checked before it is used.

Dask is imported only when several hosts are requested.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import platform
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.errors import RequestError, WorkError
from contend.load.hosts import worker as shipped
from contend.load.process import Child, LoadFailed, judge
from contend.metrics.outcome import ClockOffset

CONNECT_S = 20.0
WORKERS_S = 60.0
ARRIVE_S = 2.0
"""Time to wait for missing workers: contend's own (WORKERS_S), and the user's (ARRIVE_S)."""

ANSWER_S = 20.0
"""A worker answers at once, or hangs."""

SEND_S = 300.0
INSTALL = "Install it: pip install 'contend[hosts]'."

ARRIVE_HINT = "Start more workers (`dask worker SCHEDULER`), one on each host, or lower load.hosts."


class HostGone(WorkError):
    """A worker no longer answers."""


@dataclass(slots=True)
class LoadHost:
    """A worker that was checked.

    Args:
        name: in outcomes and messages.
        address: as its scheduler knows it, `tls://10.0.0.5:40331`.
        actor: Dask's proxy of a `HostWorker`; every call of it returns a future.
        facts: its own description.
    """

    name: str
    address: str
    actor: Any
    facts: dict[str, Any]
    clock: str = ""

    def ask(self, method: str, *values: Any, limit_s: float = ANSWER_S) -> Any:
        """Its answer; raises HostGone."""
        try:
            return getattr(self.actor, method)(*values).result(timeout=limit_s)
        except Exception as error:  # Any error of Dask means that there is no answer.
            raise HostGone(f"host {self.name} does not answer", detail=repr(error)) from error

    def tell(self, method: str, *values: Any) -> None:
        """Like `ask`, without waiting for the answer."""
        try:
            getattr(self.actor, method)(*values)
        except Exception as error:  # Dask knows already that it has gone.
            raise HostGone(f"host {self.name} does not answer", detail=repr(error)) from error

    @property
    def is_here(self) -> bool:
        """Whether it sees the processes and sockets of this host."""
        return bool(self.facts["processes"] == shipped.processes())


class Cluster:
    """Workers of one scheduler.

    Args:
        program: the contend-load for all of them.
        scheduler: its address; without one, processes start here in the wanted number.
    """

    def __init__(self, program: Path, scheduler: str | None) -> None:
        self._program = program
        self._data = b""
        self._sha256 = ""
        self._scheduler = scheduler
        self._own: Any = None
        self._client: Any = None
        self._hosts: list[LoadHost] = []

    @property
    def is_private(self) -> bool:
        """Whether others cannot read the data sent to its workers."""
        return self._own is not None or str(self._scheduler).startswith(("tls://", "wss://"))

    def hosts(self, count: int) -> list[LoadHost]:
        """The requested number of answering workers, this host's first.

        Raises:
            RequestError: there are too few, or one of them cannot run contend-load.
            WorkError: one of them cannot be reached, or its clock is far off.
        """
        if self._client is None:
            self._connect(count)
        addresses = self._addresses(count)
        self._hosts = [host for host in self._hosts if host.address in addresses]
        known = {host.address for host in self._hosts}
        fresh = [self._look_at(each) for each in addresses if each not in known]
        self._hosts = sorted([*self._hosts, *fresh], key=lambda host: not host.is_here)
        _name_apart(self._hosts)
        for host in fresh:
            refuse_apart(host.name, self.clock_of(host))
        return self._hosts[:count]

    def clock_of(self, host: LoadHost) -> ClockOffset:
        """The offset of its clocks from this host's; raises WorkError without an answer."""
        where = host.address.rpartition("/")[2].rpartition(":")[0]
        if not host.clock:
            inside = "127.0.0.1" if where.startswith("127.") else "0.0.0.0"
            host.clock = f"{where}:{host.ask('clock_port', inside)}"
        try:
            return ask_clock(self._program, host.clock)
        except LoadFailed as error:
            raise WorkError(
                f"the clock of host {host.name} cannot be read: {error.message}",
                hint="Open two ports in the firewall: Dask's port of the worker, and one for "
                "contend-load.",
            ) from error

    def forget(self, host: LoadHost) -> None:
        """Do not use it again."""
        self._hosts = [each for each in self._hosts if each is not host]

    def close(self) -> None:
        for host in self._hosts:
            with contextlib.suppress(HostGone):
                host.ask("close")
        self._hosts = []
        for each in (self._client, self._own):
            if each is not None:
                # A lost one cannot be closed cleanly.
                with contextlib.suppress(Exception):
                    each.close(timeout=5)
        self._client = self._own = None

    def _connect(self, count: int) -> None:
        distributed = _dask()
        self._data = self._program.read_bytes()
        self._sha256 = hashlib.sha256(self._data).hexdigest()
        if self._scheduler is None:
            self._own = _local(distributed, count)
        try:
            self._client = _client_class(distributed)(
                self._own or self._scheduler,
                timeout=CONNECT_S,
                direct_to_workers=True,
                set_as_default=True,
                name="contend",
            )
        except (OSError, ValueError, TypeError) as error:
            raise RequestError(
                f"no Dask scheduler answers at {self._scheduler}",
                hint="Start one (`dask scheduler`) and give its address, such as "
                "--scheduler tcp://10.0.0.1:8786. For TLS, use Dask's own configuration.",
                detail=str(error) or None,
            ) from error

    def _addresses(self, count: int) -> list[str]:
        """Chooses among all workers: one of each machine, then a second one of each, and so on."""
        try:
            if self._own is not None and len(self._own.workers) < count:
                self._own.scale(count)
            with contextlib.suppress(TimeoutError):
                limit_s = WORKERS_S if self._own else ARRIVE_S
                self._client.wait_for_workers(count, timeout=limit_s)
            # Every two seconds Dask replaces `scheduler_info` by data without workers.
            workers = list(self._client.nthreads())
        except Exception as error:  # Any error of Dask means that there is no answer.
            # The workers end with their scheduler. The next run looks for a new one.
            self._hosts = []
            self.close()
            raise WorkError("the Dask scheduler does not answer", detail=repr(error)) from error
        if len(workers) < count:
            there = {0: "no worker", 1: "1 worker"}.get(len(workers), f"{len(workers)} workers")
            raise RequestError(
                f"load.hosts = {count}, but the Dask scheduler has {there}",
                hint=ARRIVE_HINT,
            )
        return _spread(workers, known=[host.address for host in self._hosts])[:count]

    def _look_at(self, address: str) -> LoadHost:
        version = self._client.submit(
            platform.python_version, workers=[address], pure=False, allow_other_workers=False
        )
        place = address.rpartition("/")[2]
        theirs = self._result(version, place).rpartition(".")[0]
        ours = ".".join(platform.python_version_tuple()[:2])
        if theirs != ours:
            raise RequestError(
                f"the worker at {place} runs Python {theirs}, but contend runs {ours} here",
                hint="Use the same Python on all hosts.",
            )
        import cloudpickle

        actor = self._result(
            self._client.submit(
                cloudpickle.loads,
                _by_value(),
                actor=True,
                workers=[address],
                allow_other_workers=False,
                pure=False,
                key=f"contend-host-{uuid.uuid4().hex}",
            ),
            place,
        )
        host = LoadHost(place, address, actor, {})
        host.facts = host.ask("facts")
        host.name = host.facts["hostname"]
        self._bring_program(host)
        return host

    def _result(self, future: Any, place: str) -> Any:
        try:
            return future.result(timeout=ANSWER_S)
        except Exception as error:
            raise WorkError(
                f"the worker at {place} did not carry out a request", detail=repr(error)
            ) from error

    def _bring_program(self, host: LoadHost) -> None:
        ours = platform.machine()
        if host.facts["machine"] != ours:
            raise RequestError(
                f"host {host.name} is {host.facts['machine']}, but contend-load is for {ours}",
                hint="Use hosts with the architecture of this one.",
            )
        if not host.ask("has", str(self._program), self._sha256):
            wrong = host.ask("keep", self._data, self._sha256, limit_s=SEND_S)
            if wrong is not None:
                raise WorkError(f"contend-load could not be copied to host {host.name}: {wrong}")
        code, output = host.ask("version")
        if code != 0:
            raise RequestError(
                f"contend-load does not run on host {host.name} ({host.facts['libc']})",
                hint="Check its C library: it may be older than contend-load requires.",
                detail=output or None,
            )


def _dask() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise RequestError("load.hosts needs Dask.distributed", hint=INSTALL) from error
    # contend reports the important errors.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


def _client_class(distributed: Any) -> Any:
    """Dask's client, which `Cluster.close` closes. A client that found no scheduler would try to
    close itself while Python ends, wait, and fail with a traceback."""

    class QuietClient(distributed.Client):  # type: ignore[misc]
        def __del__(self) -> None:
            pass

    return QuietClient


def _local(distributed: Any, count: int) -> Any:
    """Processes on this host. A client of theirs could run any code as this user, so they require
    keys that only contend has."""
    import dask

    with dask.config.set({"distributed.worker.daemon": True}):
        return distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=None,
            worker_dashboard_address=None,
            protocol="tls://",
            security=distributed.Security.temporary(),
            silence_logs=logging.CRITICAL,
        )


def _by_value() -> bytes:
    """A serialised `HostWorker` with its whole module, for workers without contend."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(shipped)
    try:
        data: bytes = cloudpickle.dumps(shipped.HostWorker())
    finally:
        cloudpickle.unregister_pickle_by_value(shipped)
    return data


def _spread(addresses: Sequence[str], *, known: Sequence[str]) -> list[str]:
    """Known ones first, then by machine in turn."""
    seen: dict[str, int] = {}
    order: list[tuple[bool, int, str]] = []
    for address in sorted(addresses):
        machine = address.rpartition("/")[2].rpartition(":")[0]
        seen[machine] = seen.get(machine, 0) + 1
        order.append((address not in known, seen[machine], address))
    return [address for _, _, address in sorted(order)]


def _name_apart(hosts: Sequence[LoadHost]) -> None:
    """Number several workers of one machine."""
    names = [host.facts["hostname"] for host in hosts]
    for host in hosts:
        name = host.facts["hostname"]
        twins = [other for other in hosts if other.facts["hostname"] == name]
        number = next(place for place, other in enumerate(twins, 1) if other is host)
        host.name = f"{name}#{number}" if names.count(name) > 1 else name


WALL_APART_S = 60.0
"""A larger offset means a clock without time service. It may step at any time, its log cannot be
compared with others, and certificates are not valid there."""

LEAD_S = 0.5
"""Time from choosing the start to the start, plus four times the slowest host's answer time: enough
for the last host to receive it."""

ASK_S = 30.0


def ask_clock(program: Path, address: str) -> ClockOffset:
    """The offsets to add to this host's clocks to get those of the host at `address`.

    Raises:
        LoadFailed: no host answers there.
    """
    last = None
    with Child([str(program), "clock", address], {}) as child:
        for line in child.lines(limit_s=ASK_S):
            last = json.loads(line)
        code, tail = child.wait(), child.stderr_tail()
    answer = judge(last, code, tail, done="clock")
    return {name: answer[name] for name in ("steady_us", "wall_us", "error_us")}  # type: ignore[return-value]


def refuse_apart(host: str, offset: ClockOffset) -> None:
    """Raise if a host's time of day differs too much from this host's."""
    apart_s = offset["wall_us"] / 1e6
    if abs(apart_s) > WALL_APART_S:
        raise WorkError(
            f"the clock of host {host} is {abs(apart_s):,.0f} s "
            f"{'ahead of' if apart_s > 0 else 'behind'} this host's",
            hint="Synchronise the clocks (chrony or a different NTP client), then try again.",
        )


def begin_ns(slowest_s: float) -> int:
    """The time to begin, by this host's steady clock."""
    return time.monotonic_ns() + int((LEAD_S + 4 * slowest_s) * 1e9)


def on_clock(at_ns: int, offset: ClockOffset) -> int:
    """A time of this host's steady clock, by that of a different host."""
    return at_ns + round(offset["steady_us"] * 1e3)
