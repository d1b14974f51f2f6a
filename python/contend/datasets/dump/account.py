"""The account that a dump is loaded by: it has all rights on the dump's database and no other.

What the dump defines is the account's, so triggers, events, views and routines have its rights and
no more when a run fires or calls them: the account stays in the data folder. That holds as long as
the server checks rights; see `PrivateServer.confined`.
"""

from __future__ import annotations

import re

from contend.datasets.dump import DumpRefused
from contend.servers import PrivateServer
from contend.servers.client import SYSTEM_DATABASES, fetch, qualified, quoted

ACCOUNT = "contend_import"

_WHO = f"'{ACCOUNT}'@'localhost'"

_ALTERED = ("PROCEDURE", "FUNCTION")
"""Of these the server changes whose rights they have."""


class Account:
    """The account, made anew and without a right.

    Args:
        server: asked as root, and no text of a dump is sent so.
    """

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        self._query(f"DROP USER IF EXISTS {_WHO}")
        self._query(f"CREATE USER {_WHO}")

    def own(self, database: str) -> None:
        """Give it all rights on a database, which there may be or not.

        Raises:
            DumpRefused: it is a database of the server's own.
        """
        if database.lower() in SYSTEM_DATABASES:
            raise DumpRefused(
                f"the database {database} is the server's own, and no dump is loaded into it",
                hint="`--database NAME` takes another one of the dump; `--name NAME` names that of "
                "a dump which says none.",
            )
        # A grant takes the name for a pattern.
        pattern = re.sub(r"[\\_%]", r"\\\g<0>", database)
        self._query(f"GRANT ALL PRIVILEGES ON {quoted(pattern)}.* TO {_WHO}")

    def keep_rights(self, database: str) -> None:
        """Have all routines run with the account's rights, whoever calls them.

        Raises:
            DumpRefused: one cannot be changed.
        """
        for kind, name in self._of_callers(database):
            if kind in _ALTERED:
                self._query(f"ALTER {kind} {qualified(database, name)} SQL SECURITY DEFINER")
        for kind, name in self._of_callers(database):
            raise DumpRefused(
                f"the {kind.lower()} {name} would have the rights of whoever calls it",
                hint="Take SQL SECURITY INVOKER out of its definition.",
            )

    def _of_callers(self, database: str) -> list[tuple[str, str]]:
        with self._server.connect() as root:
            found = fetch(
                root,
                "SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES"
                " WHERE ROUTINE_SCHEMA = %s AND SECURITY_TYPE = 'INVOKER'",
                (database,),
            )
        return [(str(kind), str(name)) for kind, name in found]

    def _query(self, text: str) -> None:
        # Connected anew, since a load may take longer than a server keeps one who says nothing.
        with self._server.connect() as root:
            root.query(text)
