"""A document of doctor as lines of text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from contend.host.counters import OTHERS_SHARE_MAX
from contend.host.doctor.document import CheckOutcome, Difference, HostDocument
from contend.host.doctor.model import NOT_MEASURED, SEVERITIES, DoctorCheck
from contend.metrics.host import UNITS, Measure, in_words
from contend.units import format_size

_WIDTH = 100
_INDENT = 4
_HEADS = {"severe": "severe", "warning": "warnings", "note": "notes"}
_MORE = "; `contend doctor --explain ID` prints the reason and the fix"


def lines_of(document: HostDocument) -> Iterator[str]:
    """The findings, worst first, each with its reason, cost and remedy; then the checks that are
    ignored, not visible and passed, and the measurements."""
    yield from _wrapped(_head(document), 0)
    if document["server"] is not None:
        yield from _wrapped(f"server: {document['server']}", 0)
    checks = document["checks"]
    found = [check for check in checks if check["outcome"] == "found"]
    shown = [check for check in found if check["ignored"] is None]
    for severity in SEVERITIES:
        lines = [_finding(check) for check in shown if check["severity"] == severity]
        yield from _part(_HEADS[severity], lines, _MORE if severity == "note" else "")
    if not shown:
        yield from ("", "no problems found")
    yield from _part(
        "ignored",
        [
            _wrapped(
                f"{check['id']}: {check['evidence']} [{check['severity']}; {check['ignored']}]", 2
            )
            for check in found
            if check["ignored"] is not None
        ],
    )
    unseen = [check for check in checks if check["outcome"] == "unseen"]
    is_short = not document["measured"]
    left = [
        check["id"] for check in unseen if is_short and check["evidence"].startswith(NOT_MEASURED)
    ]
    yield from _listed("not measured because of --short", left)
    not_checked = [check for check in unseen if check["id"] not in left]
    yield from _part(
        "not checked", [_wrapped(f"{check['id']}: {check['evidence']}", 2) for check in not_checked]
    )
    yield from _listed("passed", [check["id"] for check in checks if check["outcome"] == "fine"])
    yield from _measured(document)


def _part(title: str, each: Sequence[Sequence[str]], more: str = "") -> Iterator[str]:
    """A title with the number of rows below it, and the rows; nothing if there are none."""
    if each:
        yield from ("", f"{title} ({len(each)}){more}")
        for lines in each:
            yield from lines


def _listed(title: str, ids: Sequence[str]) -> Iterator[str]:
    if ids:
        yield from ("", f"{title} ({len(ids)})", *_wrapped(", ".join(ids), 2))


def _finding(check: CheckOutcome) -> list[str]:
    lines = _wrapped(f"{check['id']}: {check['evidence']}", 2)
    if check["severity"] != "note":
        lines += _wrapped(f"cost: {check['cost']}", _INDENT)
        lines += _wrapped(f"fix: {check['mend']}", _INDENT)
    return lines


def _measured(document: HostDocument) -> Iterator[str]:
    known = [name for name in UNITS if name in document["measured"]]
    if not known:
        return
    busy, _, _ = document["measured"].get("busy_share", (0.0, 0.0, 0.0))
    others = f" while other processes used {busy:.0%} of the CPU time"
    yield from ("", f"measured (value and spread){others if busy > OTHERS_SHARE_MAX else ''}")
    width = max(len(name) for name in known)
    for name in known:
        value = in_words(name, Measure(*document["measured"][name]))
        yield f"  {name.ljust(width)}  {value:<26}  {UNITS[name][2]}"


def lines_of_explanation(check: DoctorCheck) -> Iterator[str]:
    yield f"{check.id}: {check.title}"
    yield from _wrapped(f"Why it matters: {check.why}", 2)
    yield from _wrapped(f"What it costs: {check.costs}", 2)
    if check.measure is not None:
        yield from _wrapped(f"Measured by doctor: {UNITS[check.measure][2]} ({check.measure})", 2)
    yield from _wrapped(f"How to fix it: {check.mend}", 2)


def lines_of_comparison(
    first: HostDocument, second: HostDocument, differences: list[Difference]
) -> Iterator[str]:
    yield from _wrapped(f"A: {_head(first)}", 0)
    yield from _wrapped(f"B: {_head(second)}", 0)
    bare = [name for name, one in (("A", first), ("B", second)) if not one["measured"]]
    if bare:
        yield from _wrapped(
            f"{' and '.join(bare)}: not measured (--short), so only settings are compared.",
            0,
        )
    for head, group in (
        ("measured, costliest first", [one for one in differences if one.ratio not in (None, 1)]),
        ("measured, no clear difference", [one for one in differences if one.ratio == 1.0]),
        ("not measured on both", [one for one in differences if one.ratio is None]),
    ):
        yield from _part(head, [list(_difference(one)) for one in group])
    if not differences:
        yield ""
        yield "doctor detected no difference"


def _difference(one: Difference) -> Iterator[str]:
    yield from _wrapped(one.title if one.id is None else f"{one.id}: {one.title}", 2)
    cost = "no setting that doctor checks explains it" if one.id is None else one.cost
    cost_text = "not measured" if one.cost is None else f"{cost}{_times(one.ratio)}"
    for line in (f"A: {one.one}", f"B: {one.other}", cost_text):
        yield from _wrapped(line, _INDENT)


def _times(ratio: float | None) -> str:
    if ratio is None or ratio == 1.0 or ratio == 0 or math.isinf(ratio):
        return ""
    slower, by = ("B", ratio) if ratio > 1 else ("A", 1 / ratio)
    return f"; {by:.2g} times as much on {slower}"


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


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
