"""Holds contend-load back by the readings of the server: it is stopped and continued as a process,
in pulses if it may run for a share of the time alone.

What the server is at when the load is stopped it ends, so a stop works within one range. The load
has no clock that a stop could mislead: its ranges are closed work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import pymysql

from contend.errors import ContendError
from contend.warm.gate import FULL, Gate, GateReading, Limits

if TYPE_CHECKING:
    from pymysql.connections import Connection

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
                except pymysql.err.ProgrammingError:
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
