"""Which lines of two option sets matter: the answer in sentences, the effects as a chart and a
table with what each line costs, and the smallest option file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.experiment import PROOF, TOGETHER, Level, ScreenLine
from contend.findings import (
    Constant,
    Finding,
    LineFound,
    ReportText,
    ScreenFound,
    Study,
    TogetherFound,
    costs_by_line,
    left_out_text,
    screen_found,
)
from contend.metrics import FIXED, Metric, metric_of
from contend.metrics.probed import LeftOut
from contend.sections.chart_style import Spec, frame
from contend.sections.model import Chart, Inputs, Section, Shown, TextTable
from contend.sections.words import (
    amount_text,
    change_of,
    changed_text,
    gain_text,
    percent,
    verbatim_text,
)
from contend.stats import finite

NAMED = 3
"""Lines that a sentence names, of those that are not certain."""

_TITLE = "Effects of the lines"

COSTS = (
    "response_us_p99",
    "server_cpu_us_per_query",
    "server_memory_bytes",
    "write_bytes_per_query",
)
"""What a line changes besides the metric that decides."""

_HEADS = {
    "response_us_p99": "p99",
    "server_cpu_us_per_query": "CPU",
    "server_memory_bytes": "memory",
    "write_bytes_per_query": "written",
}


@dataclass(frozen=True, slots=True)
class ScreenRead:
    """The answer, and what each line does to other metrics, by the name of the metric."""

    found: ScreenFound
    costs: Mapping[str, tuple[LineFound, ...]]
    left_out: Sequence[LeftOut]

    @property
    def matter(self) -> list[LineFound]:
        """The lines that matter, the largest effect first."""
        return by_size(self.found.lines[number] for number in self.found.matter)


def read_screen(study: Study) -> ScreenRead | None:
    """None if the study screens nothing, or nothing was measured."""
    experiment = study.experiment
    if not experiment.lines:
        return None
    found = screen_found(experiment, study.records)
    if found is None:
        return None
    asked: list[Metric] = [*study.metrics, *(FIXED[name] for name in COSTS)]
    metrics = [one for one in dict.fromkeys(asked) if one.name != found.metric.name]
    costs = {one.name: costs_by_line(experiment, study.records, one) for one in metrics}
    return ScreenRead(
        found,
        {name: lines for name, lines in costs.items() if lines},
        study.meta.facts.get("left_out", []),
    )


def by_size(lines: Iterable[LineFound]) -> list[LineFound]:
    """The largest change first."""
    return sorted(lines, key=lambda one: -abs(percent(one.finding.change)))


def _typed(level: Level) -> str:
    """A value as an option file has it: true is 1."""
    return str(int(level)) if isinstance(level, bool) else str(level)


def line_text(line: ScreenLine) -> ReportText:
    """A line as the new set has it: `innodb_doublewrite=OFF`."""
    if line.new is None:
        return verbatim_text(f"no {line.name}")
    return verbatim_text(line.name if line.new is True else f"{line.name}={_typed(line.new)}")


# --- the answer ---


def screen_sentences(read: ScreenRead) -> list[ReportText]:
    """Which lines matter, and whether they are all of the new set; then what else is certain."""
    found = read.found
    sentences = [_which(read), _proof(read)]
    sentences += [_together(read, one) for one in found.together if one.finding.is_certain]
    sentences += [
        ReportText("{} gives up {}.", line_text(one.line), verbatim_text(lost))
        for one in read.matter
        if one.finding.tone == "better" and (lost := given_up(one.line))
    ]
    sentences += [verbatim_text(f"{left_out_text(one)}.") for one in read.left_out]
    return sentences


def _which(read: ScreenRead) -> ReportText:
    found, lines = read.found, Constant(len(read.found.lines))
    same = sum(one.finding.tone == "equivalent" for one in found.lines)
    rest = (
        ReportText(
            "; {} of {} change it by less than {} %",
            Constant(same),
            "the others" if found.matter else "them",
            _margin(found.total),
        )
        if same
        else ReportText("")
    )
    if not found.matter:
        return ReportText(
            "None of the {} lines certainly changes {}{}.", lines, change_of(found.metric), rest
        )
    named = ReportText.joined(
        "; ",
        (
            ReportText(
                "{}, {}", line_text(one.line), amount_text(one.finding, with_noun=place == 0)
            )
            for place, one in enumerate(read.matter)
        ),
    )
    verb = "matters" if len(found.matter) == 1 else "matter"
    return ReportText(
        "{} of {} lines {}: {}{}.", Constant(len(found.matter)), lines, verb, named, rest
    )


def _margin(finding: Finding) -> Constant:
    return Constant(round(100 * finding.margin, 3))


def _proof(read: ScreenRead) -> ReportText:
    found, proof = read.found, read.found.proof
    count = len(found.matter)
    if count == len(found.lines):
        return ReportText("Every line matters, so the whole new set is needed for all it does.")
    few = (
        ReportText("This line gives" if count == 1 else "These {} lines give", *_counted(count))
        if count
        else ReportText("")
    )
    if proof is None or proof.change.df <= 0:
        return ReportText(
            "Whether that is all of the new set was not measured."
            if count
            else "The whole new set was not compared with the old one."
        )
    whole = ReportText("the whole new set")
    if proof.tone == "equivalent":
        if not count:
            return ReportText(
                "Nor does {}: it differs from the old one by less than {} % ({} %).",
                whole,
                _margin(proof),
                gain_text(proof.change),
            )
        return ReportText(
            "{} all of it: {} differs from the old one with only {} by less than {} % ({} %).",
            few,
            whole,
            "it" if count == 1 else "them",
            _margin(proof),
            gain_text(proof.change),
        )
    than = (
        ReportText("the old one with only {}", "it" if count == 1 else "them")
        if count
        else ReportText("the old one")
    )
    if proof.is_certain:
        verb = f"{proof.metric.verb}s" if proof.metric.noun else "is"
        return ReportText(
            "That is not all: {} {} {} than {}{}.",
            whole,
            verb,
            amount_text(proof),
            than,
            _missing(found),
        )
    return ReportText(
        "Whether that is all is not certain: {} is {} % over {}.",
        whole,
        gain_text(proof.change),
        than,
    )


def _missing(found: ScreenFound) -> ReportText:
    """The largest of the effects that are not certain."""
    lines = by_size(one for one in found.lines if one.finding.tone == "inconclusive")
    named = [line_text(one.line) for one in lines[:NAMED]]
    if not named:
        return ReportText("")
    if more := len(lines) - len(named):
        named.append(ReportText("{} more", Constant(more)))
    return ReportText("; not certain by themselves: {}", ReportText.joined(", ", named))


def _counted(count: int) -> tuple[Constant, ...]:
    return (Constant(count),) if count > 1 else ()


def _together(read: ScreenRead, one: TogetherFound) -> ReportText:
    """What two lines do together beyond what each does alone."""
    alone = {each.number: each for each in read.found.alone}
    both = [alone[number] for number in (one.one, one.other)]
    word = one.finding.metric.changed(one.finding.change.verdict or "")
    return ReportText(
        "{} and {} work together: both at once are {} than each by itself would make them "
        "({} % and {} % with all other lines old).",
        *(line_text(each.line) for each in both),
        changed_text(one.finding.change, word),
        *(gain_text(each.finding.change) for each in both),
    )


def basis_of_screen(read: ScreenRead) -> tuple[str, ...]:
    """What the answer rests on."""
    found = read.found
    pairs = found.pairs
    parts = [f"{pairs['lines']} pairs of servers tell about every line"]
    if pairs[TOGETHER]:
        parts.append(f"{pairs[TOGETHER]} about lines together")
    if pairs[PROOF]:
        parts.append(f"{pairs[PROOF]} compare the whole new set with the lines that matter")
    sums = f"All lines together: {gain_text(found.total.change)} %"
    if found.better is not None and len(found.matter) > 1:
        sums += f"; only those that help: {gain_text(found.better.change)} %"
    return (f"{'; '.join(parts)}.", f"{sums} (sums of effects).")


# --- guarantees ---

_LAST_SECOND = "the transactions of the last second if the {} crashes"
_TORN = "the repair of pages that a crash leaves half written"
_GIVEN_UP: dict[str, dict[str, str]] = {
    "innodb_flush_log_at_trx_commit": {
        "0": _LAST_SECOND.format("server or its host"),
        "2": _LAST_SECOND.format("host"),
    },
    "innodb_doublewrite": dict.fromkeys(("0", "OFF", "FALSE", "DETECT_ONLY"), _TORN),
    "innodb_flush_method": {
        "NOSYNC": "all guarantees after a crash",
        "O_DIRECT_NO_FSYNC": "the size of files that grew before a crash of the host, on some file "
        "systems",
    },
}
"""Option -> values -> what they give up, which is most for the first."""


def given_up(line: ScreenLine) -> str:
    """What a line's new value gives up that the old one guarantees; empty if nothing is known."""
    new, old = ("" if one is None else _typed(one).upper() for one in (line.new, line.old))
    if line.name == "sync_binlog" and old in ("1", "") and new not in ("1", ""):
        return "commits that are in no binary log yet if the host crashes"
    lost = _GIVEN_UP.get(line.name, {})
    most_first = list(dict.fromkeys(lost.values()))
    is_worse = new in lost and (
        old not in lost or most_first.index(lost[new]) < most_first.index(lost[old])
    )
    return lost[new] if is_worse else ""


