"""What a cluster acknowledged while one of its nodes was killed: each seat writes (seat, n), a row
a transaction, and keeps the n that were acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import pymysql

from contend.errors import ContendError
from contend.servers import PrivateServer
from contend.servers.deployment import Member
from contend.servers.options import Value
from contend.servers.topologies.galera import Galera, require_synced

TABLE = "CREATE TABLE d.kept (seat INT, n INT, PRIMARY KEY (seat, n)) ENGINE=InnoDB"
"""Has to be there."""

Row = tuple[int, int]

_ROUND = 1_000_000
"""Of the numbers of one kill."""


class _Seat(threading.Thread):
    """Writes to one node until that ends, or until it is told to stop."""

    def __init__(self, node: PrivateServer, seat: int, first: int, stop: threading.Event) -> None:
        super().__init__(name=f"seat {seat}", daemon=True)
        self.kept: list[Row] = []
        self._node, self._seat, self._first, self._stop_now = node, seat, first, stop

    def run(self) -> None:
        n = self._first
        try:
            with self._node.connect("d", read_timeout=60) as connection:
                connection.autocommit(True)
                cursor = connection.cursor()
                while not self._stop_now.is_set():
                    n += 1
                    try:
                        cursor.execute(f"INSERT INTO kept VALUES ({self._seat}, {n})")
                    except pymysql.err.MySQLError:
                        if not self._node.running:
                            return
                        continue  # it has no quorum at this moment: not acknowledged
                    self.kept.append((self._seat, n))
        except (ContendError, pymysql.err.MySQLError, OSError):
            return  # the node was killed: what was not answered may be there or not


def while_killed(
    nodes: Sequence[PrivateServer],
    victim: PrivateServer,
    *,
    seats: Iterable[int],
    at: int,
    before_s: float = 0.2,
    after_s: float = 0.3,
) -> set[Row]:
    """Have the seats write to the nodes in turn, kill one of these, and go on for a while; what was
    acknowledged.

    Args:
        at: counts the kills.
    """
    stop = threading.Event()
    writing = [_Seat(nodes[seat % len(nodes)], seat, at * _ROUND, stop) for seat in seats]
    for seat in writing:
        seat.start()
    time.sleep(before_s)
    victim.kill()
    time.sleep(after_s)
    stop.set()
    for seat in writing:
        seat.join()
    return {row for seat in writing for row in seat.kept}


def missing(node: PrivateServer, kept: set[Row]) -> set[Row]:
    """Those that a node that has caught up does not have."""
    with node.connect("d") as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
        cursor.execute("SELECT seat, n FROM kept")
        return kept - {(int(seat), int(n)) for seat, n in cursor.fetchall()}


def rejoin(cluster: Galera, member: Member, options: Mapping[str, Value]) -> None:
    """Start a node that does not run any more beside the others, which do, and wait until all are
    synced; it knows the addresses of all others then."""
    number = cluster.members.index(member)
    others = [place for place in range(len(cluster.members)) if place != number]
    cluster._start_one(member.server, number, others, options)
    require_synced([each.server for each in cluster.members])
