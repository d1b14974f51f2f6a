"""What a probe is, and what it may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pymysql.connections import Connection


@dataclass(frozen=True, slots=True)
class Sight:
    """What a probe may look at.

    Args:
        connection: a control connection.
        kind: of the server: `mariadb` or `mysql`.
        pid: the server's process; None where it does not run on this host.
    """

    connection: Connection[Any]
    kind: str
    pid: int | None = None


class Probe(Protocol):
    """One thing that is looked at."""

    @property
    def name(self) -> str:
        """Where its result stands in the record's `probes`."""
        ...

    def look(self, sight: Sight) -> Any:
        """The counters now; None where this server does not have them."""
        ...

    def change(self, before: Any, after: Any) -> Any:
        """What happened between two looks, as JSON."""
        ...
