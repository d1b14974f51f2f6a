"""What the levels of the compared factor are called."""

from __future__ import annotations

from collections.abc import Mapping

from contend.findings import CAUSES
from contend.report.words import factor_label, level_label
from contend.spec import Experiment, Level, Roles

USE = "server.use"


class Explanation:
    """What levels and changes are called.

    Args:
        experiment: a name of its cause that is from a newer contend is no reason to fail.
    """

    def __init__(self, experiment: Experiment | None = None) -> None:
        self.cause = CAUSES.get((experiment and experiment.explain) or "")

    def level(self, level: Level) -> str:
        """What a level of the compared factor is called in tables and charts."""
        names: Mapping[str, str] = self.cause.levels if self.cause else {}
        return names.get(str(level)) or level_label(level)

    def change(self, roles: Roles, level: Level) -> str:
        """The change from the baseline to a level, as the subject of a sentence."""
        if roles.compared is None or roles.baseline is None:
            return "The change"
        names = {"level": self.level(level), "baseline": self.level(roles.baseline)}
        known: Mapping[str, str] = self.cause.change if self.cause else {}
        words = known.get(str(roles.baseline)) or known.get("")
        if words is None and roles.compared.path == USE:
            words = "Changing from {baseline} to {level}"
        if words is None:
            words = "Setting {name} to {level} instead of {baseline}"
        return words.format(**names, name=factor_label(roles.compared.path))
