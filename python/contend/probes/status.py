"""SHOW GLOBAL STATUS: what every counter of the server rose by."""

from __future__ import annotations

from contend.probes.model import Sight

Counters = dict[str, int]


class Status:
    """Differences of all whole-number counters that changed."""

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
            if value != before.get(name, 0)
        }


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