# --- table and chart ---


def _read(inputs: Inputs) -> ScreenRead | None:
    return read_screen(inputs.study)


def _show(read: ScreenRead, inputs: Inputs) -> Shown:
    del inputs
    found = read.found
    effects = TextTable(
        "Each line: new over old, %",
        ("", "old", "new", "change"),
        tuple(
            (one.line.name, _value(one.line.old), _value(one.line.new), one.finding)
            for one in by_size(found.lines)
        ),
    )
    costs = TextTable(
        "What else the lines that matter change: new over old, %",
        ("", *map(_head, read.costs)),
        tuple(
            (one.line.name, *(lines[one.number].finding for lines in read.costs.values()))
            for one in read.matter
        ),
    )
    crossed = TextTable(
        "With all other lines old, %",
        ("", "change"),
        (
            *((str(line_text(one.line)), one.finding) for one in found.alone),
            *(
                (
                    f"{found.lines[one.one].line.name} with {found.lines[one.other].line.name},"
                    " beyond both alone",
                    one.finding,
                )
                for one in found.together
            ),
        ),
    )
    lead = ReportText(
        "The effect of each line over the old and new values of all others, from {} pairs. Its "
        "change is of {}.",
        Constant(found.pairs["lines"]),
        change_of(found.metric),
    )
    more = tuple(f"{left_out_text(one)}: {one['message']}" for one in read.left_out)
    return Shown(
        _TITLE, lead, (effects, costs, crossed), charts=(_chart(read),), more=more, is_open=True
    )


