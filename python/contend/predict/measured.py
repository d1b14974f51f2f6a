"""What a run says of its own costs: the work of a query, the machine, and the gains to fit."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.errors import RequestError
from contend.experiment import Level
from contend.findings import Study, compared_of
from contend.metrics import metric_of
from contend.predict.fit import MeasuredGain
from contend.predict.machine import COSTS, Assumed, Machine
from contend.predict.virtual import VirtualStudy, usual_work

SEGMENTS, POINTS, CONNECTIONS = (
    "server.options.key_cache_segments",
    "workload.points",
    "load.connections",
)
_KIND = "random_points"
_CPU, _CLIENT, _REQUESTS = (
    "server_cpu_us_per_query",
    "client_cpu_us_per_query",
    "key_requests_per_point",
)
_SURE = 0.15
"""How far a cost that was measured once may be off, as a share."""

Reading = Mapping[str, Any]
"""What `contend-load cpus --calls` prints."""


@dataclass(frozen=True, slots=True)
class MeasuredStudy:
    """What the fit needs of a run.

    Args:
        requests: to the key cache per point, as the server counted them.
    """

    study: VirtualStudy
    work: Mapping[str, Assumed]
    gains: tuple[MeasuredGain, ...]
    requests: float


def measured_study(study: Study) -> MeasuredStudy:
    """What a run says of its work and its gains.

    Raises:
        RequestError: the model does not describe the run, or a figure is missing.
    """
    _require_modelled(study)
    points = _points(study)
    alone = {count: _alone(study, count) for count in points}
    known = [count for count, cell in alone.items() if study.runs_of(cell)]
    if not known:
        raise RequestError(
            "the run has no measurement with 1 connection and key_cache_segments = 0, from which "
            "the costs of a query are taken",
            hint="Measure it again with 1 among load.connections.",
        )
    cpu_us = {count: _figure(study, alone[count], _CPU) for count in known}
    most = max(known)
    work = {**usual_work(), "cpu_us": _about(cpu_us[most], 0.05, "1 connection of this run")}
    if len(known) > 1:
        slope = (cpu_us[most] - cpu_us[min(known)]) / (most - min(known))
        query_us = cpu_us[most] - slope * most
        if query_us > 0:
            work["query_us"] = _about(query_us, 0.3, "1 connection, few and many points")
    client_us = _figure(study, alone[most], _CLIENT)
    work["client_us"] = Assumed.known(client_us, "1 connection of this run")
    requests = _figure(study, alone[most], _REQUESTS)
    rows = int(study.spec_of(alone[most])["data.rows"])
    return MeasuredStudy(
        VirtualStudy(rows=rows, points=most, key_buffer_size=_buffer(study, alone[most])),
        work,
        tuple(gains_of(study)),
        requests,
    )


def _require_modelled(study: Study) -> None:
    compared = study.roles.compared
    kind = study.experiment.base["workload"]["kind"]
    varies = compared.path if compared is not None else None
    if varies == SEGMENTS and kind == _KIND and study.roles.baseline == 0:
        return
    what = f"{varies} under the workload {kind}" if varies else f"the workload {kind}"
    raise RequestError(
        f"no model describes {what}: only key_cache_segments under random_points has one",
        hint="Predict a run of `contend run segmented-key-cache`.",
    )


def _points(study: Study) -> list[int]:
    for factor in study.roles.tables:
        if factor.path == POINTS:
            return [int(str(level)) for level in factor.levels]
    any_cell = study.roles.cell({}, None, None)
    return [int(study.spec_of(any_cell)["workload"]["points"])]


def _alone(study: Study, points: int) -> dict[str, Level]:
    context: dict[str, Level] = {POINTS: points} if _varies(study, POINTS) else {}
    return study.roles.cell(context, 1 if _varies(study, CONNECTIONS) else None, 0)


def _varies(study: Study, path: str) -> bool:
    return path in study.roles.order


def _figure(study: Study, cell: Mapping[str, Level], name: str) -> float:
    """Mean of a metric over the runs of a cell.

    Raises:
        RequestError: it was not recorded.
    """
    metric = metric_of(name)
    values = [value for run in study.runs_of(cell) if (value := metric.value(run)) is not None]
    if not values:
        raise RequestError(
            f"the run has no {metric.name} with 1 connection, which the prediction needs",
            hint="Measure it with a private server, whose counters belong to one level.",
        )
    return statistics.fmean(values)


def _buffer(study: Study, cell: Mapping[str, Level]) -> int:
    given = study.spec_of(cell)["server.options"].get("key_buffer_size", "128M")
    text = str(given).upper()
    scale = {"K": 10, "M": 20, "G": 30}.get(text[-1])
    return int(text[:-1]) << scale if scale else int(text)


def _about(value: float, share: float, source: str) -> Assumed:
    return Assumed(value, value * (1 - share), value * (1 + share), source)


def gains_of(study: Study) -> Sequence[MeasuredGain]:
    """The measured gains of a run that have an interval.

    Raises:
        RequestError: there are none.
    """
    analysis = compared_of(study)[0]
    if analysis is None:
        raise RequestError("the run has measured nothing yet", hint="Continue it with --resume.")
    found = []
    for one in analysis.compared.comparisons:
        change = one.change
        if not (change.low > 0 and math.isfinite(change.high)):
            continue
        spec = study.spec_of(one.cell)
        error = math.log(change.high / change.low) / 4
        points, connections = int(spec["workload"]["points"]), int(spec[CONNECTIONS])
        segments = int(str(one.cell[SEGMENTS]))
        found.append(MeasuredGain(points, segments, connections, math.log(change.ratio), error))
    if not found:
        raise RequestError(
            "no gain of the run has an interval, so nothing can be fitted",
            hint="Measure longer: each comparison needs at least two repeats.",
        )
    return found


def this_machine(
    name: str, cpus: int, state: Mapping[str, Any] | None, calls: Reading | None
) -> Machine:
    """The machine of a run, from the costs of its host.

    Args:
        state, calls: what `contend-load cpus --state` and `--calls` print; without them the costs
            have their usual ranges.
    """
    costs = {each: cost.usual for each, cost in COSTS.items()}
    source = "contend-load cpus"
    if state and state["pairs"]:
        ways = [pair["handover_ns"] / 2 for pair in state["pairs"]]
        middle = statistics.median(ways)
        costs["handover_near_ns"] = Assumed(
            middle, min(ways) * (1 - _SURE), max(ways) * (1 + _SURE), source
        )
    if calls:
        for each, key in (
            ("syscall_ns", "syscall_ns"),
            ("switch_ns", "switch_ns"),
            ("wake_ns", "wake_busy_ns"),
            ("pause_ns", "pause_ns"),
        ):
            costs[each] = Assumed.known(float(calls[key]), source)
        idle = [float(one["runs_ns"]) for one in calls["idle"]]
        costs["wake_idle_ns"] = Assumed(statistics.median(idle), min(idle), max(idle), source)
    return Machine(name, cpus, costs=costs, given=frozenset(costs))
