"""Words with places for findings: no number comes into a sentence but as a finding.

A `Sentence` only says which one stands where; whoever shows it says how a figure is written. `Said`
is what comes of that, and of what a report says itself.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contend.findings.model import Figure, Finding
from contend.spec import Level


@dataclass(frozen=True, slots=True)
class Given:
    """A number that nobody measured here: of the machine, of the plan, or of a rule."""

    value: float

    def __format__(self, how: str) -> str:
        return format(self.value, how or "g")


class Said(str):
    """Words as they are printed: `Said("{} is {} slower", name, size)`.

    A place takes what is said already, a number that is `Given`, or a word without a number. The
    figures of findings are said by `sections.words`, and so are the names of levels.

    Raises:
        TypeError: a bare number is to stand in a place, or stands in the words.
    """

    def __new__(cls, words: str, *places: Said | Given | str) -> Said:
        for one in (words, *places):
            if not isinstance(one, Said | Given) and (
                not isinstance(one, str) or re.search(r"\d", re.sub(r"{[^}]*}", "", one))
            ):
                raise TypeError(
                    f"{one!r} in {words!r} has a number that is not a finding: a sentence needs "
                    "its interval and its n"
                )
        return cls.written(words.format(*places) if places else words)

    @classmethod
    def written(cls, text: str) -> Said:
        """A name, or a figure with its interval, as it was written."""
        return super().__new__(cls, text)

    @classmethod
    def joined(cls, between: str, parts: Iterable[Said]) -> Said:
        """Several as one."""
        return cls.written(between.join(parts))


@dataclass(frozen=True, slots=True)
class AtLevel:
    """A level of the compared factor, by its name."""

    level: Level


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with `{places}` and what stands in them, as `str.format` writes them.

    After the colon stands how. Of a figure: nothing for itself, `share` as a share in percent,
    `gain` as that many times more in percent, `ms` if it is microseconds, `n` for how many repeats
    it is of. Of a finding: `gain` and `size` in percent, with a sign and without. Of both: `at` for
    its place, or `table`, `level`, `column` for a part of it. Of a given number Python's own.

    Raises:
        TypeError: something else than findings and names is to stand in a place.
        KeyError: a place has nothing to stand in it.
    """

    words: str
    places: Mapping[str, Figure | Finding | Given | AtLevel | Sentence | str]

    def __post_init__(self) -> None:
        for name, one in self.places.items():
            if not isinstance(one, Figure | Finding | Given | AtLevel | Sentence | str):
                raise TypeError(
                    f"{name} in {self.words!r} is {one!r}, and not a finding: a sentence needs its "
                    "interval and its n"
                )
        for _, wanted, _, _ in string.Formatter().parse(self.words):
            if wanted is not None and wanted not in self.places:
                raise KeyError(f"nothing stands for {wanted} in {self.words!r}")


def say(words: str, **places: Figure | Finding | Given | AtLevel | Sentence | str) -> Sentence:
    """A sentence of findings."""
    return Sentence(words, places)


def joined(sentences: list[Sentence], between: str = " ") -> Sentence:
    """Several sentences as one."""
    names = [f"_{number}" for number in range(len(sentences))]
    words = between.join(f"{{{name}}}" for name in names)
    return Sentence(words, dict(zip(names, sentences, strict=True)))
