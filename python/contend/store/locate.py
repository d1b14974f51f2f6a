"""Which run folder a name means: a path, or the name of a folder under ./contend-runs."""

from __future__ import annotations

import difflib
from pathlib import Path

from contend.store.connection import RESULTS_NAME
from contend.store.errors import NotARunFolder

RUNS_ROOT = Path("contend-runs")


def find_run(name: str, root: Path = RUNS_ROOT) -> Path:
    """The run folder that `name` means.

    Raises:
        NotARunFolder: neither a path nor a name is one; the nearest name is told.
    """
    given = Path(name)
    if given.name == RESULTS_NAME and given.is_file():
        given = given.parent
    for candidate in (given, root / name):
        if (candidate / RESULTS_NAME).is_file():
            return candidate
    known = _runs_under(root)
    nearest = difflib.get_close_matches(name, known, n=1)
    if given.is_dir():
        message = f"{given} is not a run folder: it has no {RESULTS_NAME}"
    else:
        message = f"there is no run folder {name}, here or under {root}"
    if nearest:
        hint = f"Did you mean {nearest[0]}?"
    elif known:
        hint = f"The runs under {root}: {', '.join(known[-5:])}."
    else:
        hint = "`contend run EXPERIMENT` makes one and prints its path."
    raise NotARunFolder(message, hint=hint)


def _runs_under(root: Path) -> list[str]:
    if not root.is_dir():
        return []
    return sorted(child.name for child in root.iterdir() if (child / RESULTS_NAME).is_file())
