"""The origin of the figures: server, dataset, host, and the variables read back from the server."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from contend.experiment import SCRIPT_SCHEMA, Experiment, Level, imported_name, prepared_with
from contend.experiment.settings.server import KIND, MODEL, PRODUCTS
from contend.findings import Study
from contend.sections.model import FactGroup, TextTable
from contend.sections.naming import Naming, naming_of
from contend.sections.words import cell_phrase
from contend.store import LabSession, RunRecord
from contend.units import fact, format_count, format_size

_IDENTITY = ("machine.id", "kernel.release", "cpu.model", "cpu.count", "memory.total_bytes")
"""Facts of the host that stay the same while a host is the same."""

_MEMORY_TOLERANCE = 0.01
"""The memory that a kernel counts differs a little from boot to boot; a module more or less, by
far more than this."""


def sessions_differ(sessions: Sequence[LabSession]) -> list[str]:
    """Names of the lasting facts in which the sessions' hosts differ."""
    first, *later = [session.facts for session in sessions] or [{}]
    return [
        name.replace(".", " ")
        for name in _IDENTITY
        if any(not _is_same(name, fact(first, name), fact(facts, name)) for facts in later)
    ]


def _is_same(name: str, one: Any, other: Any) -> bool:
    both = isinstance(one, int | float) and isinstance(other, int | float)
    if name == "memory.total_bytes" and both:
        return math.isclose(one, other, rel_tol=_MEMORY_TOLERANCE)
    return bool(one == other)


USED = "server.use"
"""The factor whose levels are servers by their names."""

_NOT_OF_THE_HOST = ("missing", "load_generator", "sessions", "memory_nodes")


def host_groups(facts: Mapping[str, Any]) -> tuple[FactGroup, ...]:
    """The host's headlines, then each group of its facts in full."""
    groups = [FactGroup("Host", _headlines(facts))]
    for name, group in facts.items():
        if name not in _NOT_OF_THE_HOST and isinstance(group, Mapping):
            rest = tuple(flat(group).items())
            groups.append(FactGroup(f"Host: {name.replace('_', ' ')}", rest))
    return tuple(group for group in groups if group.facts)


_HEADLINES = (
    ("CPU", "cpu.model"),
    ("CPUs", "cpu.count"),
    ("Sockets", "cpu.sockets"),
    ("NUMA nodes", "numa.node_count"),
    ("Governor", "cpu.governor"),
    ("Turbo", "cpu.turbo"),
    ("Memory", "memory.total_bytes"),
    ("Swap", "memory.swap_total_bytes"),
    ("Transparent huge pages", "memory.transparent_hugepage"),
    ("Disk of the data", "disk.device"),
    ("Disk scheduler", "disk.scheduler"),
    ("Kernel", "kernel.release"),
    ("Mitigations", "kernel.mitigations"),
    ("Clock source", "kernel.clocksource"),
    ("Open files", "limits.open_files"),
    ("Operating system", "os.name"),
    ("Virtualisation", "machine.virtualisation"),
    ("Container", "machine.container"),
)


