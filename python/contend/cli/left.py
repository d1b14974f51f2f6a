"""What a command that was killed left changed on a server: offered to be put back before another
one begins there."""

from __future__ import annotations

from collections.abc import Callable

from contend.undo import Journal, drop_what_is_back, in_words, put_back
from contend.undo.agree import Agree
from contend.undo.back import JournalServer


def offer(
    journal: Journal,
    server: JournalServer,
    first: Agree,
    changed: Agree,
    say: Callable[[str], object],
) -> bool:
    """Put back what an earlier command left; whether nothing is left.

    Args:
        first: is asked before anything is put back.
        changed: is asked about what somebody else changed since.
        say: is told what was put back.

    Raises:
        ContendError: not all of it could be put back.
    """
    if journal.undo:
        drop_what_is_back(journal, server)
    if not journal.undo:
        return True
    left = what_is_left(journal)
    if not first(f"{left[0].upper()}{left[1:]}. Put it back first?"):
        return False
    put_back(
        journal,
        server,
        changed,
        tell=lambda words: say(f"put back after an earlier command: {words}"),
    )
    return True


def what_is_left(journal: Journal) -> str:
    """What it must put back, in words."""
    left = ", ".join(map(in_words, journal.undo))
    return f"an earlier command left changes on {journal.server}: {left}"
