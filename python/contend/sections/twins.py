"""The statements of a recording, each asked by itself: which change, and what that does to the
whole. The diagnostic pass at the end asks every level for the plan of one statement of each
template, and what that statement counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from contend.errors import RequestError
from contend.findings import Constant, ReportText
from contend.findings.plans import StatementPlan, plans_in
from contend.findings.twins import (
    ROWS_AS_LOGGED_MIN,
    TwinChange,
    TwinSide,
    TwinsOfLevel,
    twins_of,
)
from contend.sections.looks import last_looks
from contend.sections.model import Inputs, Section, Shown, TableCell, TextTable
from contend.sections.setup import PlanPair, changed_plan
from contend.sections.twin_plans import TWIN_PLANS
from contend.sections.words import (
    cell_phrase,
    change_json,
    gain_text,
    share_text,
    significant,
    size_text,
    verbatim_text,
)
from contend.store import LookRecord

LISTED = 20
"""Templates in the first table."""

NAMED = 3
"""Templates that a sentence names."""

_TEXT_MAX = 32


@dataclass(frozen=True, slots=True)
class TwinPair:
    """One statement of a template at the baseline and at a level: its plans, and what it counted.

    number: of the statement in the recording.
    """

    number: int
    plans: PlanPair
    baseline: Mapping[str, int]
    level: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TwinsFound:
    """The levels, and for each the pairs of its templates by number; why there are none."""

    levels: tuple[TwinsOfLevel, ...]
    pairs: tuple[Mapping[int, TwinPair], ...]
    why_no_plans: str


def twins_found(inputs: Inputs) -> TwinsFound | None:
    """None if no recording was asked."""
    levels = twins_of(inputs.study)
    if not levels:
        return None
    failed = [str(one.error) for one in inputs.looks if one.look == TWIN_PLANS and one.error]
    pairs = tuple(_pairs(inputs, one) for one in levels)
    return TwinsFound(levels, pairs, "" if any(pairs) else "; ".join(dict.fromkeys(failed)))


def _pairs(inputs: Inputs, of: TwinsOfLevel) -> dict[int, TwinPair]:
    path, baseline = inputs.compared_path, inputs.study.roles.baseline
    assert path is not None
    for records in last_looks(inputs.looks, TWIN_PLANS):
        by_level = {str(one.cell[path]): one for one in records}
        rest = {name: level for name, level in of.cell.items() if name != path}
        one, other = by_level.get(str(baseline)), by_level.get(str(of.level))
        if one is not None and other is not None and rest.items() <= one.cell.items():
            return dict(_pairs_of(one, other))
    return {}


def _pairs_of(one: LookRecord, other: LookRecord) -> Iterable[tuple[int, TwinPair]]:
    plans = plans_in(one.figures), plans_in(other.figures)
    theirs = {each["template"]: each for each in other.figures.get("statements", ())}
    for each in one.figures.get("statements", ()):
        template, shape = each["template"], each["shape"]
        if template in theirs:
            pair = PlanPair(f"template {template}", plans[0][shape], plans[1][shape])
            counted = each["counted"], theirs[template]["counted"]
            yield template, TwinPair(each["number"], pair, *counted)


# --- the answer ---


def twins_lead(found: TwinsFound) -> ReportText:
    """What stands before the sentence of the answer: `On 39 kinds of statements, with 67 % of the
    recorded time, `."""
    of = found.levels[0]
    share = Constant(round(100 * of.time_share, 1))
    return ReportText(
        "{}on {} kinds of statements, with {} % of the recorded {}, ",
        _too_few_rows(of),
        Constant(len(of.compared)),
        share,
        of.shares_of,
    )


def _too_few_rows(of: TwinsOfLevel) -> str:
    share = of.rows_as_logged / of.rows_logged if of.rows_logged else 1.0
    if share >= ROWS_AS_LOGGED_MIN:
        return ""
    return ReportText(
        "only {} % of the reads find as many rows as were logged, so the data are not those of the "
        "log; ",
        Constant(round(100 * share)),
    )


def twins_sentences(found: TwinsFound, inputs: Inputs) -> list[ReportText]:
    """The certain changes at each level, what fails at one side only, and results that differ."""
    sentences: list[ReportText] = []
    for of, pairs in zip(found.levels, found.pairs, strict=True):
        several = f"{inputs.naming.level(of.level)}: " if len(found.levels) > 1 else ""
        head = verbatim_text(several)
        sentences += [ReportText("{}{}", head, one) for one in _of_level(of, pairs, inputs)]
    return sentences


def _of_level(
    of: TwinsOfLevel, pairs: Mapping[int, TwinPair], inputs: Inputs
) -> Iterable[ReportText]:
    for tone, word in (("worse", "slower"), ("better", "faster")):
        changed = of.of_tone(tone)
        if not changed:
            continue
        verb = "gets" if len(changed) == 1 else "get"
        named = [_named(one, pairs) for one in changed[:NAMED]]
        more = len(changed) - len(named)
        if more:
            named.append(ReportText("{} more", Constant(more)))
        yield ReportText(
            "{} of them {} certainly {}{}: {}.",
            Constant(len(changed)),
            verb,
            word,
            _weight(of, changed) if tone == "worse" else "",
            ReportText.joined("; ", named),
        )
    failing = sorted((one for one in of.changes if one.one_sided), key=lambda one: -one.one_sided)
    if not of.of_tone("worse") and not failing:
        yield ReportText("None of them gets certainly slower.")
    for level, concerned in (
        (of.level, [one for one in failing if one.fails_at_level]),
        (inputs.study.roles.baseline, [one for one in failing if not one.fails_at_level]),
    ):
        if concerned and level is not None:
            place = inputs.naming.level(level)
            yield ReportText(
                "With errors or too slow only at {}: {}.", place, _templates(concerned)
            )
    if differ := [one for one in of.changes if one.rows_differ or one.results_differ]:
        yield ReportText("Results differ: {}.", _templates(differ))


def _templates(concerned: Sequence[TwinChange]) -> ReportText:
    """`template 31, template 4, 2 more`."""
    named = [ReportText("template {}", Constant(one.template)) for one in concerned[:NAMED]]
    if len(concerned) > NAMED:
        named.append(ReportText("{} more", Constant(len(concerned) - NAMED)))
    return ReportText.joined(", ", named)


def _weight(of: TwinsOfLevel, slower: Sequence[TwinChange]) -> ReportText:
    """`, with 4 % of the time before and 11 % (±1) after`."""
    before = Constant(float(significant(100 * sum(one.share for one in slower), 2)))
    assert of.slower_after is not None
    after = share_text(of.slower_after)
    return ReportText(", with {} % of the time before and {} after", before, after)


def _named(one: TwinChange, pairs: Mapping[int, TwinPair]) -> ReportText:
    """`template 17 by 240 % (±30), which reads the whole table instead of by_customer (ref)`."""
    assert one.finding is not None
    size = size_text(one.finding.change)
    text = ReportText("template {} by {}", Constant(one.template), size)
    pair = pairs.get(one.template)
    if pair is None or not pair.plans.differs:
        return text
    verb, _several, what = changed_plan(pair.plans)
    return ReportText("{}, which {} {}", text, verb, verbatim_text(what))


# --- the table ---

_TITLE = "Statements of the recording"


def _show(found: TwinsFound, inputs: Inputs) -> Shown:
    tables = []
    for of, pairs in zip(found.levels, found.pairs, strict=True):
        rows = [_row(one, pairs.get(one.template)) for one in of.changes]
        # Only plans have examples.
        kept = [at for at in range(len(_HEADS)) if at < _OF_PLANS or pairs]
        kept = [at for at in kept if at != _DIFFER or any(row[at] for row in rows)]
        rows = [tuple(row[at] for at in kept) for row in rows]
        heads = tuple(_HEADS[at] for at in kept)
        phrase = cell_phrase({k: v for k, v in of.cell.items() if k != inputs.compared_path})
        place = f" ({phrase})" if phrase else ""
        title = f"{inputs.naming.level(of.level)} against {inputs.naming.baseline}{place}"
        tables.append(TextTable(title, heads, tuple(rows[:LISTED])))
        tables.append(TextTable(f"{title}: the others", heads, tuple(rows[LISTED:])))
    notes = [_key(found), *map(_left_out, found.levels[:1])]
    shown = tuple(filter(None, notes))
    return Shown(_TITLE, _lead(found), tuple(tables), more=shown, is_open=True)


_DIFFER, _OF_PLANS = 6, 7
_HEADS = ("", "calls", "share, %", "time, %", "whole, %", "rows", "differ", "plan", "example")


def _row(one: TwinChange, pair: TwinPair | None) -> tuple[TableCell, ...]:
    statement = one.text if len(one.text) <= _TEXT_MAX else f"{one.text[: _TEXT_MAX - 1]}…"
    return (
        f"{one.template:<3} {statement}",
        f"{one.calls:,}",
        significant(100 * one.share, 2),
        one.finding,
        "" if one.on_whole is None else str(gain_text(one.on_whole)),
        _rows_text(one),
        _differ(one),
        _plan_text(pair),
        "" if pair is None else str(pair.number),
    )


def _plan_text(pair: TwinPair | None) -> str:
    if pair is None or not pair.plans.is_known:
        return ""
    return "differs" if pair.plans.differs else "same"


def _rows_text(one: TwinChange) -> str:
    rows = [side.rows for side in (one.baseline, one.level) if side.answered]
    texts = dict.fromkeys(significant(each, 3) for each in rows)
    return " → ".join(texts)


def _differ(one: TwinChange) -> str:
    """The differences of both sides besides the time, for one column."""
    parts = []
    if one.one_sided:
        parts.append(f"{one.one_sided} fail on one side")
    if one.rows_differ:
        parts.append(f"{one.rows_differ} numbers of rows")
    if one.results_differ:
        parts.append(f"{one.results_differ} results")
    return ", ".join(parts)


def _lead(found: TwinsFound) -> str:
    first = found.levels[0]
    return ReportText(
        "Statements of {} templates, each with its own values, asked by itself on both sides in "
        "{} repeats.",
        Constant(len(first.changes)),
        Constant(first.units),
    )


def _key(found: TwinsFound) -> str:
    text = (
        "share: of the time of all templates at the baseline. time: change of the template's own "
        "time; whole: its effect on the time of all. Among the changes without a question mark, "
        "5 % may be chance. example: the number of a statement, for `contend log show NAME "
        "--statement`."
    )
    return f"{text} No plans: {found.why_no_plans}" if found.why_no_plans else text


def _left_out(of: TwinsOfLevel) -> str:
    if not of.left_out:
        return ""
    parts = [
        f"{name.replace('_', ' ')}: {calls:,} calls, {100 * share:.3g} % of the {of.shares_of}"
        for name, (calls, share) in of.left_out.items()
    ]
    return f"Not asked: {'; '.join(parts)}."


def _json(found: TwinsFound, inputs: Inputs) -> list[dict[str, Any]]:
    """Each level: its templates, their changes and plans; and the rest of the recording."""
    return [
        {
            "factors": dict(of.cell),
            "share": of.time_share,
            "shares_of": of.shares_of,
            "repeats": of.units,
            "rows_logged": of.rows_logged,
            "rows_as_logged": of.rows_as_logged,
            "left_out": {
                name: {"calls": calls, "share": share}
                for name, (calls, share) in of.left_out.items()
            },
            "templates": [
                _template_json(one, pairs.get(one.template), inputs) for one in of.changes
            ],
        }
        for of, pairs in zip(found.levels, found.pairs, strict=True)
    ]


def _template_json(one: TwinChange, pair: TwinPair | None, inputs: Inputs) -> dict[str, Any]:
    document = {name: getattr(one, name) for name in _PLAIN}
    document["baseline"], document["level"] = asdict(one.baseline), asdict(one.level)
    document["change"] = None if one.finding is None else change_json(inputs.layout, one.finding)
    document["on_whole"] = None if one.on_whole is None else one.on_whole.ratio
    if pair is not None:
        document["example"] = pair.number
        document["plan_differs"] = pair.plans.differs if pair.plans.is_known else None
    return document


_PLAIN = (
    *("template", "text", "calls", "share", "pairs", "one_sided", "not_compared"),
    *("rows_differ", "results_differ", "ties_differ"),
)


# --- one template ---


def template_shown(found: TwinsFound, inputs: Inputs, template: int) -> Shown:
    """One template side by side: its times, its plan, and what its example counts.

    Raises:
        RequestError: it was not asked.
    """
    tables: list[TextTable] = []
    text = ""
    for of, pairs in zip(found.levels, found.pairs, strict=True):
        one = next((each for each in of.changes if each.template == template), None)
        if one is None:
            continue
        text = one.text
        heads = ("", str(inputs.naming.baseline), str(inputs.naming.level(of.level)))
        tables.append(TextTable("One statement", heads, tuple(_side_rows(one))))
        if (pair := pairs.get(template)) is None:
            continue
        names = sorted({*pair.baseline, *pair.level})
        counted = tuple(
            (name, f"{pair.baseline.get(name, 0):,}", f"{pair.level.get(name, 0):,}")
            for name in names
            if pair.baseline.get(name) or pair.level.get(name)
        )
        tables.append(TextTable(f"Counters of statement {pair.number}", heads, counted))
        for head, plan in zip(heads[1:], (pair.plans.without, pair.plans.having), strict=True):
            tables.append(_plan_table(head, plan))
    if not tables:
        raise _not_asked(found, template)
    return Shown(f"Template {template}", text, tuple(tables))


def template_json(found: TwinsFound, inputs: Inputs, template: int) -> list[dict[str, Any]]:
    """The same as plain numbers, for each level.

    Raises:
        RequestError: it was not asked.
    """
    documents = []
    for of, pairs in zip(found.levels, found.pairs, strict=True):
        for one in of.changes:
            if one.template != template:
                continue
            document = _template_json(one, pair := pairs.get(template), inputs)
            if pair is not None:
                plans = pair.plans.without, pair.plans.having
                document["plans"] = [[asdict(step) for step in each.steps] for each in plans]
                document["counters"] = [dict(pair.baseline), dict(pair.level)]
            documents.append({"factors": dict(of.cell), **document})
    if not documents:
        raise _not_asked(found, template)
    return documents


def _not_asked(found: TwinsFound, template: int) -> RequestError:
    known = sorted({one.template for of in found.levels for one in of.changes})
    first = ", ".join(map(str, known[:LISTED]))
    return RequestError(
        f"the template {template} was not asked", hint=f"Choose one of those that were: {first}."
    )


def _side_rows(one: TwinChange) -> Iterable[tuple[TableCell, ...]]:
    sides = one.baseline, one.level
    change = "" if one.finding is None else f"{gain_text(one.finding.change)} %"
    yield ("change of the time", "", change)
    yield ("mean time, us", *(significant(side.us, 3) for side in sides))
    yield ("rows", *(significant(side.rows, 3) for side in sides))
    yield ("answered", *(f"{side.answered:,}" for side in sides))
    yield ("errors", *(_errors(side) for side in sides))


def _errors(side: TwinSide) -> str:
    return ", ".join(f"{times} with {code}" for code, times in side.errors.items()) or "none"


def _plan_table(head: str, plan: StatementPlan) -> TextTable:
    columns = ("table", "access", "index", "rows, estimated", "extra")
    rows = tuple(
        (step.table, step.way, step.key or "none", str(step.rows or ""), step.extra)
        for step in plan.steps
    ) or ((f"not known: {plan.why_not}", "", "", "", ""),)
    return TextTable(f"Plan of {head}", columns, rows)


SECTION = Section("twins", _TITLE, twins_found, _show, _json)
"""What becomes of each statement of a recording."""
