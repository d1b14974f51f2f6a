"""The *debian* provider: a server of a named suite, without root, without a change to the system.

The machine's own apt downloads the packages from its configured mirror and verifies them with its
keys; contend unpacks them under the user's cache. See docs/decisions/0004-servers-from-debian.md
for why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from contend.errors import did_you_mean
from contend.files import default_cache
from contend.servers.apt import (
    Apt,
    OnStep,
    Source,
    architecture,
    for_suite,
    parse_sources,
    render,
    unpack,
)
from contend.servers.binary import ServerBinary
from contend.servers.errors import GetFailed, NotVerified, UnknownServer
from contend.servers.got import find_layout, keep, list_got, new_folder, prune, write_manifest
from contend.servers.kinds import KINDS, PROGRAMS, ask_version

_SERVICE = "mariadb-server"
"""The package of the system service has some plugins. contend does not run the service, so the
package is downloaded without its dependencies."""
_TOOLS = ("perl", "python3", "rocksdb-tools")
"""Packages needed only by scripts of the packages, which are never run."""
_ANY_VERSION = "99:0"
_NOT_IN_PATHS = frozenset(':;"')
KEYRING = Path("usr/share/keyrings/debian-archive-keyring.gpg")
_SUITE = re.compile(r"[a-z][a-z0-9-]*\Z")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The argument of `contend server get`: `kind[+extra][@suite]`."""

    kind: str
    extras: tuple[str, ...]
    suite: str | None


def is_kind(text: str) -> bool:
    kind, *extras = text.split("+")
    return kind in PROGRAMS and all(extra in KINDS[kind].extras for extra in extras)


def parse_wanted(text: str) -> Wanted:
    """Read `mariadb`, `mariadb@trixie` or its `mariadb@11.8`, `mariadb+rocksdb@bookworm`."""
    name, at, suite = text.partition("@")
    kind, *extras = name.split("+")
    if kind not in PROGRAMS:
        raise UnknownServer(f"unknown server kind in {text!r}.", hint=did_you_mean(kind, PROGRAMS))
    for extra in extras:
        if extra not in KINDS[kind].extras:
            raise UnknownServer(
                f"{kind} has no extra {extra!r}.",
                hint=did_you_mean(extra, KINDS[kind].extras) or "Remove it.",
            )
    known = KINDS[kind].suites
    suite = known.get(suite, suite)
    if at and suite[:1].isdigit():
        raise UnknownServer(
            f"contend knows no Debian suite with {kind} {suite}.",
            hint=f"Name one of {', '.join(known)}, or a suite, such as {name}@trixie."
            if known
            else f"Name a suite: {name}@sid.",
        )
    if at and not _SUITE.match(suite):
        raise UnknownServer(
            f"{suite!r} is not the name of a suite.",
            hint=f"Use a name such as bookworm, trixie or sid: `{name}@trixie`.",
        )
    return Wanted(kind, tuple(dict.fromkeys(extras)), suite if at else None)


def get(
    kind: str,
    suite: str | None = None,
    cache: Path | None = None,
    on_progress: OnStep = lambda _step, _percent: None,
    *,
    extras: tuple[str, ...] = (),
    unverified: bool = False,
    refresh: bool = False,
    root: Path = Path("/"),
) -> ServerBinary:
    """Download a server into the cache, or find it there.

    Args:
        suite: a Debian suite; None is the machine's own.
        extras: optional packages, such as `rocksdb`.
        unverified: accept packages that the machine's keys cannot verify.
        refresh: look at the mirror for a newer version even if one is in the cache.
        root: where the machine's own configuration is read from.
    """
    cache = (default_cache() if cache is None else cache).absolute()
    if set(str(cache)) & _NOT_IN_PATHS:
        # They separate the loader's list of folders, or end a value of apt's configuration.
        raise GetFailed(
            f"a server cannot be stored in {cache}: "
            "its path has a colon, a semicolon or a quotation mark.",
            hint="Set XDG_CACHE_HOME to another folder.",
        )
    machine = read_sources(root)
    suite = suite or own_suite(machine, root)
    if not refresh and (here := _newest(cache, kind, suite, extras)) is not None:
        return here
    sources = for_suite(machine, _codename(root), suite)
    if not sources:
        raise GetFailed(
            f"none of this machine's apt sources can have {suite}.",
            hint="Add a mirror to the sources, or install a server with the package manager.",
        )
    with new_folder(
        cache, lambda: on_progress("waiting for another contend process that downloads", None)
    ) as folder:
        if not refresh and (here := _newest(cache, kind, suite, extras)) is not None:
            return here  # The earlier holder of the lock downloaded it.
        on_progress(f"reading the package lists of {suite}", None)
        apt, verified = _updated_apt(folder, sources, suite, root, unverified)
        packages = [KINDS[kind].package, *(KINDS[kind].extras[extra] for extra in extras)]
        versions = [_candidate(apt, package, suite) for package in packages]
        # A plugin needs the package of the system service, of exactly its own version.
        stand_ins = {_SERVICE: versions[0]} if extras else {}
        apt.pretend_installed(stand_ins | dict.fromkeys(_TOOLS, _ANY_VERSION))
        whole = [package for package in packages if package != _SERVICE]
        files = apt.download(whole, on_progress)
        if _SERVICE in packages:
            files.append(apt.download_alone(_SERVICE))
        tree = folder / "server" / "root"
        tree.mkdir(parents=True)
        for number, file in enumerate(files):
            on_progress("unpacking", 100 * number / len(files))
            unpack(file, tree)
        return _keep(cache, tree, kind, suite, extras, verified, [f.stem for f in files])


