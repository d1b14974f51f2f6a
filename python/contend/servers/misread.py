"""An answer of a server with another shape than its statement has: rows or columns that are
missing, NULL in place of a number, words in place of one.

Hundreds of places take answers apart, and none of them asks first whether a server of MariaDB or
MySQL gave it. So the error that one of them then raises is put into words here, with the place.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from contend.errors import WorkError
from contend.servers.control import Control

SHAPES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What taking an answer apart can raise."""

_ASKS = frozenset({"fetch", "fetchall", "fetchone", "cursor"})
"""A function that names one of these takes answers apart."""


class Misread(WorkError):
    """What a server answered does not look like the answer to what it was asked."""


def misread(error: BaseException) -> Misread | None:
    """The error in words, if a function that asks a server raised it; None if it is another."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    code = [frame.f_code for frame in frames]
    if not any(_ASKS.intersection(one.co_names + one.co_varnames) for one in code):
        return None
    servers = [connection.server for frame in frames for connection in _connections(frame)]
    places = traceback.extract_tb(error.__traceback__)
    return Misread(
        f"{servers[-1] if servers else 'the server'} gave an answer that contend does not "
        f"understand ({type(error).__name__}: {error}).",
        hint="Check that it is a server of MariaDB or MySQL; if it is, this is a fault of contend.",
        detail="\n".join(
            f"{Path(place.filename).name}:{place.lineno} {place.name}" for place in places[-6:]
        ),
    )


def _connections(frame: FrameType) -> Iterator[Control]:
    return (value for value in frame.f_locals.values() if isinstance(value, Control))
