"""The local pages, asked without a process or a socket."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

import needs

TOKEN, PORT = "a-token", 4711
HOST = f"127.0.0.1:{PORT}"


class Answer(NamedTuple):
    status: int
    text: str
    headers: dict[str, str]


def ask(
    folder: Path,
    path: str,
    *,
    token: str | None = TOKEN,
    host: str = HOST,
    method: str = "GET",
) -> Answer:
    """Ask for exactly this path, with a cookie of this token."""
    needs.module("starlette")
    needs.module("uvicorn")
    from contend.runs.pages import application

    address, _, query = path.partition("?")
    headers = [(b"host", host.encode())]
    if token is not None:
        headers.append((b"cookie", f"contend_token_{PORT}={token}".encode("latin-1")))
    scope: MutableMapping[str, Any] = {
        "type": "http",
        "method": method,
        "path": address,
        "raw_path": address.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
    }
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(application(folder, TOKEN, PORT)(scope, receive, send))
    body = b"".join(one.get("body", b"") for one in sent).decode()
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], body, found)
