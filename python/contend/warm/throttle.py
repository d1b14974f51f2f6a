"""Holds contend-load back by the readings of the server: it is stopped and continued as a process,
in pulses if it may run for a share of the time alone. `Gate` decides when, from readings alone.

What the server is at when the load is stopped it ends, so a stop works within one range. The load
has no clock that a stop could mislead: its ranges are closed work.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from contend.errors import ContendError

FULL = 1.0
FIRST, LEAST = 0.05, 0.001
"""Shares of its time that a warm-up may run: at the beginning, and if nothing less will do."""

STEP = 0.02
CALM_S = 0.5
"""After so long without a latency above the bound the share grows by a step. Until the first time
that the bound is passed it doubles instead."""

REST_S = 0.05
"""Rest after a latency above the bound, so that what waits in the server is gone."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server's users are to be left. None: no limit.

    Args:
        pages_per_second: kept by the pauses of the connections between their ranges.
        latency_s: of a probe query.
        threads_running: statements that run, those of the warm-up aside.
    """

    pages_per_second: int | None = None
    latency_s: float | None = None
    threads_running: int | None = None

    def __bool__(self) -> bool:
        return self.pages_per_second is not None or self.are_watched

    @property
    def are_watched(self) -> bool:
        """Whether readings of the server decide."""
        return self.latency_s is not None or self.threads_running is not None


@dataclass(frozen=True, slots=True)
class GateReading:
    """What was seen at one moment.

    Args:
        at_s: when, by a clock that only goes forward.
        latency_s: of the probe query; None if it was not asked.
        threads_running: statements that run, those of the warm-up aside; None if not counted now.
    """

    at_s: float
    latency_s: float | None = None
    threads_running: int | None = None


class DutyCycle:
    """Finds the share of its time that a warm-up may run beside others: a little more of it as long
    as the latency keeps the bound, half of it when it does not.

    So the bound is tried now and then, for a moment: near it the share grows for seconds before it
    is halved again.
    """

    def __init__(self, bound_s: float) -> None:
        self._bound_s = bound_s
        self._calm_since_s: float | None = None
        self._halved_s: float | None = None
        self.rest_until_s = 0.0
        self.share = FIRST

    def see(self, at_s: float, latency_s: float) -> None:
        """A reading of the latency."""
        if self._calm_since_s is None:
            self._calm_since_s = at_s
        if latency_s > self._bound_s:
            # What is seen of one crowded moment is one reason, however often it is looked at.
            if self._halved_s is None or at_s >= self._halved_s + CALM_S:
                self.share = max(LEAST, self.share / 2)
                self._halved_s = at_s
            self._calm_since_s = at_s
            self.rest_until_s = at_s + REST_S
        elif at_s >= self._calm_since_s + CALM_S:
            # Of a small share a small part, so that the bound is passed as rarely by that.
            more = self.share if self._halved_s is None else min(STEP, self.share / 10)
            self.share = min(FULL, self.share + more)
            self._calm_since_s = at_s

    def rest_s(self, ran_s: float) -> float:
        """How long it rests after it ran for so long."""
        return ran_s * (1 - self.share) / self.share


class Gate:
    """Whether a warm-up may go on, and the reason if it may not. It runs in pulses: `ran` says that
    one is over."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pace = None if limits.latency_s is None else DutyCycle(limits.latency_s)
        self._rest_until_s = 0.0
        self._too_many = False

    @property
    def share(self) -> float:
        """Of its time that it may run."""
        return FULL if self._pace is None else self._pace.share

    def ran(self, seconds: float, now_s: float) -> None:
        """A pulse of so long is over."""
        if self._pace is not None:
            self._rest_until_s = now_s + self._pace.rest_s(seconds)

    def see(self, reading: GateReading) -> None:
        """What was seen, in a pulse or between two of them."""
        if self._pace is not None and reading.latency_s is not None:
            self._pace.see(reading.at_s, reading.latency_s)
            self._rest_until_s = max(self._rest_until_s, self._pace.rest_until_s)
        limit = self._limits.threads_running
        if limit is not None and reading.threads_running is not None:
            self._too_many = reading.threads_running > limit

    def left_s(self, now_s: float) -> float:
        """How long to rest before the next pulse, or before the next look."""
        return math.inf if self._too_many else max(0.0, self._rest_until_s - now_s)

    @property
    def why(self) -> str | None:
        """What holds it back; None if nothing does."""
        if self._too_many:
            return "threads running"
        return None if self.share == FULL else f"latency, {self.share:.1%} of its speed"


PULSE_S = 0.002
"""How long the load runs between two rests: one or two ranges. Shorter ones would be lost in the
time that it takes to wake up."""

