"""Runs a warm-up of `contend warm` and shows it; which way InnoDB's pages are loaded."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from contend.cli.left import offer, what_is_left
from contend.cli.parser import confirmed
from contend.cli.warm_text import loaded_in_words
from contend.program import find_program
from contend.servers.existing import ExistingServer
from contend.undo import Journal, NotAgreed
from contend.undo.agree import always
from contend.warm.gate import Limits
from contend.warm.progress import WarmUpResult
from contend.warm.warm_up import How, Listener

if TYPE_CHECKING:
    from contend.cli.warm_display import WarmDisplay
    from contend.load.process import LoadDriver, OnEvent
    from contend.outcome import Done
    from contend.plan import Plan
    from contend.warm.by_list import ByList
    from contend.warm.model import WarmPlan
    from contend.warm.server_list import ServerHost

_PAGE = 16384
"""Pages are told as InnoDB's are by default."""


class Program:
    """contend-load, looked for when something is to be scanned."""

    def run(self, plan: Plan, *, env: Mapping[str, str], on_event: OnEvent) -> Done:
        from contend.load.process import LoadProcess

        return LoadProcess(find_program()).run(plan, env=env, on_event=on_event)


def how_of(args: argparse.Namespace) -> How:
    """How fast the command line wants it."""
    return How(
        Limits(args.pages_per_second, args.max_latency, args.max_threads_running),
        args.connections,
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

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    try:
        if offer(journal, server, agreed if sys.stdin.isatty() else always, agreed, say):
            return
        say(f"{what_is_left(journal)}. `{journal.remedy}` puts it back.")
    except NotAgreed as error:
        say(" ".join(filter(None, (error.message, error.detail, error.hint))))


def show(
    server: ExistingServer, journal: Journal, warm: Callable[[LoadDriver, Listener], WarmUpResult]
) -> int:
    """Do a warm-up and show how far it is and what it came to; the exit code."""
    with ExitStack() as shown:
        displays: list[WarmDisplay] = []

        def display() -> WarmDisplay:
            # What draws takes a moment to import: the server is at work by then.
            if not displays:
                from rich.console import Console

                from contend.cli.warm_display import WarmDisplay

                displays.append(shown.enter_context(WarmDisplay(Console(stderr=True), _PAGE)))
            return displays[0]

        listener = Listener(
            lambda text: display().notice(text), lambda progress: display().progress(progress)
        )
        try:
            loaded = warm(Program(), listener)
        except KeyboardInterrupt:
            if journal.work is not None:
                sys.stderr.write(
                    f"What is loaded is noted. Resume with `contend warm {server.dsn} --resume`.\n"
                )
            raise
    sys.stdout.write(loaded_in_words(loaded))
    return 1 if loaded.refused and not loaded.size else 0
