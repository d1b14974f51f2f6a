"""What differs between two hosts or servers, in the order of what it costs as far as that was
measured on both."""

from __future__ import annotations

from typing import NamedTuple

from contend.doctor.examine import HostDocument, Looked
from contend.metrics.host import UNITS, Cost, Measure, cost_between, in_words


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
    measured = [
        {name: Measure(*one) for name, one in doc["measured"].items()} for doc in (first, second)
    ]
    found: list[Difference] = []
    explained: set[str] = set()
    for check in first["checks"]:
        other = theirs.get(check["id"])
        if other is None or not _differ(check, other):
            continue
        cost = cost_between(check["measure"], *measured)
        if check["measure"] and cost is not None:
            explained.add(check["measure"])
        found.append(_difference(check["id"], check["title"], _words(check), _words(other), cost))
    for name in UNITS:
        cost = cost_between(name, *measured)
        if name not in explained and cost is not None and cost.size:
            one, other_one = (in_words(name, each[name]) for each in measured)
            found.append(_difference(None, UNITS[name][2], one, other_one, cost))
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


def _difference(
    check: str | None, title: str, one: str, other: str, cost: Cost | None
) -> Difference:
    return Difference(check, title, one, other, *(cost or (None, None)))


def _rank(one: Difference) -> float:
    """What was not measured comes last."""
    return 1 if one.ratio is None else -Cost("", one.ratio).size
