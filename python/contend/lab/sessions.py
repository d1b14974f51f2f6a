"""A run is one session of its host. What the earlier ones said goes into its folder when it
begins, and what it said itself into the history when it is finished.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contend.facts import fact
from contend.findings import rule_of
from contend.lab import history
from contend.lab.events import Listener, Notice
from contend.lab.learned import Learned
from contend.probed import EarlierSession, SessionWhole
from contend.spec import Experiment, cell_spec, contexts
from contend.stats import wholes
from contend.store import RunFolder

FACT = "sessions"
"""Where a run folder keeps what the earlier ones said."""

_DRAWN_ANEW = frozenset({"load.seed", "load.engine"})
"""Settings in which sessions may differ: another draw of the same; what the host's kernel gives."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions that a run is one of.

    path: of the history.
    key: what they have in common.
    """

    path: Path
    key: history.Key

    def facts(self, listen: Listener) -> dict[str, Any]:
        """What the earlier ones said."""
        return {FACT: {"earlier": history.earlier(self.path, self.key, listen)}}

    def note(self, experiment: Experiment, folder: RunFolder, listen: Listener) -> None:
        """Keep what a finished run said. That it cannot be kept takes nothing from the run."""
        said = said_by(experiment, folder)
        if said is None:
            return
        try:
            history.note(self.path, self.key, said)
        except OSError as error:
            why = error.strerror or error
            listen(Notice(f"later sessions will not know of this one: {self.path}: {why}"))


def sessions_of(
    path: Path | None, experiment: Experiment, facts: Mapping[str, Any]
) -> Sessions | None:
    """Those that a run with these facts is one of; None if nothing is compared, or kept."""
    if path is None or experiment.compared is None:
        return None
    return Sessions(path, key_of(experiment, facts))


def key_of(experiment: Experiment, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What sessions must have in common: the machine and its kernel, the servers' versions, and
    all that is measured: data, workload and settings of every cell, how levels are compared, and
    what is allowed for. Other levels beside the same ones do not matter, nor does the time given.
    """
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


def said_by(experiment: Experiment, folder: RunFolder) -> EarlierSession | None:
    """What a run says of each level as a whole, by the metric that decides; None if no level has
    two repeats."""
    records = folder.records(intervals=False)
    learned = Learned(experiment)
    learned.learn(records)
    repeats = sorted({one.repeat for one in records if one.status == "ok"})
    if not repeats or not learned.others:
        return None
    d = learned.log_ratios(repeats)
    in_slices = fact(folder.meta().facts, "way.by") == "slices"
    seen = wholes(
        d,
        learned.shape,
        confidence=rule_of(experiment).interval_confidence,
        covariates=learned.covariates(repeats, d, in_slices=in_slices),
    )
    found: list[SessionWhole] = [
        {
            "metric": experiment.compare.metric[0],
            "level": learned.others[one.place.level],
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
