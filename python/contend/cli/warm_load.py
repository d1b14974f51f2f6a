"""Runs a warm-up of `contend warm` and shows it: which way InnoDB's pages are loaded, the plan as
tables, what it came to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from contend.cli.parser import columns, confirmed, remark
from contend.cli.restore import offer, what_is_left
from contend.outside import one_line
from contend.program import find_program
from contend.servers.existing import ExistingServer
from contend.undo import Journal, NotAgreed
from contend.undo.variables import always
from contend.units import format_count, format_duration, format_size
from contend.warm.model import Cache, Item, WarmPlan
from contend.warm.throttle import Limits
from contend.warm.warm_up import How, Listener
from contend.warm.work import WarmUpResult

if TYPE_CHECKING:
    from contend.cli.warm_display import WarmDisplay
    from contend.load.process import LoadDriver, OnEvent
    from contend.outcome import Done
    from contend.placement import Placed
    from contend.plan import Plan
    from contend.warm.by_list import ByList
    from contend.warm.model import WarmPlan
    from contend.warm.server_list import ServerHost

_PAGE = 16384
"""Pages are told as InnoDB's are by default."""


class Program:
    """contend-load, looked for when something is to be scanned."""

    def run(
        self,
        plan: Plan,
        *,
        env: Mapping[str, str],
        on_event: OnEvent,
        placed: Placed | None = None,
    ) -> Done:
        from contend.load.process import LoadProcess

        program = LoadProcess(find_program())
        return program.run(plan, env=env, on_event=on_event, placed=placed)


def how_of(args: argparse.Namespace) -> How:
    """How fast the command line wants it."""
    return How(
        Limits(args.pages_per_second, args.max_latency, args.max_threads_running), args.connections
    )


def host_or_why(args: argparse.Namespace, server: ExistingServer) -> ServerHost | str:
    """The server's files, if InnoDB's pages are to be loaded by a list; why they are scanned."""
    from contend.warm.server_list import NoList, loading_host

    if args.scan:
        return "--scan was asked for"
    if how_of(args).limits:
        return "limits cannot hold back the server itself"
    try:
        with server.connect() as connection:
            return loading_host(connection, server.dsn.socket)
    except NoList as error:
        return error.message if error.hint is None else f"{error.message}. {error.hint}"


def files_host(args: argparse.Namespace, server: ExistingServer) -> ServerHost | None:
    """The server's files, if those of MyISAM and Aria are to be read by us."""
    from contend.warm.server_list import NoList, host_of

    if how_of(args).limits:
        return None
    try:
        with server.connect() as connection:
            return host_of(connection, server.dsn.socket)
    except NoList:
        return None


def by_list_or_why(
    args: argparse.Namespace, server: ExistingServer, plan: WarmPlan, kind: str
) -> ByList | str | None:
    """What of a plan is loaded by a list, or why nothing is; None if it has nothing of InnoDB."""
    if not any(item.cache == "innodb" for item in plan.items):
        return None
    host = host_or_why(args, server)
    if isinstance(host, str):
        return host
    from contend.warm.by_list import list_of_plan
    from contend.warm.tablespaces import NoCatalogue

    try:
        with server.connect() as connection:
            return list_of_plan(connection, plan, kind, host)
    except NoCatalogue as error:
        return error.message


def put_back_what_is_left(server: ExistingServer, journal: Journal, *, yes: bool) -> None:
    """What an earlier command left changed on the server. A warm-up at which nobody sits puts back
    what contend itself had changed, and goes on beside the rest."""

    def agreed(question: str) -> bool:
        return confirmed(question, yes=yes)

    try:
        if offer(journal, server, agreed if sys.stdin.isatty() else always, agreed, remark):
            return
        remark(f"{what_is_left(journal)}. `{journal.remedy}` puts it back.")
    except NotAgreed as error:
        remark(" ".join(filter(None, (error.message, error.detail, error.hint))))


