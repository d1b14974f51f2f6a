"""The experiment that a run folder holds: all that is asked, so that a resume asks the same again,
and no password."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from contend.errors import RequestError
from contend.files import read_file
from contend.lab.events import ChangedExperiment
from contend.load import Address, plan_of
from contend.settings.plan_keys import SUPPLIED
from contend.settings.values import shown
from contend.spec import (
    Experiment,
    cell_spec,
    has_word,
    hide_in_comments,
    place_of_secret,
    to_dict,
)
from contend.store import RunFolder


def kept(experiment: Experiment, passwords: Collection[str]) -> dict[str, Any]:
    """The experiment as its run folder has it."""
    return to_dict(replace(experiment, source=hide_in_comments(experiment.source, passwords)))


def refuse_passwords(
    experiment: Experiment, passwords: Collection[str], script_files: Callable[[], Iterable[Path]]
) -> None:
    """Refuse an experiment that says a password of a login: its folder would say it too.

    Args:
        script_files: gives the files that the experiment's scripts load.

    Raises:
        RequestError: with the place.
    """
    data = experiment.base.data
    # Everybody knows these, and every run folder has them.
    names = {data.schema, data.database, *data.table_names}
    secrets = [password for password in passwords if password not in names]
    place = (
        place_of_secret(experiment.source, secrets)
        or _in_overrides(experiment, secrets)
        or _in_files(script_files() if secrets else (), secrets)
    )
    if place is not None:
        raise RequestError(
            f"{place} has the password of the login in it, and a run folder keeps what is asked",
            hint="Take the password out of there, or log in with another one.",
        )


def _in_overrides(experiment: Experiment, secrets: Collection[str]) -> str | None:
    parted = (one.partition("=") for one in experiment.overrides)
    return next((f"--set {path}" for path, _, text in parted if has_word(text, secrets)), None)


def _in_files(paths: Iterable[Path], secrets: Collection[str]) -> str | None:
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            if has_word(line, secrets):
                return f"{path}:{number}"
    return None


def require_same_experiment(
    folder: RunFolder, stored: Experiment, given: Experiment | None, passwords: Collection[str]
) -> None:
    """Refuse to go on with another experiment than the one that was begun.

    Args:
        given: what the caller believes the folder is for; None if it does not say.

    Raises:
        ChangedExperiment: the folder is for another one, its file was edited since, or what would
            be asked now is not what was asked.
    """
    file = folder.path / "experiment.toml"
    if file.exists() and read_file(file).decode("utf-8", "replace") != stored.source:
        raise ChangedExperiment(
            f"{file} was edited since this run began",
            hint="A run keeps the experiment it began with: undo the edit, or start a new run "
            "with the edited file.",
        )
    if given is not None and kept(given, passwords) != kept(stored, passwords):
        raise ChangedExperiment(
            f"{folder.path} is not a run of this experiment as it is now",
            hint=f"`contend run --resume {folder.path}` continues it as it began; "
            "leave --resume out to start a new run.",
        )
    _require_same_asked(folder, stored)


def _require_same_asked(folder: RunFolder, stored: Experiment) -> None:
    """Each cell asks what it asked in its runs so far."""
    for run, cell, plan in folder.asked():
        asked = _as_json(plan["workload"])
        again = plan_of(cell_spec(stored, cell), Address(), seed=0, watch_pid=None)
        now = _as_json(again["workload"])
        # Of the tables, those that are there have the last word.
        for name in sorted(asked.keys() - SUPPLIED):
            if asked[name] != now.get(name):
                raise ChangedExperiment(
                    f"run {run} of {folder.path} asked workload.{name} = {shown(asked[name])}, "
                    f"and {shown(now.get(name))} would be asked now",
                    hint="Start a new run.",
                )


def _as_json(workload: Mapping[str, Any]) -> dict[str, Any]:
    """As a run folder has it: no tuples."""
    found: dict[str, Any] = json.loads(json.dumps(workload))
    return found
