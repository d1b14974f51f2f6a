"""From a server that gave up to an error in words: what it rejected, why, its end."""

from __future__ import annotations

import signal

from contend.errors import ContendError
from contend.servers.binary import ServerBinary
from contend.servers.error_log import Cause, cause, rejected_option, tail
from contend.servers.errors import DiskFull, FolderInUse, OptionRejected, PortTaken, ServerFailed

_CLASSES: dict[Cause, type[ContendError]] = {
    Cause.DISK_FULL: DiskFull,
    Cause.PORT_IN_USE: PortTaken,
    Cause.DATA_IN_USE: FolderInUse,
}
_HINTS = {
    Cause.DISK_FULL: "Make room, or put the run on another disk with `--out`.",
    Cause.DATA_IN_USE: "Use a folder of its own for each server.",
    Cause.NO_MEMORY: "Ask for smaller caches, or free some memory.",
    Cause.NO_PERMISSION: "Check who owns the folder.",
}


def start_failure(binary: ServerBinary, code: int, log: str, what: str) -> ContendError:
    """The error for a server that ended before it was of use.

    Args:
        binary: what was run.
        code: how it ended, as `subprocess` tells.
        log: what it wrote.
        what: `start` or `make its data folder`.
    """
    name = f"{binary.kind} {binary.version}"
    why = cause(log)
    rejected = rejected_option(log)
    if rejected is not None and why is not Cause.DISK_FULL:
        return OptionRejected(
            f"{name} rejects the option {rejected.option}: {rejected.why}.",
            hint="Correct it under [server] options, or leave it out.",
            detail=tail(log),
        )
    if why is not None:
        return _CLASSES.get(why, ServerFailed)(
            f"{name} did not {what}: {why.value}.", hint=_HINTS.get(why), detail=tail(log)
        )
    return ServerFailed(
        f"{name} did not {what} ({describe_exit(code)}).",
        hint="The last lines of its error log tell why.",
        detail=tail(log) or "(it wrote nothing)",
    )


def disk_full(binary: ServerBinary, log: str) -> DiskFull:
    """The error for a server that waits for room on a full disk."""
    return DiskFull(
        f"{binary.kind} {binary.version} cannot write: {Cause.DISK_FULL.value}.",
        hint=_HINTS[Cause.DISK_FULL],
        detail=tail(log),
    )


def describe_exit(code: int) -> str:
    """`exit code 1`, or `killed by SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
