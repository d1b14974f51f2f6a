"""`contend run --plan`: what a run would measure, in lines."""

from __future__ import annotations

from contend.experiment import Experiment, Level, asks_twins
from contend.experiment.settings.values import level_word
from contend.lab.effort import RESPONSES
from contend.lab.outline import Outline
from contend.lab.screen import LINES_SHARE, TOGETHER_SHARE
from contend.units import format_duration


def outline_text(experiment: Experiment, plan: Outline) -> list[str]:
    compare, design = experiment.compare, plan.design
    if experiment.lines:
        return _of_screen(experiment, plan)
    varied = [
        f"{one.path} = {', '.join(map(level_word, one.levels))}" for one in experiment.factors
    ]
    lines = [f"{len(plan.cells)} cells" if varied else "1 cell"]
    lines += [f"  {one}" for one in varied]
    if experiment.compared is None:
        lines.append("nothing is compared (there is no compare.baseline)")
    else:
        baseline = next(iter(compare.baseline.items()))
        lines.append(f"compared with {baseline[0]} = {level_word(baseline[1])}")
    if experiment.goal is not None:
        rates = f"{experiment.goal.lowest:,.0f} to {experiment.goal.highest:,.0f} per second"
        lines.append(f"the highest rate that holds {experiment.goal.text}, of {rates}")
        return [*lines, "time: about two minutes for each cell, unless compare.at_most is less"]
    if experiment.compared is not None:
        lines.append(f"by {', '.join(compare.metric)}")
    servers = f"{design.servers} servers" if design.servers > 1 else "one server"
    if asks_twins(experiment):
        lines.append(f"each statement of the recording on all levels in turn, on {servers}")
    elif design.in_slices:
        lines.append(f"in slices{_slice_text(experiment, plan)}, on {servers}")
    elif experiment.compared is not None:
        why = f": {design.why}" if design.why else ""
        lines.append(f"by runs, one level after the other{why}")
    if plan.equal:
        lines.append("times of statements with the same load too (load.rate, load.alone)")
    return [*lines, _time_text(experiment, plan), _width_text(experiment, plan)]


def _of_screen(experiment: Experiment, plan: Outline) -> list[str]:
    compare, lines = experiment.compare, experiment.lines
    servers = "2 servers" if plan.design.servers > 1 else "one server that is switched"
    if compare.at_most_s is not None:
        shares = f"{LINES_SHARE:.0%} for the lines, at most {TOGETHER_SHARE:.0%} for lines together"
        time = f"at most {format_duration(compare.at_most_s)}: {shares}, the rest for the proof"
    else:
        time = f"{compare.repeats} rounds, then lines together, then the proof"
    return [
        f"{len(lines)} lines",
        *(f"  {one.name} = {_value(one.old)}, {_value(one.new)}" for one in lines),
        f"each in every pair of cells: {len(plan.cells) // 2} pairs are a round",
        f"by {', '.join(compare.metric)}",
        f"in slices{_slice_text(experiment, plan)}, on {servers}",
        f"time: {time}",
    ]


def _value(level: Level | None) -> str:
    return "the default" if level is None else level_word(level)


def _slice_text(experiment: Experiment, plan: Outline) -> str:
    """The length of slices, and whether a statement may be longer."""
    if plan.slice_s is None:
        return ""
    text = f" of {format_duration(plan.slice_s)}"
    if experiment.base["load.slice"] is not None or not plan.is_timed:
        return text
    if plan.width is not None and plan.width.slowest_s * RESPONSES >= plan.slice_s:
        takes = format_duration(plan.width.slowest_s)
        return f"{text} (statements took up to {takes} in {plan.width.run})"
    return f"{text} (longer if a statement takes over {format_duration(plan.slice_s / RESPONSES)})"


def _time_text(experiment: Experiment, plan: Outline) -> str:
    compare = experiment.compare
    if compare.at_most_s is not None:
        return f"time: at most {format_duration(compare.at_most_s)} of measuring"
    if plan.repeat_s is None:
        return f"time: {format_duration(plan.load_s)} of load, without preparations"
    all_s = compare.repeats * plan.repeat_s
    return f"time: at least {format_duration(all_s)} for {compare.repeats} repeats"


def _width_text(experiment: Experiment, plan: Outline) -> str:
    compare, width = experiment.compare, plan.width
    if experiment.compared is None:
        return "width: each cell has its own interval"
    if width is None:
        return "width: unknown, because no finished run of this experiment is here"
    if compare.width is not None:
        needed = max(compare.repeats, width.repeats_for(compare.width))
        return f"width: ±{compare.width:.1%} after about {needed} repeats, judging by {width.run}"
    repeats = compare.repeats
    if compare.at_most_s is not None:
        repeats = width.repeats_in(compare.at_most_s)
    return (
        f"width: about ±{width.after(repeats):.1%} after {repeats} repeats, judging by "
        f"{width.run} (±{width.half:.1%} after {width.repeats})"
    )
