"""Delay lines: contend-load relays to a server with the delay of a network of some length."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from contend.errors import WorkError
from contend.load.plan import Address
from contend.load.process import Child, LoadFailed, parse
from contend.metrics.probed import DelayLine

ANSWER_S = 20.0
"""Silence after which a line counts as hanging: it answers without contacting its server."""


class LineFailed(WorkError):
    """A delay line could not start, or has ended."""


class Line:
    """A running delay line.

    Args:
        socket: where the line listens if the server has a socket.
        port: of 127.0.0.1, if it has none; 0 takes a free one.
    """

    def __init__(
        self, program: Path, target: Address, round_trip_s: float, socket: Path, port: int = 0
    ) -> None:
        self._round_trip_us = round_trip_s * 1e6
        behind = target.socket or f"{target.host}:{target.port}"
        self._behind = behind
        self._child = Child(
            [
                *(str(program), "far", f"--round-trip={self._round_trip_us:.3f}us"),
                *(f"--listen={socket if target.socket else port}", "--on-request", "--", behind),
            ],
            {},
        )
        try:
            listening = self._answer("listening")
        except BaseException:
            self.close()
            raise
        self.address = (
            replace(target, socket=listening["socket"])
            if target.socket
            else replace(target, host="127.0.0.1", port=listening["port"])
        )

    def report(self) -> DelayLine:
        """Traffic since the last report; raises LineFailed."""
        self._child.tell(b"\n")
        return cast(DelayLine, {"round_trip_us": self._round_trip_us} | self._answer("passed"))

    def close(self) -> None:
        self._child.__exit__()

    def _answer(self, kind: str) -> dict[str, Any]:
        try:
            line = next(self._child.lines(limit_s=ANSWER_S), None)
            answer = {} if line is None else parse(line)
        except LoadFailed as error:
            raise self._failed(error.message) from error
        if answer.pop("type", None) != kind:
            raise self._failed(self._child.stderr_tail() or "it ended without a message")
        return answer

    def _failed(self, why: str) -> LineFailed:
        return LineFailed(
            f"the delay line in front of {self._behind} could not be set up",
            hint="Check that the server is running. To run without the delay line, remove "
            "server.round_trip and server.member_round_trip.",
            detail=why,
        )


def together(lines: Sequence[Line]) -> DelayLine:
    """Traffic through all of them since the last report, and their greatest lateness; raises
    LineFailed."""
    return merged([line.report() for line in lines])


def merged(reports: Sequence[DelayLine]) -> DelayLine:
    """The sum of several reports; the lateness is the greatest among them."""
    latest = max(reports, key=lambda report: report["late_us"]["p99"])
    counted = ("connections", "refused", "bytes_to_server", "bytes_to_client", "cpu_us")
    sums = {name: sum(report[name] for report in reports) for name in counted}  # type: ignore[literal-required]
    refusal = next((report["refusal"] for report in reports if report["refusal"]), None)
    return cast(DelayLine, {**latest, **sums, "refusal": refusal})


class _Stage:
    """Delay lines that run until they are closed."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._stack = contextlib.ExitStack()

    def _stand(self, target: Address, round_trip_s: float, port: int = 0) -> Line:
        """A new line in front of this server; raises LineFailed."""
        # Short, because the path of a socket has at most 108 bytes.
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="contend-far-"))
        line = Line(self._program, target, round_trip_s, Path(folder) / "s", port)
        self._stack.callback(line.close)
        return line


class Lines(_Stage):
    """The delay lines of a stage, each started on first use and kept until the end.

    An unused line takes no CPU time, so lines of several lengths may be in front of one server.
    """

    def __init__(self, program: Path) -> None:
        super().__init__(program)
        self._lines: dict[tuple[Address, float], Line] = {}

    def before(self, target: Address, round_trip_s: float) -> Line:
        """The line of this length in front of this server; raises LineFailed."""
        key = (target, round_trip_s)
        if key not in self._lines:
            self._lines[key] = self._stand(target, round_trip_s)
        return self._lines[key]

    def close(self) -> None:
        self._lines.clear()
        self._stack.close()


class MemberLines(_Stage):
    """The delay lines between the servers of one level, from their last start: one in front of each
    server that others query. See `LineMaker` of deployments."""

    def __init__(self, program: Path) -> None:
        super().__init__(program)
        self._round_trip_s = 0.0
        self._standing: list[Line] = []
        self._reports: list[DelayLine] = []

    def apart(self, round_trip_s: float | None) -> MemberLines | None:
        """Replace the lines by ones of that length, for the servers to come; None for no lines."""
        self.close()
        self._round_trip_s = round_trip_s or 0.0
        return None if round_trip_s is None else self

    def before_socket(self, server: Path) -> Path:
        line = self._stand(Address(socket=str(server)), self._round_trip_s)
        self._standing.append(line)
        assert line.address.socket is not None
        return Path(line.address.socket)

    def before_port(self, host: str, port: int) -> None:
        line = self._stand(Address(host=host, port=port), self._round_trip_s, port)
        self._standing.append(line)

    def asker(self) -> Callable[[], DelayLine | None]:
        """Returns a function for the traffic since its last call; None without lines. Each one
        counts all traffic: levels that share servers in slices share their lines."""
        seen = len(self._reports)

        def ask() -> DelayLine | None:
            nonlocal seen
            if not self._standing:
                return None
            self._reports.append(together(self._standing))
            mine, seen = self._reports[seen:], len(self._reports)
            return merged(mine)

        return ask

    def close(self) -> None:
        self._standing.clear()
        self._stack.close()
