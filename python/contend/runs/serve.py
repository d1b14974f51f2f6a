"""Listening: on loopback, at a port that is free, until it is stopped."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from contend.errors import RequestError
from contend.runs.pages import application

LOOPBACK = "127.0.0.1"


def listening(port: int) -> socket.socket:
    """A socket of loopback; port 0 is any free one.

    Raises:
        RequestError: the port is in use, or not to be had.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen(64)
    except (OSError, OverflowError) as error:
        found.close()
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is in use" if in_use else f"cannot be had: {str(error).rstrip('.')}"
        raise RequestError(
            f"port {port} of {LOOPBACK} {why}.",
            hint="Give another with --port, or leave it out: any free one is taken then.",
        ) from None
    return found


def serve(folder: Path, port: int, say: Callable[[str], object]) -> None:
    """Serve until interrupted; the address, with its token, is said when it can be asked.

    Raises:
        RequestError: the folder is none, or the port is in use.
    """
    if not folder.is_dir():
        raise RequestError(
            f"{folder} is not a folder.",
            hint="Name the folder that your run folders lie in, such as contend-runs.",
        )
    with listening(port) as sock:
        port = int(sock.getsockname()[1])
        token = secrets.token_urlsafe(24)
        say(f"http://{LOOPBACK}:{port}/?token={token}")
        config = uvicorn.Config(
            application(folder.resolve(), token, port),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
        )
        uvicorn.Server(config).run(sockets=[sock])
