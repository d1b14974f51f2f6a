"""Errors of servers, in a form that a user can act on."""

from __future__ import annotations

from pymysql.err import MySQLError

from contend.errors import RequestError, WorkError


class NoServer(RequestError):
    """This machine has no server of the wanted kind."""


class UnknownServer(RequestError):
    """A server name that is malformed, or that no server on this machine has."""


class UnusableServer(RequestError):
    """A program was found that cannot run here: missing, not executable, wrong architecture."""


class FolderInUse(RequestError):
    """A data folder that contend did not make, or that a live server uses."""


class OptionRejected(RequestError):
    """The server does not know an option, or refuses its value."""


class ReadOnly(OptionRejected):
    """The server has the variable, but cannot change it while it runs."""


class DsnError(RequestError):
    """A DSN that is not understood."""


class TableNotOurs(RequestError):
    """A table of that name is on a server that is not contend's, and contend did not make it."""


class TablesReplaced(WorkError):
    """Others replaced or removed the tables of a run."""


class ConnectionRefused(WorkError):
    """The server does not answer, or refuses the login."""


class ConnectionLost(WorkError):
    """The server did not answer a statement in time, or broke off the connection. Unlike a refusal,
    this is not a `MySQLError`: code that handles those continues, which is impossible here."""

    code = 2013
    """The name that the server's clients use."""

    def __init__(self, message: str, statement: str) -> None:
        super().__init__(
            message, hint="See the server's error log and process list.", detail=statement
        )


class BrokenProtocol(ConnectionLost):
    """The peer is not a server, or sends data that a server never should."""

    code = 2027

    def __init__(self, message: str, statement: str) -> None:
        super().__init__(message, statement)
        self.hint = "Check that it is a server of MariaDB or MySQL."


class StatementRefused(WorkError, MySQLError):
    """The server answered a statement with an error.

    It is PyMySQL's error too, with the code first and the text last in `args`, for code that
    handles refusals of a server.
    """

    def __init__(self, server: str, code: int, message: str, statement: str) -> None:
        super().__init__(
            f"{server} refused a statement: {message.rstrip('.')} (error {code}).",
            hint=WHAT_HELPS.get(code),
            detail=statement,
        )
        self.code = code
        self.args = (code, message)

    def __str__(self) -> str:
        return self.message


_GRANT = "Grant the user the privilege, or log in as a user that has it."
_LATER = "Wait until connections close, or raise the limit."
WHAT_HELPS = {
    1040: _LATER,
    1203: _LATER,
    1226: "Raise the limit of the account, or use a different account.",
    1862: "Log in with a different client and set a new password: this one has expired.",
    1820: "Log in with a different client and set a new password: this one has expired.",
    1044: _GRANT,
    1142: _GRANT,
    1143: _GRANT,
    1227: _GRANT,
    1370: _GRANT,
}
"""Refusals that can occur with any statement."""


class Silent(ConnectionRefused):
    """No server answers there."""


class WrongLogin(ConnectionRefused):
    """The server answers, but refuses this user with this password."""


class ServerFailed(WorkError):
    """A private server did not start, or did not stop cleanly."""


class ServerDied(WorkError):
    """A private server ended although contend did not stop it."""


class GetFailed(WorkError):
    """A server could not be downloaded or unpacked."""


class NotVerified(GetFailed):
    """The machine's keys cannot verify the download, and --unverified was not given."""


class PortTaken(ServerFailed):
    """Another program took the TCP port between contend's choice and the server's start."""


class DiskFull(ServerFailed):
    """A server could not write its files."""
