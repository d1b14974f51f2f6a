"""The steps of `setup` that vary, such as an index: their duration, the size that they add, and the
plan of each statement without and with them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from contend.experiment import Experiment, Level, cell_key
from contend.findings import Constant, ReportText
from contend.findings.plans import PLANS, PlanStep, StatementPlan, plans_in
from contend.sections.looks import last_looks
from contend.sections.model import Inputs, Section, Shown, TextTable
from contend.sections.words import (
    cell_phrase,
    estimate_text,
    figure_json,
    long_text,
    significant,
    size_change_text,
    verbatim_text,
)
from contend.stats import Estimate, estimate
from contend.store import LookRecord
from contend.units import format_size

_PREFIX = "setup."


def varying_steps(experiment: Experiment) -> list[str]:
    """The names of the steps that some cells have and others do not."""
    paths = (factor.path for factor in experiment.factors if len(factor.levels) > 1)
    return [path.removeprefix(_PREFIX) for path in paths if path.startswith(_PREFIX)]


@dataclass(frozen=True, slots=True)
class PlanPair:
    """The plans of one statement without a step and with it."""

    name: str
    without: StatementPlan
    having: StatementPlan

    @property
    def differs(self) -> bool:
        return self.without.differs(self.having)

    @property
    def is_known(self) -> bool:
        return bool(self.without.steps and self.having.steps)


@dataclass(frozen=True, slots=True)
class StepFacts:
    """One step.

    Args:
        seconds: over the repeats; None if it was never run. times: each run of it.
        tables: bytes before and after by the table, where they differ; None if not known.
        pairs: of each context with both plans.
        why_not: why there are no plans; empty if there are, or if none were looked for.
    """

    name: str
    do: str
    seconds: Estimate | None
    times: tuple[float, ...]
    tables: Mapping[str, tuple[int, int]] | None
    pairs: tuple[tuple[Mapping[str, Level], tuple[PlanPair, ...]], ...]
    why_not: str


def facts_of(inputs: Inputs) -> list[StepFacts] | None:
    """None if no step varies."""
    names = varying_steps(inputs.study.experiment)
    return [_facts(inputs, name) for name in names] or None


def _facts(inputs: Inputs, name: str) -> StepFacts:
    runs: dict[int, dict[str, float]] = defaultdict(dict)
    do, tables = "", None
    for record in inputs.study.measured:
        for step in record.probes.get("settings", {}).get("setup", ()):
            # A level without any step has the steps as the file has them.
            if isinstance(step, Mapping) and step.get("name") == name and "seconds" in step:
                # A step holds for all blocks of its server, so several records have it.
                runs[record.repeat][str(step["at"])] = float(step["seconds"])
                do, tables = str(step["do"]), step["tables"]
    means = [math.fsum(one.values()) / len(one) for one in runs.values()]
    times = {at: seconds for one in runs.values() for at, seconds in one.items()}
    failed = {str(one.error) for one in inputs.looks if one.look == PLANS and one.error}
    pairs = tuple(_pairs(inputs.looks, f"{_PREFIX}{name}"))
    return StepFacts(
        name,
        do,
        estimate(means, inputs.study.experiment.compare.confidence) if means else None,
        tuple(times.values()),
        None if tables is None else {table: (one[0], one[1]) for table, one in tables.items()},
        pairs,
        "" if pairs else "; ".join(sorted(failed)),
    )


def _pairs(
    looks: Sequence[LookRecord], path: str
) -> Iterable[tuple[Mapping[str, Level], tuple[PlanPair, ...]]]:
    sides: dict[object, dict[bool, LookRecord]] = defaultdict(dict)
    for record in (one for group in last_looks(looks, PLANS) for one in group):
        rest = {key: level for key, level in record.cell.items() if key != path}
        sides[cell_key(rest)][bool(record.cell.get(path))] = record
    for both in sides.values():
        if len(both) == 2:
            without, having = (plans_in(both[on].figures) for on in (False, True))
            rest = {key: level for key, level in both[True].cell.items() if key != path}
            yield (
                rest,
                tuple(
                    PlanPair(plan.name or shape, without[shape], plan)
                    for shape, plan in having.items()
                    if shape in without
                ),
            )


def setup_sentences(facts: Sequence[StepFacts]) -> list[ReportText]:
    """`by_customer took 1.3 s (±0.2) and adds 4 MiB to orders (+67 %). Plans: latest reads
    by_customer (ref) instead of the whole table; insert has the same plan.`, one per step."""
    found = []
    for one in facts:
        sentences = []
        if one.seconds is not None:
            name, took = verbatim_text(one.name), long_text(one.seconds)
            sentences.append(ReportText("{} took {}{}.", name, took, _size(one)))
        if plans := _plans(one):
            sentences.append(verbatim_text(plans))
        if sentences:
            found.append(ReportText.joined(" ", sentences))
    return found


def _size(one: StepFacts) -> ReportText:
    if one.tables is None:
        return ReportText(" (the server does not tell the sizes of tables)")
    if not one.tables:
        return ReportText(" and changes the size of no table")
    before = sum(sizes[0] for sizes in one.tables.values())
    after = sum(sizes[1] for sizes in one.tables.values())
    several = ReportText("{} tables", Constant(len(one.tables)))
    named = verbatim_text(next(iter(one.tables))) if len(one.tables) == 1 else several
    return ReportText(" and {}", size_change_text(named, before, after))


_CONTEXTS_MAX = 2


def _plans(one: StepFacts) -> str:
    if not one.pairs:
        return f"Plans: not known ({one.why_not.rstrip('.')})." if one.why_not else ""
    by_text: dict[str, list[Mapping[str, Level]]] = defaultdict(list)
    for context, pairs in one.pairs:
        by_text[_of_context(pairs)].append(context)
    if len(by_text) == 1:
        return f"Plans: {next(iter(by_text))}."
    parts = [f"with {cell_phrase(of[0])}: {text}" for text, of in by_text.items()]
    more = "; and others" if len(parts) > _CONTEXTS_MAX else ""
    return f"Plans {'; '.join(parts[:_CONTEXTS_MAX])}{more}."


def _of_context(pairs: Sequence[PlanPair]) -> str:
    changes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for pair in pairs:
        if pair.is_known and pair.differs:
            changes[changed_plan(pair)].append(pair.name)
    same = [pair.name for pair in pairs if pair.is_known and not pair.differs]
    unknown = {
        pair.having.why_not or pair.without.why_not or "no plan": pair.name
        for pair in pairs
        if not pair.is_known
    }
    parts = [
        f"{_and(names)} {one if len(names) == 1 else several} {what}"
        for (one, several, what), names in changes.items()
    ]
    if same:
        has = "has" if len(same) == 1 else "have"
        parts.append(f"{_and(same)} {has} the same plan")
    parts += [f"that of {name} is not known ({why})" for why, name in unknown.items()]
    return "; ".join(parts)


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def changed_plan(pair: PlanPair) -> tuple[str, str, str]:
    """Verb of one statement and of several, and the change."""
    old, new = pair.without.steps, pair.having.steps
    if [step.table for step in old] != [step.table for step in new]:
        return "has", "have", "a different plan"
    is_join = len(new) > 1
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a.kind != b.kind]
    if any((a.way, a.key) != (b.way, b.key) for a, b in changed):
        texts = [
            f"{_reading(b, is_join)} instead of {_reading(a, is_join)}"
            for a, b in changed
            if (a.way, a.key) != (b.way, b.key)
        ]
        return "reads", "read", " and ".join(texts)
    texts = [f'"{b.extra or "nothing"}" instead of "{a.extra or "nothing"}"' for a, b in changed]
    return "does", "do", " and ".join(texts)


def _reading(step: PlanStep, is_join: bool) -> str:
    if step.key is None:
        whole = "the whole table" if step.way == "ALL" else step.way or "nothing"
    else:
        whole = f"the whole index {step.key}" if step.way == "index" else f"{step.key} ({step.way})"
    return f"{whole} of {step.table}" if is_join else whole


_TITLE = "Steps of setup"


def _show(found: list[StepFacts], _inputs: Inputs) -> Shown:
    times = TextTable(
        "Duration of each step, s",
        ("", "times", "mean", "each"),
        tuple(
            (one.name, f"{len(one.times)}", estimate_text(one.seconds), _each(one.times))
            for one in found
            if one.seconds is not None
        ),
    )
    sizes = TextTable(
        "Data and indexes of the tables whose size a step changes",
        ("", "table", "before", "after"),
        tuple(
            (one.name, table, format_size(before), format_size(after))
            for one in found
            for table, (before, after) in (one.tables or {}).items()
        ),
    )
    steps = TextTable(
        "The steps", ("name", "statement"), tuple((one.name, one.do) for one in found)
    )
    return Shown(_TITLE, " ".join(setup_sentences(found)), (times, sizes, steps))


_EACH_MAX = 8


def _each(times: Sequence[float]) -> str:
    shown = ", ".join(significant(one, 3) for one in times[:_EACH_MAX])
    return f"{shown}, …" if len(times) > _EACH_MAX else shown


def _json(found: list[StepFacts], _inputs: Inputs) -> list[dict[str, Any]]:
    """Each step: its duration, the sizes of tables before and after it, and the plans of each
    statement without and with it."""
    return [
        {
            "step": one.name,
            "statement": one.do,
            "seconds": figure_json(one.seconds),
            "times_s": list(one.times),
            "tables": None
            if one.tables is None
            else {name: {"before": a, "after": b} for name, (a, b) in one.tables.items()},
            "plans": [
                {
                    "factors": dict(context),
                    "statement": pair.name,
                    "differs": pair.differs,
                    "without": [asdict(step) for step in pair.without.steps],
                    "with": [asdict(step) for step in pair.having.steps],
                    "why_not": pair.having.why_not or pair.without.why_not,
                }
                for context, pairs in one.pairs
                for pair in pairs
            ],
            **({"why_no_plans": one.why_not} if one.why_not else {}),
        }
        for one in found
    ]


SECTION = Section("setup", _TITLE, facts_of, _show, _json)
"""The steps that vary; the answer has their sentences."""
