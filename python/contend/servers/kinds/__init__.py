"""Differences between kinds of server; the kind of a given server. A kind is a row of `KINDS`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from contend.errors import did_you_mean
from contend.experiment.settings.server import MARIADB, MYSQL
from contend.servers.binary import ServerBinary, run_program
from contend.servers.errors import OptionRejected, UnusableServer
from contend.servers.kinds.base import Kind
from contend.servers.kinds.model import ModelKind
from contend.servers.kinds.mysqld import MariaDb, MySql
from contend.servers.options import is_loose, normal_name, readings

KINDS: dict[str, Kind] = {kind.name: kind for kind in (MariaDb(), MySql(), ModelKind())}
"""By their names."""

PROGRAMS = {kind.name: kind.programs for kind in KINDS.values() if kind.programs}
"""Kinds that can be installed or downloaded, with the names of their programs."""

_VERSION = re.compile(r"\bVer\s+(?P<number>\d+\.\d+\.\d+)(?P<rest>\S*)")
_VERSION_TIMEOUT_S = 30

_LISTED = 30
"""Up to this number of options, an error lists all."""

_OF_PLUGINS = ("plugin_load", "plugin_load_add", "early_plugin_load")


def kind_in(text: str) -> str:
    """The kind of a server, from its version text."""
    return MARIADB if MARIADB in text.lower() else MYSQL


def ask_version(argv: tuple[str, ...]) -> tuple[str, str]:
    """Run the program with `--version`: its kind and its version.

    `mariadbd  Ver 10.11.19-MariaDB-… for …` or `mysqld  Ver 9.7.4-2 for Linux …`.
    """
    try:
        answer = run_program([*argv, "--version"], timeout_s=_VERSION_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise UnusableServer(
            f"`{argv[0]} --version` did not end within {_VERSION_TIMEOUT_S} s."
        ) from None
    except OSError as error:
        raise UnusableServer(f"{argv[0]} cannot be run: {error.strerror}.") from error
    version = parse_version(answer.stdout)
    if answer.returncode != 0 or version is None:
        output = (answer.stderr or answer.stdout).strip()
        raise UnusableServer(
            f"{argv[0]} does not answer `--version` like a MariaDB or MySQL server.",
            detail="\n".join(output.splitlines()[-5:]) or None,
        )
    return version


def parse_version(text: str) -> tuple[str, str] | None:
    match = _VERSION.search(text)
    return None if match is None else (kind_in(text), match["number"])


def refuse_unknown(
    binary: ServerBinary, names: Iterable[str], places: Mapping[str, str] | None = None
) -> None:
    """Refuse an option that the program does not have, with the nearest existing one. The beginning
    of a name is refused, though MariaDB accepts it: contend uses complete names.

    Options of a plugin are known only to the server that has loaded it, and those with `loose_` may
    be ignored; see `refuse_ignored`.

    Args:
        places: where the names are written, for the message.

    Raises:
        OptionRejected: the program has no such option.
    """
    normal = [normal_name(name) for name in names]
    known = KINDS[binary.kind].known_options(binary)
    for name in normal:
        if _is_known(name, known):
            continue
        begun = sorted(one for way in readings(name) for one in known if one.startswith(way))
        if not begun and (is_loose(name) or _has_plugins(binary, normal)):
            continue
        error = OptionRejected(
            f"{binary.kind} {binary.version} has no option {name}.",
            hint=_hint_for(binary, readings(name), begun, known),
        )
        error.add_place((places or {}).get(name, ""))
        raise error


def _hint_for(
    binary: ServerBinary, ways: Sequence[str], begun: Sequence[str], known: frozenset[str]
) -> str:
    if any(way in KINDS[binary.kind].removed for way in ways):
        return "Remove it: older releases had it."
    if len(begun) == 1:
        return f"Write the full name: {begun[0]}."
    return did_you_mean(ways[0], known) or (
        f"It has {', '.join(sorted(known))}."
        if len(known) <= _LISTED
        else f"`{binary.program.name} --verbose --help` lists all options."
    )


def refuse_ignored(binaries: Sequence[ServerBinary], names: Iterable[str]) -> None:
    """Refuse an option with `loose_` that none of the programs has: all of them would ignore it.

    Raises:
        OptionRejected: there is one.
    """
    normal = [normal_name(name) for name in names]
    if any(_has_plugins(binary, normal) for binary in binaries):
        return
    known = [KINDS[binary.kind].known_options(binary) for binary in binaries]
    for name in normal:
        if not is_loose(name) or any(_is_known(name, one) for one in known):
            continue
        servers = " and ".join(f"{binary.kind} {binary.version}" for binary in binaries)
        plain = readings(name)[0]
        raise OptionRejected(
            f"{servers} would ignore {name}: there is no option {plain}.",
            hint=did_you_mean(plain, frozenset().union(*known)) or "Remove it.",
        )


def may_ignore(binary: ServerBinary, name: str, names: Iterable[str]) -> bool:
    """Whether the program ignores an option with `loose_`, given together with others."""
    known = KINDS[binary.kind].known_options(binary)
    return is_loose(name) and not _is_known(name, known) and not _has_plugins(binary, names)


def _is_known(name: str, known: frozenset[str]) -> bool:
    """Whether a program has that option by its complete name; True if it reports no options."""
    return not known or "." in name or any(way in known for way in readings(name))


def _has_plugins(binary: ServerBinary, names: Iterable[str]) -> bool:
    """Whether the program may have options that it does not report."""
    return bool(binary.extras) or any(readings(name)[0] in _OF_PLUGINS for name in names)
