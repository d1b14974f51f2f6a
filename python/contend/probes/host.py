"""How the host fared during a run, and whether anything but the experiment was at work on it."""

from __future__ import annotations

import resource
from dataclasses import asdict, dataclass
from typing import Any

from contend import host
from contend.probes.model import Sight


@dataclass(frozen=True, slots=True)
class HostLook:
    """Counters of the host, and CPU seconds of the experiment's own processes where all of them
    can be seen: the server, the lab, and the load generators that ended."""

    pressure: host.Pressure
    own_cpu_s: float | None


class Host:
    """Stolen time, stalls, swapping, heat and neighbours."""

    name = "host"

    def look(self, sight: Sight) -> HostLook:
        return HostLook(host.pressure(), _own_cpu_s(sight.pid))

    def change(self, before: HostLook, after: HostLook) -> dict[str, Any]:
        change = host.change(before.pressure, after.pressure)
        own_cpu_s = (
            after.own_cpu_s - before.own_cpu_s
            if after.own_cpu_s is not None and before.own_cpu_s is not None
            else None
        )
        disturbances = host.disturbances(change, own_cpu_s=own_cpu_s)
        return {
            **asdict(change),
            "own_cpu_s": own_cpu_s,
            "disturbances": [asdict(one) for one in disturbances],
        }


def _own_cpu_s(server: int | None) -> float | None:
    counters = host.process_counters(server) if server is not None else None
    if counters is None:
        return None
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return counters.cpu_s + sum(one.ru_utime + one.ru_stime for one in used)
