"""What another server held of each index, as a plan of scans: where its list of pages cannot be
loaded, as much of the same indexes is read instead."""

from __future__ import annotations

from collections.abc import Sequence

from contend.units import format_size
from contend.warm.model import PRIMARY, Item, Survey, WarmPlan
from contend.warm.plan import USABLE
from contend.warm.tablespaces import CLUSTERED_WITHOUT_KEY
from contend.warm.transfer import Share


def plan_of_shares(survey: Survey, shares: Sequence[Share]) -> WarmPlan:
    """The plan that loads so much of each index.

    Args:
        survey: of the server to warm. What it does not have is left out.
        shares: of a partitioned table there may be several of an index; the largest counts.
    """
    largest: dict[tuple[str, str], float] = {}
    for one in shares:
        key = one.table, PRIMARY if one.index == CLUSTERED_WITHOUT_KEY else one.index
        largest[key] = max(largest.get(key, 0.0), one.share)
    items = []
    for table in survey.tables:
        for index in table.indexes:
            share = largest.get((str(table), index.name), 0.0)
            if share > 0 and index.size:
                items.append(Item(table, index.name, index.size, max(1, round(index.size * share))))
    return _that_fits(survey, items)


def _that_fits(survey: Survey, items: Sequence[Item]) -> WarmPlan:
    """Less of each if the buffer pool here is smaller."""
    pool = survey.cache("innodb")
    room = int(pool.size * USABLE) if pool is not None else 0
    wanted = sum(item.take for item in items)
    notices = list(survey.notices)
    if wanted > room:
        scale = room / wanted
        items = [
            Item(item.table, item.part, item.size, max(1, int(item.take * scale))) for item in items
        ]
        notices.append(
            f"the list has {format_size(wanted)}, and {format_size(room)} fit here, so as much "
            "less of each index is loaded"
        )
    return WarmPlan(tuple(items), survey.caches, (), tuple(notices), "as the list has it")
