"""What a private server holds after a cold start: nothing, or what one of several ways to warm it
brought in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from contend.lab.caches import Warmable, load
from contend.probed import Warming
from contend.settings.warm import COLD
from contend.undo import put_back
from contend.warm import page_list, server_list
from contend.warm.by_list import list_of_plan
from contend.warm.coverage import OTHERS
from contend.warm.model import WarmPlan
from contend.warm.naive import count_keyed_columns
from contend.warm.plan import make_plan
from contend.warm.pool import held, taken
from contend.warm.server_list import ServerHost
from contend.warm.survey import survey
from contend.warm.tablespaces import read_catalogue
from contend.warm.transfer import names_of, translate

_OTHER_SEED = 1
"""Added to the seed of a run for traffic of the same kind that asks for other rows."""


class Restartable(Warmable, Protocol):
    """A private server that can be started cold again and again.

    database: that of the tables.
    kind: `mariadb` or `mysql`.
    """

    @property
    def database(self) -> str: ...
    @property
    def kind(self) -> str: ...
    def host(self) -> ServerHost: ...
    def start_cold(self) -> None: ...
    def rehearse(self, seed: int) -> None:
        """Ask what a run with this seed asks."""
        ...


class ColdStart:
    """Warms a server that was started cold, in one of several ways.

    Args:
        server: has just been started cold.
        seed: of the run to come.
    """

    def __init__(self, server: Restartable, seed: int) -> None:
        self._server, self._seed = server, seed
        self._seconds = 0.0

    def warm(self, how: str) -> Warming:
        """Warm it; what the record says of that: how long it took, what is in the pool then.

        Raises:
            ContendError: it cannot be done on this server.
        """
        if how == COLD:
            # To look into the pool would bring some of the table in.
            return {"how": how, "seconds": 0.0}
        with self._server.journal() as journal:
            self._journal = journal
            _WAYS[how](self)
            pool = held(
                self._server.connection(),
                survey(self._server.connection(), self._server.database),
                journal,
                self._server.host(),
                database=self._server.database,
            )
            put_back(journal, self._server)
        parts = [part for part in pool.parts if part.table != OTHERS and part.pages]
        whole = sum(part.pages or 0 for part in parts)
        return {
            "how": how,
            "seconds": self._seconds,
            "resident_share": sum(part.resident for part in parts) / whole if whole else None,
            "parts": [
                {
                    "table": part.table,
                    "index": part.index,
                    "resident_pages": part.resident,
                    "pages": part.pages,
                }
                for part in parts
            ],
        }

    def timed(self, action: Callable[[], object]) -> None:
        began = time.monotonic()
        action()
        self._seconds += time.monotonic() - began

    # --- the ways ---

    def rehearsal(self) -> None:
        self.timed(lambda: self._server.rehearse(self._seed))

    def queries(self) -> None:
        connection = self._server.connection()
        self.timed(lambda: count_keyed_columns(connection, self._server.database))

    def queries_and_rehearsal(self) -> None:
        self.queries()
        self.rehearsal()

    def scan(self) -> None:
        self.timed(lambda: load(self._server, self._journal, self._plan(), self._server.kind))

    def list_of_contend(self) -> None:
        connection, kind = self._server.connection(), self._server.kind

        def load_all() -> None:
            plan = self._plan()
            by_list = list_of_plan(connection, plan, kind, self._server.host())
            load(self._server, self._journal, plan, kind, by_list=by_list)

        self.timed(load_all)

    def _plan(self) -> WarmPlan:
        return make_plan(survey(self._server.connection(), self._server.database))

    def list_of(self, percent: int) -> None:
        """What the server itself writes, with this innodb_buffer_pool_dump_pct, when it has
        answered the same queries."""
        self._server.rehearse(self._seed)
        self._load(self._taken(percent))

    def list_of_primary(self) -> None:
        """What a server held that was asked for other rows by the same kind of traffic, by the
        names of its tables."""
        self._server.rehearse(self._seed + _OTHER_SEED)
        host = self._server.host()
        pages = self._taken()
        catalogue = read_catalogue(self._server.connection(), self._server.kind)
        names = names_of(pages, catalogue, host)
        self._load(translate(pages, names, catalogue, host).pages)

    def _taken(self, percent: int = 100) -> page_list.Pages:
        connection, host = self._server.connection(), self._server.host()
        pages = taken(connection, self._journal, host, percent=percent)
        self._server.start_cold()
        # What the journal says of variables went with the process.
        self._journal.forget()
        return pages

    def _load(self, pages: page_list.Pages) -> None:
        host = self._server.host()
        connection = self._server.connection()
        self.timed(lambda: server_list.load(connection, host, self._journal, pages))


_WAYS: dict[str, Callable[[ColdStart], None]] = {
    "repeated": ColdStart.rehearsal,
    "queries": ColdStart.queries,
    "queries-repeated": ColdStart.queries_and_rehearsal,
    "scan": ColdStart.scan,
    "list": ColdStart.list_of_contend,
    "list-25": lambda start: start.list_of(25),
    "list-100": lambda start: start.list_of(100),
    "primary": ColdStart.list_of_primary,
}
