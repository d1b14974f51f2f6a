"""Which server a run uses: the one named, else one on PATH, else the newest that was got."""

from __future__ import annotations

from pathlib import Path

from contend.servers import path as path_provider
from contend.servers.binary import KINDS, ServerBinary
from contend.servers.cache import default_cache, find_by_name, list_got
from contend.servers.debian import parse_wanted
from contend.servers.errors import NoServer, UnknownServer
from contend.servers.names import nearest_hint


def find_server(kind: str, *, wanted: str | None = None, cache: Path | None = None) -> ServerBinary:
    """A server of a kind that is at hand; nothing is downloaded.

    Args:
        kind: `mariadb` or `mysql`.
        wanted: which one: a path to a program or its folder, `mariadb@trixie` as for
            `contend server get`, or a name as `contend server list` shows it.
        cache: contend's cache folder; None is the user's.

    Raises:
        NoServer: there is none; its hint says what to type to get one.
    """
    if kind not in KINDS:
        raise UnknownServer(f"unknown server kind {kind!r}.", hint=nearest_hint(kind, KINDS))
    cache = default_cache() if cache is None else cache
    if wanted is not None:
        binary = _wanted(wanted, cache)
        if binary.kind != kind:
            raise NoServer(
                f"{wanted} is a {binary.kind} server, but {kind} is asked for.",
                hint=f"Set `server.kind` to {binary.kind}, or name another server.",
            )
        return binary
    found = path_provider.on_path(kind)
    if found is not None:
        return found
    got = [each.binary for each in list_got(cache) if each.binary.kind == kind]
    if got:
        return max(got, key=lambda binary: (not binary.extras, binary.version_number))
    suite = "@sid" if kind == "mysql" else ""
    raise NoServer(
        f"there is no {kind} server on this machine that contend could run.",
        hint=f"`contend server get {kind}{suite}` gets one, without root.",
    )


def _wanted(wanted: str, cache: Path) -> ServerBinary:
    if "/" in wanted or wanted in (".", ".."):
        return path_provider.named(Path(wanted).expanduser())
    if "@" not in wanted and wanted not in KINDS:
        return find_by_name(cache, wanted).binary
    asked = parse_wanted(wanted)
    got = [
        each.binary
        for each in list_got(cache)
        if (each.binary.kind, each.binary.extras) == (asked.kind, asked.extras)
        and asked.suite in (None, each.binary.suite)
    ]
    if not got:
        raise NoServer(
            f"{wanted} is not on this machine yet.",
            hint=f"`contend server get {wanted}` gets it, without root.",
        )
    return max(got, key=lambda binary: binary.version_number)
