"""Builds the cells of a screen, and refuses what cannot be combined with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contend.experiment.build_workload import Levels
from contend.experiment.document import Document
from contend.experiment.model import Factor, same_level
from contend.experiment.screen import all_old, factors_of
from contend.experiment.settings.equal_load import ALONE, EQUAL, RATE
from contend.experiment.settings.options import (
    CHANGE,
    LAYOUT_OPTIONS,
    OPTIONS,
    PROFILE,
    plain_option,
)
from contend.experiment.settings.plan_keys import TWINS
from contend.experiment.settings.screen import LINES, LINES_MAX, LINES_MIN, NEW, OLD, PART, lines_of
from contend.experiment.settings.values import Level, shown

_NOT_WITH_SCREEN = {
    "experiment": ("explain", "why"),
    "compare": ("baseline", "fail_if_slower", "layout", "by", "adjust"),
    "goal": ("hold",),
}


def read_screen(
    document: Document, values: Mapping[str, Any], levels: Levels
) -> tuple[tuple[Factor, ...], Mapping[str, Level]]:
    """The factors of a screen and its baseline; empty if the file screens nothing."""
    for setting in (LINES, PART):
        if setting.path in levels or setting.key.name in document.table(("screen",)):
            place = ("factors", setting.path) if setting.path in levels else setting.steps
            document.refuse(place, f"{setting.path} is chosen by contend", hint="Leave it out.")
    lines = len(lines_of(values))
    if not lines:
        return (), {}
    _refuse_others(document, values, levels)
    _check_lines(document, values)
    if lines < LINES_MIN:
        document.refuse(
            ("screen",),
            "[screen] has one line that differs, and a screen needs at least two",
            hint="Compare its two values with `contend try NAME=OLD,NEW`.",
        )
    if lines > LINES_MAX:
        document.refuse(
            ("screen",),
            f"[screen] has {lines} lines that differ, and a screen can have {LINES_MAX}",
            hint="Screen a half of them at a time, with the other half in server.options; then "
            "screen the lines that matter together.",
        )
    return factors_of(lines), {LINES.path: all_old(lines)}


def _refuse_others(document: Document, values: Mapping[str, Any], levels: Levels) -> None:
    if levels:
        path = next(iter(levels))
        document.refuse(
            ("factors", path),
            "a screen varies its lines only, and cannot be combined with [factors]",
            hint=f"Give {path} one value.",
        )
    for section, names in _NOT_WITH_SCREEN.items():
        table = document.table((section,))
        for name in names:
            if table.get(name):
                document.refuse(
                    (section, name),
                    f"{section}.{name} cannot be combined with a screen",
                    hint="Leave one of them out.",
                )
    if document.table(("published",)):
        document.refuse(
            ("published",),
            "published figures cannot be combined with a screen",
            hint="Leave one of them out.",
        )
    for path, is_given in (
        (RATE, values[RATE] == EQUAL),
        (ALONE, bool(values[ALONE])),
        (PROFILE.path, values[PROFILE.path] is not None),
        (CHANGE.path, values[CHANGE.path] == "in_place"),
        ("workload.kind", values["workload"]["kind"] == TWINS),
    ):
        if is_given:
            steps = tuple(path.split("."))
            given = document.table(steps[:-1]).get(steps[-1])
            document.refuse(
                steps,
                f"{path} = {shown(given)} cannot be combined with a screen",
                hint="Leave it out.",
            )


def _check_lines(document: Document, values: Mapping[str, Any]) -> None:
    old, new = values[OLD.path], values[NEW.path]
    for setting, table in ((NEW, new), (OLD, old)):
        for name in table:
            place = (*setting.steps, name)
            if plain_option(name) in LAYOUT_OPTIONS:
                document.refuse(
                    place,
                    f"{name} decides the layout of the data files: no line can change it",
                    hint=f"Set it in {OPTIONS.path}, or compare it by itself.",
                )
            if name in values[OPTIONS.path]:
                document.refuse(
                    place,
                    f"{setting.path}.{name} is in {OPTIONS.path} too",
                    hint="Leave one of them out.",
                )
            if name in old and name in new and same_level(old[name], new[name]):
                document.refuse(
                    place,
                    f"{name} is {shown(new[name])} in both sets of the screen",
                    hint=f"Put it into {OPTIONS.path}.",
                )
