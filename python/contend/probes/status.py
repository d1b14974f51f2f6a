"""SHOW GLOBAL STATUS: what every counter of the server rose by."""

from __future__ import annotations

from contend.probes.model import Sight

Counters = dict[str, int]

TOLD_EVEN_AT_REST = frozenset(
    {
        "Aria_pagecache_read_requests",
        "Aria_pagecache_reads",
        "Com_select",
        "Innodb_buffer_pool_read_requests",
        "Innodb_buffer_pool_reads",
        "Key_read_requests",
        "Key_reads",
        "Questions",
    }
)
"""Counters whose 0 is an answer: a cache that missed nothing was warm."""


class Status:
    """Differences of all whole-number counters that changed, and of a few that need not."""

    name = "status"

    def look(self, sight: Sight) -> Counters:
        with sight.connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS")
            return {name: int(value) for name, value in cursor.fetchall() if _is_whole(value)}

    def change(self, before: Counters, after: Counters) -> Counters:
        """Gauges (connections open, pages free) are in it too: their change may be negative."""
        return {
            name: value - before.get(name, 0)
            for name, value in after.items()
            if value != before.get(name, 0) or name in TOLD_EVEN_AT_REST
        }


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
