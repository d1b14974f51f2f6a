"""What a report calls the levels of a factor, as an experiment file states it."""

from __future__ import annotations

import string

from contend.errors import did_you_mean
from contend.settings.values import Refused, Text, shown
from contend.spec.document import Document
from contend.spec.keys import resolve
from contend.spec.model import Words

KEYS = {
    "change": "what is done to get from the baseline to a level, as the subject of a sentence; "
    "{level} and {baseline} stand for the names of the two",
    "levels": "what each level is called in a sentence, by the level as it is written",
    "plural": 'the levels whose names are plural: "multi-row inserts make", "an index makes"',
}
"""The keys of `[words."PATH"]`, and what they mean."""

_PLACES = ("level", "baseline")


def read_words(document: Document) -> dict[str, Words]:
    """Every `[words."PATH"]` by its path, in file order. A path need not be a factor, since an
    override may have fixed it."""
    return dict(_one(document, path) for path in document.table(("words",)))


def _one(document: Document, path: str) -> tuple[str, Words]:
    place = ("words", path)
    try:
        target = resolve(path)
    except Refused as refused:
        document.refuse(place, refused.reason, hint=refused.hint)
    table = document.table(place)
    for key in table:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS)
            document.refuse((*place, key), f'unknown key "{key}" in [words."{path}"]', hint=hint)
    levels = {
        level: _text(document, (*place, "levels", level), name)
        for level, name in document.table((*place, "levels")).items()
    }
    change = _text(document, (*place, "change"), table.get("change", ""))
    _check_places(document, (*place, "change"), change)
    return target.path, Words(change, levels, _plural(document, (*place, "plural"), levels))


def _plural(document: Document, place: tuple[str, ...], levels: dict[str, str]) -> tuple[str, ...]:
    named: object = document.table(place[:-1]).get(place[-1], [])
    if not isinstance(named, list):
        document.refuse(place, f"plural must be a list of levels, not {shown(named)}")
    for at, level in enumerate(named):
        if level not in levels:
            hint = did_you_mean(str(level), levels)
            document.refuse(
                (*place, at), f"plural has {shown(level)}, which levels does not name", hint=hint
            )
    return tuple(named)


def _check_places(document: Document, place: tuple[str, ...], change: str) -> None:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(change) if name is not None]
    except ValueError:
        names = [""]
    if any(name not in _PLACES for name in names):
        document.refuse(
            place,
            "change may have {level} and {baseline} in it, and no other braces",
            hint='Write change = "adding {level} instead of {baseline}".',
        )


def _text(document: Document, place: tuple[str, ...], value: object) -> str:
    try:
        return Text().read(value)
    except Refused as refused:
        document.refuse(place, f"{'.'.join(place)} {refused.reason}", hint=refused.hint)
