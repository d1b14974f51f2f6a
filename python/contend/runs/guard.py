"""Who may ask: whoever has the token, of a page that is on this host, and only to read.

A page on loopback can be asked by every user of the host, and by every web site that the user's
browser has open. So a request needs the token (given once in the address, then a cookie), and its
Host header must be loopback's own: a name that a foreign site points at 127.0.0.1 is refused before
anything is read. What is refused learns nothing but that.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "contend_token"

CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


def guarded(app: App, token: str, port: int) -> App:
    """The application behind its guard, listening at `port` of loopback."""
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    # Cookies know no ports: two pages on one host have two names.
    cookie = f"{COOKIE}_{port}"

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "") not in hosts:
            await _answer(send, 403, "forbidden\n")
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, "this page is read only\n")
        elif _same(_given(scope), token):
            # The token goes from the address, which is kept and shown, into a cookie.
            keep = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            more = {"set-cookie": keep, "location": _without_token(scope)}
            await _answer(send, 303, "", more)
        elif _same(_cookie(headers.get(b"cookie", ""), cookie), token):
            await app(scope, receive, _with_headers(send))
        else:
            await _answer(send, 403, "forbidden\n")

    return guard


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _given(scope: Scope) -> str:
    return dict(_query(scope)).get("token", "")


def _without_token(scope: Scope) -> str:
    rest = urlencode([(name, value) for name, value in _query(scope) if name != "token"])
    path = "/" + scope["raw_path"].decode("latin-1").lstrip("/\\")
    return f"{path}?{rest}" if rest else path


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message["headers"] = [*message.get("headers", ()), *own]
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    headers = {**_HEADERS, "content-type": "text/plain; charset=utf-8", **(more or {})}
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": text.encode()})
