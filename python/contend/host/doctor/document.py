"""Runs every check on a host, and on a server if there is one; returns the document that is
printed, stored and compared with a second one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

from contend import __version__
from contend.errors import RequestError, did_you_mean
from contend.host import Tree
from contend.host.doctor.checks import CHECKS
from contend.host.doctor.model import (
    SEVERITIES,
    DoctorCheck,
    NotChecked,
    Result,
    SeenServer,
    State,
    Subject,
)
from contend.host.kernel import cpuinfo, meminfo
from contend.host.machine import container, virtualisation
from contend.metrics.host import UNITS, Cost, Measure, cost_between, in_words
from contend.metrics.probed import CheckRecord

FORMAT = 1


class CheckOutcome(CheckRecord):
    """The result of a check, in the form of a document.

    outcome: `found`, `fine`, `unseen`.
    state: the host's settings that this check reads.
    """

    outcome: str
    state: State


class HostDocument(TypedDict):
    """doctor's results for a host and a server.

    measured: value, low and high by name; the units are in the names.
    """

    format: int
    contend: str
    at: str
    host: dict[str, str | int | None]
    server: str | None
    measured: dict[str, tuple[float, float, float]]
    checks: list[CheckOutcome]


def examine(subject: Subject, ignored: Mapping[str, str] | None = None) -> HostDocument:
    """Run every check; those of a server if there is one.

    Args:
        ignored: reasons by the id of the check.
    """
    ignored, server = ignored or {}, subject.server
    checks = (one for one in CHECKS if server is not None or not one.is_of_server)
    return {
        "format": FORMAT,
        "contend": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": _host(subject),
        "server": None if server is None else f"{server.name}, {server.kind} {server.version}",
        "measured": {
            name: (found.value, found.low, found.high) for name, found in subject.measured.items()
        },
        "checks": [_outcome(check, subject, ignored.get(check.id)) for check in checks],
    }


def short_form(folder: Path, ignored: Mapping[str, str] | None = None) -> list[CheckRecord]:
    """Findings from the files of this host alone, before a run, by severity.

    Args:
        folder: on the disk of the data.
    """
    subject = Subject(Tree(Path("/")), folder)
    checks = (check for check in CHECKS if check.in_short)
    outcomes = [_outcome(check, subject, (ignored or {}).get(check.id)) for check in checks]
    return [
        {name: one[name] for name in CheckRecord.__annotations__}  # type: ignore[misc, literal-required]
        for one in by_severity(outcomes)
        if one["outcome"] == "found"
    ]


def by_severity(outcomes: Iterable[CheckOutcome]) -> list[CheckOutcome]:
    ranks: dict[str | None, int] = {severity: rank for rank, severity in enumerate(SEVERITIES)}
    return sorted(outcomes, key=lambda one: ranks.get(one["severity"], len(ranks)))


def check_named(name: str) -> DoctorCheck:
    """The check with this id; raises RequestError."""
    for check in CHECKS:
        if check.id == name:
            return check
    raise RequestError(
        f"doctor has no check {name!r}.",
        hint=did_you_mean(name, [check.id for check in CHECKS])
        or "`contend doctor --explain all` lists all checks.",
    )


def ignored_of(texts: Iterable[str]) -> dict[str, str]:
    """Reasons by id, from `ID=REASON`; raises RequestError."""
    reasons = {}
    for text in texts:
        name, equals, reason = text.partition("=")
        if not equals or not reason.strip():
            raise RequestError(
                f"--ignore {text} gives no reason.",
                hint="Use --ignore ID=REASON; the reason is printed with the ignored finding.",
            )
        reasons[check_named(name.strip()).id] = reason.strip()
    return reasons


def with_server(subject: Subject, server: SeenServer, *, keep_folder: bool = False) -> Subject:
    """Check the disk of the server's data if that is on this host."""
    datadir = server.variables.get("datadir", "")
    is_seen = server.is_here and not keep_folder and subject.tree.exists(datadir.lstrip("/"))
    folder = Path(datadir) if is_seen else subject.folder
    return replace(subject, server=server, folder=folder)


