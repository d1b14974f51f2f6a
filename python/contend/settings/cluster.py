"""A cluster of the user's own: servers that run already and are one level together."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from contend.errors import RequestError, did_you_mean
from contend.settings.model import Need, Setting, Values
from contend.settings.server import USE, is_dsn
from contend.settings.topology import BACKENDS, FRONTS, GALERA, NODES, SPIDER, TOPOLOGY
from contend.settings.values import Command, Key, Refused

FRONT, BACKEND, NODE = "front", "backend", "node"

_COUNTS: Mapping[str, Mapping[str, Setting]] = {
    SPIDER: {FRONT: FRONTS, BACKEND: BACKENDS},
    GALERA: {NODE: NODES},
}
"""The roles of a topology, and the settings that count them."""

_WITH_ROLE = re.compile(r"(?P<role>[\w-]+)=(?P<dsn>.*)", re.DOTALL)

_FORM = "Write --server front=DSN --server backend=DSN …, or --server node=DSN for each node."


def has_role(text: str) -> bool:
    """Whether this is `ROLE=DSN`, and not the name, the path or the DSN of one server."""
    found = _WITH_ROLE.fullmatch(text.strip())
    return found is not None and is_dsn(found["dsn"])


def named_members(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Name, role and DSN of each; raises RequestError."""
    found: list[tuple[str, str, str]] = []
    roles = [role for counts in _COUNTS.values() for role in counts]
    for text in texts:
        match = _WITH_ROLE.fullmatch(text.strip())
        if match is None or not is_dsn(match["dsn"]):
            raise RequestError(f"{text!r} is not a role and the DSN of a server", hint=_FORM)
        role, dsn = match["role"], match["dsn"]
        if role not in roles:
            hint = did_you_mean(role, roles)
            raise RequestError(
                f"there is no role {role!r} of a server; there are {', '.join(roles)}",
                hint=hint or _FORM,
            )
        if any(dsn == other for _, _, other in found):
            raise RequestError(f"{dsn} is named twice", hint="Each server has one role.")
        number = 1 + sum(one == role for _, one, _ in found)
        found.append((f"{role}-{number}", role, dsn))
    # The first is where whoever knows of one server only goes.
    return sorted(found, key=lambda one: one[1] == BACKEND)


def topology_of(members: Sequence[tuple[str, str, str]]) -> str:
    """How they belong together; raises RequestError."""
    roles = {role for _, role, _ in members}
    for topology, counts in _COUNTS.items():
        if roles == set(counts):
            return topology
    raise RequestError(
        f"servers of the roles {', '.join(sorted(roles))} are no cluster",
        hint=f"{_FORM} Fronts need backends, and nodes stand alone.",
    )


def overrides_of(texts: Sequence[str]) -> list[str]:
    """`PATH=VALUE` for what `--server ROLE=DSN`, given several times, says of an experiment."""
    if not texts:
        return []
    members = named_members(texts)
    topology = topology_of(members)
    values: dict[str, object] = {
        USE.path: members[0][2],
        TOPOLOGY.path: topology,
        MEMBERS.path: shlex.join(f"{role}={dsn}" for _, role, dsn in members),
    }
    for role, setting in _COUNTS[topology].items():
        values[setting.path] = sum(one == role for _, one, _ in members)
    return [f"{path}={json.dumps(value)}" for path, value in values.items()]


@dataclass(frozen=True)
class MembersSetting(Setting):
    """Which servers are the level, if contend starts none."""

    def check(self, cell: Values) -> None:
        texts = cell[self.path]
        if not texts:
            return
        try:
            members = named_members(texts)
            topology = topology_of(members)
        except RequestError as error:
            raise Refused(f": {error.message}", hint=error.hint) from error
        for path, has, wanted in self._counted(cell, members, topology):
            if has != wanted:
                raise Refused(
                    f'names a cluster for which {path} is "{wanted}", and it is "{has}"',
                    hint=f"Every cell is measured on that cluster: leave {path} to it.",
                )

    @staticmethod
    def _counted(
        cell: Values, members: Sequence[tuple[str, str, str]], topology: str
    ) -> Iterator[tuple[str, object, object]]:
        yield TOPOLOGY.path, cell[TOPOLOGY.path], topology
        for role, setting in _COUNTS[topology].items():
            count = sum(one == role for _, one, _ in members)
            yield setting.path, cell[setting.path], count

    def refuse(self, cell: Values, *, own: bool) -> None:
        if own and cell[self.path]:
            raise RequestError(
                f"{self.path} names servers that run already, and --server another",
                hint=f"Leave --server out, or {self.path}.",
            )


MEMBERS = MembersSetting(
    "server",
    Key(
        "members",
        Command(),
        [],
        "a cluster of your own as one level, in place of private servers: front=DSN, backend=DSN "
        "or node=DSN for each of its servers, as a list or as one text. `--server` says the same "
        "if it is given for each of them",
    ),
    need=Need.DATA,
    lasts=Need.DATA,
)
