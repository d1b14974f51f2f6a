"""Which server a run uses: the one named, else one on PATH, else one that was got.

Of several that were got, that of the machine's own suite goes first, since it is what
`contend server get` gets and what the machine would install; a newer one got for a comparison
does not change what the next run measures. Then the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contend.servers import path as path_provider
from contend.servers.binary import KINDS, ServerBinary
from contend.servers.cache import default_cache, find_by_name, list_got
from contend.servers.debian import own_suite, parse_wanted, read_sources
from contend.servers.errors import GetFailed, NoServer, UnknownServer, WrongKind
from contend.servers.names import nearest_hint


def find_server(
    kind: str | None,
    *,
    wanted: str | None = None,
    cache: Path | None = None,
    root: Path = Path("/"),
) -> ServerBinary:
    """A server that is at hand; nothing is downloaded.

    Args:
        kind: `mariadb` or `mysql`; None for whichever the one that is wanted is.
        wanted: which one: a path to a program or its folder, `mariadb@trixie` as for
            `contend server get`, or a name as `contend server list` shows it.
        cache: contend's cache folder; None is the user's.
        root: where the machine's own suite is read from.

    Raises:
        NoServer: there is none; its hint says what to type to get one.
        WrongKind: the one that is wanted is there, and is of the other kind.
    """
    if kind is not None and kind not in KINDS:
        raise UnknownServer(f"unknown server kind {kind!r}.", hint=nearest_hint(kind, KINDS))
    cache = default_cache() if cache is None else cache
    if wanted is not None:
        binary = _wanted(wanted, cache, root)
        if kind is not None and binary.kind != kind:
            raise WrongKind(
                f"{wanted} is a {binary.kind} server, but {kind} is asked for.",
                hint=f"Set `server.kind` to {binary.kind}, or name another server.",
            )
        return binary
    assert kind is not None, "of no kind and no name"
    found = path_provider.on_path(kind)
    if found is not None:
        return found
    got = [each.binary for each in list_got(cache) if each.binary.kind == kind]
    if got:
        return _first_choice(got, root)
    suite = "@sid" if kind == "mysql" else ""
    raise NoServer(
        f"there is no {kind} server on this machine that contend could run.",
        hint=f"`contend server get {kind}{suite}` gets one, without root.",
    )


def servers_at_hand(cache: Path | None = None) -> list[ServerBinary]:
    """What is installed on this machine, then what was got."""
    installed = [found for kind in KINDS if (found := path_provider.on_path(kind)) is not None]
    cache = default_cache() if cache is None else cache
    return [*installed, *(each.binary for each in list_got(cache))]


def _wanted(wanted: str, cache: Path, root: Path) -> ServerBinary:
    if "/" in wanted or wanted in (".", ".."):
        return path_provider.named(Path(wanted).expanduser())
    if "@" not in wanted and wanted not in KINDS:
        return _installed(wanted) or _got(wanted, cache)
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
    return _first_choice(got, root)


def _got(name: str, cache: Path) -> ServerBinary:
    try:
        return find_by_name(cache, name).binary
    except UnknownServer as error:
        raise UnknownServer(
            error.message,
            hint=f"{error.hint} One that runs already is named by a DSN, such as "
            "mysql://user@host/database.",
        ) from None


def _installed(name: str) -> ServerBinary | None:
    """The server of this machine that goes by a name such as `mariadb-path-10.11.19`."""
    kind = name.partition("-path-")[0]
    found = path_provider.on_path(kind) if kind != name and kind in KINDS else None
    return found if found is not None and found.name == name else None


def _first_choice(got: Sequence[ServerBinary], root: Path) -> ServerBinary:
    suite = _own_suite(root)
    return max(got, key=lambda one: (not one.extras, one.suite == suite, one.version_number))


def _own_suite(root: Path) -> str | None:
    try:
        return own_suite(read_sources(root), root)
    except GetFailed:
        return None  # Not a machine that the debian provider can ask.
