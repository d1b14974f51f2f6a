"""The user's own statements, each as its own text: for checks before anything is loaded.

contend-load reads the same script for the load, and refuses mistakes in it. Here it is only cut
into statements, so a malformed script gives statements that mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r"""(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|/\*.*?\*/)
    |(?P<comment>--(?=\s|$)[^\n]*|\#[^\n]*)
    |(?P<header>^[ \t]*@(?P<event>\w+)[^\n]*)
    |(?P<brace>\{\{|\}\})
    |\{(?P<name>\w+)(?::\w+\(\s*(?P<first>'(?:[^'\\]|\\.|'')*'|[^,)]*)(?:'(?:[^'\\]|\\.)*'|[^)'])*\))?\}
    |(?P<end>;)
    |.""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class OwnStatement:
    """
    Args:
        event: the kind of event that it belongs to.
        name: that of its class, in metrics.
        place: where it is in the workload.
        text: with an example in place of each placeholder.
    """

    event: str
    name: str
    place: str
    text: str


def own_statements(workload: Mapping[str, Any]) -> tuple[OwnStatement, ...]:
    """The statements of a workload; none if they are not the user's own, or a script in Lua."""
    if workload["kind"] == "list":
        return tuple(_of_list(workload))
    return tuple(_of_script(str(workload["text"]))) if workload["kind"] == "sql" else ()


def _of_list(workload: Mapping[str, Any]) -> Iterator[OwnStatement]:
    names: Sequence[str] = workload.get("names") or ()
    for number, text in enumerate(workload["statements"], 1):
        name = names[number - 1] if number <= len(names) else f"statement_{number}"
        yield OwnStatement(name, name, f"workload.statements, number {number}", text)


def _of_script(script: str) -> Iterator[OwnStatement]:
    events: dict[str, list[tuple[int, str]]] = {}
    event, text, line, examples, whole = "", "", 0, dict[str, str](), 0
    # The last semicolon may be missing.
    for token in _TOKEN.finditer(script if script.rstrip().endswith(";") else f"{script}\n;"):
        found = token.group()
        if token["header"] is not None and not text.strip():
            event, text, examples = token["event"], "", {}
            events.setdefault(event, [])
        elif token["comment"] is not None:
            pass
        elif token["end"] is not None and text.strip():
            whole += 1
            events.setdefault(event or f"statement_{whole}", []).append((line, text.strip()))
            text = ""
            if not event:
                examples = {}
        elif token["end"] is None:
            if not text.strip() and found.strip():
                line = script.count("\n", 0, token.start()) + 1
            if (name := token["name"]) is not None:
                if token["first"] is not None:
                    examples[name] = token["first"].strip().replace("_", "")
                found = examples.get(name, "1")
            text += found[0] if token["brace"] is not None else found
    for event, parts in events.items():
        for number, (line, text) in enumerate(parts, 1):
            name = event if len(parts) == 1 else f"{event}.{number}"
            yield OwnStatement(event, name, f"workload.text, line {line}", text)


def share_of(workload: Mapping[str, Any], event: str) -> int | None:
    """The percentage of an event; None if it shares the rest with others by weight."""
    shares: Mapping[str, Any] = workload.get("shares") or {}
    percent = {name: int(share) for name, share in shares.items()}
    rest = 100 - sum(percent.values())
    return percent.get(event, None if rest else 0)
