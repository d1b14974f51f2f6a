"""Printed text: a number enters a sentence only as a finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that was not measured here: of the machine, of the plan, or of a rule."""

    value: float

    def __format__(self, how: str) -> str:
        return format(self.value, how or "g")


class ReportText(str):
    """Printed text: `ReportText("{} is {} slower", name, size)`.

    A placeholder takes a `ReportText`, a number that is `Constant`, or a text without digits.
    `sections.words` formats the figures of findings and the names of levels.

    Raises:
        TypeError: a placeholder would hold a bare number, or the text contains one.
    """

    def __new__(cls, template: str, *places: ReportText | Constant | str) -> ReportText:
        for one in (template, *places):
            if not isinstance(one, ReportText | Constant) and (
                not isinstance(one, str) or re.search(r"\d", re.sub(r"{[^}]*}", "", one))
            ):
                raise TypeError(
                    f"{one!r} in {template!r} has a number that is not a finding: a sentence needs "
                    "its interval and its n"
                )
        return cls.written(template.format(*places) if places else template)

    @classmethod
    def written(cls, text: str) -> ReportText:
        """A name, or a figure with its interval, unchanged."""
        return super().__new__(cls, text)

    @classmethod
    def joined(cls, between: str, parts: Iterable[ReportText]) -> ReportText:
        """Several as one."""
        return cls.written(between.join(parts))
