"""Whether the host was quiet while it was calibrated."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from contend import host


@contextmanager
def watched() -> Iterator[list[str]]:
    """What disturbed the host meanwhile, in words; the list is filled at the end."""
    before, own_s = host.pressure(), _own_cpu_s()
    found: list[str] = []
    yield found
    change = host.change(before, host.pressure())
    own_s = _own_cpu_s() - own_s
    found += [one.message for one in host.disturbances(change, own_cpu_s=own_s)]


def _own_cpu_s() -> float:
    """CPU of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