LOOK_EVERY_S = 0.01
"""Between two probes, or half of it. One takes some 0.1 ms of the server."""

THREADS_EVERY = 10
"""So many probes later the running threads are counted again, which costs more."""


LAST_ANSWER_S = 5.0
"""So long the last probe is waited for at the end."""

NO_PROBE = "SELECT 1"
"""If there is no row to read by its key."""


class Throttle:
    """Use it as a context; nothing is held back after it.

    Args:
        connect: to the server, for the probe.
        limits: if none of them is watched, nothing is ever held back, and nothing asked.
        probe: the statement whose time is the latency.
        broken: why nothing can be read any more; the load is ended then.
        connections: of the warm-up, which are no threads of others.
    """

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        limits: Limits,
        probe: Callable[[], str],
        connections: int,
    ) -> None:
        self._connect = connect
        self._limits = limits
        self._probe = probe
        self._connections = connections
        self._load: int | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="throttle", daemon=True)
        self._stopped_s: float | None = None
        self._looked_s = 0.0
        self._looks = 0
        self.held: str | None = None
        self.held_s = 0.0
        self.broken: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(LAST_ANSWER_S)
        # A probe that is still not answered, such as by a server that hangs, is left to itself.
        if self._load is not None and not self._thread.is_alive():
            os.close(self._load)
            self._load = None

    def hold(self, pid: int) -> None:
        """From now on the process `pid` is held back whenever a limit is reached."""
        if self._limits.are_watched and self._load is None:
            # By its descriptor: a number may be another process by the time it is signalled.
            self._load = os.pidfd_open(pid)
            # It would run at full speed until the probe is connected.
            self._stop()
            self._thread.start()

    def _watch(self) -> None:
        gate = Gate(self._limits)
        try:
            with self._connect() as connection:
                self._go_on()
                while not self._ended.is_set():
                    self._pulse(connection, gate)
        except (ContendError, OSError, pymysql.err.MySQLError) as error:
            # Nobody would hold the load back any longer.
            self.broken = str(error.args[-1] if error.args else error)
            self._signal(signal.SIGTERM)
        finally:
            self._go_on()

    def _pulse(self, connection: Connection[Any], gate: Gate) -> None:
        """Let the load run for a moment, then rest as long as it must."""
        began_s = time.monotonic()
        self._ended.wait(PULSE_S if gate.share < FULL else LOOK_EVERY_S)
        now_s = time.monotonic()
        gate.ran(now_s - began_s, now_s)
        if gate.left_s(now_s) > 0:
            # Before the look, which takes as long as it takes: the server ends its range meanwhile.
            self._stop()
        if time.monotonic() >= self._looked_s + LOOK_EVERY_S / 2:
            self._look(connection, gate)
        while (left_s := gate.left_s(time.monotonic())) > 0 and not self._ended.is_set():
            self._stop()
            self._ended.wait(min(left_s, LOOK_EVERY_S))
            if left_s > LOOK_EVERY_S:
                # Not at the end: the next look is that which sees what the next pulse does.
                self._look(connection, gate)
        self._go_on()

    def _look(self, connection: Connection[Any], gate: Gate) -> None:
        gate.see(self._read(connection, self._looks))
        self.held = gate.why
        self._looks += 1
        self._looked_s = time.monotonic()

    def _read(self, connection: Connection[Any], number: int) -> GateReading:
        latency_s, running = None, None
        with connection.cursor() as cursor:
            if self._limits.latency_s is not None:
                statement = self._probe()
                started_s = time.monotonic()
                try:
                    cursor.execute(statement)
                    cursor.fetchall()
                except pymysql.err.MySQLError as error:
                    if error.args[0] != ER.NO_SUCH_TABLE:
                        raise
                    # Its table was dropped.
                    self._probe = lambda: NO_PROBE
                latency_s = time.monotonic() - started_s
            if self._limits.threads_running is not None and number % THREADS_EVERY == 0:
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_running'")
                ours = 1 + (0 if self._stopped_s is not None else self._connections)
                running = max(0, int((cursor.fetchone() or ("", 0))[1]) - ours)
        return GateReading(time.monotonic(), latency_s, running)

    def _stop(self) -> None:
        if self._stopped_s is None:
            self._stopped_s = time.monotonic()
            self._signal(signal.SIGSTOP)

    def _go_on(self) -> None:
        if self._stopped_s is not None:
            self._signal(signal.SIGCONT)
            self.held_s += time.monotonic() - self._stopped_s
            self._stopped_s = None

    def _signal(self, number: signal.Signals) -> None:
        if self._load is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._load, number)
