"""One block of twins: the statements of a recording, each asked on all levels in turn.

A statement and its twins have the same text and literals, so their ratio has none of the mix's
noise. The first level is the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from contend.data.recordings import Recording, find_recording
from contend.errors import RequestError
from contend.experiment import CellSpec, Experiment, Planned, asks_twins, cell_specs, same_level
from contend.experiment.settings.plan_keys import RECORDED, TWINS
from contend.host.placement import Placed, Placement
from contend.lab import probes
from contend.lab.design import Design
from contend.lab.events import Listener, StepProgress
from contend.lab.looks import now
from contend.lab.testbed import Ready
from contend.load import ArmSpec, LoadDriver, LoadFailed
from contend.load.ask import recorded_statements, show_recording
from contend.load.plan import asked_plan, plan_of
from contend.metrics.outcome import Done
from contend.metrics.plan import Load, Plan
from contend.metrics.probed import Probes, RunWarning
from contend.metrics.twins import AskedTwins, RecordedTemplate, RecordingFacts
from contend.store import RunFolder, RunRecord


@dataclass(frozen=True, slots=True)
class KnownRecording:
    """A recording of an experiment, and what its run folder keeps of it; `program` is
    contend-load."""

    program: Path
    recording: Recording
    facts: RecordingFacts

    def examples(self, templates: int) -> list[dict[str, Any]]:
        """One statement of each of the first templates, with its values.

        Raises:
            LoadFailed: the file cannot be read.
        """
        found = []
        for one in self.facts["templates"][:templates]:
            chosen = (f"--template={one['template']}", "--sample=1")
            found += recorded_statements(self.program, self.recording.path, *chosen)
        return found


def recordings_of(program: Path, cache: Path, experiment: Experiment) -> dict[str, KnownRecording]:
    """The recordings of an experiment, by name.

    Raises:
        RequestError: there is none of that name.
        LoadFailed: one cannot be read.
    """
    found = {}
    for cell in cell_specs(experiment):
        name = str(cell["workload"].get("recording", ""))
        if name and name not in found:
            recording = find_recording(cache, name)
            found[name] = KnownRecording(program, recording, _facts(program, recording))
    return found


def _facts(program: Path, recording: Recording) -> RecordingFacts:
    shown = show_recording(program, recording.path)
    templates = sorted(shown["templates"], key=lambda one: -(one["total_us"] or one["calls"]))
    kept = RecordedTemplate.__annotations__
    return {
        "digest": recording.digest,
        "statements": shown["statements"],
        "begin_us": shown["begin_us"],
        "end_us": shown["end_us"],
        "templates": cast(Any, [{key: one[key] for key in kept} for one in templates]),
    }


ROUNDS_EACH = 6
"""How often a statement is asked at each level. The shortest time counts: docs/decisions/0100."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How much is asked in a block: the rounds of each statement, and a time limit."""

    rounds: int
    for_s: float


def require_same_recordings(folder: RunFolder, now: Mapping[str, KnownRecording]) -> None:
    """Refuse to continue with a recording that differs from that of the runs so far.

    Raises:
        RequestError: another log was imported under its name.
    """
    for name, began in folder.meta().facts.get("recordings", {}).items():
        if now[name].recording.digest != began["digest"]:
            raise RequestError(
                f"the recording {name} is not the one that {folder.path} began with",
                hint="Import the earlier log again under that name, or start a new run.",
            )


def with_recordings(experiment: Experiment, recordings: Mapping[str, KnownRecording]) -> Experiment:
    """The experiment with the path of its recording in place of the name, if a load sends it.

    Raises:
        RequestError: the recording is a factor.
    """
    workload = experiment.base["workload"]
    if workload["kind"] != RECORDED:
        return experiment
    if any(factor.path == "workload.recording" for factor in experiment.factors):
        raise RequestError(
            "workload.recording cannot be a factor: different statements are compared with nothing",
            hint="Make a run of each recording.",
        )
    path = recordings[workload["recording"]].recording.path
    named = {**workload, "recording": str(path)}
    return replace(experiment, base=CellSpec({**experiment.base.values, "workload": named}))


