"""What an experiment's own analysis may add to the report. Without one, this is what is used."""

from __future__ import annotations

from contend.findings import Compared, Study
from contend.report.model import Cause, Layout, Panel
from contend.report.words import level_label
from contend.spec import Level, Roles

USE = "server.use"


class Explanation:
    """The plain one: levels are called what they are, and no cause is stated."""

    def level(self, level: Level) -> str:
        """What a level of the compared factor is called in tables and charts."""
        return level_label(level)

    def change(self, roles: Roles, level: Level) -> str:
        """What is done to get from the baseline to a level, as the subject of a sentence; empty if
        the names of the two say enough."""
        del roles, level
        return ""

    def cause(
        self, study: Study, layout: Layout, panels: tuple[Panel, ...], compared: Compared
    ) -> Cause | None:
        """Why the curve has its shape; None if this analysis has nothing to go by."""
        del study, layout, panels, compared
        return None
