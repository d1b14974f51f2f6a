"""What can go wrong with servers, as errors that a user can act on."""

from __future__ import annotations

from pymysql.err import MySQLError

from contend.errors import RequestError, WorkError


class NoServer(RequestError):
    """There is no server of the wanted kind on this machine."""


class UnknownServer(RequestError):
    """A server name that is not understood, or that nothing on this machine goes by."""


class UnusableServer(RequestError):
    """A program was found that cannot run here: missing, not executable, wrong architecture."""


class FolderInUse(RequestError):
    """A data folder that is not ours, or that a live server uses."""


class OptionRejected(RequestError):
    """The server does not know an option, or refuses its value."""


class ReadOnly(OptionRejected):
    """The server has the variable, and does not change it while it runs."""


class DsnError(RequestError):
    """A DSN that is not understood."""


class TableNotOurs(RequestError):
    """A table of that name exists on a server that is not ours, and contend did not make it."""


class TablesReplaced(WorkError):
    """Somebody has put other tables in place of those that a run asks, or taken them away."""


class ConnectionRefused(WorkError):
    """The server does not answer, or refuses the login."""


class ConnectionLost(WorkError):
    """The server did not answer a statement in time, or broke off the connection. Other than a
    refusal this is no `MySQLError`: what handles those goes on, and here there is nobody any more.
    """

    code = 2013
    """As a client of the server's calls it."""

    def __init__(self, message: str, statement: str) -> None:
        super().__init__(
            message, hint="Its error log and its process list may say why.", detail=statement
        )


class BrokenProtocol(ConnectionLost):
    """What answers is no server, or it says what a server never should."""

    code = 2027

    def __init__(self, message: str, statement: str) -> None:
        super().__init__(message, statement)
        self.hint = "Check that it is a server of MariaDB or MySQL."


class StatementRefused(WorkError, MySQLError):
    """The server answered a statement with an error.

    It is PyMySQL's error too, with the code first and the text last in `args`: whoever handles what
    a server refuses catches that.
    """

    def __init__(self, server: str, code: int, said: str, statement: str) -> None:
        super().__init__(
            f"{server} refused a statement: {said.rstrip('.')} (error {code}).",
            hint=WHAT_HELPS.get(code),
            detail=statement,
        )
        self.code = code
        self.args = (code, said)

    def __str__(self) -> str:
        return self.message


_GRANT = "Give the user the privilege, or log in as one that has it."
_LATER = "Wait until connections end, or raise the limit."
WHAT_HELPS = {
    1040: _LATER,
    1203: _LATER,
    1226: "Raise the limit of the account, or use another one.",
    1862: "The password has expired: log in with another client and set a new one.",
    1820: "The password has expired: log in with another client and set a new one.",
    1044: _GRANT,
    1142: _GRANT,
    1143: _GRANT,
    1227: _GRANT,
    1370: _GRANT,
}
"""Refusals that any statement can meet."""


class Silent(ConnectionRefused):
    """Nobody answers there."""


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
    """Somebody took the TCP port between our choice and the server's start."""


class DiskFull(ServerFailed):
    """A server could not write its files."""