def refuse_design(experiment: Experiment, design: Design) -> None:
    """Refuse twins in a comparison in which not all levels have a server at the same time, or
    together with other workloads.

    Raises:
        RequestError: with the reason.
    """
    if not asks_twins(experiment):
        return
    if len({cell["workload"]["kind"] for cell in cell_specs(experiment)}) > 1:
        raise RequestError(
            f'workload.kind: "{TWINS}" cannot be combined with other kinds',
            hint="Measure them in an experiment of their own.",
        )
    if not design.in_slices:
        why = design.why or "nothing is compared"
    elif design.is_switching:
        why = "one server would have to be switched after every statement"
    else:
        return
    raise RequestError(
        f"the statements of a recording cannot be asked on all levels in turn: {why}",
        hint="Compare what can run side by side: servers, options of private servers, or setup.",
    )


def baseline_first(experiment: Experiment, block: Sequence[Planned]) -> list[int]:
    """The places of a block's runs, that of the baseline first."""
    (path, level), *_ = experiment.compare.baseline.items()
    return sorted(range(len(block)), key=lambda at: not same_level(block[at].cell[path], level))


def measure_twins(
    block: Sequence[Planned],
    arms: Sequence[ArmSpec],
    readies: Sequence[Ready],
    load: LoadDriver,
    listen: Listener,
    recording: Recording,
    asking: Asking,
    client: Placement,
    *,
    seed: int,
) -> list[RunRecord]:
    """Ask the statements of a recording on all levels; the first is the baseline.

    Args:
        client: the placement of contend-load.

    Raises:
        LoadFailed: contend-load gave no result, or no statement was answered by all levels.
    """
    plan = asked_plan(
        arms, str(recording.path), rounds=asking.rounds, for_s=asking.for_s, seed=seed
    )
    placed = Placed(client) if client else None
    env = {name: value for ready in readies for name, value in ready.env.items()}

    def on_progress(asked: int, of: int) -> None:
        listen(StepProgress("asking the statements of the recording", asked, of, "statements"))

    started_at = now()
    before = [probes.look(ready.observed, begins=True) for ready in readies]
    outcome = load.ask(plan, env=env, on_progress=on_progress, placed=placed)
    after = [probes.look(ready.observed) for ready in readies]
    found = answers_of_arms(outcome)
    if any(math.isnan(one["us_mean"]) for one in found):
        raise _nothing_answered(outcome)
    records = []
    for index, (planned, ready) in enumerate(zip(block, readies, strict=True)):
        seen: Probes = {
            **ready.probes,
            **probes.changes(before[index], after[index]),
            "twins": found[index],
        }
        records.append(
            RunRecord(
                run=planned.run,
                block=planned.block,
                repeat=planned.repeat,
                cell=planned.cell,
                status="ok",
                started_at=started_at,
                ended_at=now(),
                plan=_plan_of_arm(asking, arms[index], seed),
                done=_done(outcome, index),
                probes=seen,
                warnings=[*ready.warnings, *_warnings(found[index])],
            )
        )
    return records


def _warnings(asked: AskedTwins) -> Iterator[RunWarning]:
    """What the answers of a level do not cover."""
    if tables := asked["missing_tables"]:
        named = ", ".join(one["table"] for one in tables)
        more = asked["missing_tables_total"] - len(tables)
        share = f"{100 * asked['missing_tables_share']:.3g} % of the recorded {asked['shares_of']}"
        yield {
            "code": "tables-missing",
            "message": f"the data lack tables of the recording ({named}"
            f"{f' and {more} more' if more else ''}); statements with {share} failed",
        }
    if (refused := asked["timestamp_refused"]) is not None:
        yield {
            "code": "timestamp-refused",
            "message": f"statements such as NOW() ask about today: the login may not SET timestamp "
            f"({refused})",
        }
    if asked["too_slow"]:
        yield {
            "code": "statements-stopped",
            "message": f"statements that took longer than workload.limit were stopped: "
            f"{asked['too_slow']}",
        }
    if asked["not_rolled_back"]:
        yield {
            "code": "writes-stayed",
            "message": "tables without transactions keep their writes: statements: "
            f"{asked['not_rolled_back']}",
        }
    if asked["reconnects"]:
        yield {
            "code": "connection-lost",
            "message": f"connections that were lost and opened again: {asked['reconnects']}",
        }