def read_document(path: Path) -> HostDocument:
    """A document that `contend doctor --json` printed; raises RequestError."""
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}; this contend reads format {FORMAT}")
        for one in content["checks"]:
            if not isinstance(one["state"], dict) or not isinstance(one["id"], str):
                raise ValueError("one of its checks has an unexpected form")
        for name, found in content["measured"].items():
            if name in UNITS:
                Measure(*map(float, found))
        str(content["host"]["name"])
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(
            f"{path} is not a document of doctor: {error}",
            hint="Write one with `contend doctor --json > FILE`.",
        ) from error
    return cast(HostDocument, content)


def _outcome(check: DoctorCheck, subject: Subject, reason: str | None) -> CheckOutcome:
    try:
        result = check.look(subject)
        outcome = "fine" if result.severity is None else "found"
    except NotChecked as error:
        result, outcome = Result(None, str(error)), "unseen"
    return {
        "id": check.id,
        "title": check.title,
        "outcome": outcome,
        "severity": result.severity,
        "evidence": result.evidence,
        "state": dict(result.state),
        "cost": _cost(check, subject),
        "mend": result.mend or check.mend,
        "touches": list(check.touches),
        "measure": check.measure,
        "ignored": reason if outcome == "found" else None,
    }


def _cost(check: DoctorCheck, subject: Subject) -> str:
    if check.measure is None or check.measure not in subject.measured:
        return f"Not measured here. {check.costs}"
    value = in_words(check.measure, subject.measured[check.measure])
    return f"Measured here: {UNITS[check.measure][2]}, {value}. {check.costs}"


def _host(subject: Subject) -> dict[str, str | int | None]:
    tree = subject.tree
    info = cpuinfo(tree)
    model = (info[0].get("model name") if info else None) or "unknown CPU"
    return {
        "name": tree.text("proc/sys/kernel/hostname"),
        "kernel": tree.text("proc/sys/kernel/osrelease"),
        "cpu": " ".join(model.split()),
        "cpus": len(info) or None,
        "memory_bytes": meminfo(tree).get("MemTotal"),
        "virtualisation": virtualisation(tree),
        "container": container(tree),
        "folder": str(subject.folder),
    }


class Difference(NamedTuple):
    """One difference.

    id: of the check; None for a measured difference that no setting explains.
    one, other: setting of each, as text.
    cost: its measured cost on both, as text; None if it was not measured.
    ratio: cost on the second over the first; None if not measured; 1 if the ranges overlap.
    """

    id: str | None
    title: str
    one: str
    other: str
    cost: str | None
    ratio: float | None


def compare(first: HostDocument, second: HostDocument) -> list[Difference]:
    """Differences, the costliest first; those that were not measured on both last."""
    theirs = {check["id"]: check for check in second["checks"]}
    measured = [
        {name: Measure(*one) for name, one in doc["measured"].items()} for doc in (first, second)
    ]
    found: list[Difference] = []
    explained: set[str] = set()
    for check in first["checks"]:
        other = theirs.get(check["id"])
        if other is None or not _differ(check, other):
            continue
        cost = cost_between(check["measure"], *measured)
        if check["measure"] and cost is not None:
            explained.add(check["measure"])
        found.append(
            _difference(check["id"], check["title"], _setting(check), _setting(other), cost)
        )
    for name in UNITS:
        cost = cost_between(name, *measured)
        if name not in explained and cost is not None and cost.size:
            one, other_one = (in_words(name, each[name]) for each in measured)
            found.append(_difference(None, UNITS[name][2], one, other_one, cost))
    return sorted(found, key=_rank)


def _differ(one: CheckOutcome, other: CheckOutcome) -> bool:
    """Compare their settings; a check without settings never differs, its measure does."""
    if "unseen" in (one["outcome"], other["outcome"]):
        return one["outcome"] != other["outcome"] and bool(one["state"] or other["state"])
    return dict(one["state"]) != dict(other["state"])


def _setting(one: CheckOutcome) -> str:
    if one["outcome"] == "unseen":
        return f"not checked: {one['evidence']}"
    return one["evidence"]


def _difference(
    check: str | None, title: str, one: str, other: str, cost: Cost | None
) -> Difference:
    return Difference(check, title, one, other, *(cost or (None, None)))


def _rank(one: Difference) -> float:
    """Differences without a measurement come last."""
    return 1 if one.ratio is None else -Cost("", one.ratio).size
