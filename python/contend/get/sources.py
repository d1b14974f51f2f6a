"""Reading apt's source lists, both formats, and turning them to another suite. No effects.

contend knows no mirror: it takes the entries this machine is configured for and replaces only
the suite. Entries of other archives (a vendor's own repository, say) are left out if another
suite is asked for, because a suite of that name would mean something else there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

_POCKETS = ("", "-updates", "-security", "/updates")
_ROLLING = frozenset({"sid", "unstable", "experimental", "rc-buggy"})
_ALIASES = ("stable", "oldstable", "oldoldstable", "testing", "unstable", "sid")
_OPTION = re.compile(r"(?P<name>[A-Za-z-]+)(?P<sign>[+-]?=)(?P<value>\S+)")


@dataclass(frozen=True, slots=True)
class Source:
    """One archive: where, which suite, which components, and whose signature counts.

    `signed_by` is what the machine's entry says: paths or key ids, or a whole key block whose
    lines already stand as deb822 wants them. `trusted` is the administrator's own `trusted=yes`.
    """

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str | None = None
    trusted: bool = False


def parse_sources(text: str, *, deb822: bool) -> list[Source]:
    """The enabled binary archives of one file (`*.sources` is deb822, `*.list` is one-line)."""
    return _parse_deb822(text) if deb822 else _parse_one_line(text)


def _parse_one_line(text: str) -> list[Source]:
    sources = []
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        kind, _, rest = line.partition(" ")
        if kind != "deb":
            continue
        rest = rest.strip()
        options: dict[str, str] = {}
        if rest.startswith("["):
            inside, closed, rest = rest[1:].partition("]")
            if not closed:
                continue
            options = {m["name"].lower(): m["value"] for m in _OPTION.finditer(inside)}
        words = rest.split()
        if len(words) < 2:
            continue
        sources.append(
            Source(
                uri=words[0],
                suite=words[1],
                components=tuple(words[2:]),
                signed_by=options.get("signed-by", "").replace(",", " ") or None,
                trusted=_is_yes(options.get("trusted", "")),
            )
        )
    return sources


def _parse_deb822(text: str) -> list[Source]:
    sources = []
    for fields in _stanzas(text):
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").strip().lower() in ("no", "false", "0", "off"):
            continue
        sources += [
            Source(
                uri=uri,
                suite=suite,
                components=tuple(fields.get("components", "").split()),
                signed_by=fields.get("signed-by") or None,
                trusted=_is_yes(fields.get("trusted", "")),
            )
            for uri in fields.get("uris", "").split()
            for suite in fields.get("suites", "").split()
        ]
    return sources


def _stanzas(text: str) -> Iterable[Mapping[str, str]]:
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, ""
        elif line.startswith("#"):
            continue
        elif line[0] in " \t":
            # A continued value, such as a key block, keeps its line breaks.
            if name:
                fields[name] = f"{fields[name]}\n{line}"
        else:
            word, colon, value = line.partition(":")
            if colon:
                name = word.strip().lower()
                fields[name] = value.strip()
    if fields:
        yield fields


def _is_yes(word: str) -> bool:
    return word.strip().lower() in ("yes", "true", "1", "on", "with")


def for_suite(sources: Sequence[Source], codename: str, suite: str) -> list[Source]:
    """The machine's archives with its own suite replaced by `suite`, without duplicates.

    Args:
        sources: every entry of the machine.
        codename: the machine's own suite (`VERSION_CODENAME` of os-release).
        suite: the suite wanted; the machine's own leaves the entries as they are.
    """
    ours = _of_release(sources, [codename]) or _of_release(sources, _ALIASES)
    turned = []
    for source, pocket in ours:
        if (pocket and suite in _ROLLING) or source.uri.startswith("cdrom:"):
            continue
        name = source.suite if suite == codename else f"{suite}{pocket.replace('/', '-')}"
        turned.append(replace(source, suite=name))
    return list(dict.fromkeys(turned))


def _of_release(sources: Sequence[Source], names: Sequence[str]) -> list[tuple[Source, str]]:
    known = {f"{name}{pocket}": pocket for name in names for pocket in _POCKETS}
    return [
        (source, known[source.suite])
        for source in sources
        if source.suite in known and "main" in source.components
    ]


def render(sources: Iterable[Source], architecture: str) -> str:
    """The sources as a deb822 file that asks for package lists of one architecture only."""
    stanzas = []
    for source in sources:
        lines = [
            "Types: deb",
            f"URIs: {_copied(source.uri)}",
            f"Suites: {source.suite}",
            f"Components: {' '.join(source.components)}",
            f"Architectures: {architecture}",
            "Targets: Packages",
            "Languages: none",
        ]
        if source.signed_by:
            lines.append(f"Signed-By: {source.signed_by}")
        if source.trusted:
            lines.append("Trusted: yes")
        stanzas.append("\n".join(lines))
    return "\n\n".join(stanzas) + "\n"


def _copied(uri: str) -> str:
    # apt uses the packages of a file: mirror in place, but we need them as files of ours.
    return f"copy:{uri.removeprefix('file:')}" if uri.startswith("file:") else uri