def _head(name: str) -> str:
    return _HEADS.get(name, metric_of(name).title)


def _value(level: Level | None) -> str:
    if level is None:
        return "default"
    return "given" if level is True else _typed(level)


_WIDER = 45
"""Room for names in a font that is wider than the one they were measured in."""

_COLOURS = {"better": "#137a53", "worse": "#c2500a", "equivalent": "#0a66b0"}


def _chart(read: ScreenRead) -> Chart:
    found = read.found
    values: list[Spec] = []
    for one in by_size(found.lines):
        change = one.finding.change
        text = f"{line_text(one.line)}: {gain_text(change)} %"
        values.append(
            {
                "line": str(line_text(one.line)),
                "change": percent(change),
                "low": finite((change.low - 1) * 100) if change.df > 0 else None,
                "high": finite((change.high - 1) * 100),
                "colour": _COLOURS.get(one.finding.tone, "#6b6b6b"),
                "tooltip": f"{text}; {one.finding.word or 'not decided'}; n: {change.n}",
            }
        )
    margin = 100 * found.total.margin
    y: Spec = {
        "field": "line",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 320, "domain": False, "ticks": False},
    }
    title = f"Change of {change_of(found.metric)}, %"
    x: Spec = {"type": "quantitative", "title": title}
    hue: Spec = {"field": "colour", "type": "nominal", "scale": None, "legend": None}
    layers: list[Spec] = [
        {
            "data": {"values": [{}]},
            "mark": {"type": "rect", "opacity": 0.12},
            "encoding": {
                "x": {**x, "datum": 100 / (1 + found.total.margin) - 100},
                "x2": {"datum": margin},
            },
        },
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule"},
            "encoding": {"x": {**x, "datum": 0}},
        },
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "color": hue,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "aria": True},
            "encoding": {
                "x": {**x, "field": "change"},
                "y": y,
                "color": hue,
                "description": {"field": "tooltip", "type": "nominal"},
            },
        },
    ]
    height = 40 + 24 * len(values)
    return Chart(
        id="screen-effects",
        kind=_TITLE,
        label="",
        caption="Each line with its simultaneous interval. The band is the margin within which a "
        "change does not matter.",
        alt=f"{_TITLE}. The figures are in the table.",
        spec={
            **frame(_TITLE, values, layers, width=420, height=height),
            "padding": {"left": _WIDER, "right": 5, "top": 5, "bottom": 5},
        },
        is_broad=True,
    )


