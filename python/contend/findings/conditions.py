"""The conditions of a run, by name, so that runs can be compared: the one list of possible
differences between two of them. Comparisons of folders and histories both read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contend.experiment import Level
from contend.experiment.model import as_written
from contend.findings.study import Study

Origin = Literal["server", "experiment", "contend", "host"]

OF_THE_PLACE = re.compile(
    r"version.*|.*_version|hostname|report_.*|.*uuid.*|pid_file|socket|port|datadir|basedir|tmpdir"
    r"|slave_load_tmpdir|replica_load_tmpdir|.*_dir|.*_file|.*_basename|.*_index|server_id"
    r"|license|timestamp|system_time_zone|wsrep_.*|gtid_.*|.*_path|lc_.*|core_file"
    r"|ssl_.*|tls_.*|have_.*|admin_.*|mysqlx_.*|.*_rsa_.*|log_error|bind_address|secure_file_priv"
    r"|relay_log.*"
)
"""Variables that identify or locate a server, and do not affect how it works."""

_OTHER_EACH_TIME = frozenset(
    {
        *("cpu.mhz_now", "cpu.together", "memory.available_bytes", "memory.swap_free_bytes"),
        *("memory.dirty_bytes", "kernel.uptime_s", "disk.free_bytes"),
    }
)
"""The host's facts that describe one moment only."""

_NO_CONDITION = frozenset({"load.seed", "load.engine"})
"""The seed is a different draw of the same; the engine depends on the host's kernel."""

_HOST = ("machine", "cpu", "numa", "kernel", "memory", "disk", "os", "network", "limits")
"""The conditions with the largest effect on a server's speed first."""


@dataclass(frozen=True, slots=True)
class RunCondition:
    """One condition of a run.

    kind: `doctor`, `variable`, or its owner.
    value: compared with `==`. text: the printed form.
    otherwise: the value, in words, for a run that does not name it.
    measure: the quantity of the host that shows it, of `metrics.host`; None if none does.
    """

    origin: Origin
    kind: str
    name: str
    value: Any
    text: str
    otherwise: str = "none"
    measure: str | None = None

    @property
    def title(self) -> str:
        """`sort_buffer_size` needs its kind as a prefix, `load.connections` does not."""
        return f"{self.kind} {self.name}" if self.kind in ("doctor", "variable") else self.name


def conditions_of(study: Study) -> dict[str, RunCondition]:
    """By `KIND:NAME`: doctor's results, servers and variables, the host, the experiment, contend;
    in this order."""
    found = (
        *_found_by_doctor(study),
        *_servers(study),
        *_host(study),
        *_experiment(study),
        *_contend(study),
    )
    return {f"{one.kind}:{one.name}": one for one in found}


_SEVERITIES = ("severe", "warning", "note")


def _found_by_doctor(study: Study) -> Iterator[RunCondition]:
    found = study.meta.facts.get("doctor") or ()
    for check in sorted(found, key=lambda one: _SEVERITIES.index(one["severity"])):
        name, text = str(check["id"]), str(check["evidence"])
        seen, measure = check["severity"], check["measure"]
        yield RunCondition("host", "doctor", name, seen, text, "not found", measure)


def _servers(study: Study) -> Iterator[RunCondition]:
    """Kind, version and source, and each variable that is not at its default, by the levels that
    have it."""
    compared = study.roles.compared
    seen: dict[tuple[str, str], dict[str, set[str]]] = {}
    defaults: dict[str, str] = {}
    for record in study.measured:
        level: Level | None = record.cell.get(compared.path) if compared else None
        label = "" if level is None else as_written(level)
        server: Mapping[str, Any] = record.probes.get("server") or {}
        seen_here = {("server", name): server.get(name) for name in ("kind", "version", "source")}
        for name, pair in (record.probes.get("variables_that_differ") or {}).items():
            if not OF_THE_PLACE.fullmatch(name):
                seen_here["variable", name] = pair.get("value")
                defaults[name] = str(pair.get("default"))
        for key, value in seen_here.items():
            if value is not None:
                seen.setdefault(key, {}).setdefault(label, set()).add(str(value))
    for (kind, name), by_level in seen.items():
        of_levels = {label: "; ".join(sorted(values)) for label, values in by_level.items()}
        text = "; ".join(f"{value} ({label})" for label, value in of_levels.items())
        if len(set(of_levels.values())) == 1:
            text = next(iter(of_levels.values()))
        otherwise = f"{defaults[name]} (default)" if name in defaults else "not known"
        yield RunCondition("server", kind, name, text, text, otherwise)


def _host(study: Study) -> Iterator[RunCondition]:
    for group in _HOST:
        for name, value in _flat(group, study.meta.facts.get(group)):
            if name not in _OTHER_EACH_TIME:
                yield RunCondition("host", "host", name, value, _text(value), "not known")


def _experiment(study: Study) -> Iterator[RunCondition]:
    """The settings of the first cell of the baseline; for factors, the levels."""
    roles = study.roles
    context = (roles.table_contexts() or [{}])[0]
    cell = roles.cell(context, roles.column_levels[0], roles.baseline)
    levels = {factor.path: list(factor.levels) for factor in study.experiment.factors}
    values: dict[str, Any] = {**study.spec_of(cell).values, **levels}
    for path, value in values.items():
        if path not in _NO_CONDITION:
            for name, one in _flat(path, value):
                if name not in levels or name == path:
                    yield RunCondition("experiment", "experiment", name, one, _text(one), "not set")
    way = study.way.get("by")
    yield RunCondition("experiment", "experiment", "way of comparing", way, _text(way))


def _contend(study: Study) -> Iterator[RunCondition]:
    values = {"version": study.meta.contend_version}
    for name in ("version", "engine"):
        found = {
            str(one.get(name))
            for record in study.measured
            if (one := record.probes.get("load_generator"))
        }
        values[f"contend-load {name}"] = "; ".join(sorted(found))
    values["content of its tables"] = _text(study.meta.facts.get("content_version"))
    for name, value in values.items():
        yield RunCondition("contend", "contend", name, value, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(f"{name}.{key}", one)
    elif value is not None:
        yield name, value


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    return str(value)
