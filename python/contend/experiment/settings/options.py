"""Options of the server, and how one that differs between cells is changed. Also named sets of
options, with those of every server and those of one kind. So servers that spell an option
differently can be compared with the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError, did_you_mean
from contend.experiment.settings.model import Differs, Launch, Need, Setting, Target, Values
from contend.experiment.settings.plan_keys import HANDLER_SOCKET, OPTION_NAME, SCRIPT
from contend.experiment.settings.server import KIND, MYSQL, USE, is_dsn
from contend.experiment.settings.tables import AnyTable, Inside, Named
from contend.experiment.settings.values import (
    AnyLevel,
    Choice,
    Level,
    Refused,
    Text,
    at_place,
    shown,
)

CHANGE = Setting.of(
    "server",
    "change",
    Choice(("in_place", "restart")),
    "restart",
    "how an option that differs between cells is changed: in_place (SET GLOBAL, for dynamic "
    "variables only) or restart",
    need=Need.RESTART,
    tried=True,
)

LAYOUT_OPTIONS = frozenset(
    {
        "aria_block_size",
        "innodb_checksum_algorithm",
        "innodb_data_file_path",
        "innodb_file_per_table",
        "innodb_page_size",
        "innodb_undo_tablespaces",
        "lower_case_table_names",
        "myisam_block_size",
    }
)
"""Server options that decide the layout of files. A dataset is made with them and for them."""


def layout_options(options: Mapping[str, Level]) -> dict[str, Level]:
    """The server's options that belong to the dataset."""
    named = {plain_option(name): value for name, value in sorted(options.items())}
    return {name: value for name, value in named.items() if name in LAYOUT_OPTIONS}


def plain_option(name: str) -> str:
    """An option's name with underscores and without `loose_`, which has no effect on an option that
    the server has."""
    return name.replace("-", "_").removeprefix("loose_")


_QUERY_CACHE = "query_cache_"


def _is_mysql(cell: Values) -> bool:
    """Whether the cell names a private MySQL; a path does not show its kind yet."""
    use = cell[USE.path]
    if use is None:
        return bool(cell[KIND.path] == MYSQL)
    return not is_dsn(use) and str(use).startswith(MYSQL)


