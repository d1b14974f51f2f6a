"""Rounds against the null server, which answers at once: what is reached is the client's own."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contend.calibration.model import Ceiling, Round
from contend.calibration.shape import Shape, Transport
from contend.load import Address, Done, Load, LoadFailed, Outcome
from contend.load.child import Child

START_LIMIT_S = 24 * 3600.0
"""Until the null server is told to stop it may serve."""

ROUND_START_S = 0.05
"""Starting the client and connecting."""

Tell = Callable[[int, int], None]
"""Told how many of how many rounds are made."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: rounds of each shape, and how long each warms up and measures."""

    rounds: int
    warmup_s: float
    measure_s: float

    @property
    def seconds(self) -> float:
        """About how long one shape takes in all its rounds."""
        return self.rounds * (self.warmup_s + self.measure_s + ROUND_START_S)


CAREFUL = Effort(rounds=5, warmup_s=0.1, measure_s=0.5)
QUICK = Effort(rounds=4, warmup_s=0.03, measure_s=0.12)
"""What a run affords before it begins: some seconds for a recipe."""


def measure(
    shapes: Sequence[Shape], load: Load, address: Address, effort: Effort, tell: Tell
) -> list[Ceiling]:
    """The ceilings of all shapes at one null server.

    Every round goes through all shapes, so that a slow change of the host falls on all alike. A
    shape whose every round was starved (not one answer) is left out.
    """
    rounds: list[list[Round]] = [[] for _ in shapes]
    workers = [1] * len(shapes)
    total = effort.rounds * len(shapes)
    for number in range(effort.rounds):
        for place, shape in enumerate(shapes):
            heard: list[Outcome] = []
            plan = shape.plan(address, warmup_s=effort.warmup_s, measure_s=effort.measure_s)
            done = load.run(plan, env={}, on_event=heard.append)
            rounds[place] += _round(done)
            hello = next((one for one in heard if one["type"] == "hello"), None)
            workers[place] = hello["threads"] if hello is not None else 1
            tell(number * len(shapes) + place + 1, total)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return [
        Ceiling(shape, tuple(made), effort.measure_s, threads, at)
        for shape, made, threads in zip(shapes, rounds, workers, strict=True)
        if made
    ]


@contextlib.contextmanager
def null_server(program: Path, transport: Transport) -> Iterator[Address]:
    """A null server in a private folder, or on a free port of the loopback address."""
    with tempfile.TemporaryDirectory(prefix="contend-") as folder:
        socket = str(Path(folder) / "s")
        where = ["--socket", socket] if transport == "socket" else ["--port", "0"]
        with Child([str(program), "null-server", *where], {}) as child:
            lines = child.lines(limit_s=START_LIMIT_S)
            said = _listening(next(lines, b""), child)
            if transport == "socket":
                yield Address(socket=socket)
            else:
                yield Address(host="127.0.0.1", port=int(said["port"]))


def _listening(line: bytes, child: Child) -> dict[str, Any]:
    try:
        said = json.loads(line)
        if said["type"] == "listening":
            return dict(said)
    except (ValueError, KeyError, TypeError):
        pass
    raise LoadFailed("the null server did not start", detail=child.stderr_tail() or None)


def _round(done: Done) -> list[Round]:
    """The round; none where the host let the client do nothing at all."""
    if not done["queries"]:
        for error in done["errors"]:
            raise LoadFailed(f"the null server does not answer this workload: {error['message']}")
        return []
    made = Round(
        qps=_figure(done["qps"]),
        cpu_us_per_query=_figure(done["client"]["cpu_us"] / done["queries"]),
        p50_us=_figure(done["latency_us"]["p50"]),
        p99_us=_figure(done["latency_us"]["p99"]),
        busiest_thread_share=_figure(done["client_busiest_thread_share"]),
    )
    return [made]


def _figure(value: float) -> float:
    """With the digits that are kept, so that what was measured and what is read are the same."""
    return float(f"{value:.6g}")
