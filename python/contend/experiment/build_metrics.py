"""Refuses shares of events that the statements do not have, and metrics that no run can have,
before anything is started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contend.errors import did_you_mean, nearest
from contend.experiment.document import Document
from contend.experiment.model import CellSpec, Experiment
from contend.experiment.settings.equal_load import has_alone, sends_at_once
from contend.experiment.settings.load import ends_with_its_work
from contend.experiment.settings.own_statements import own_statements, share_of
from contend.experiment.settings.plan_keys import RECORDED, SCRIPT
from contend.metrics import SECONDS
from contend.metrics.tpcc import KIND, TPCC

SERVICE, LAG = "service_us_", "lag_us_"

Reason = tuple[str, str | None]
"""The end of a sentence that begins with the metric, and a hint."""


def check_metrics(document: Document, experiment: Experiment, cells: Sequence[CellSpec]) -> None:
    """Refuse the first metric that no cell has.

    Args:
        cells: those of the experiment, or as many as are checked.
    """
    goal = experiment.goal
    for metric in experiment.compare.metric:
        reasons = [_why_not(metric, cell) for cell in cells]
        if not reasons or not all(reasons):
            continue
        (sentence, hint) = next(reason for reason in reasons if reason)
        place = ("compare", "metric")
        if metric in (experiment.compare.fail_if_slower or {}):
            place = ("compare", "fail_if_slower")
        elif goal is not None and metric == goal.metric:
            place = ("goal", "hold")
        document.refuse(place, f'{".".join(place)} names "{metric}", {sentence}', hint=hint)


def check_shares(document: Document, cells: Sequence[CellSpec]) -> None:
    """Refuse the first share of an event that no statement belongs to."""
    for cell in cells:
        if cell["workload"]["kind"] == RECORDED:
            continue  # Only the recording knows its templates.
        events = list(dict.fromkeys(one.event for one in own_statements(cell["workload"])))
        for name in cell["workload"].get("shares") or ():
            if name not in events:
                path = f"workload.shares.{name}"
                given = name in document.table(("workload", "shares"))
                place = ("workload", "shares", name) if given else ("factors", path)
                sentence = f'{path} is the share of an event that is not in workload.text: "{name}"'
                document.refuse(place, sentence, hint=did_you_mean(name, events))


def _why_not(metric: str, cell: CellSpec) -> Reason | None:
    return next((found for of in _RULES if (found := of(metric, cell)) is not None), None)


def _of_part(metric: str, cell: CellSpec) -> Reason | None:
    part, _, rest = metric.partition(".")
    name, _, figure = rest.rpartition(".")
    statements = own_statements(cell["workload"])
    if part not in ("statement", "event") or not name or not statements:
        return None
    known = list(_names(part, cell))
    if name in known:
        return None
    noun = "statements" if part == "statement" else "events"
    close = nearest(name, known)
    every = [one.event if part == "event" else one.name for one in statements]
    why = "their share is 0" if name in every else "no statement has that name"
    if part == "event" and not _has_events(cell):
        why = 'only a script with @ lines ("sql") has them'
        close = None
    sentence = f'but no cell has {noun} "{name}": {why}'
    if close is not None:
        return sentence, f'Did you mean "{part}.{close}.{figure}"?'
    return sentence, did_you_mean(name, known)


def _names(part: str, cell: CellSpec) -> Iterator[str]:
    """The names of events, or of classes of statements, that a cell has."""
    for one in own_statements(cell["workload"]):
        if part == "event" and not _has_events(cell):
            return
        if share_of(cell["workload"], one.event) != 0:
            yield one.event if part == "event" else one.name


def _has_events(cell: CellSpec) -> bool:
    return cell.workload.kind == "sql"


def _of_open_loop(metric: str, cell: CellSpec) -> Reason | None:
    """Service and lag are those of an open loop, or of users that think."""
    part, figure = metric.partition(".")[0], metric.rpartition(".")[2]
    begin = next((one for one in (SERVICE, LAG) if figure.startswith(one)), None)
    if begin is None or part == "statement" or not sends_at_once(cell.values):
        return None
    if part == "event" and begin == SERVICE and has_alone(cell.values):
        return None
    response = f"{metric.removesuffix(figure)}response_us_{figure.removeprefix(begin)}"
    return (
        "but every cell has a closed loop, in which each connection sends its next event at once",
        f'Use "{response}", or write load.arrival = {{ kind = "open", rate = … }}.',
    )


def _of_tpcc(metric: str, cell: CellSpec) -> Reason | None:
    if cell.workload.kind == KIND or all(metric != one.name for one in TPCC):
        return None
    return f'which only the workload "{KIND}" has', None


def _of_fixed_work(metric: str, cell: CellSpec) -> Reason | None:
    if metric != SECONDS or ends_with_its_work(cell.values) or cell.workload.kind == SCRIPT:
        # A script may end by itself.
        return None
    return (
        "the time for a fixed amount of work, but the load of every cell ends by the clock",
        'Write load.events = NUMBER, or use "events_per_s".',
    )


_RULES = (_of_part, _of_open_loop, _of_tpcc, _of_fixed_work)
