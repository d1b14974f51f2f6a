"""A run is one session of its host. When it begins, results of earlier matching sessions are copied
into its folder; when it finishes, its own are appended to the history.

The history is a per-user file with one line per run. Each line is appended in one write, under a
lock, and synced before the next command starts. Lines damaged by a crash or written by a newer
contend are skipped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.experiment import Experiment, cell_spec, contexts
from contend.files import append_line, default_state, locked
from contend.findings import rule_of
from contend.lab.events import Listener, Notice
from contend.lab.observations import Observations
from contend.metrics.probed import EarlierFacts, EarlierSession, SessionFacts, SessionWhole
from contend.stats import wholes
from contend.store import RunFolder
from contend.units import fact

FORMAT = 1

Key = Mapping[str, Any]
"""Properties that sessions must share to be compared; JSON values."""


def default_history() -> Path:
    """`$XDG_STATE_HOME/contend/sessions.jsonl`, or below `~/.local/state`."""
    return default_state() / "sessions.jsonl"


def append(path: Path, key: Key, results: EarlierSession) -> None:
    """Append the results of a session; raises OSError, and then no part of it counts."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps({"format": FORMAT, "key": key, "said": results}, allow_nan=False)
    with locked(path, on_wait=lambda: None) as file:
        append_line(file, line)
        os.fsync(file)


def earlier(path: Path, key: Key, listen: Listener) -> list[EarlierSession]:
    """Results of the sessions with this key, the oldest first. Unreadable ones are reported and
    left out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        listen(Notice(f"earlier sessions cannot be read: {path}: {error.strerror}"))
        return []
    found, left_out = [], 0
    for line in lines:
        try:
            one = json.loads(line)
            if one["format"] != FORMAT or not _is_whole(one["said"]):
                raise ValueError("unexpected form")
            if one["key"] == key:
                found.append(one["said"])
        except (ValueError, KeyError, TypeError):
            left_out += 1
    if left_out:
        unit = "line" if left_out == 1 else "lines"
        listen(
            Notice(
                f"skipped {left_out} {unit} of {path}: damaged, or written by a different version "
                "of contend"
            )
        )
    return found


def _is_whole(results: Any) -> bool:
    numbers = ("log_ratio", "se", "df")
    return isinstance(results["ended_at"], str) and all(
        isinstance(one["metric"], str)
        and isinstance(one["level"], bool | int | float | str)
        and all(isinstance(one[name], int | float) for name in numbers)
        for one in results["wholes"]
    )


_DRAWN_ANEW = frozenset({"load.seed", "load.engine"})
"""Settings in which sessions may differ: the seed, and the engine, which depends on the kernel."""


@dataclass(frozen=True, slots=True)
class SessionSeries:
    """The sessions to which a run belongs.

    path: of the history.
    key: the properties that they share.
    """

    path: Path
    key: Key

    def facts(self, listen: Listener) -> EarlierFacts:
        return {"earlier": earlier(self.path, self.key, listen)}

    def note(self, experiment: Experiment, folder: RunFolder, listen: Listener) -> None:
        """Keep the results of a finished run. A failure to keep them does not affect the run."""
        results = results_of(experiment, folder)
        if results is None:
            return
        try:
            append(self.path, self.key, results)
        except OSError as error:
            why = error.strerror or error
            listen(Notice(f"this session was not added to the history: {self.path}: {why}"))


def sessions_of(
    path: Path | None, experiment: Experiment, facts: SessionFacts
) -> SessionSeries | None:
    """The sessions to which a run with these facts belongs; None if nothing is compared, or
    kept."""
    if path is None or experiment.compared is None:
        return None
    return SessionSeries(path, key_of(experiment, facts))


def key_of(experiment: Experiment, facts: SessionFacts) -> dict[str, Any]:
    """Properties that sessions must share: the machine and its kernel, the servers' versions, and
    everything measured (data, workload and settings of every cell, how levels are compared, the
    covariates). Additional levels and the given time may differ."""
    compared, baseline = experiment.compared, experiment.compare.baseline
    assert compared is not None
    cells = [cell_spec(experiment, {**one, **baseline}).values for one in contexts(experiment)]
    measured = {
        "cells": [{path: cell[path] for path in cell if path not in _DRAWN_ANEW} for cell in cells],
        "compared": [compared.path, baseline[compared.path]],
        "adjust": experiment.compare.adjust,
        "by": fact(facts, "way.by"),
        "own": fact(facts, "way.own"),
        "content": facts.get("content_version"),
        "scripts": [one["sha256"] for one in facts.get("scripts", ())],
    }
    text = json.dumps(measured, sort_keys=True, default=str)
    servers = facts.get("servers", {})
    return {
        "host": fact(facts, "machine.id"),
        "kernel": fact(facts, "kernel.release"),
        "servers": [
            f"{name}: {one.get('kind')} {one.get('version')}" for name, one in servers.items()
        ],
        "measured": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def results_of(experiment: Experiment, folder: RunFolder) -> EarlierSession | None:
    """The results of a run per level, by the deciding metric; None if no level has two repeats."""
    records = folder.records(intervals=False)
    observations = Observations(experiment)
    observations.add(records)
    repeats = sorted({one.repeat for one in records if one.status == "ok"})
    if not repeats or not observations.others:
        return None
    tables = observations.log_ratios(repeats)[:1]
    in_slices = fact(folder.meta().facts, "way.by") == "slices"
    seen = wholes(
        tables,
        observations.shape,
        confidence=rule_of(experiment).interval_confidence,
        covariates=observations.covariates(repeats, tables, in_slices=in_slices),
    )
    found: list[SessionWhole] = [
        {
            "metric": experiment.compare.metric[0],
            "level": observations.others[one.place.level],
            "log_ratio": math.log(one.ratio),
            "se": one.sd_log / math.sqrt(one.n),
            "df": one.n - 1,
        }
        for one in seen.changes
        if one.n > 1 and one.sd_log >= 0
    ]
    if not found:
        return None
    ended = max(records, key=lambda one: one.ended_at)
    return {"run": folder.path.resolve().name, "ended_at": ended.ended_at, "wholes": found}
