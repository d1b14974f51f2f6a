"""information_schema.KEY_CACHES: which segment of the key cache took how many visits.

MariaDB has the table, MySQL does not. An unsegmented cache is one row without a segment number.
"""

from __future__ import annotations

from typing import Any

from contend.probes.model import Sight

COUNTERS = ("read_requests", "reads", "write_requests", "writes")
COLUMNS = ", ".join(f"`{counter}`" for counter in COUNTERS)
"""Quoted, because `reads` is a word of SQL."""

Segment = tuple[str, int | None]
Visits = dict[Segment, tuple[int, ...]]


class KeyCaches:
    """Visits and misses of each segment."""

    name = "key_caches"

    def look(self, sight: Sight) -> Visits | None:
        if sight.kind != "mariadb":
            return None
        with sight.connection.cursor() as cursor:
            cursor.execute(
                f"SELECT KEY_CACHE_NAME, SEGMENT_NUMBER, {COLUMNS}"
                " FROM information_schema.KEY_CACHES"
            )
            rows = cursor.fetchall()
        found = {
            (str(name), None if segment is None else int(segment)): tuple(map(int, counters))
            for name, segment, *counters in rows
        }
        # A segmented cache has a row for each segment and one for all together, which says
        # nothing that its parts do not.
        parted = {name for name, segment in found if segment is not None}
        return {
            (name, segment): counters
            for (name, segment), counters in found.items()
            if segment is not None or name not in parted
        }

    def change(self, before: Visits, after: Visits) -> list[dict[str, Any]]:
        nothing = (0,) * len(COUNTERS)
        return [
            {"cache": cache, "segment": segment}
            | {
                counter: there - here
                for counter, here, there in zip(
                    COUNTERS, before.get((cache, segment), nothing), now, strict=True
                )
            }
            for (cache, segment), now in sorted(after.items(), key=lambda item: _order(item[0]))
        ]


def _order(segment: Segment) -> tuple[str, int]:
    return segment[0], segment[1] or 0
