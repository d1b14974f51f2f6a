"""What made the figures: server, dataset and host, and the variables read back from the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contend.facts import fact
from contend.report.causes.base import Explanation
from contend.report.host_facts import fact_text, flat, host_groups
from contend.report.labels import cell_phrase
from contend.report.model import FactGroup, TextTable
from contend.report.study import Study
from contend.spec import SCRIPT_SCHEMA, DataSpec
from contend.store import RunRecord
from contend.units import format_count, format_size

GENERATOR = "load_generator"
"""Where runs and sessions keep what is known of contend-load."""


def fact_groups(study: Study) -> tuple[FactGroup, ...]:
    """Server, dataset and host; what a reader asks of a host first, and the rest by group."""
    groups = [
        FactGroup("Server", _seen(study, "server")),
        FactGroup("Dataset", _seen(study, "dataset")),
        FactGroup("Warmed before each run", _seen(study, "warmed")),
        FactGroup("Load generator", _generator(study)),
    ]
    return (*(group for group in groups if group.facts), *host_groups(study.meta.facts))


def summary_of(study: Study) -> tuple[tuple[str, str], ...]:
    """What was measured, where and when, in a few words each."""
    facts = study.meta.facts
    server, dataset = dict(_seen(study, "server")), dict(_seen(study, "dataset"))
    data = study.experiment.base.data
    cpus, memory = fact(facts, "cpu.count"), fact(facts, "memory.total_bytes")
    machine = [
        str(fact(facts, "cpu.model") or ""),
        f"{cpus} CPUs" if cpus else "",
        format_size(memory) if memory else "",
    ]
    found = [
        ("Server", _server_name(server, study.experiment.base["server.kind"])),
        ("Data", _data(data, dataset)),
        ("Load", _load(study)),
        ("Machine", ", ".join(part for part in machine if part)),
        ("Measured", _begun(study)),
    ]
    return tuple((name, text) for name, text in found if text)


def _data(data: DataSpec, dataset: Mapping[str, str]) -> str:
    if data.schema == SCRIPT_SCHEMA:
        return "made by the script's prepare"
    tables = f" in each of {data.tables} tables" if (data.tables or 1) > 1 else ""
    return f"{dataset.get('engine', data.engine)}, {format_count(data.rows)} rows{tables}"


def _load(study: Study) -> str:
    """`driven over io_uring`; empty where the runs did not say it."""
    engines = {(record.probes.get(GENERATOR) or {}).get("engine") for record in study.measured}
    named = sorted(str(engine) for engine in engines if engine)
    return f"driven over {' and '.join(named)}" if named else ""


def _server_name(server: Mapping[str, str], planned_kind: str) -> str:
    """`MariaDB 10.11.19`, whether or not the version says so itself."""
    kind = server.get("kind", planned_kind)
    name = {"mariadb": "MariaDB", "mysql": "MySQL"}.get(kind, kind)
    version = server.get("version", "").removesuffix(f"-{name}")
    return f"{name} {version}".strip()


def _begun(study: Study) -> str:
    """When the first run began, to the minute; empty before it ended."""
    if not study.records:
        return ""
    return study.records[0].started_at[:16].replace("T", " ") + " UTC"


def variables_table(study: Study, explanation: Explanation) -> TextTable | None:
    """Server variables that differ from their defaults, with their values in the runs."""
    seen: dict[str, dict[str, list[str]]] = {}
    defaults: dict[str, str] = {}
    compared = study.roles.compared
    for record in study.measured:
        level = record.cell.get(compared.path) if compared else None
        label = "" if level is None else explanation.level(level)
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
        columns=("variable", "here", "default"),
        rows=tuple(rows),
    )


def _generator(study: Study) -> tuple[tuple[str, str], ...]:
    """contend-load as it named itself in the runs, and what the host did not let it have."""
    refused = {
        str(session.facts.get(GENERATOR, {}).get("io_uring_refused") or "")
        for session in study.meta.sessions
    }
    why = "; ".join(sorted(refused - {""}))
    return (*_seen(study, GENERATOR), *((("io_uring is refused", why),) if why else ()))


def client_text(runs: Sequence[RunRecord]) -> str:
    """What vouches for the client: a calibration of this host, or its own CPU share alone."""
    found = [one for one in (run.probes.get("calibration") for run in runs) if one]
    if not found:
        return (
            "The client's thread stood below its limit where no cell is marked client-limited; "
            "its host was not calibrated (`contend calibrate`), so the figures were not compared "
            "with what it reaches against a server without work."
        )
    days = sorted({str(one.get("measured_at", ""))[:10] for one in found})
    rounds = sorted({int(one.get("n", 0)) for one in found})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    n = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    which = "Each run" if len(found) == len(runs) else f"{len(found)} of {len(runs)} runs"
    return (
        f"{which} was compared with what the same client reaches here against a server without "
        f"work over as many connections (n = {n} rounds, {when}): one that asks for over half of "
        "it is marked client-limited."
    )


def _seen(study: Study, key: str) -> tuple[tuple[str, str], ...]:
    """A document that every run carries, as names and values; a value that varies shows where."""
    values: dict[str, dict[str, str]] = {}
    for record in study.measured:
        for name, text in flat(record.probes.get(key) or {}).items():
            values.setdefault(name, {}).setdefault(text, cell_phrase(record.cell))
    return tuple(
        (
            name,
            next(iter(seen))
            if len(seen) == 1
            else "; ".join(f"{text} (first: {where})" for text, where in seen.items()),
        )
        for name, seen in values.items()
    )
