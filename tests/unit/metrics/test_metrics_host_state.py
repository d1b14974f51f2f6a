"""The names of a host's state."""

from __future__ import annotations

import pytest

from contend.metrics.probed import CpuState, HostState
from contend.metrics.read import Name, distance_ns, name_of


def looked(*ns: float) -> CpuState:
    """The CPUs 0 and n + 1 are `ns[n]` apart."""
    return {
        "cpus": len(ns) + 1,
        "pairs": [
            {"cpus": [0, at + 1], "handover_ns": one, "wake_us": 30.0} for at, one in enumerate(ns)
        ],
        "of_pairs": len(ns),
        "memory_ns": None,
    }


def state(before: CpuState, after: CpuState) -> HostState:
    return {"before": before, "after": after, "memory_ns": None, "refaults": 0}


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ((95,), (110,), "near"),
        ((73,), (158,), "near"),
        ((404,), (417,), "far"),
        ((1047,), (505,), "far"),
        ((452,), (75,), "changed"),
        ((75,), (452,), "changed"),
        # One CPU of three was moved away from the others.
        ((90, 95), (92, 410), "changed"),
        ((), (), None),
        # A pair that only one of the looks has tells of no change.
        ((90, 400), (90,), "near"),
    ],
)
def test_near_far_or_changed(
    before: tuple[float, ...], after: tuple[float, ...], name: Name | None
) -> None:
    assert name_of(state(looked(*before), looked(*after))) == name


def test_the_distance_is_the_geometric_mean_of_all_looks() -> None:
    assert distance_ns([looked(100), looked(400)]) == pytest.approx(200)
    assert distance_ns([looked()]) is None
