"""What a queue in front of so many servers does to each event, and on average.

Events are served in the order in which they come, by whichever server is free first. So an event
begins when it is there and a server is free, and that decides the whole path, event by event
(the recursion of Kiefer and Wolfowitz).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Path:
    """Events in the order in which they come; all times in µs."""

    arrival: np.ndarray
    wait: np.ndarray
    service: np.ndarray

    @property
    def response(self) -> np.ndarray:
        return self.wait + self.service

    def between(self, begin: float, end: float) -> Path:
        """The events that come from `begin` on and before `end`."""
        inside = (self.arrival >= begin) & (self.arrival < end)
        return Path(self.arrival[inside], self.wait[inside], self.service[inside])


def sample_path(arrivals: Iterable[float], services: Iterable[float], servers: int) -> Path:
    """The path of these events through `servers` servers that are all free at the beginning."""
    free = [0.0] * servers
    arrival = np.fromiter(arrivals, float)
    service = np.fromiter(services, float)
    wait = np.empty_like(arrival)
    for number, (at, takes) in enumerate(zip(arrival, service, strict=True)):
        begin = max(at, free[0])
        wait[number] = begin - at
        heapq.heapreplace(free, begin + takes)
    return Path(arrival, wait, service)


def quantile(values: np.ndarray, share: float) -> float:
    """The least value that this share of all does not exceed, as the load's histograms have it."""
    return float(np.quantile(values, share, method="inverted_cdf"))


def erlang_c(servers: int, load: float) -> float:
    """The share of events that wait, of Poisson arrivals and exponential services.

    `load` is that of each server: arrivals a service time, over servers.
    """
    offered = servers * load
    # The blocking of one server more at a time; no factorial, which would overflow.
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1 - load * (1 - blocked))


def mean_wait(servers: int, load: float, service: float) -> float:
    """The mean wait of all events, in the unit of the mean service time."""
    return erlang_c(servers, load) * service / (servers * (1 - load))
