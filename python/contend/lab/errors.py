"""What can go wrong in the lab."""

from __future__ import annotations

from contend.errors import RequestError, WorkError


class Interrupted(WorkError):
    """The lab was told to stop. What ended is stored."""


class TooManyFailures(WorkError):
    """One run after another failed, so the rest would too."""


class ChangedExperiment(RequestError):
    """The experiment to continue is not the one that the run folder was made for."""


class OtherServer(RequestError):
    """The server to continue with is not the one that the run folder was made with."""


class OtherTables(RequestError):
    """The tables to continue with are not those that the run folder was made with."""


class OtherEngine(RequestError):
    """The engine that the run folder was made with cannot be had."""


class NeedsRestart(RequestError):
    """An option of a server that is not ours could only be changed by restarting it."""
