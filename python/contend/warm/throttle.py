"""Throttles contend-load if the server's latency rises: stops and continues its process, in pulses
if it may run only part of the time. `DutyCycle` finds that share.

The server finishes what it is doing when the load is stopped, so a stop takes effect within one
range. A stop cannot disturb the load's timing: its ranges are a closed loop.
"""

from __future__ import annotations

import contextlib
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
"""Shares of the time that a warm-up may run: at the beginning, and at the minimum."""

STEP = 0.02
CALM_S = 0.5
"""Seconds without a latency above the bound after which the share grows by a step. Until the bound
is first exceeded, the share doubles instead."""

REST_S = 0.05
"""Rest after a latency above the bound, so that the server's queue drains."""

PULSE_S = 0.002
"""Time that the load runs between two rests: one or two ranges. The time to wake up would dominate
shorter pulses."""

LOOK_EVERY_S = 0.01
"""Interval between two probes, or half of it. A probe takes about 0.1 ms of the server."""

LAST_ANSWER_S = 5.0
"""Maximum wait for the last probe at the end."""

NO_PROBE = "SELECT 1"
"""The probe if there is no row to read by its key."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that protect the server's users. None: no limit.

    Args:
        pages_per_second: enforced by pauses of the connections between their ranges.
        latency_s: of a probe query.
        connections: that read; None: a number that suits the other limits.
    """

    pages_per_second: int | None = None
    latency_s: float | None = None
    connections: int | None = None

    def __bool__(self) -> bool:
        """Whether the load may be throttled."""
        return self.pages_per_second is not None or self.latency_s is not None


class DutyCycle:
    """Finds the share of the time that a warm-up may run next to other load. The share grows
    slightly while the latency keeps the bound, and is halved when it does not.

    So the bound is tested now and then, for a moment: near it, the share grows for seconds before
    it is halved again.
    """

    def __init__(self, bound_s: float) -> None:
        self._bound_s = bound_s
        self._calm_since_s: float | None = None
        self._halved_s: float | None = None
        self.rest_until_s = 0.0
        self.share = FIRST

    def see(self, at_s: float, latency_s: float) -> None:
        """Process a measured latency."""
        if self._calm_since_s is None:
            self._calm_since_s = at_s
        if latency_s > self._bound_s:
            # Several probes of one crowded moment halve the share only once.
            if self._halved_s is None or at_s >= self._halved_s + CALM_S:
                self.share = max(LEAST, self.share / 2)
                self._halved_s = at_s
            self._calm_since_s = at_s
            self.rest_until_s = max(self.rest_until_s, at_s + REST_S)
        elif at_s >= self._calm_since_s + CALM_S:
            # A small share grows by a small step, so that it rarely exceeds the bound.
            more = self.share if self._halved_s is None else min(STEP, self.share / 10)
            self.share = min(FULL, self.share + more)
            self._calm_since_s = at_s

    def ran(self, seconds: float, now_s: float) -> None:
        """A pulse of this length has ended: rest for the remainder of the cycle."""
        self.rest_until_s = now_s + seconds * (1 - self.share) / self.share

    @property
    def why(self) -> str | None:
        """The reason if the load is throttled."""
        return None if self.share == FULL else f"latency limit, at {self.share:.1%} of full speed"


class Throttle:
    """A context manager; throttling ends with it.

    Args:
        connect: to the server, for the probe.
        bound_s: the latency bound; None: no throttling and no probe.
        probe: the statement whose time is the latency.
        broken: the reason if nothing more can be read; it ends the load.
    """

    def __init__(
        self,
        connect: Callable[[], Connection[Any]],
        bound_s: float | None,
        probe: Callable[[], str],
    ) -> None:
        self._connect = connect
        self._pace = None if bound_s is None else DutyCycle(bound_s)
        self._probe = probe
        self._load: int | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="throttle", daemon=True)
        self._stopped_s: float | None = None
        self._looked_s = 0.0
        self.held: str | None = None
        self.held_s = 0.0
        self.broken: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(LAST_ANSWER_S)
        # A probe without an answer, such as from a server that hangs, is abandoned.
        if self._load is not None and not self._thread.is_alive():
            os.close(self._load)
            self._load = None

    def hold(self, pid: int) -> None:
        """From now on, throttle the process `pid` whenever the bound is exceeded."""
        if self._pace is not None and self._load is None:
            # By its descriptor: the pid may belong to a different process when it is signalled.
            self._load = os.pidfd_open(pid)
            # It would run at full speed until the probe is connected.
            self._stop()
            self._thread.start()

    def _watch(self) -> None:
        assert self._pace is not None
        try:
            with self._connect() as connection:
                self._go_on()
                while not self._ended.is_set():
                    self._pulse(connection, self._pace)
        except (ContendError, OSError, pymysql.err.MySQLError) as error:
            # The load would no longer be throttled.
            self.broken = str(error.args[-1] if error.args else error)
            self._signal(signal.SIGTERM)
        finally:
            self._go_on()

    def _pulse(self, connection: Connection[Any], pace: DutyCycle) -> None:
        """Let the load run for a moment, then rest as long as required."""
        began_s = time.monotonic()
        self._ended.wait(PULSE_S if pace.share < FULL else LOOK_EVERY_S)
        now_s = time.monotonic()
        pace.ran(now_s - began_s, now_s)
        if pace.rest_until_s > now_s:
            # Before the probe, whose duration is unknown: the server finishes its range meanwhile.
            self._stop()
        if time.monotonic() >= self._looked_s + LOOK_EVERY_S / 2:
            self._look(connection, pace)
        while (left_s := pace.rest_until_s - time.monotonic()) > 0 and not self._ended.is_set():
            self._stop()
            self._ended.wait(min(left_s, LOOK_EVERY_S))
            if left_s > LOOK_EVERY_S:
                # Not at the end: the next probe must see the effect of the next pulse.
                self._look(connection, pace)
        self._go_on()

    def _look(self, connection: Connection[Any], pace: DutyCycle) -> None:
        """Send the probe, and record its time."""
        started_s = time.monotonic()
        try:
            with connection.cursor() as cursor:
                cursor.execute(self._probe())
                cursor.fetchall()
        except pymysql.err.MySQLError as error:
            if error.args[0] != ER.NO_SUCH_TABLE:
                raise
            # Its table was dropped.
            self._probe = lambda: NO_PROBE
        self._looked_s = time.monotonic()
        pace.see(self._looked_s, self._looked_s - started_s)
        self.held = pace.why

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