# --- the smallest option file ---


def cnf_text(study: Study) -> str:
    """An option file with the lines that make the deciding metric better; the others are comments
    with what they do. Empty if the study screens nothing or nothing was measured."""
    read = read_screen(study)
    if read is None:
        return ""
    better = [one for one in read.matter if one.finding.tone == "better"]
    others = [one for one in by_size(read.found.lines) if one not in better]
    blocks = [
        "# The lines of the new set that certainly help, from "
        f"{read.found.pairs['lines']} pairs of servers. Lines that both sets share are not here.",
        "[mysqld]",
    ]
    for one in better:
        lost = given_up(one.line)
        blocks.append(f"# {_effect(one)}{f'; gives up {lost}' if lost else ''}")
        blocks.append(_cnf_line(one.line))
    blocks += [f"# {_cnf_line(one.line).removeprefix('# ')}: {_effect(one)}" for one in others]
    return "\n".join(blocks) + "\n"


def _effect(one: LineFound) -> str:
    return f"{gain_text(one.finding.change)} %, {one.finding.word or 'not decided'}"


def _cnf_line(line: ScreenLine) -> str:
    if line.new is None:
        return f"# without {line.name}"
    return line.name if line.new is True else f"{line.name} = {_typed(line.new)}"


# --- JSON ---


def _json(read: ScreenRead, _inputs: Inputs) -> dict[str, Any]:
    found = read.found
    return {
        "metric": found.metric.name,
        "pairs": dict(found.pairs),
        "lines": [_line_json(read, one) for one in found.lines],
        "matter": [found.lines[number].line.name for number in found.matter],
        "sum": _change_json(found.total),
        "sum_of_better": None if found.better is None else _change_json(found.better),
        "alone": [{"line": one.line.name, **_change_json(one.finding)} for one in found.alone],
        "together": [
            {
                "lines": [found.lines[number].line.name for number in (one.one, one.other)],
                **_change_json(one.finding),
            }
            for one in found.together
        ],
        "proof": None if found.proof is None else _change_json(found.proof),
        "left_out": list(read.left_out),
    }


def _line_json(read: ScreenRead, one: LineFound) -> dict[str, Any]:
    return {
        "name": one.line.name,
        "old": one.line.old,
        "new": one.line.new,
        **_change_json(one.finding),
        "gives_up": given_up(one.line) or None,
        "costs": {
            name: _change_json(lines[one.number].finding) for name, lines in read.costs.items()
        },
    }


def _change_json(one: Finding) -> dict[str, Any]:
    change = one.change
    return {
        "ratio": finite(change.ratio),
        "low": finite(change.low),
        "high": finite(change.high),
        "n": change.n,
        "verdict": one.word or None,
    }


SECTION = Section("screen", _TITLE, _read, _show, _json)
"""Which lines of two option sets matter."""
