"""What a run was made with, by name, so that runs can be set side by side: the experiment as it was
run, the servers that answered and their variables, contend, the host and what doctor found on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from contend.findings import Study
from contend.history.model import Origin
from contend.report.words import level_label
from contend.spec import Level

_OTHER_EACH_TIME = frozenset(
    {
        *("cpu.mhz_now", "memory.available_bytes", "memory.swap_free_bytes"),
        *("memory.dirty_bytes", "kernel.uptime_s", "disk.free_bytes"),
    }
)
"""Of the host's facts those that say how it was at one moment."""

_NO_CONDITION = frozenset({"load.seed", "load.engine"})
"""Another draw of the same; what the host's kernel gives."""

_HOST = ("machine", "cpu", "numa", "memory", "kernel", "limits", "network", "disk", "os")


def facts_of(study: Study) -> dict[str, Any]:
    """By `ORIGIN:NAME`; values are compared with `==`."""
    return {
        f"{origin}:{name}": value
        for origin, facts in (
            ("experiment", _experiment(study)),
            ("server", _servers(study)),
            ("contend", _contend(study)),
            ("host", _host(study)),
        )
        for name, value in facts
    }


def origin_of(key: str) -> tuple[Origin, str]:
    """`server:version` as its two parts."""
    origin, _, name = key.partition(":")
    return origin, name  # type: ignore[return-value]


def _experiment(study: Study) -> Iterator[tuple[str, Any]]:
    """What was asked for, as the first cell of the baseline has it, and the levels."""
    roles = study.roles
    context = (roles.table_contexts() or [{}])[0]
    cell = roles.cell(context, roles.column_levels[0], roles.baseline)
    varied = {factor.path for factor in study.experiment.factors}
    for path, value in study.spec_of(cell).values.items():
        if path not in varied | _NO_CONDITION:
            yield from _flat(path, value)
    for factor in study.experiment.factors:
        yield f"levels of {factor.path}", list(factor.levels)
    yield "way of comparing", study.way.get("by")


def _servers(study: Study) -> Iterator[tuple[str, Any]]:
    """Kind, version and source, and each variable that is not at its default, by the levels that it
    was seen at."""
    compared = study.roles.compared
    seen: dict[str, dict[str, set[str]]] = {}
    for record in study.measured:
        level: Level | None = record.cell.get(compared.path) if compared else None
        label = "" if level is None else str(level_label(level))
        server: Mapping[str, Any] = record.probes.get("server") or {}
        values = {name: server.get(name) for name in ("kind", "version", "source")}
        for name, pair in (record.probes.get("variables_that_differ") or {}).items():
            values[f"variable {name}"] = pair.get("value")
        for name, value in values.items():
            if value is not None:
                seen.setdefault(name, {}).setdefault(label, set()).add(str(value))
    for name, by_level in seen.items():
        of_levels = {label: "; ".join(sorted(values)) for label, values in by_level.items()}
        if len(set(of_levels.values())) == 1:
            yield name, next(iter(of_levels.values()))
        else:
            yield name, "; ".join(f"{value} ({label})" for label, value in of_levels.items())


def _contend(study: Study) -> Iterator[tuple[str, Any]]:
    yield "version", study.meta.contend_version
    for name in ("version", "engine"):
        found = {
            str(one.get(name))
            for record in study.measured
            if (one := record.probes.get("load_generator"))
        }
        if found:
            yield f"contend-load {name}", "; ".join(sorted(found))
    yield "content of its tables", study.meta.facts.get("content_version")


def _host(study: Study) -> Iterator[tuple[str, Any]]:
    facts: Mapping[str, Any] = study.meta.facts
    for group in _HOST:
        for name, value in _flat(group, facts.get(group)):
            if name not in _OTHER_EACH_TIME:
                yield name, value
    for check in study.meta.facts.get("doctor") or ():
        if check["severity"] in ("severe", "warning"):
            yield f"doctor {check['id']}", check["severity"]


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(f"{name}.{key}", one)
    elif value is not None:
        yield name, value
