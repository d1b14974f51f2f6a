"""Virtual time in place of the real server: does the fit find again what it was told?

Nothing is measured, so this needs no quiet host. The costs are made up, near those of a virtual
machine; to each figure some noise is added.
"""

from __future__ import annotations

import argparse
import math
import random

from model_fit import Virtual
from model_real import CONNECTIONS, CPU_SETS, POINTS, SEGMENTS, Look, Sample, Session

HELD_NS = 60.0
NOISE = 0.01
"""Standard deviation of ln(q/s)."""
ROUNDS = 3

CALLS = {
    "syscall_ns": 130,
    "pause_ns": 24,
    "wake_busy_ns": 1_000,
    "switch_ns": 1_000,
    "idle": [
        {"rested_us": rested_us, "call_ns": 8_000, "runs_ns": 24_000}
        for rested_us in (20, 100, 300, 1_000)
    ],
}
HANDOVER_NS = 120.0


def session_of_itself(asked: argparse.Namespace) -> Session:
    """What would be measured if the real server were virtual time."""
    session = Session(
        "virtual time itself", (0.0, 0.0), {str(segments): HELD_NS for segments in SEGMENTS}
    )
    order = random.Random(303)
    for cpus in map(len, CPU_SETS):
        several = cpus > 1
        calls = {**CALLS, "idle": CALLS["idle"] if several else []}
        session.looks.append(Look(cpus, calls, HANDOVER_NS if several else None))
        ran = {}
        steps = [(1, POINTS), (1, 1)]
        steps += [(one, POINTS) for connections in CONNECTIONS for one in (connections, 1)]
        for number in range(ROUNDS):
            for place, (connections, points) in enumerate(steps):
                for segments in SEGMENTS:
                    what = (segments, connections, points)
                    if what not in ran:
                        ran[what] = told(cpus).run(asked, *what)
                    found = ran[what]
                    session.samples.append(
                        Sample(
                            *(cpus, number, connections, points, segments, place),
                            qps=found["qps"] * math.exp(order.gauss(0, NOISE)),
                            server_us=found["server_cpu_us_per_query"],
                            client_us=found["client_cpu_us_per_query"],
                        )
                    )
    return session


def told(cpus: int) -> Virtual:
    """The truth, of which the fit sees what the calls and one connection show."""
    host = {
        "syscall_ns": 130,
        "pause_ns": 24,
        "wake_ns": 870,
        "switch_ns": 870,
        "handover_near_ns": HANDOVER_NS / 2,
        "wake_sleeping_ns": 24_000,
        "wake_polling_ns": 24_000,
        "kick_ns": 7_000,
    }
    demands = {
        **{"lock_ns": 6, "unlock_ns": 6, "find_ns": 50, "release_ns": 50, "segment_ns": 3},
        **{"enter_ns": 10, "leave_ns": 10, "copy_ns": 20, "search_ns": 90, "row_ns": 300},
        **{"point_ns": 0, "query_ns": 15_000, "client_ask_ns": 3_000, "client_answer_ns": 3_000},
        "client_wait_ns": 300,
    }
    return Virtual(cpus, host, demands)
