"""Words with places for findings. Whoever shows them says how a figure is written; here it is only
said which one stands where, so no number comes into a sentence but as a finding."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

from contend.findings.model import Figure, Finding
from contend.spec import Level


@dataclass(frozen=True, slots=True)
class Given:
    """A number that nobody measured here: of the machine, of the plan, or of a rule."""

    value: float


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
