"""What can go wrong with servers, as errors that a user can act on."""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class NoServer(RequestError):
    """There is no server of the wanted kind on this machine."""


class UnknownServer(RequestError):
    """A server name that is not understood, or that nothing on this machine goes by."""


class UnusableServer(RequestError):
    """A program was found that cannot run here: missing, not executable, wrong architecture."""


class WrongKind(RequestError):
    """The server that was named is of another kind than the experiment needs."""


class FolderInUse(RequestError):
    """A data folder that is not ours, or that a live server uses."""


class OptionRejected(RequestError):
    """The server does not know an option, or refuses its value."""


class DsnError(RequestError):
    """A DSN that is not understood."""


class TableNotOurs(RequestError):
    """A table of that name exists on a server that is not ours, and contend did not make it."""


class ConnectionRefused(WorkError):
    """The server does not answer, or refuses the login."""


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
