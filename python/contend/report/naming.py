"""What the levels of the compared factor are called: by the experiment file, by the analysis of its
cause, or as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contend.report.causes import USE, Explanation
from contend.report.words import level_phrase
from contend.spec import Experiment, Level, Roles, Words

_SPEAK_FOR_THEMSELVES = (USE, "data.engine")
"""Factors whose levels are names that everybody knows: `InnoDB`, `mysql@sid`."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of the levels, as tables and sentences use them."""

    roles: Roles
    explanation: Explanation
    words: Words

    def level(self, level: Level) -> str:
        """What tables and charts call a level."""
        return self.words.name(level) or self.explanation.level(level)

    def noun(self, level: Level) -> str:
        """A level as a thing that a sentence speaks of: `multi-row inserts`, `InnoDB`,
        `innodb_flush_method = fsync`."""
        compared = self.roles.compared
        named = self.words.name(level)
        if named or compared is None:
            return named or self.explanation.level(level)
        if compared.path in _SPEAK_FOR_THEMSELVES:
            return self.explanation.level(level)
        return level_phrase(compared.path, level)

    @property
    def baseline(self) -> str:
        """What the levels are compared with, after `than`: its name is enough."""
        assert self.roles.baseline is not None
        return self.level(self.roles.baseline)

    def change(self, level: Level) -> str:
        """What is done to get to a level, if there are words for that."""
        if self.words.change:
            names = {"level": self.level(level), "baseline": self.baseline}
            return self.words.change.format(**names)
        return self.explanation.change(self.roles, level)

    def is_plural(self, level: Level) -> bool:
        return self.words.is_plural(level)


def naming_of(experiment: Experiment, roles: Roles, explanation: Explanation) -> Naming:
    path = roles.compared.path if roles.compared else ""
    return Naming(roles, explanation, experiment.words.get(path, Words()))


def as_sentence(text: str) -> str:
    """With a capital, unless it begins with a name that has none."""
    first = re.split(r"[\s,]", text, maxsplit=1)[0]
    is_word = first.isalpha() or bool(re.fullmatch(r"[a-z]+-[a-z-]+", first))
    is_setting = text[len(first) :].startswith(" =")
    return text[0].upper() + text[1:] if is_word and first.islower() and not is_setting else text
