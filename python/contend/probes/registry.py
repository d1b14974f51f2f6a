"""The probes: look before a run, look after it, keep the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contend.probes.host import Host
from contend.probes.key_caches import KeyCaches
from contend.probes.model import Probe, Sight
from contend.probes.status import Status

PROBES: tuple[Probe, ...] = (Status(), KeyCaches(), Host())


def look(sight: Sight) -> dict[str, Any]:
    """Every probe's counters now."""
    return {probe.name: probe.look(sight) for probe in PROBES}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What each probe saw happen between two looks. Probes that saw nothing to see are left out."""
    return {
        probe.name: probe.change(before[probe.name], after[probe.name])
        for probe in PROBES
        if before[probe.name] is not None and after[probe.name] is not None
    }
