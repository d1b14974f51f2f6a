"""A server that does what no server should, and keeps what it was told.

`HostileServer("endless-rows")` listens on a free port of loopback; ANSWERS names what it can do.
Each
connection has a thread of its own, and all that arrives is in `received`.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

NONCE = b"abcdefghijklmnopqrst"
OK = b"\0\0\0\x02\0\0\0"
OK_AND_MORE = b"\0\0\0\x0a\0\0\0"
EOF = b"\xfe\0\0\x02\0"
# Neither TLS nor compression, and rows end as they did before CLIENT_DEPRECATE_EOF.
_CAPABILITIES = 0x81FFF7DF & ~0x0800 & ~0x20 & ~0x0100_0000
_KEY = rsa.generate_private_key(65537, 2048)
PUBLIC_KEY = _KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


class Gone(Exception):
    """The client went away, or the server is closed."""


class Talk:
    """One connection: packets out and in."""

    def __init__(self, server: HostileServer, link: socket.socket) -> None:
        self.server = server
        self.link = link
        self.sequence = 0
        self._heard = b""

    def raw(self, data: bytes) -> None:
        try:
            self.link.sendall(data)
        except OSError as error:
            raise Gone from error

    def framed(self, *packets: bytes) -> bytes:
        out = b""
        for packet in packets:
            out += struct.pack("<I", len(packet))[:3] + bytes([self.sequence]) + packet
            self.sequence = (self.sequence + 1) % 256
        return out

    def say(self, *packets: bytes) -> None:
        self.raw(self.framed(*packets))

    def say_for_ever(self, packet: bytes) -> None:
        """As fast as it can be taken: framing each anew would be the slowest part."""
        frames = self.framed(*[packet] * 256 * 16)
        while True:
            self.raw(frames)

    def hear(self) -> bytes:
        """The next packet."""
        head = self._take(4)
        self.sequence = (head[3] + 1) % 256
        return self._take(int.from_bytes(head[:3], "little"))

    def _take(self, count: int) -> bytes:
        while len(self._heard) < count:
            try:
                part = self.link.recv(65536)
            except OSError as error:
                raise Gone from error
            if not part:
                raise Gone
            self.server.received += part
            self._heard += part
        taken, self._heard = self._heard[:count], self._heard[count:]
        return taken

    def stand_still(self) -> None:
        """Say nothing until the client goes."""
        while True:
            self._take(len(self._heard) + 1)

    def greet(self, plugin: bytes = b"mysql_native_password", version: bytes = b"8.0.99") -> None:
        low, high = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
        self.say(
            b"\x0a" + version + b"\0" + struct.pack("<I", 7) + NONCE[:8] + b"\0"
            + struct.pack("<HBHHB", low, 45, 2, high, 21) + bytes(10) + NONCE[8:] + b"\0"
            + plugin + b"\0"
        )  # fmt: skip

    def enter(self, version: bytes = b"8.0.99") -> None:
        self.greet(version=version)
        self.hear()
        self.say(OK)

    def command(self) -> bytes:
        """The next statement that is not of those with which a session begins, which are answered
        as a server answers them."""
        while True:
            statement = self.hear()
            if statement[:1] == b"\x01":
                raise Gone
            if not statement[1:].upper().startswith((b"SET NAMES", b"SET AUTOCOMMIT")):
                return statement
            self.say(OK)


def error(code: int, text: bytes, state: bytes = b"HY000") -> bytes:
    return b"\xff" + struct.pack("<H", code) + b"#" + state + text


def text(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def column(name: bytes = b"c", charset: int = 45) -> bytes:
    names = text(b"def") + text(b"") * 3 + text(name) + text(name)
    return names + b"\x0c" + struct.pack("<HIBHBxx", charset, 255, 0xFD, 0, 0)


Answer = Callable[[Talk], None]
ANSWERS: dict[str, Answer] = {}
"""What a server can do, by name."""


def answer(name: str) -> Callable[[Answer], Answer]:
    def keep(does: Answer) -> Answer:
        ANSWERS[name] = does
        return does

    return keep


# --- before the login ---


@answer("silent")
def _silent(talk: Talk) -> None:
    talk.stand_still()


@answer("drip")
def _drip(talk: Talk) -> None:
    for byte in b"\x4a\0\0\0\x0a8.0.99" + bytes(70):
        talk.raw(bytes([byte]))
        time.sleep(1)


@answer("huge-greeting")
def _huge_greeting(talk: Talk) -> None:
    talk.raw(b"\xff\xff\xfe\0\x0a" + b"8" * 0xFEFFFE)


@answer("endless-greeting")
def _endless_greeting(talk: Talk) -> None:
    sequence = 0
    while True:
        talk.raw(b"\xff\xff\xff" + bytes([sequence % 256]) + b"8" * 0xFFFFFF)
        sequence += 1


@answer("long-packet-without-end")
def _long_packet(talk: Talk) -> None:
    talk.raw(b"\xff\xff\xff\0\x0a8.0")
    talk.stand_still()


@answer("wrong-protocol")
def _wrong_protocol(talk: Talk) -> None:
    talk.say(b"\x09" + b"3.20\0" + bytes(40))
    talk.stand_still()


@answer("rubbish")
def _rubbish(talk: Talk) -> None:
    talk.raw(bytes((n * 37 + 11) % 256 for n in range(4000)))
    talk.stand_still()


@answer("not-a-server")
def _not_a_server(talk: Talk) -> None:
    talk.raw(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    talk.stand_still()


@answer("too-many-connections")
def _too_many(talk: Talk) -> None:
    talk.raw(struct.pack("<I", 23)[:3] + b"\0\xff\x10\x04Too many connections")


@answer("blocked-host")
def _blocked(talk: Talk) -> None:
    talk.say(error(1129, b"Host is blocked"))


@answer("closes-in-greeting")
def _closes(talk: Talk) -> None:
    talk.raw(b"\x4a\0\0\0\x0a8.0")


# --- in the login ---


@answer("clear")
def _clear(talk: Talk) -> None:
    talk.greet()
    talk.hear()
    talk.say(b"\xfemysql_clear_password\0")
    talk.hear()
    talk.say(OK)
    _frozen_now(talk)


@answer("clear-in-greeting")
def _clear_in_greeting(talk: Talk) -> None:
    talk.greet(b"mysql_clear_password")
    talk.hear()
    talk.say(b"\xfemysql_clear_password\0")
    talk.stand_still()


@answer("dialog")
def _dialog(talk: Talk) -> None:
    talk.greet()
    talk.hear()
    talk.say(b"\xfedialog\0\x04Password: ")
    talk.stand_still()


@answer("rsa")
def _rsa(talk: Talk) -> None:
    talk.greet(b"caching_sha2_password")
    talk.hear()
    talk.say(b"\x01\x04")
    talk.hear()
    talk.say(b"\x01" + PUBLIC_KEY)
    talk.server.read_secret(talk.hear())
    talk.say(OK)
    _frozen_now(talk)


@answer("rsa-sha256")
def _rsa_sha256(talk: Talk) -> None:
    talk.greet(b"sha256_password")
    talk.hear()
    talk.say(b"\x01" + PUBLIC_KEY)
    talk.server.read_secret(talk.hear())
    talk.stand_still()


@answer("old-password")
def _old_password(talk: Talk) -> None:
    talk.greet()
    talk.hear()
    talk.say(b"\xfe")
    talk.stand_still()


@answer("unknown-plugin")
def _unknown_plugin(talk: Talk) -> None:
    talk.greet()
    talk.hear()
    talk.say(b"\xfe\x1b[31mwhat_is_this\0" + NONCE)
    talk.stand_still()


@answer("endless-login")
def _endless_login(talk: Talk) -> None:
    talk.greet(b"caching_sha2_password")
    talk.hear()
    while True:
        talk.say(b"\x01\x03")


@answer("endless-switches")
def _endless_switches(talk: Talk) -> None:
    talk.greet()
    while True:
        talk.hear()
        talk.say(b"\xfemysql_native_password\0" + NONCE + b"\0")


@answer("expired-login")
def _expired_login(talk: Talk) -> None:
    talk.greet()
    talk.hear()
    talk.say(error(1862, b"Your password has expired"))


@answer("escapes-in-refusal")
def _escapes(talk: Talk) -> None:
    talk.greet(version=b"8.0\x1b]0;owned\x07\x1b[2J")
    talk.hear()
    talk.say(error(1045, b"\x1b[31mAccess\x1b]0;owned\x07 \xff\xfe denied"))


# --- after the login ---


def _every(reply: Callable[[Talk], None]) -> Answer:
    def does(talk: Talk) -> None:
        talk.enter()
        while True:
            talk.command()
            reply(talk)

    return does


def _result(talk: Talk, *rows: bytes, columns: int = 1, name: bytes = b"c") -> None:
    talk.say(bytes([columns]), *([column(name)] * columns), EOF, *rows, EOF)


for _code, _words in {
    1040: b"Too many connections",
    1064: b"You have an error in your SQL syntax \xff\xfe",
    1142: b"SELECT command denied to user",
    1203: b"User has already more than max_user_connections active connections",
    1226: b"User has exceeded the max_queries_per_hour resource",
    1227: b"Access denied; you need the SUPER privilege",
    1820: b"You must SET PASSWORD before executing this statement",
}.items():
    ANSWERS[f"error-{_code}"] = _every(
        lambda talk, code=_code, words=_words: talk.say(error(code, words))  # type: ignore[misc]
    )

ANSWERS["nulls"] = _every(lambda talk: _result(talk, b"\xfb\xfb", columns=2))
ANSWERS["null"] = _every(lambda talk: _result(talk, b"\xfb"))
ANSWERS["no-rows"] = _every(_result)
ANSWERS["three-columns"] = _every(
    lambda talk: _result(talk, *[text(b"a") + text(b"b") + text(b"c")] * 3, columns=3)
)
ANSWERS["too-few-values"] = _every(lambda talk: _result(talk, text(b"x"), columns=2))
ANSWERS["not-utf-8"] = _every(
    lambda talk: _result(talk, text(b"\xff\xfe\x80") * 2, columns=2, name=b"\xff\xfe")
)
ANSWERS["escapes"] = _every(
    lambda talk: _result(talk, text(b"8.0\x1b[31m") + text(b"\x1b]0;owned\x07"), columns=2)
)
ANSWERS["local-infile"] = _every(lambda talk: talk.say(b"\xfb/etc/passwd"))
ANSWERS["only-ok"] = _every(lambda talk: talk.say(OK))
ANSWERS["rubbish-answer"] = _every(lambda talk: talk.say(b"\xfc\xff"))
ANSWERS["empty-packet"] = _every(lambda talk: talk.say(b""))
ANSWERS["many-columns"] = _every(lambda talk: talk.say(b"\xfe" + b"\xff" * 8))


@answer("endless-columns")
def _endless_columns(talk: Talk) -> None:
    talk.enter()
    talk.command()
    talk.say(b"\xfe" + struct.pack("<Q", 2**40))
    talk.say_for_ever(column())


@answer("endless-rows")
def _endless_rows(talk: Talk) -> None:
    talk.enter()
    talk.command()
    talk.say(b"\x01", column(), EOF)
    talk.say_for_ever(text(b"ab"))


@answer("endless-row")
def _endless_row(talk: Talk) -> None:
    talk.enter()
    talk.command()
    talk.say(b"\x01", column(), EOF)
    while True:
        talk.raw(b"\xff\xff\xff" + bytes([talk.sequence]) + b"\xfe" * 0xFFFFFF)
        talk.sequence = (talk.sequence + 1) % 256


@answer("endless-results")
def _endless_results(talk: Talk) -> None:
    talk.enter()
    talk.command()
    talk.say_for_ever(OK_AND_MORE)


@answer("endless-where-asked")
def _endless_where_asked(talk: Talk) -> None:
    talk.enter()
    while b"endless" not in talk.command():
        talk.say(OK)
    talk.say(b"\x01", column(), EOF)
    talk.say_for_ever(text(b"ab"))


@answer("closes-in-answer")
def _closes_in_answer(talk: Talk) -> None:
    talk.enter()
    talk.command()
    talk.raw(b"\x20\0\0\x01\x01")


@answer("drips-rows")
def _drips_rows(talk: Talk) -> None:
    talk.enter()
    talk.command()
    talk.say(b"\x01", column(), EOF)
    while True:
        talk.say(text(b"x"))
        time.sleep(1)


@answer("frozen")
def _frozen(talk: Talk) -> None:
    talk.enter()
    _frozen_now(talk)


def _frozen_now(talk: Talk) -> None:
    talk.command()
    talk.stand_still()


class HostileServer:
    """Listens until it is left."""

    def __init__(self, name: str) -> None:
        self._does = ANSWERS[name]
        self.received = bytearray()
        self.secrets: list[bytes] = []
        """What clients sent under the server's own key, as it reads it."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        self._links: list[socket.socket] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for link in self._links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def read_secret(self, sealed: bytes) -> None:
        sha1 = hashes.SHA1()  # What the protocol uses.
        with contextlib.suppress(ValueError):
            mixed = _KEY.decrypt(sealed, padding.OAEP(padding.MGF1(sha1), sha1, None))
            self.secrets.append(bytes(a ^ NONCE[n % 20] for n, a in enumerate(mixed)))

    def _listen(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            self._links.append(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        with link, contextlib.suppress(Gone, OSError):
            self._does(Talk(self, link))
