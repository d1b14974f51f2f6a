"""A report is made part by part. An error costs only its own part, which reports it in a sentence;
the other parts remain.

Data that every other part needs (the cells, the compared metrics, the gate) is not such a part.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from contend.errors import ContendError
from contend.sections.model import Shown

Made = TypeVar("Made")
Otherwise = TypeVar("Otherwise")


class Parts:
    """Makes the parts of one report; `missing` has a message for each that could not be made."""

    def __init__(self) -> None:
        self.missing: list[Shown] = []

    def make(self, title: str, how: Callable[[], Made], otherwise: Otherwise) -> Made | Otherwise:
        """The result of `how`; `otherwise` if that fails."""
        try:
            return how()
        except Exception as error:  # Any error affects this part alone.
            self.missing.append(Shown(title, missing_text(error)))
            return otherwise


def missing_text(error: Exception) -> str:
    """Why a part is missing, with the place if that is a fault of contend."""
    if isinstance(error, ContendError):
        return f"This part is missing: {error.message.rstrip('.')}."
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        "This part is missing because of an error in contend; the rest of the report is valid "
        f"({type(error).__name__}: {error}; {Path(place.filename).name}, line {place.lineno})."
    )
