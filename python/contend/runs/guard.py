"""Access rules: a request needs the token, comes to a page on this host, and can only read.

Every user of the host can send requests to a page on loopback, and so can every web site open in
the user's browser. So a request needs the token (given once in the address, then a cookie). Its
Host header must be loopback's own: a name that a foreign site points at 127.0.0.1 is refused before
anything is read. A refused request learns only that it was refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


def guarded(app: App, token: str, port: int) -> App:
    """The application behind its guard, listening at `port` of loopback."""
    hosts = [[f"{name}:{port}"] for name in ("127.0.0.1", "localhost")]
    # Cookies know no ports: two pages on one host have two names.
    cookie = f"contend_token_{port}"

    def is_token(text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), token.encode())

    async def guard(scope: Message, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            return
        request = Request(scope)
        answer: App = PlainTextResponse("forbidden\n", 403)
        if request.headers.getlist("host") not in hosts:
            pass
        elif request.method not in ("GET", "HEAD"):
            answer = PlainTextResponse("this page is read only\n", 405)
        elif is_token(request.query_params.get("token", "")):
            # The token goes from the address, which is kept and shown, into a cookie.
            keep = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            answer = Response(
                status_code=303, headers={"set-cookie": keep, "location": _without_token(request)}
            )
        elif is_token(request.cookies.get(cookie, "")):
            answer = app
        await answer(scope, receive, sending)

    return guard


def _without_token(request: Request) -> str:
    query = request.query_params.multi_items()
    rest = urlencode([(name, value) for name, value in query if name != "token"])
    # Two slashes at the beginning would lead to another host.
    path = "/" + request.scope["raw_path"].decode("latin-1").lstrip("/\\")
    return f"{path}?{rest}" if rest else path
