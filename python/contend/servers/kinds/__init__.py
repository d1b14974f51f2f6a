"""What is other about private servers of each kind. A kind is one file here and one entry of
`KINDS`."""

from __future__ import annotations

from collections.abc import Iterable

from contend.errors import did_you_mean
from contend.servers.binary import ServerBinary
from contend.servers.errors import OptionRejected
from contend.servers.kinds.base import Kind
from contend.servers.kinds.model import ModelKind
from contend.servers.kinds.mysqld import MariaDb, MySql
from contend.servers.options import normal_name

KINDS: dict[str, Kind] = {kind.name: kind for kind in (MariaDb(), MySql(), ModelKind())}
"""By their names."""

_PREFIXES = ("skip_", "disable_", "enable_", "maximum_")
"""With one of them before its name an option is another order to the same."""

_LISTED = 30
"""Of so few options all are named."""

_OF_PLUGINS = ("plugin_load", "plugin_load_add", "early_plugin_load")


def refuse_unknown(binary: ServerBinary, names: Iterable[str]) -> None:
    """Refuse an option that the program does not have, with the nearest that it has.

    What a plugin brings along only the server itself knows, once it has loaded it.

    Raises:
        OptionRejected: the program has no such option.
    """
    normal = [normal_name(name) for name in names]
    known = KINDS[binary.kind].known_options(binary)
    if not known or binary.extras or any(name in _OF_PLUGINS for name in normal):
        return
    for name in normal:
        if name.startswith("loose_") or "." in name or _is_known(name, known):
            continue
        raise OptionRejected(
            f"{binary.kind} {binary.version} has no option {name}.",
            hint=did_you_mean(name, known)
            or (
                f"It takes {', '.join(sorted(known))}."
                if len(known) <= _LISTED
                else f"`{binary.program.name} --verbose --help` lists all."
            ),
        )


def _is_known(name: str, known: frozenset[str]) -> bool:
    # A server takes the beginning of a name too, if no other name begins so.
    ways = (name, *(name.removeprefix(one) for one in _PREFIXES))
    return any(way in known for way in ways) or any(one.startswith(name) for one in known)