def _nothing_answered(outcome: Mapping[str, Any]) -> LoadFailed:
    """No statement was answered at all levels."""
    for arm in outcome["arms"]:
        if arm["no_database"]:
            return LoadFailed(
                f"{arm['no_database']} statements need a database that {arm['arm']} does not have",
                hint="Import a dump with the recorded names: `contend data import`.",
            )
    errors = {code: n for arm in outcome["arms"] for code, n in arm["errors"].items()}
    tables = [one["table"] for one in outcome["missing_tables"]]
    if tables:
        return LoadFailed(
            f"no statement of the recording was answered at all levels; missing tables: "
            f"{', '.join(tables)}",
            hint="Import a dump of the recorded server: `contend data import`.",
        )
    return LoadFailed(
        "no statement of the recording was answered at all levels",
        detail="".join(f"error {code}: {times} times\n" for code, times in errors.items()) or None,
    )


def _plan_of_arm(asking: Asking, arm: ArmSpec, seed: int) -> Plan:
    """The plan in the form of other runs, for the record."""
    plan = plan_of(arm.cell, arm.address, seed=seed, watch_pid=None)
    load: Load = {"connections": 1, "measure_s": asking.for_s}
    return {**plan, "load": load}


def _done(outcome: Mapping[str, Any], index: int) -> Done:
    """The statements of one level as the outcome of a load."""
    arm = outcome["arms"][index]
    count = arm["count"]
    done = {
        "type": "done",
        "arrival": "closed",
        "ended": "time" if outcome["ended"] == "time" else "events",
        "queries": count,
        "measured_s": arm["sum_us"] / 1e6,
        "qps": 1e6 * count / arm["sum_us"],
        "latency_us": {
            "count": count,
            "mean": arm["sum_us"] / count,
            **{end: arm[f"{end}_us"] for end in ("p50", "p95", "p99", "max")},
        },
        "rows": arm["rows"],
        # Those of each template are among its answers.
        "errors": [],
    }
    return cast(Done, done)


def answers_of_arms(outcome: Mapping[str, Any]) -> list[AskedTwins]:
    """What each level answered."""
    whole = {
        name: outcome[name]
        for name in (
            *("elapsed_s", "warm_s", "ended", "shares_of", "asked", "planned", "left_out"),
            *("missing_tables", "missing_tables_total", "missing_tables_share"),
        )
    }
    whole["timestamp_refused"] = (outcome.get("timestamp_refused") or {}).get("message")
    templates, mean_us = outcome["templates"], _mean_us(outcome)
    found = []
    for index, arm in enumerate(outcome["arms"]):
        own = {name: arm[name] for name in _OF_ARM}
        answers = [_answers(one, index) for one in templates]
        ratio = _ratio(outcome, index) if index else 1.0
        found.append({**whole, **own, "us_mean": mean_us * ratio, "templates": answers})
    return cast(list[AskedTwins], found)


_OF_ARM = (
    *("rows_logged", "rows_as_logged", "no_database"),
    *("not_rolled_back", "too_slow", "reconnects"),
)


def _answers(template: Mapping[str, Any], index: int) -> dict[str, Any]:
    """One template at one level, with its pairs, which are those with the baseline."""
    apart = ("arms", "pairs")
    found = {name: value for name, value in template.items() if name not in apart}
    found |= template["arms"][index]
    if index:
        pair = template["pairs"][index - 1]
        found |= {name: value for name, value in pair.items() if name != "arm"}
    return found


def _mean_us(outcome: Mapping[str, Any]) -> float:
    """Mean time of a statement at the baseline, if each template is asked as often as in the
    recording; NaN if none was answered."""
    known = [(one["calls"], one["arms"][0]) for one in outcome["templates"]]
    known = [(calls, arm) for calls, arm in known if arm["count"]]
    calls = sum(calls for calls, _ in known)
    total_us = math.fsum(calls * arm["sum_us"] / arm["count"] for calls, arm in known)
    return total_us / calls if calls else math.nan


def _ratio(outcome: Mapping[str, Any], index: int) -> float:
    """Time of a level over that of the baseline, each template weighted by its share of the time
    that was logged. If no time was logged, by its calls and its time at the baseline."""
    weights, ratios = [], []
    for one in outcome["templates"]:
        pair, base = one["pairs"][index - 1], one["arms"][0]
        if pair["pairs"]:
            each_us = 1.0 if outcome["shares_of"] == "time" else base["sum_us"] / base["count"]
            weights.append(one["share"] * each_us)
            ratios.append(math.exp(pair["mean_ln_ratio"]))
    whole = math.fsum(weights)
    parts = (weight * ratio for weight, ratio in zip(weights, ratios, strict=True))
    return math.fsum(parts) / whole if whole > 0 else math.nan
