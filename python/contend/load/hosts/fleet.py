"""Drives the load of a plan with `load.hosts`: a part for every host, one start, one outcome.

contend-load divides the plan, keeps the start time and adds up; this module carries its lines to
and from the hosts. A thread carries them, so that the caller receives outcomes as they come, and
Ctrl-C reaches it.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from contend.errors import ContendError, RequestError
from contend.host.placement import Placed
from contend.load.hosts.cluster import LEAD_S, Cluster, HostGone, LoadHost, begin_ns, on_clock
from contend.load.plan import planned_s
from contend.load.process import (
    GRACE_S,
    Child,
    LoadDriver,
    LoadProcess,
    OnAsked,
    OnEvent,
    judge,
    parse,
)
from contend.metrics.outcome import ClockOffset, Done, Outcome
from contend.metrics.plan import Plan

TICK_S = 0.05
"""Interval between two polls of the hosts, until the load begins."""

LOADED_TICK_S = 0.5
"""The same from then on. Each poll takes CPU time here and at the worker, which local workers take
from the load: at 50 ms p99 was 11 to 21 % longer on two CPUs, at this pace no difference was
certain."""

PAUSE_A_HOST_S = 0.01
"""A poll of a host costs some milliseconds of CPU here, even without news. So each of N hosts rests
N times as long between two polls: all together cost no more than a few do."""

HANG_S = 20.0
"""Time without an answer after which a worker is lost."""


class Fleet:
    """A `LoadDriver` for plans with any number of hosts: those with one host run here.

    Args:
        alone: drives the load of this host.
        cluster: the source of several hosts; nothing is started before they are needed.
    """

    def __init__(self, alone: LoadProcess, cluster: Cluster) -> None:
        self._alone: LoadDriver = alone
        self._program = alone.program
        self._cluster = cluster

    def run(
        self,
        plan: Plan,
        *,
        env: Mapping[str, str],
        on_event: OnEvent,
        placed: Placed | None = None,
    ) -> Done:
        """See `LoadProcess`.

        Raises:
            RequestError: there are too few hosts, or one of them cannot do its part.
        """
        count = int(plan["load"].get("hosts", 1))
        if count == 1:
            return self._alone.run(plan, env=env, on_event=on_event, placed=placed)
        if placed is not None:
            raise RequestError(
                "place.client places contend-load on this host, but load.hosts uses several hosts",
                hint="Remove one of them.",
            )
        hosts = self.hosts(count)
        for host in hosts:
            refuse_out_of_reach(host, plan)
        run = FleetRun(self._program, self._cluster, hosts, plan, env)
        return run.measure(on_event)

    def ask(
        self,
        plan: Mapping[str, Any],
        *,
        env: Mapping[str, str],
        on_progress: OnAsked,
        placed: Placed | None = None,
    ) -> dict[str, Any]:
        """See `LoadProcess`: one statement at a time needs one host."""
        return self._alone.ask(plan, env=env, on_progress=on_progress, placed=placed)

    def hosts(self, count: int) -> list[LoadHost]:
        """The requested number of capable hosts; raises like `Cluster.hosts`."""
        return self._cluster.hosts(count)

    def close(self) -> None:
        self._cluster.close()


def refuse_out_of_reach(host: LoadHost, plan: Plan) -> None:
    """Raise RequestError if a remote host cannot reach a server of the plan."""
    for server in _servers(plan):
        socket = server.get("socket")
        local = str(server.get("host") or "").startswith(("127.", "localhost", "::1"))
        if socket is not None and not (host.is_here or host.ask("exists", str(socket))):
            place = f"the socket {socket}"
        elif socket is None and local and not host.is_here:
            place = f"{server['host']}, which is each host itself"
        else:
            continue
        raise RequestError(
            f"host {host.name} cannot reach the server at {place}",
            hint="Use a server that listens on the network: --server mysql://user@host/database.",
        )


def _servers(plan: Plan) -> list[Any]:
    members: Sequence[Any] = (plan, *plan.get("arms", ()), *plan.get("nodes", ()))
    return [member["server"] for member in members if member.get("server") is not None]


class FleetRun:
    """One run on hosts that were checked."""

    def __init__(
        self,
        program: Path,
        cluster: Cluster,
        hosts: Sequence[LoadHost],
        plan: Plan,
        env: Mapping[str, str],
    ) -> None:
        self._program, self._cluster = program, cluster
        pause_s = PAUSE_A_HOST_S * len(hosts)
        self._polls = [HostPoll(number, host, pause_s) for number, host in enumerate(hosts)]
        self._plan = plan if hosts[0].is_here else _unwatched(plan)
        self._env = env
        connect_s = float(plan["server"].get("connect_timeout_s", 10.0))
        self._limit_s = planned_s(plan) + connect_s + LEAD_S + 2 * GRACE_S
        self._before: dict[int, ClockOffset] = {}
        self._stopped = threading.Event()
        self._trouble: ContendError | None = None

    def measure(self, on_event: OnEvent) -> Done:
        """Drive it to its end."""
        last: dict[str, Any] | None = None
        with contextlib.ExitStack() as stack:
            # It reads the plan like the hosts, with the password that the plan names.
            merge = stack.enter_context(Child([str(self._program), "merge"], self._env))
            carrier = threading.Thread(target=self._carry, args=(merge,), daemon=True)
            carrier.start()
            stack.callback(self._end, carrier)
            for line in merge.lines(limit_s=self._limit_s + 60):
                last = parse(line)
                on_event(cast(Outcome, last))
            code = merge.wait()
            tail = merge.stderr_tail()
        if self._trouble is not None:
            raise self._trouble
        return cast(Done, judge(last, code, tail))

    def _end(self, carrier: threading.Thread) -> None:
        self._stopped.set()
        carrier.join()

    def _carry(self, merge: Child) -> None:
        try:
            names = [poll.host.name for poll in self._polls]
            merge.tell(json.dumps({"plan": self._plan, "hosts": names}).encode() + b"\n")
            self._carry_parts(merge)
        except ContendError as error:
            self._trouble = error
        finally:
            for poll in self._polls:
                with contextlib.suppress(HostGone):
                    if poll.lost is None:
                        poll.host.ask("stop")
                    else:
                        # A suspended one receives it when it goes on.
                        poll.host.tell("stop")
            merge.send(b"")

    def _carry_parts(self, merge: Child) -> None:
        polls = self._polls
        text = json.dumps(self._plan)
        for poll in polls:
            try:
                env = environment_for(
                    poll.host, self._plan, self._env, is_private=self._cluster.is_private
                )
                poll.host.ask("start", text, poll.number, sealed(env))
            except HostGone as error:
                poll.lose(f"its worker is gone ({error.detail})")
        limit = time.monotonic() + self._limit_s
        begun = False
        while not self._stopped.is_set() and not all(poll.over for poll in polls):
            for poll in polls:
                for line in poll.listen():
                    merge.tell(f"{poll.number}\t{line}\n".encode())
                if poll.lost is not None and not poll.is_reported:
                    self._lose(poll, merge)
            if self._has_failed(polls):
                break
            if not begun and all(poll.ready or poll.over for poll in polls):
                self._begin(polls)
                begun = True
            if time.monotonic() > limit:
                for poll in polls:
                    poll.lose("its load did not end in time")
            self._stopped.wait(LOADED_TICK_S if begun else TICK_S)
        self._tell_clocks(polls, merge)

    def _has_failed(self, polls: Sequence[HostPoll]) -> bool:
        """Whether a host failed, and the others must not continue without it."""
        failed = any(poll.failed or (poll.lost is not None and not poll.measured) for poll in polls)
        return failed and self._plan["load"].get("host_lost", "fail") == "fail"

    def _lose(self, poll: HostPoll, merge: Child) -> None:
        poll.is_reported = True
        self._cluster.forget(poll.host)
        lost = json.dumps({"type": "lost", "why": poll.lost})
        merge.tell(f"{poll.number}\t{lost}\n".encode())

    def _begin(self, polls: Sequence[HostPoll]) -> None:
        """All are connected: choose a start time, and send it on the clock of each."""
        slowest_s = 0.0
        there = [poll for poll in polls if not poll.over]
        for poll in there:
            started = time.monotonic()
            try:
                self._before[poll.number] = self._cluster.clock_of(poll.host)
                poll.host.ask("exists", "/")
            except HostGone as error:
                poll.lose(f"its worker is gone ({error.detail})")
            slowest_s = max(slowest_s, time.monotonic() - started)
        at_ns = begin_ns(slowest_s)
        for poll in there:
            if poll.over:
                continue
            try:
                poll.host.tell("begin", on_clock(at_ns, self._before[poll.number]))
            except HostGone as error:
                poll.lose(f"its worker is gone ({error.detail})")

    def _tell_clocks(self, polls: Sequence[HostPoll], merge: Child) -> None:
        for poll in polls:
            if poll.number not in self._before:
                continue
            after = None
            if poll.lost is None:
                with contextlib.suppress(ContendError):
                    after = self._cluster.clock_of(poll.host)
            clocks = {"type": "clock", "before": self._before[poll.number], "after": after}
            merge.tell(f"{poll.number}\t{json.dumps(clocks)}\n".encode())


class HostPoll:
    """Polls one host, and never waits for it.

    Args:
        pause_s: from an answer to the next question.

    Attributes:
        ready: all of its connections are there.
        over: no more lines will come.
        failed: it reported an error.
        measured: it reported its results.
        lost: why it is lost.
        is_reported: the loss was reported.
    """

    def __init__(self, number: int, host: LoadHost, pause_s: float) -> None:
        self.number, self.host, self._pause_s = number, host, pause_s
        self.ready = self.over = self.failed = self.measured = self.is_reported = False
        self.lost: str | None = None
        self._pending: Any = None
        self._pending_since = 0.0
        self._pause_until = 0.0

    def lose(self, why: str) -> None:
        if not self.over:
            self.lost, self.over = why, True

    def listen(self) -> list[str]:
        """New lines since the last call."""
        if self.over or time.monotonic() < self._pause_until:
            return []
        try:
            answer = self._answer()
        except Exception as error:  # Any error of Dask means that the worker is gone.
            self.lose(f"its worker is gone ({error})")
            return []
        if answer is None:
            if time.monotonic() > self._pending_since + HANG_S:
                self.lose(f"its worker has not answered for {HANG_S:.0f} s")
            return []
        self._pause_until = time.monotonic() + self._pause_s
        lines, code, tail = answer
        kinds = [line[:40] for line in lines]
        self.ready = self.ready or any('"type":"hello"' in kind for kind in kinds)
        self.failed = self.failed or any('"type":"error"' in kind for kind in kinds)
        self.measured = self.measured or any('"type":"part"' in kind for kind in kinds)
        if code is not None:
            if not (self.failed or self.measured):
                self.lose(f"contend-load ended there with {_how(code)}: {tail or 'no message'}")
            self.over = True
        return lines

    def _answer(self) -> tuple[list[str], int | None, str] | None:
        """The answer to the pending question; None if there is none yet."""
        if self._pending is None:
            self._pending, self._pending_since = self.host.actor.hear(), time.monotonic()
        if not self._pending.done():
            return None
        pending, self._pending = self._pending, None
        answer: tuple[list[str], int | None, str] = pending.result(timeout=1)
        return answer


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _unwatched(plan: Plan) -> Plan:
    """The plan without watched processes, which are invisible to the hosts."""
    plan = deepcopy(plan)
    plan.pop("watch", None)
    for node in plan.get("nodes", ()):
        node.pop("watch", None)
    return plan


def environment_for(
    host: LoadHost, plan: Any, env: Mapping[str, str], *, is_private: bool
) -> dict[str, str]:
    """Variables to add to the environment of contend-load on that host.

    Args:
        env: the variables for contend-load on this host.
        is_private: others cannot read the data sent there.

    Raises:
        RequestError: the host lacks a secret, and it cannot be sent.
    """
    secret = sorted({name for name in _named(plan) if name in env})
    if is_private or not secret:
        return {name: env[name] for name in secret}
    there = host.ask("has_variables", secret)
    missing = [name for name in secret if name not in there]
    if missing:
        raise RequestError(
            f"the password would go to host {host.name} over a connection that others can read",
            hint=f"Set {' and '.join(missing)} in the environment of the Dask workers, or give "
            "the scheduler TLS (an address that begins with tls://).",
        )
    return {}


def sealed(env: dict[str, str]) -> Callable[[], dict[str, str]]:
    """Hide secrets in the message: Dask's workers log messages, as Python prints them, at level
    debug. A function outside any module is sent as a whole."""
    return lambda: env


def _named(plan: Any) -> Iterator[str]:
    """The names of variables with secrets in a plan."""
    if isinstance(plan, Mapping):
        for key, value in plan.items():
            if key.endswith("_env") and isinstance(value, str):
                yield value
            else:
                yield from _named(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _named(value)
