"""A document of doctor as lines of text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator

from contend.doctor.compare import Difference
from contend.doctor.examine import HostDocument, Looked
from contend.doctor.model import NOT_MEASURED, SEVERITIES, DoctorCheck
from contend.host.counters import OTHERS_SHARE_MAX
from contend.metrics.host import UNITS, Measure, in_words
from contend.units import format_size

_WIDTH = 100
_INDENT = 4
_HEADS = {"severe": "severe", "warning": "warnings", "note": "notes"}
_MORE = ": why each matters, and what mends it, says `contend doctor --explain ID`"


def lines_of(document: HostDocument) -> Iterator[str]:
    """What was found, worst first, each with why, cost and what mends it; then what was ignored,
    what cannot be seen, what is fine, and what was measured."""
    yield from _wrapped(_head(document), 0)
    if document["server"] is not None:
        yield from _wrapped(f"server: {document['server']}", 0)
    found = [check for check in document["checks"] if check["outcome"] == "found"]
    shown = [check for check in found if check["ignored"] is None]
    for severity in SEVERITIES:
        of_it = [check for check in shown if check["severity"] == severity]
        if of_it:
            yield ""
            yield f"{_HEADS[severity]} ({len(of_it)}){_MORE if severity == 'note' else ''}"
            for check in of_it:
                yield from _finding(check, whole=severity != "note")
    if not shown:
        yield ""
        yield "nothing was found"
    hidden = [check for check in found if check["ignored"] is not None]
    if hidden:
        yield ""
        yield f"ignored ({len(hidden)})"
        for check in hidden:
            yield from _wrapped(
                f"{check['id']}: {check['evidence']} [{check['severity']}; {check['ignored']}]", 2
            )
    unseen = [check for check in document["checks"] if check["outcome"] == "unseen"]
    left = [] if document["measured"] else [check for check in unseen if _is_left(check)]
    if left:
        yield ""
        yield f"not measured, as --short asks ({len(left)})"
        yield from _wrapped(", ".join(check["id"] for check in left), 2)
    unseen = [check for check in unseen if check not in left]
    if unseen:
        yield ""
        yield f"not seen ({len(unseen)})"
        for check in unseen:
            yield from _wrapped(f"{check['id']}: {check['evidence']}", 2)
    fine = [check["id"] for check in document["checks"] if check["outcome"] == "fine"]
    if fine:
        yield ""
        yield f"fine ({len(fine)})"
        yield from _wrapped(", ".join(fine), 2)
    yield from _measured(document)


def _is_left(check: Looked) -> bool:
    return check["evidence"].startswith(NOT_MEASURED)


def _measured(document: HostDocument) -> Iterator[str]:
    known = [name for name in UNITS if name in document["measured"]]
    if not known:
        return
    yield ""
    busy = document["measured"].get("busy_share")
    beside = (
        f", while other processes used {busy[0]:.0%} of the CPU time"
        if busy is not None and busy[0] > OTHERS_SHARE_MAX
        else ""
    )
    yield f"measured{beside} (middle, and its spread)"
    width = max(len(name) for name in known)
    for name in known:
        found = in_words(name, Measure(*document["measured"][name]))
        yield f"  {name.ljust(width)}  {found:<26}  {UNITS[name][2]}"


def lines_of_explanation(check: DoctorCheck) -> Iterator[str]:
    yield f"{check.id}: {check.title}"
    yield from _wrapped(f"Why it matters: {check.why}", 2)
    yield from _wrapped(f"What it costs: {check.costs}", 2)
    if check.measure is not None:
        yield from _wrapped(f"Measured by doctor: {UNITS[check.measure][2]} ({check.measure})", 2)
    yield from _wrapped(f"Mend: {check.mend}", 2)


def lines_of_comparison(
    first: HostDocument, second: HostDocument, differences: list[Difference]
) -> Iterator[str]:
    yield from _wrapped(f"A: {_head(first)}", 0)
    yield from _wrapped(f"B: {_head(second)}", 0)
    bare = [name for name, one in (("A", first), ("B", second)) if not one["measured"]]
    if bare:
        yield from _wrapped(
            f"Nothing was measured of {' and '.join(bare)} (--short), so settings alone are laid "
            "side by side.",
            0,
        )
    for label, of in (
        ("measured, dearest first", [one for one in differences if one.ratio not in (None, 1.0)]),
        ("measured, and alike on both", [one for one in differences if one.ratio == 1.0]),
        ("not measured on both", [one for one in differences if one.ratio is None]),
    ):
        if of:
            yield ""
            yield f"{label} ({len(of)})"
            for one in of:
                yield from _difference(one)
    if not differences:
        yield ""
        yield "nothing differs that doctor looks at"


def _difference(one: Difference) -> Iterator[str]:
    yield from _wrapped(one.title if one.id is None else f"{one.id}: {one.title}", 2)
    yield from _wrapped(f"A: {one.one}", _INDENT)
    yield from _wrapped(f"B: {one.other}", _INDENT)
    if one.cost is None:
        yield from _wrapped("not measured", _INDENT)
    elif one.id is not None:
        yield from _wrapped(f"{one.cost}{_times(one.ratio)}", _INDENT)
    else:
        yield from _wrapped(
            f"no setting that doctor looks at explains it{_times(one.ratio)}", _INDENT
        )


def _times(ratio: float | None) -> str:
    if ratio is None or ratio == 1.0 or ratio == 0 or math.isinf(ratio):
        return ""
    dear, by = ("B", ratio) if ratio > 1 else ("A", 1 / ratio)
    return f"; {by:.2g} times as much on {dear}"


def _head(document: HostDocument) -> str:
    host = document["host"]
    memory = host.get("memory_bytes")
    parts = [
        str(host.get("cpu")),
        f"{host.get('cpus') or '?'} CPUs",
        format_size(memory) if isinstance(memory, int) else "memory unknown",
        f"kernel {host.get('kernel') or 'unknown'}",
    ]
    kinds = (host.get(name) for name in ("virtualisation", "container"))
    more = [str(kind) for kind in kinds if kind not in (None, "none")]
    where = f" ({', '.join(more)})" if more else ""
    name = host.get("name") or "this host"
    return f"{name}: {', '.join(parts)}{where}; data in {host.get('folder')}"


def _finding(check: Looked, *, whole: bool) -> Iterator[str]:
    yield from _wrapped(f"{check['id']}: {check['evidence']}", 2)
    if whole:
        yield from _wrapped(f"cost: {check['cost']}", _INDENT)
        yield from _wrapped(f"mend: {check['mend']}", _INDENT)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
