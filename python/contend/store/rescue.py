"""Reading what can be read: a damaged results.sqlite, or a clean copy of a healthy one.

A damaged file is read row by row; a row whose pages are gone is left out. A spec that cannot be
read comes from `spec.json` beside it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from contend.spec import Planned
from contend.store.checked import connect
from contend.store.connection import RESULTS_NAME
from contend.store.errors import DamagedStore
from contend.store.folder import RunFolder
from contend.store.salvage import read_meta, read_planned, read_runs, read_sessions, read_spec


@dataclass(frozen=True, slots=True)
class Rescued:
    """The new folder, how many runs it holds, and how many were planned."""

    folder: Path
    runs: int
    planned: int


def rescue(damaged: Path, into: Path) -> Rescued:
    """Write every run that can be read into a new run folder, which can be shown and resumed."""
    # A newer format or another program's file is refused here as everywhere.
    with suppress(DamagedStore):
        connect(damaged, write=False).close()
    records = read_runs(damaged)
    planned = read_planned(damaged) or [
        Planned(record.run, record.block, record.repeat, record.cell) for record in records
    ]
    experiment = read_meta(damaged, "experiment") or read_spec(damaged)
    if experiment is None:
        raise DamagedStore(
            f"{damaged / RESULTS_NAME} is damaged beyond use, and {damaged / 'spec.json'} "
            "cannot be read either",
            hint="Restore the folder from a copy, or run the experiment again.",
        )
    sessions = read_sessions(damaged)
    first, *later = sessions or [{}]
    with RunFolder.create(into, experiment, planned, first) as folder:
        for facts in later:
            folder.add_session(facts)
        for record in records:
            folder.append(record)
    return Rescued(into, len(records), len(planned))
