"""What differs between two hosts or servers, in the order of what it costs as far as that was
measured on both."""

from __future__ import annotations

import math
from typing import NamedTuple

from contend.doctor.examine import HostDocument, Looked
from contend.doctor.measures import UNITS, in_words
from contend.doctor.model import Measure


class Difference(NamedTuple):
    """One thing that differs.

    id: of the check; None of a measured difference that no setting explains.
    one, other: how each is set, in words.
    cost: what was measured of it on both, in words; None if it was not measured.
    ratio: how many times as dear it is on the second; None if not measured; 1 if what was measured
        overlaps.
    """

    id: str | None
    title: str
    one: str
    other: str
    cost: str | None
    ratio: float | None


def compare(first: HostDocument, second: HostDocument) -> list[Difference]:
    """Differences, the dearest first; those that were not measured on both last."""
    theirs = {check["id"]: check for check in second["checks"]}
    found: list[Difference] = []
    explained: set[str] = set()
    for check in first["checks"]:
        other = theirs.get(check["id"])
        if other is None or not _differ(check, other):
            continue
        cost, ratio = _cost(check["measure"], first, second)
        if check["measure"] and ratio is not None:
            explained.add(check["measure"])
        found.append(
            Difference(check["id"], check["title"], _words(check), _words(other), cost, ratio)
        )
    for name in UNITS:
        cost, ratio = _cost(name, first, second)
        if name not in explained and ratio is not None and ratio != 1:
            one, other_one = (
                in_words(name, Measure(*doc["measured"][name])) for doc in (first, second)
            )
            found.append(Difference(None, UNITS[name][2], one, other_one, cost, ratio))
    return sorted(found, key=_rank)


def _differ(one: Looked, other: Looked) -> bool:
    """By how they are set; of what shows no setting, by nothing: its measure tells."""
    if "unseen" in (one["outcome"], other["outcome"]):
        return one["outcome"] != other["outcome"] and bool(one["state"] or other["state"])
    return dict(one["state"]) != dict(other["state"])


def _words(one: Looked) -> str:
    if one["outcome"] == "unseen":
        return f"not seen: {one['evidence']}"
    return one["evidence"]


def _cost(
    name: str | None, first: HostDocument, second: HostDocument
) -> tuple[str | None, float | None]:
    if name is None or name not in UNITS:
        return None, None
    on_first, on_second = first["measured"].get(name), second["measured"].get(name)
    if on_first is None or on_second is None:
        return None, None
    one, other = Measure(*on_first), Measure(*on_second)
    said = f"{UNITS[name][2]}: {in_words(name, one)} and {in_words(name, other)}"
    if one.low <= other.high and other.low <= one.high:
        return f"{said}, which overlap", 1.0
    if min(one.value, other.value) <= 0:
        return said, math.inf if other.value > one.value else 0.0
    return said, other.value / one.value


def _rank(one: Difference) -> tuple[int, float]:
    if one.ratio is None:
        return 1, 0.0
    return 0, -math.inf if one.ratio in (0.0, math.inf) else -abs(math.log(one.ratio))
