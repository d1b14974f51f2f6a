"""Where a private server listens: a socket in a short folder, perhaps a loopback port."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from contend.servers.errors import UnusableServer

SOCKET_NAME = "s"
_PATH_BYTES_MAX = 107


def new_socket_folder() -> Path:
    """A new 0700 folder whose path leaves room for a socket's name.

    A socket's address holds 108 bytes with the closing zero, and data folders may lie deep. So
    the socket lives under the user's runtime folder, else under the temporary one.
    """
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [named] if named else []
    candidates += [tempfile.gettempdir(), "/tmp"]
    for base in candidates:
        if not (Path(base).is_absolute() and os.access(base, os.W_OK | os.X_OK)):
            continue
        # The name mkdtemp adds has 8 letters.
        longest = Path(base) / "contend-12345678" / SOCKET_NAME
        if len(os.fsencode(longest)) > _PATH_BYTES_MAX:
            continue
        return Path(tempfile.mkdtemp(prefix="contend-", dir=base))
    raise UnusableServer(
        f"no folder for the server's socket: "
        f"none of {', '.join(candidates)} is writable and short.",
        hint="Set TMPDIR to a folder whose path is short.",
    )


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
