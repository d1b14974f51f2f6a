"""What the levels of the compared factor are called: by the experiment file, by the cause that it
names, or as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from contend.findings import CAUSES, Cause, Said
from contend.report.words import level_label, level_phrase
from contend.spec import Experiment, Level, Roles, Words, roles_of

USE = "server.use"

_SPEAK_FOR_THEMSELVES = (USE, "data.engine")
"""Factors whose levels are names that everybody knows: `InnoDB`, `mysql@sid`."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names of the levels, as tables and sentences use them. `cause` is that of the experiment."""

    roles: Roles
    words: Words
    cause: Cause | None

    def level(self, level: Level) -> Said:
        """What tables and charts call a level."""
        known: Mapping[str, str] = self.cause.levels if self.cause else {}
        return Said.written(self.words.name(level) or known.get(str(level)) or level_label(level))

    def noun(self, level: Level) -> Said:
        """A level as a thing that a sentence speaks of: `multi-row inserts`, `InnoDB`,
        `innodb_flush_method = fsync`."""
        compared = self.roles.compared
        if compared is None or compared.path in _SPEAK_FOR_THEMSELVES or self.words.name(level):
            return self.level(level)
        return level_phrase(compared.path, level)

    @property
    def baseline(self) -> Said:
        """What the levels are compared with, after `than`: its name is enough."""
        assert self.roles.baseline is not None
        return self.level(self.roles.baseline)

    def change(self, level: Level) -> Said:
        """What is done to get from the baseline to a level, as the subject of a sentence; empty if
        the names of the two say enough."""
        known: Mapping[str, str] = self.cause.change if self.cause else {}
        words = self.words.change or known.get(str(self.roles.baseline)) or known.get("") or ""
        return Said.written(words.format(level=self.level(level), baseline=self.baseline))

    def is_plural(self, level: Level) -> bool:
        return self.words.is_plural(level)


def naming_of(experiment: Experiment) -> Naming:
    """A cause from a newer contend is no reason to fail."""
    roles = roles_of(experiment)
    words = experiment.words.get(roles.compared.path if roles.compared else "", Words())
    return Naming(roles, words, CAUSES.get(experiment.explain or ""))


def as_sentence(text: Said) -> Said:
    """With a capital, unless it begins with a name that has none."""
    first = re.split(r"[\s,]", text, maxsplit=1)[0]
    is_word = first.isalpha() or bool(re.fullmatch(r"[a-z]+-[a-z-]+", first))
    is_setting = text[len(first) :].startswith(" =")
    is_small = is_word and first.islower() and not is_setting
    return Said.written(text[0].upper() + text[1:]) if is_small else text