def _headlines(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    missing = facts.get("missing") or {}
    found = []
    for title, dotted in _HEADLINES:
        value = fact(facts, dotted)
        if value is None:
            reason = missing.get(dotted)
            if reason:
                found.append((title, f"not known: {reason}"))
        elif dotted == "kernel.mitigations":
            found.append((title, _mitigations(value)))
        else:
            found.append((title, fact_text(value, dotted)))
    return tuple(found)


def _mitigations(found: Mapping[str, str]) -> str:
    """CPU flaws with a cost or without a fix; flaws that the CPU does not have are only counted."""
    affected = {name: text for name, text in found.items() if text != "Not affected"}
    parts = [f"{name}: {text}" for name, text in affected.items()]
    harmless = len(found) - len(affected)
    if harmless:
        parts.append(
            f"{harmless} known {'flaw does' if harmless == 1 else 'flaws do'} not affect it"
        )
    return "; ".join(parts)


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested facts as name and text; empty and unknown ones are left out."""
    found: dict[str, str] = {}
    for key, value in document.items():
        name = f"{prefix}{str(key).removesuffix('_bytes').replace('_', ' ')}"
        if isinstance(value, Mapping) and not value.keys() <= {"soft", "hard"}:
            found.update(flat(value, f"{name}, "))
        elif value is not None and value != [] and value != "":
            found[name] = fact_text(value, str(key))
    return found


def fact_text(value: object, name: str = "") -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        if value.keys() <= {"soft", "hard"}:
            soft, hard = fact_text(value.get("soft"), name), fact_text(value.get("hard"), name)
            return soft if soft == hard else f"{soft} (hard limit {hard})"
        return ", ".join(f"{key} {fact_text(item, str(key))}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(fact_text(item) for item in value)
    if isinstance(value, int | float) and name.endswith("_bytes"):
        return format_size(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


GENERATOR: Final = "load_generator"
"""Where runs and sessions keep the facts of contend-load."""


def fact_groups(study: Study) -> tuple[FactGroup, ...]:
    """Server, dataset and host: the main facts of a host first, and the rest by group."""
    groups = [
        FactGroup("Server", _seen(study, "server")),
        FactGroup("Dataset", _seen(study, "dataset")),
        FactGroup("Warmed before each run", _seen(study, "warmed")),
        FactGroup("Load generator", _generator(study)),
        FactGroup("Scripts", _scripts(study)),
    ]
    return (*(group for group in groups if group.facts), *host_groups(study.meta.facts))


def _scripts(study: Study) -> tuple[tuple[str, str], ...]:
    """The files that the workload's scripts were read from."""
    loaded = (record.probes.get("loaded", []) for record in study.measured)
    files = itertools.chain(study.meta.facts.get("scripts", []), *loaded)
    found = (
        (Path(file["path"]).name, f"{file['path']}, SHA-256 {file['sha256']}") for file in files
    )
    return tuple(dict.fromkeys(found))


def summary_of(study: Study) -> tuple[tuple[str, str], ...]:
    """The subject, place and time of the measurement, in a few words each."""
    facts = study.meta.facts
    dataset = dict(_seen(study, "dataset"))
    cpus, memory = fact(facts, "cpu.count"), fact(facts, "memory.total_bytes")
    machine = [
        str(fact(facts, "cpu.model") or ""),
        f"{cpus} CPUs" if cpus else "",
        format_size(memory) if memory else "",
    ]
    found = [
        ("Server", _servers(study)),
        ("Data", _data(study.experiment, dataset)),
        ("Load", _load(study)),
        ("Machine", ", ".join(part for part in machine if part)),
        ("Measured", _begun(study)),
    ]
    return tuple((name, text) for name, text in found if text)


def about_server(study: Study) -> str:
    """That the server is a model, if it is one, and its missing features; else empty."""
    kinds: list[str] = []
    idle: list[str] = []
    for record in _first_of_each(study, "server", USED):
        server: Mapping[str, Any] = record.probes.get("server") or {}
        kinds.append(server.get("kind") or study.experiment.base[KIND.path])
        idle += server.get("without_effect", ())
    kinds = kinds or [study.experiment.base[KIND.path]]
    if MODEL not in kinds:
        return ""
    which = "This is" if set(kinds) == {MODEL} else "One of the servers is"
    text = (
        f"{which} a model, not a server: the index of the table and a key cache with its locks, "
        "inside contend-load. It shows how these behave, and not how fast a database is."
    )
    options = ", ".join(dict.fromkeys(idle))
    return f"{text} These options have no effect on it: {options}." if idle else text


def _data(experiment: Experiment, dataset: Mapping[str, str]) -> str:
    data = experiment.base.data
    if data.schema == SCRIPT_SCHEMA:
        options = prepared_with(experiment)
        return f"made by the script's prepare{f', for all runs with {options}' if options else ''}"
    if imported_name(data.schema) is not None:
        known = (dataset.get("engine"), _rows_of(dataset), dataset.get("tables"))
        engine, rows, tables = (part or "?" for part in known)
        return (
            f"{data.schema}: {engine}, {rows} rows in {tables} table{'' if tables == '1' else 's'}"
        )
    if data.known.tables:
        count, unit = data.size
        return f"{dataset.get('engine', data.engine)}, {data.schema}, {format_count(count)} {unit}"
    tables = f" in each of {data.tables} tables" if (data.tables or 1) > 1 else ""
    return f"{dataset.get('engine', data.engine)}, {format_count(data.rows)} rows{tables}"


def _rows_of(dataset: Mapping[str, str]) -> str:
    rows = dataset.get("rows", "")
    return format_count(int(rows)) if rows.isdigit() else rows


def _load(study: Study) -> str:
    """`driven over io_uring`; empty if the runs did not record it."""
    generators = (record.probes.get(GENERATOR) for record in study.measured)
    engines = {one.get("engine") for one in generators if one}
    named = sorted(str(engine) for engine in engines if engine)
    return f"driven over {' and '.join(named)}" if named else ""


def _servers(study: Study) -> str:
    """Every server that answered: `MariaDB 10.11.19`; if the experiment names several, each with
    its name there, `mariadb@trixie (MariaDB 11.8.3)`."""
    planned_kind = study.experiment.base[KIND.path]
    found: dict[str, None] = {}
    for record in _first_of_each(study, "server", USED):
        name = _server_name(record.probes.get("server") or {}, planned_kind)
        used = record.cell.get(USED)
        found[name if used is None else f"{used} ({name})"] = None
    return ", ".join(found) or _server_name({}, planned_kind)


def naming_in(study: Study) -> Naming:
    """Names of a study's levels; compared servers are named by the version they reported."""
    compared = study.roles.compared
    is_server = compared is not None and compared.path == USED
    return naming_of(study.experiment, _servers_by_name(study) if is_server else None)


def _servers_by_name(study: Study) -> dict[str, str]:
    """`mariadb@trixie` -> `MariaDB 11.8.6`; none if two servers then have the same name. A DSN or a
    path is more informative than a version."""
    found: dict[str, str] = {}
    for record in _first_of_each(study, "server", USED):
        server: Mapping[str, Any] = record.probes.get("server") or {}
        if server.get("version") and "/" not in str(record.cell.get(USED, "/")):
            found[str(record.cell[USED])] = _server_name(server, "")
    return found if len(set(found.values())) == len(found) else {}


def _server_name(server: Mapping[str, Any], planned_kind: str) -> str:
    """`MariaDB 10.11.19`, whether or not the version includes the name."""
    kind = str(server.get("kind") or planned_kind)
    name = PRODUCTS.get(kind, kind)
    version = str(server.get("version") or "").removesuffix(f"-{name}")
    return f"{name} {version}".strip()


def _begun(study: Study) -> str:
    """When the first run began, to the minute; empty before it ended."""
    if not study.records:
        return ""
    return study.records[0].started_at[:16].replace("T", " ") + " UTC"


def variables_table(study: Study, naming: Naming) -> TextTable | None:
    """Server variables that differ from their defaults, with their values in the runs."""
    seen: dict[str, dict[str, list[str]]] = {}
    defaults: dict[str, str] = {}
    compared = study.roles.compared
    path = compared.path if compared else None
    for record in _first_of_each(study, "variables_that_differ", path):
        level = record.cell.get(compared.path) if compared else None
        label = "" if level is None else naming.level(level)
        for name, pair in (record.probes.get("variables_that_differ") or {}).items():
            defaults[name] = fact_text(pair.get("default"))
            cells = seen.setdefault(name, {}).setdefault(fact_text(pair.get("value")), [])
            if label not in cells:
                cells.append(label)
    if not seen:
        return None
    everywhere = {label for values in seen.values() for cells in values.values() for label in cells}
    rows = []
    for name, values in sorted(seen.items()):
        if len(values) == 1 and set(next(iter(values.values()))) == everywhere:
            shown = next(iter(values))
        else:
            shown = "; ".join(f"{value} ({', '.join(at)})" for value, at in values.items())
        rows.append((name, shown, defaults[name]))
    return TextTable(
        caption="Server variables that differ from their defaults, read back from the server",
        columns=("variable", "value", "default"),
        rows=tuple(rows),
    )


def _generator(study: Study) -> tuple[tuple[str, str], ...]:
    """contend-load's name and version in the runs, and the features that the host denied it."""
    refused = {
        str(session.facts.get(GENERATOR, {}).get("io_uring_refused") or "")
        for session in study.meta.sessions
    }
    why = "; ".join(sorted(refused - {""}))
    return (*_seen(study, GENERATOR), *((("io_uring is refused", why),) if why else ()))


def client_text(runs: Sequence[RunRecord]) -> str:
    """The evidence that the client is fast enough: a calibration of this host, or its CPU share."""
    found = [one for one in (run.probes.get("calibration") for run in runs) if one]
    if not found:
        return (
            "The client's threads stayed below their limit in every cell not marked "
            "client-limited. The host was not calibrated (`contend calibrate`), so the figures "
            "were not compared with the client's maximum against a server without work."
        )
    days = sorted({str(one.get("measured_at", ""))[:10] for one in found})
    rounds = sorted({int(one.get("n", 0)) for one in found})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    n = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    which = "Each run" if len(found) == len(runs) else f"{len(found)} of {len(runs)} runs"
    return (
        f"{which} was compared with the same client's maximum here, against a server without work "
        f"over as many connections (n = {n} rounds, {when}). A run that needs over half of that "
        "maximum is marked client-limited."
    )


_Document = Literal["server", "dataset", "warmed", "load_generator", "variables_that_differ"]


def _seen(study: Study, key: _Document) -> tuple[tuple[str, str], ...]:
    """A document that every run carries, as names and values; a value that varies shows where."""
    values: dict[str, dict[str, str]] = {}
    for record in _first_of_each(study, key):
        used = record.cell.get(USED) if key == "server" else None
        where = f"first: {cell_phrase(record.cell)}" if used is None else str(used)
        for name, text in flat(record.probes.get(key) or {}).items():
            values.setdefault(name, {}).setdefault(text, where)
    return tuple(
        (
            name,
            next(iter(seen))
            if len(seen) == 1
            else "; ".join(f"{text} ({where})" for text, where in seen.items()),
        )
        for name, seen in values.items()
    )


def _first_of_each(study: Study, key: _Document, path: str | None = None) -> Sequence[RunRecord]:
    """The runs whose document no earlier run has, at the same level of a factor if one is named.
    Most of thousands of runs have the same."""
    first: dict[tuple[str, Level | None], RunRecord] = {}
    last: tuple[object, Level | None] | None = None
    for record in study.measured:
        found = record.probes.get(key), record.cell.get(path) if path else None
        if found != last:
            first.setdefault((repr(found[0]), found[1]), record)
            last = found
    return list(first.values())
