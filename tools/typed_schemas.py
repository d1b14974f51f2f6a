"""The types of what contend-load is told and answers, written from their JSON Schemas.

    python tools/typed_schemas.py outcome > python/contend/metrics/outcome.py
    python tools/typed_schemas.py plan > python/contend/metrics/plan.py

A test holds the files equal to what this prints.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[1] / "python/contend/load"

SAID = {
    "outcome": "The output of contend-load, one outcome per line",
    "plan": "The input of contend-load for one run",
}

HEAD = '''"""{said}: the types of `load/{name}.schema.json`.

Written by `python tools/typed_schemas.py {name}` from that file, which the program prints itself.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict
'''

_SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, object]",
}


BASE = "Figures"
"""The statistics that many definitions of outcomes have. Their types extend it."""


def written(name: str, schema: Mapping[str, Any]) -> str:
    """The source of the types of one schema."""
    tags = {_name(one): one["properties"]["type"]["const"] for one in schema.get("oneOf", ())}
    definitions = dict(schema["$defs"])
    parts = []
    if (base := definitions.pop(BASE, None)) is not None:
        parts.append(_definition(BASE, base, None))
    for title, definition in definitions.items():
        own = _without(base, definition) if base is not None else definition
        bases = BASE if own != definition else "TypedDict"
        parts.append(_definition(title, own, tags.get(title), bases))
    if "properties" in schema:
        parts.append(_definition(schema["title"], schema, None))
    if tags:
        parts.append(f"Outcome = {' | '.join(tags)}\n")
    return "\n\n".join([HEAD.format(said=SAID[name], name=name), *parts])


def _without(base: Mapping[str, Any], definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """A definition without the properties of `base`, if it has all of them."""
    properties = definition.get("properties", {})
    if not base["properties"].keys() <= properties.keys():
        return definition
    own = {name: told for name, told in properties.items() if name not in base["properties"]}
    return {**definition, "properties": own}


def _definition(
    title: str, definition: Mapping[str, Any], tag: str | None, bases: str = "TypedDict"
) -> str:
    choices = definition.get("oneOf") or definition.get("anyOf") or ()
    if choices and "properties" not in choices[0]:
        return f"{title} = {_either(choices)}\n"
    whole = _together(definition, choices) if choices else definition
    return f"class {title}({bases}):\n" + "\n".join(_class(whole, tag)) + "\n"


def _together(definition: Mapping[str, Any], choices: list[Mapping[str, Any]]) -> dict[str, Any]:
    """One object for several kinds of it: with the keys of all, of which every kind has some."""
    told: dict[str, list[Mapping[str, Any]]] = {}
    for choice in choices:
        for name, kind in choice["properties"].items():
            told.setdefault(name, []).append(kind)
    required = [name for name in told if all(name in one.get("required", ()) for one in choices)]
    described = {"description": definition["description"]} if "description" in definition else {}
    properties = {name: {"anyOf": told[name]} for name in sorted(told)}
    return {**described, "properties": properties, "required": required}


def _class(definition: Mapping[str, Any], tag: str | None) -> Iterator[str]:
    if "description" in definition:
        text = " ".join(definition["description"].split()).partition(". ")[0].removesuffix(".")
        yield from _docstring(text)
    if tag is not None:
        yield f'    type: Literal["{tag}"]'
    required = frozenset(definition.get("required", ()))
    for name, told in definition.get("properties", {}).items():
        kind = _type(told)
        yield f"    {name}: {kind}" if name in required else f"    {name}: NotRequired[{kind}]"


def _docstring(text: str) -> Iterator[str]:
    yield f'    """{text}."""  # noqa: E501' if len(text) > 89 else f'    """{text}."""'
    yield ""


def _type(told: Mapping[str, Any]) -> str:
    if "$ref" in told:
        return _name(told)
    if "anyOf" in told:
        return _either(told["anyOf"])
    if isinstance(told.get("additionalProperties"), dict):
        return f"dict[str, {_type(told['additionalProperties'])}]"
    kinds = told["type"] if isinstance(told["type"], list) else [told["type"]]
    return _joined(
        f"list[{_type(told['items'])}]" if kind == "array" else _SCALARS[kind] for kind in kinds
    )


def _either(choices: list[Mapping[str, Any]]) -> str:
    """One of several words, or of several types."""
    words = [word for one in choices for word in one.get("enum", [one.get("const")]) if word]
    if not words:
        return _joined(part for one in choices for part in _type(one).split(" | "))
    listed = ", ".join(json.dumps(word) for word in words)
    return f"Literal[{listed}]" if len(words) < 6 else "str"


def _joined(kinds: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(kinds))


def _name(referring: Mapping[str, Any]) -> str:
    return str(referring["$ref"].rpartition("/")[2])


if __name__ == "__main__":
    (wanted,) = sys.argv[1:]
    file = SCHEMAS / f"{wanted}.schema.json"
    print(written(wanted, json.loads(file.read_text(encoding="utf-8"))), end="")
