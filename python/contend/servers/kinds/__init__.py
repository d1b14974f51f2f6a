"""What is other about private servers of each kind. A kind is one file here and one entry of
`KINDS`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contend.errors import did_you_mean
from contend.servers.binary import ServerBinary
from contend.servers.errors import OptionRejected
from contend.servers.kinds.base import Kind
from contend.servers.kinds.model import ModelKind
from contend.servers.kinds.mysqld import MariaDb, MySql
from contend.servers.options import is_loose, normal_name, readings

KINDS: dict[str, Kind] = {kind.name: kind for kind in (MariaDb(), MySql(), ModelKind())}
"""By their names."""

_LISTED = 30
"""Of so few options all are named."""

_OF_PLUGINS = ("plugin_load", "plugin_load_add", "early_plugin_load")


def refuse_unknown(binary: ServerBinary, names: Iterable[str]) -> None:
    """Refuse an option that the program does not have, with the nearest that it has. The beginning
    of a name is none, though MariaDB takes it: contend goes by the whole names.

    What a plugin brings along only the server itself knows, once it has loaded it, and what begins
    with `loose_` it may ignore; see `refuse_ignored`.

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
        raise OptionRejected(
            f"{binary.kind} {binary.version} has no option {name}.",
            hint=f"Write the whole name: {begun[0]}."
            if len(begun) == 1
            else did_you_mean(readings(name)[0], known)
            or (
                f"It takes {', '.join(sorted(known))}."
                if len(known) <= _LISTED
                else f"`{binary.program.name} --verbose --help` lists all."
            ),
        )


def refuse_ignored(binaries: Sequence[ServerBinary], names: Iterable[str]) -> None:
    """Refuse an option that begins with `loose_` and that none of the programs has: all of them
    would ignore it.

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
            hint=did_you_mean(plain, frozenset().union(*known)) or "Leave it out.",
        )


def _is_known(name: str, known: frozenset[str]) -> bool:
    """Whether a program has that option by its whole name; also if it does not tell."""
    return not known or "." in name or any(way in known for way in readings(name))


def _has_plugins(binary: ServerBinary, names: Iterable[str]) -> bool:
    """Whether options may be there that the program does not tell."""
    return bool(binary.extras) or any(readings(name)[0] in _OF_PLUGINS for name in names)
