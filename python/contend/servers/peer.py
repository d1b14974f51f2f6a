"""Which process listens behind a Unix socket, by asking the kernel."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")


def socket_peer(path: Path) -> int | None:
    """The process that listens at the socket; None where nobody does, or it is on no host of ours.

    Connects for a moment without a login.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(path))
            said = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return None
    pid, _user, _group = _CREDENTIALS.unpack(said)
    return pid or None
