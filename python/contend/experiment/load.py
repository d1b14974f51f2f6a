"""Finding an experiment file by its path or by the name of a built-in recipe, and reading it;
writing one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from contend.errors import did_you_mean
from contend.experiment.build import build
from contend.experiment.build_workload import script_files
from contend.experiment.document import Document, with_overrides
from contend.experiment.keys import VARIANTS
from contend.experiment.model import Experiment, SpecError

_LARGEST_FILE = 4 << 20
"""Bytes. Experiments are far smaller; a dump or disk image given by mistake is larger."""


def recipes() -> tuple[str, ...]:
    """Names of the built-in experiment files."""
    names = (file.name for file in _files().iterdir() if file.name.endswith(".toml"))
    return tuple(sorted(name.removesuffix(".toml") for name in names))


def recipe_text(name: str) -> str:
    """The file of a built-in recipe."""
    if name not in recipes():
        hint = did_you_mean(name, recipes()) or "`contend recipes` lists them."
        raise SpecError(f'there is no recipe "{name}"', hint=hint)
    return (_files() / f"{name}.toml").read_text(encoding="utf-8")


def load_experiment(
    source: str, *, sets: Sequence[str] = (), variant: str = "default"
) -> Experiment:
    """The experiment of a recipe or a file, with overrides applied.

    Args:
        source: a recipe such as `segmented-key-cache`, or a path (it has a slash or ends in .toml).
        sets: `path=value` each, in the form of `--set`. A list of levels makes a factor of its
            path, a single value fixes it.
        variant: `default`, or the file's table of overrides to use: `quick` or `full`.

    Raises:
        SpecError: for any fault, one sentence with file and line.
    """
    text, file = _read(source)
    document = Document(text, file)
    # Report a fault in a variant now, even if this run does not use the variant.
    for other in ("default", *VARIANTS):
        if other == "default" or other in document.tree:
            build(with_overrides(document, other, ()), variant=other, overrides=())
    final = with_overrides(document, variant, sets)
    experiment = build(final, variant=variant, overrides=tuple(sets))
    if not script_files(experiment.base.workload, experiment.factors):
        return experiment
    # A script's path is relative to the file that names it.
    path = Path(source) if _is_path(source) else Path(str(_files() / source))
    return replace(experiment, folder=str(path.absolute().parent))


def read_experiment(
    text: str, name: str, origins: Mapping[tuple[str | int, ...], str]
) -> Experiment:
    """The experiment of a text that contend wrote.

    Args:
        text: an experiment file.
        name: the name of the text in messages.
        origins: path -> where its value comes from, for messages.

    Raises:
        SpecError: for any fault.
    """
    return build(Document(text, name, origins), variant="default", overrides=())


def _read(source: str) -> tuple[str, str]:
    """The text, and its name for messages."""
    path = Path(source)
    if not _is_path(source):
        return recipe_text(source), f"{source}.toml"
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SpecError(f"{source} is too large for an experiment file")
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        hint = did_you_mean(path.stem, recipes()) if path.parent == Path() else None
        raise SpecError(f"there is no file {source}", hint=hint) from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{source} is not a text file in UTF-8 (byte {error.start})") from None
    except (OSError, ValueError) as error:
        raise SpecError(f"{source} cannot be read: {_reason(error)}") from None
    return text, source


def _files() -> Traversable:
    return resources.files("contend.experiment") / "recipes"  # importing it hides recipes()


def _is_path(source: str) -> bool:
    return "/" in source or source.endswith(".toml") or Path(source).is_file()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


Tables = Mapping[str, Mapping[str, object]]
"""Header of each table -> its keys. None values are left out."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_GROUPED_FROM = 10_000


def written(tables: Tables) -> str:
    """The text of a file with these tables, in their order."""
    blocks = []
    for header, table in tables.items():
        lines = [f"{_key(name)} = {_value(v)}" for name, v in table.items() if v is not None]
        blocks.append("\n".join([f"[{header}]", *lines]) + "\n")
    return "\n".join(blocks)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:_}" if value >= _GROUPED_FROM else str(value)
        case float():
            return repr(value)
        case str():
            return _lines(value) if "\n" in value else _text(value)
        case Mapping():
            inner = ", ".join(f"{_key(str(name))} = {_value(one)}" for name, one in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case Sequence():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no value of an experiment file: {value!r}")


def _text(value: str) -> str:
    # JSON escapes like TOML, except for one character that TOML rejects.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _lines(value: str) -> str:
    """Unescaped, over several lines; escaped if such a text cannot contain a character."""
    if "'''" in value or value.endswith("'") or not value.replace("\n", "").isprintable():
        return _text(value)
    return f"'''\n{value}'''"
