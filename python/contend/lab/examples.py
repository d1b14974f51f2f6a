"""The statements of a script of `sql`, each with example values in place of its placeholders.

Only contend-load draws values. An example has one that is typical: the middle of a range, the first
of a choice, the most frequent of a skewed distribution. So the same statement is explained at all
levels.
"""

from __future__ import annotations

import re

from contend.experiment.settings.workload import EVENT_HEADER

_QUOTED = r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`"
_TOKEN = re.compile(
    rf"(?P<kept>{_QUOTED}|/\*.*?\*/)"
    r"|(?P<comment>--[ \t][^\n]*|#[^\n]*)"
    r"|(?P<brace>\{\{|\}\})"
    r"|\{\s*(?P<name>\w+)\s*"
    rf"(?::\s*(?P<type>\w+)\s*\((?P<arguments>(?:{_QUOTED}|[^)'\"`])*)\)\s*)?\}}"
    r"|(?P<end>;)",
    re.DOTALL,
)
_ARGUMENT = re.compile(rf"\s*({_QUOTED}|[^,]+?)\s*(?:,|\Z)", re.DOTALL)


def examples_of(script: str) -> list[tuple[str, str]]:
    """The name of each statement, as outcomes have it, and the statement with example values."""
    head, *rest = EVENT_HEADER.split(script)
    if not rest:
        return [(f"statement_{n}", one) for n, one in enumerate(_statements(head), start=1)]
    found = []
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        statements = _statements(text)
        if len(statements) == 1:
            found.append((name, statements[0]))
        else:
            found += [(f"{name}.{n}", one) for n, one in enumerate(statements, start=1)]
    return found


def _statements(text: str) -> list[str]:
    """Those of one event: a value that is named again is the same."""
    values: dict[str, str] = {}
    found, statement, at = [], "", 0
    for token in _TOKEN.finditer(text):
        statement += text[at : token.start()]
        at = token.end()
        if token["kept"]:
            statement += token["kept"]
        elif token["brace"]:
            statement += token["brace"][0]
        elif token["name"]:
            if token["type"]:
                values[token["name"]] = _value(token["type"], token["arguments"])
            statement += values.get(token["name"], "NULL")
        elif token["end"]:
            found.append(statement.strip())
            statement = ""
    return [*found, *filter(None, [(statement + text[at:]).strip()])]


def _value(kind: str, text: str) -> str:
    arguments = [one[1] for one in _ARGUMENT.finditer(text)]
    first, *others = arguments or ["NULL"]
    if kind == "text":
        return first.replace("#", "5").replace("@", "m")
    if kind == "double":
        return repr((float(first) + float(others[0])) / 2)
    if kind in ("uniform", "gaussian", "special"):
        return str((int(first) + int(others[0])) // 2)
    return first.replace("_", "") if re.fullmatch(r"-?[\d_]+", first) else first