def _candidate(apt: Apt, package: str, suite: str) -> str:
    version = apt.candidate(package)
    if version is None:
        raise UnknownServer(
            f"suite {suite} of this machine's mirror has no package {package}.",
            hint="Debian has MariaDB in every suite, MySQL only in sid: "
            "`contend server get mysql@sid`.",
        )
    return version


def _keep(
    cache: Path,
    tree: Path,
    kind: str,
    suite: str,
    extras: tuple[str, ...],
    verified: bool,
    packages: list[str],
) -> ServerBinary:
    layout = find_layout(tree, kind)
    prune(tree, layout.program)
    found_kind, version = ask_version(layout.argv(kind, extras))
    if found_kind != kind:
        raise GetFailed(f"the packages contain a {found_kind} server, not {kind}.")
    binary = layout.binary(kind, version, suite, extras, verified=verified)
    write_manifest(tree.parent, binary, layout, packages)
    return keep(cache, tree.parent, binary.name).binary


def _newest(cache: Path, kind: str, suite: str, extras: tuple[str, ...]) -> ServerBinary | None:
    same = [
        got.binary
        for got in list_got(cache)
        if (got.binary.kind, got.binary.suite, got.binary.extras) == (kind, suite, extras)
    ]
    return same[-1] if same else None


def _updated_apt(
    folder: Path, sources: list[Source], suite: str, root: Path, unverified: bool
) -> tuple[Apt, bool]:
    """apt with the lists of the suite read, and whether they were verified.

    First with the keys named in the machine's entries; if these do not cover a different suite,
    with the whole keyring of the distribution; without keys only if requested.
    """
    attempts = [sources]
    keyring = root / KEYRING
    if keyring.exists():
        attempts.append([replace(s, signed_by=str(keyring)) for s in sources])
    if unverified:
        attempts.append([replace(s, trusted=True) for s in sources])
    refusal: NotVerified | None = None
    for number, attempt in enumerate(attempts):
        apt = Apt(folder / f"apt{number}", render(attempt, architecture()))
        try:
            apt.update(suite)
        except NotVerified as error:
            refusal = refusal or error
            continue
        return apt, not any(source.trusted for source in attempt)
    assert refusal is not None
    raise refusal


def read_sources(root: Path) -> list[Source]:
    folder = root / "etc/apt"
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    sources: list[Source] = []
    for file in files:
        if file.suffix in (".list", ".sources") and file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            sources += parse_sources(text, deb822=file.suffix == ".sources")
    return sources


def own_suite(sources: list[Source], root: Path) -> str:
    """The suite of this machine's own system."""
    codename = _codename(root)
    suites = [source.suite for source in sources if "main" in source.components]
    for name in (codename, "stable", "oldstable", "testing", "unstable", "sid"):
        if name and name in suites:
            return name
    raise GetFailed(
        "this machine's Debian suite cannot be determined from its apt sources.",
        hint="Name one: `contend server get mariadb@bookworm`.",
    )


def _codename(root: Path) -> str:
    try:
        text = (root / "etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    match = re.search(r'^VERSION_CODENAME="?([a-z0-9-]+)"?', text, re.MULTILINE)
    return match[1] if match else ""