def show(
    server: ExistingServer, journal: Journal, warm: Callable[[LoadDriver, Listener], WarmUpResult]
) -> int:
    """Do a warm-up and show how far it is and what it came to; the exit code."""
    with ExitStack() as shown:
        displays: list[WarmDisplay] = []

        def display() -> WarmDisplay:
            # What draws takes a moment to import: the server is at work by then.
            if not displays:
                from contend.cli.console import console
                from contend.cli.warm_display import WarmDisplay

                displays.append(shown.enter_context(WarmDisplay(console(stderr=True), _PAGE)))
            return displays[0]

        listener = Listener(
            lambda text: display().notice(text), lambda progress: display().progress(progress)
        )
        try:
            loaded = warm(Program(), listener)
        except KeyboardInterrupt:
            if journal.work is not None:
                remark(
                    f"What is loaded is noted. Resume with `contend warm {server.dsn} --resume`."
                )
            raise
    sys.stdout.write(loaded_in_words(loaded))
    return 1 if loaded.refused and not loaded.size else 0


SHOWN, LEFT_OUT_SHOWN = 200, 20
"""Lines of each list."""


def plan_in_words(plan: WarmPlan, way: ByList | str | None = None) -> str:
    """What would be loaded, cache by cache, and what would not.

    Args:
        way: what is loaded by a list of pages, or why InnoDB's tables are scanned; None to say
            nothing of it.
    """
    parts = [_cache(plan, cache) for cache in plan.caches if any(True for _ in plan.of(cache))]
    if not parts:
        parts = ["There is nothing to load."]
    if way is not None:
        parts.append(_way(way))
    if plan.left_out:
        parts.append(_left_out(plan))
    parts += [one_line(f"Note: {notice}.") for notice in plan.notices]
    return "\n\n".join(part[:1].upper() + part[1:] for part in parts) + "\n"


def loaded_in_words(loaded: WarmUpResult) -> str:
    """What a warm-up came to."""
    speed = loaded.size / loaded.seconds if loaded.seconds > 0 else 0.0
    lines = [
        f"Read {format_size(loaded.size)} in {format_duration(loaded.seconds)}"
        f" ({format_size(speed)}/s)."
    ]
    if loaded.held_s:
        lines.append(f"It was held back for {format_duration(loaded.held_s)} of that.")
    if loaded.refused:
        lines.append("Not loaded, or not all of it:")
        lines += [one_line(f"  {name}: {why}") for name, why in loaded.refused.items()]
    return "\n".join(lines) + "\n"


def _way(way: ByList | str) -> str:
    if isinstance(way, str):
        return f"InnoDB's tables are scanned, not loaded by a list of pages: {way.rstrip('.')}."
    pages = sum(len(pages) for pages in way.pages.values())
    lines = []
    if pages:
        lines.append(f"The server loads InnoDB's pages by itself, by a list of {pages:,}.")
    if way.why_not:
        lines.append("Scanned, because a list cannot have them:")
        lines += _table(list(way.why_not.items()), ("WHAT", "WHY"))
    return "\n".join(lines)


def _cache(plan: WarmPlan, cache: Cache) -> str:
    items = list(plan.of(cache))
    wanted = sum(item.take for item in items)
    used = "" if cache.used is None else f", {format_size(cache.used)} of it in use"
    lines = [
        f"{cache.name}: {format_size(cache.size)}{used}. To load: {format_size(wanted)}"
        f" ({wanted / max(1, cache.size):.0%}), {plan.ordered_by}."
    ]
    lines += _table(map(_row, items[:SHOWN]), _HEAD)
    if len(items) > SHOWN:
        lines.append(f"  … and {len(items) - SHOWN} more")
    return "\n".join(lines)


_HEAD = ("TABLE", "INDEX", "SIZE", "LOADED", "READS")


def _row(item: Item) -> tuple[str, ...]:
    share = "all" if item.take == item.size else f"{item.take / item.size:.0%}"
    reads = "" if item.reads is None else format_count(item.reads)
    return str(item.table), item.part, format_size(item.size), share, reads


def _left_out(plan: WarmPlan) -> str:
    shown = plan.left_out[:LEFT_OUT_SHOWN]
    rows = [
        (skipped.name, "" if skipped.size is None else format_size(skipped.size), skipped.why)
        for skipped in shown
    ]
    lines = ["Not loaded:", *_table(rows, ("WHAT", "SIZE", "WHY"))]
    if len(plan.left_out) > len(shown):
        lines.append(f"  … and {len(plan.left_out) - len(shown)} more")
    return "\n".join(lines)


def _table(rows: Iterable[Sequence[str]], head: Sequence[str]) -> list[str]:
    """Columns aligned; one that is empty in all rows is left out."""
    rows = list(rows)
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    return [f"  {line}" for line in columns([[row[i] for i in kept] for row in (head, *rows)])]
