"""Options of the server, and how one that differs between cells is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contend.errors import RequestError
from contend.settings.model import Launch, Need, Setting, Target, Values
from contend.settings.plan_keys import OPTION_NAME
from contend.settings.server import KIND, USE, is_dsn
from contend.settings.tables import Named
from contend.settings.values import AnyLevel, Choice, Key, Level

CHANGE = Setting(
    "server",
    Key(
        "change",
        Choice(("in_place", "restart")),
        "restart",
        "how an option that differs between cells is changed: in_place (SET GLOBAL, for dynamic "
        "variables only) or restart",
    ),
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
"""Server options that the files are laid out by. A dataset is made with them and for them."""


def layout_options(options: Mapping[str, Level]) -> dict[str, Level]:
    """Those of the server's options that belong to the dataset."""
    named = ((name.replace("-", "_"), value) for name, value in sorted(options.items()))
    return {name: value for name, value in named if name in LAYOUT_OPTIONS}


_QUERY_CACHE = "query_cache_"


def _is_mysql(cell: Values) -> bool:
    """Whether the cell names a private MySQL; of a program by its path nobody knows yet."""
    use = cell[USE.path]
    if use is None:
        return bool(cell[KIND.path] == "mysql")
    return not is_dsn(use) and str(use).startswith("mysql")


@dataclass(frozen=True)
class Options(Setting):
    """Options by name: given at the start, or changed while the server runs."""

    def refuse(self, cell: Values, *, own: bool) -> None:
        names = [name for name in cell[self.path] if name.startswith(_QUERY_CACHE)]
        if own and names and _is_mysql(cell):
            raise RequestError(
                f"{self.path}.{names[0]}: MySQL has no query cache since version 8.0",
                hint="Take a MariaDB server, or give server.options without the query cache.",
            )

    def between(self, before: Values, after: Values) -> Need:
        was, wanted = before[self.path], after[self.path]
        if layout_options(was) != layout_options(wanted):
            return Need.DATA
        if was == wanted:
            return Need.NOTHING
        # What is no longer named has its default only after a restart.
        in_place = after[CHANGE.path] == "in_place" and was.keys() == wanted.keys()
        return Need.IN_PLACE if in_place else Need.RESTART

    def launch(self, cell: Values, launch: Launch) -> None:
        launch.options.update(cell[self.path])

    def apply(self, target: Target, cell: Values) -> None:
        target.set_options(cell[self.path])

    def disturbs(self, before: Values, after: Values) -> frozenset[str]:
        was, wanted = before[self.path], after[self.path]
        return frozenset(name for name in wanted if was.get(name) != wanted[name])


OPTIONS = Options(
    "server",
    Key(
        "options",
        Named("server option", "a server option", OPTION_NAME, AnyLevel()),
        {},
        "options of a private server, by name",
    ),
    need=Need.RESTART,
    tried=True,
)
