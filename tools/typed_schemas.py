"""The types of contend-load's outcomes, written from their JSON Schema.

    python tools/typed_outcomes.py > python/contend/outcome.py

A test holds the file equal to what this prints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parents[1] / "python/contend/load/outcome.schema.json"

HEAD = '''"""What contend-load answers, one outcome a line: the types of `load/outcome.schema.json`.

Written by `python tools/typed_outcomes.py` from that file, which the program prints itself.
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


def written(schema: Mapping[str, Any]) -> str:
    """The source of the types."""
    tags = {_name(one): one["properties"]["type"]["const"] for one in schema["oneOf"]}
    parts = [HEAD]
    for name, definition in schema["$defs"].items():
        parts.append(
            f"\n\nclass {name}(TypedDict):\n" + "\n".join(_class(definition, tags.get(name)))
        )
    parts.append(f"\n\nOutcome = {' | '.join(tags)}\n")
    return "".join(f"{part}\n" if part.startswith("\n\nclass") else part for part in parts)


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
        return " | ".join(_type(one) for one in told["anyOf"])
    kinds = told["type"] if isinstance(told["type"], list) else [told["type"]]
    return " | ".join(
        f"list[{_type(told['items'])}]" if kind == "array" else _SCALARS[kind] for kind in kinds
    )


def _name(referring: Mapping[str, Any]) -> str:
    return str(referring["$ref"].rpartition("/")[2])


if __name__ == "__main__":
    print(written(json.loads(SCHEMA.read_text(encoding="utf-8"))), end="")