@dataclass(frozen=True)
class Options(Setting):
    """Options by name: set at the start, or changed while the server runs."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        names = [name for name in cell[self.path] if name.startswith(_QUERY_CACHE)]
        if own and names and _is_mysql(cell):
            raise RequestError(
                f"{self.path}.{names[0]}: MySQL has no query cache since version 8.0",
                hint="Use a MariaDB server, or leave the options of the query cache out.",
            )

    def between(self, before: Values, after: Values) -> Need:
        was, wanted = before[self.path], after[self.path]
        if layout_options(was) != layout_options(wanted):
            return Need.DATA
        if was == wanted:
            return Need.NOTHING
        # An option that is no longer named gets its default only after a restart.
        in_place = after[CHANGE.path] == "in_place" and was.keys() == wanted.keys()
        return Need.IN_PLACE if in_place else Need.RESTART

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.options.update(cell[self.path])

    def apply(self, target: Target, cell: Values) -> None:
        target.set_options(cell[self.path])

    def disturbs(self, before: Values, after: Values) -> frozenset[str]:
        was, wanted = before[self.path], after[self.path]
        return frozenset(name for name in wanted if was.get(name) != wanted[name])


OPTIONS = Options.of(
    "server",
    "options",
    Named("server option", "a server option", OPTION_NAME, AnyLevel()),
    {},
    "options of a private server, by name",
    need=Need.RESTART,
    tried=True,
)


_VARIABLES = Named("server variable", "a server variable", OPTION_NAME, AnyLevel())


@dataclass(frozen=True)
class Globals(Setting):
    """Variables of a running server by name, independent of its start options; each is restored
    before a cell that does not have it."""

    def apply(self, target: Target, cell: Values) -> None:
        if cell[self.path]:
            target.set_globals(cell[self.path])

    def disturbs(self, before: Values, after: Values) -> frozenset[str]:
        was, wanted = before[self.path], after[self.path]
        return frozenset(n for n in was.keys() | wanted.keys() if was.get(n) != wanted.get(n))


GLOBALS = Globals.of(
    "server",
    "globals",
    _VARIABLES,
    {},
    "dynamic variables that are set while the server runs (SET GLOBAL), by name, over its start "
    "values; they are restored before a cell without them",
    need=Need.IN_PLACE,
    tried=True,
)


@dataclass(frozen=True)
class SessionVariables(Setting):
    """Variables that each connection of the load sets for itself before its first query. The server
    is not changed, and connections with different values may use it at the same time."""

    def check(self, cell: Values) -> None:
        if not cell[self.path]:
            return
        if cell["workload"]["kind"] == SCRIPT:
            raise Refused(
                "does not work with a script, which opens its own connections",
                hint="Set the variables in the script's thread_init().",
            )
        if cell["load.protocol"] == HANDLER_SOCKET:
            raise Refused("does not work with HandlerSocket, whose connections have no variables")

    def apply(self, target: Target, cell: Values) -> None:
        target.set_session(cell[self.path])


SESSION = SessionVariables.of(
    "server",
    "session",
    _VARIABLES,
    {},
    "variables that each connection of the load sets for itself (SET SESSION), by name; other "
    "connections are not affected",
    need=Need.IN_PLACE,
    tried=True,
    differs=Differs.QUERIES,
)

ANY = "any"
"""Servers of any kind."""

_NAME = Text(r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, '_' and '-'")


def _kinds() -> tuple[str, ...]:
    kinds = KIND.key.kind
    assert isinstance(kinds, Choice)
    return (ANY, *kinds.names)


@dataclass(frozen=True, slots=True)
class Profiles(AnyTable):
    """Tables of options: by profile, then by kind of server."""

    def read(self, value: object) -> dict[str, dict[str, Any]]:
        if not isinstance(value, dict):
            raise self.wrong(value)
        return {str(name): self._profile(str(name), profile) for name, profile in value.items()}

    def _profile(self, name: str, value: object) -> dict[str, Any]:
        try:
            _NAME.read(name)
        except Refused as refused:
            reason = f'"{name}" is not the name of a profile: it {refused.reason}'
            raise Refused(reason, at=(name,), whole=True) from None
        if not isinstance(value, dict):
            raise Refused(f"must be {self.expected()}, not {shown(value)}", at=(name,))
        read: dict[str, Any] = {}
        options = OPTIONS.key.kind
        assert isinstance(options, Named)
        for kind, table in value.items():
            at = (name, str(kind))
            if kind not in _kinds():
                hint = did_you_mean(str(kind), _kinds())
                reason = f'unknown kind of server "{kind}"'
                raise Refused(reason, hint=hint, at=at, whole=True)
            with at_place(*at):
                read[kind] = options.read(table)
            laid_out = next(
                (one for one in read[kind] if plain_option(one) in LAYOUT_OPTIONS), None
            )
            if laid_out is not None:
                reason = f"{laid_out} decides the layout of the data files: no profile can set it"
                hint = f"Set it in {OPTIONS.path}."
                raise Refused(reason, hint=hint, at=(*at, laid_out), whole=True)
        return read

    def inside(self, rest: str) -> Inside | None:
        """NAME.KIND.OPTION."""
        name, _, inner = rest.partition(".")
        kind, _, option = inner.partition(".")
        options = OPTIONS.key.kind
        if kind not in _kinds() or not option or not isinstance(options, Named):
            return None
        steps, key = options.inside(option)
        return (name, kind, *steps), key

    def expected(self) -> str:
        return (
            f"tables of server options: NAME.KIND.OPTION, with KIND {Choice(_kinds()).expected()}"
        )

    def schema(self) -> dict[str, Any]:
        options = OPTIONS.key.kind.schema()
        profile = {
            "type": "object",
            "properties": dict.fromkeys(_kinds(), options),
            "additionalProperties": False,
        }
        return {"type": "object", "additionalProperties": profile}


PROFILES = Setting.of(
    "server",
    "profiles",
    Profiles(),
    {},
    "named sets of options of private servers, with tables for servers of any kind or of one",
    tried=True,
)


@dataclass(frozen=True)
class Profile(Setting):
    """The active profile. `server.options` overrides it."""

    def check(self, cell: Values) -> None:
        name, known = cell[self.path], cell[PROFILES.path]
        if name is not None and name not in known:
            hint = did_you_mean(name, known) or "Define it in a table [server.profiles.NAME]."
            raise Refused(f'names an unknown profile "{name}"', hint=hint)

    def refuse(self, cell: Values, *, own: bool) -> None:
        if not own and options_of(cell):
            raise RequestError(
                f'{self.path} = "{cell[self.path]}" needs private servers, but --server names a '
                "running one",
                hint="Leave --server out to use private servers.",
            )

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.by_kind.update(options_of(cell))


PROFILE = Profile.of(
    "server",
    "profile",
    _NAME,
    None,
    "the profile of server.profiles with which a private server starts (default: none)",
    need=Need.RESTART,
    tried=True,
)


def options_of(cell: Values) -> Mapping[str, Mapping[str, Any]]:
    """The options of the cell's profile, by kind of server."""
    name = cell[PROFILE.path]
    profile: Mapping[str, Mapping[str, Any]] = cell[PROFILES.path].get(name, {}) if name else {}
    return profile
