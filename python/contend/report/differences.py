"""What is other about two run folders: what doctor found, hosts, servers, variables, experiments;
what bears on a verdict first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contend.facts import fact
from contend.findings import Study

_SEVERITIES = ("severe", "warning", "note")

_HOST = {
    "machine": ("id", "virtualisation", "container", "cpu_quota", "memory_limit_bytes"),
    "cpu": (
        *("model", "count", "sockets", "cores", "allowed", "smt_active", "microcode", "governor"),
        *("turbo", "max_khz", "frequency_driver", "energy_preference", "caches"),
    ),
    "numa": ("node_count", "balancing", "zone_reclaim_mode"),
    "kernel": ("release", "parameters", "mitigations", "clocksource"),
    "memory": ("total_bytes", "swap_total_bytes", "transparent_hugepage", "swappiness"),
    "disk": ("device", "model", "scheduler", "filesystem", "options", "rotational"),
    "os": ("name",),
}
"""Facts that stay as they are while a host is up, in the order in which they are told."""

_OF_A_FOLDER = {
    *("basedir", "character_sets_dir", "datadir", "innodb_data_home_dir", "lc_messages_dir"),
    *("pid_file", "plugin_dir", "port", "secure_file_priv", "slave_load_tmpdir", "socket"),
    *("tmpdir", "hostname", "report_port", "server_uuid", "general_log_file", "log_error"),
    *("slow_query_log_file", "relay_log", "log_bin_basename"),
}
"""Variables that say where a private server's files are."""

_MISSING = "not known"


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One thing that differs: `about` is doctor, server, variable, host or experiment."""

    about: str
    name: str
    one: str
    other: str


def differences_between(one: Study, other: Study) -> tuple[DifferenceRow, ...]:
    """Of the first sessions of two folders."""
    return (
        *_found_by_doctor(one, other),
        *_servers(one, other),
        *_variables(one, other),
        *_hosts(one, other),
        *_experiments(one, other),
    )


def _found_by_doctor(one: Study, other: Study) -> Iterator[DifferenceRow]:
    found = [
        {record["id"]: record for record in study.meta.facts.get("doctor") or ()}
        for study in (one, other)
    ]
    unlike = [each for each in {**found[1], **found[0]} if (each in found[0]) != (each in found[1])]

    def rank(check: str) -> int:
        severity = str({**found[1], **found[0]}[check].get("severity"))
        return _SEVERITIES.index(severity) if severity in _SEVERITIES else len(_SEVERITIES)

    for check in sorted(unlike, key=rank):
        texts = [str(of[check]["evidence"]) if check in of else "not found" for of in found]
        yield DifferenceRow("doctor", check, *texts)


def _servers(one: Study, other: Study) -> Iterator[DifferenceRow]:
    ours, theirs = ((study.meta.facts.get("servers") or {}) for study in (one, other))
    for name in {**ours, **theirs}:
        texts = [
            f"{of[name].get('kind', '')} {of[name].get('version', '')}".strip()
            if name in of
            else _MISSING
            for of in (ours, theirs)
        ]
        if texts[0] != texts[1]:
            yield DifferenceRow("server", name, *texts)


def _variables(one: Study, other: Study) -> Iterator[DifferenceRow]:
    ours, theirs = _values(one), _values(other)
    for name in sorted({**ours, **theirs}):
        # A variable that one of them does not name has its default there.
        default = {**theirs, **ours}[name][1]
        texts = [of[name][0] if name in of else f"{default} (default)" for of in (ours, theirs)]
        if texts[0] != texts[1].removesuffix(" (default)"):
            yield DifferenceRow("variable", name, *texts)


def _values(study: Study) -> dict[str, tuple[str, str]]:
    """Value and default of each variable that has not its default, at the levels that were seen."""
    seen: dict[str, tuple[dict[str, None], str]] = {}
    for run in study.measured:
        for name, pair in (run.probes.get("variables_that_differ") or {}).items():
            if name not in _OF_A_FOLDER:
                values, _ = seen.setdefault(name, ({}, str(pair.get("default"))))
                values[str(pair.get("value"))] = None
    return {name: (" or ".join(sorted(of)), default) for name, (of, default) in seen.items()}


def _hosts(one: Study, other: Study) -> Iterator[DifferenceRow]:
    for section, names in _HOST.items():
        for name in names:
            path = f"{section}.{name}"
            ours, theirs = (fact(study.meta.facts, path) for study in (one, other))
            if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
                for key in sorted({**ours, **theirs}):
                    if ours.get(key) != theirs.get(key):
                        texts = _text(ours.get(key)), _text(theirs.get(key))
                        yield DifferenceRow("host", f"{path}.{key}", *texts)
            elif ours != theirs:
                yield DifferenceRow("host", path, _text(ours), _text(theirs))


def _experiments(one: Study, other: Study) -> Iterator[DifferenceRow]:
    """Settings that are no factor of either; of factors, the levels."""
    specs = [study.experiment for study in (one, other)]
    factors = [{factor.path: list(factor.levels) for factor in spec.factors} for spec in specs]
    values = [{**spec.base.values, **of} for spec, of in zip(specs, factors, strict=True)]
    for path in sorted({**values[0], **values[1]}):
        ours, theirs = (of.get(path) for of in values)
        if ours != theirs and path != "load.engine":
            yield DifferenceRow(
                "experiment",
                path,
                *(_text(one) if one is not None else "not set" for one in (ours, theirs)),
            )


def _text(value: Any) -> str:
    if value is None:
        return _MISSING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
