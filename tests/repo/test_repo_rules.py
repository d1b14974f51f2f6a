"""Rules that no linter knows: banned calls, file sizes, words, versions, licences."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from tree import (
    PYTHON_ROOT,
    ROOT,
    is_rust_test,
    rust_files,
    tracked_files,
    without_rust_comments,
    without_rust_tests,
)

LINES_MAX = 600
"""Longest a source file may be. A file that needs more holds two ideas."""

LONG_FILES: dict[str, int] = {}
"""The ratchet: files that are longer today, with their length. An entry may only shrink or go."""

SOURCE_ENDINGS = {".py", ".rs", ".lua", ".sh", ".js", ".css"}

BANNED_IN_RUST = [
    (
        r"\bprintln!|\beprintln!|\bprint!\(",
        {"contend-load", "console", "sysbench", "mysqlslap"},
        "only command lines print; return data instead",
    ),
    (
        r"\bstd::net::(Tcp|Udp)|\bUnixStream\b|\bUnixListener\b|\bthread::spawn\b",
        {"reactor", "client", "servers", "model", "data", "engine", "sysbench"},
        "return bytes or data; this crate has no sockets and no threads",
    ),
    (
        r"\bprocess::exit\(",
        {"contend-load", "sysbench", "mysqlslap"},
        "return an exit code; only a command line ends the program",
    ),
    (r"/proc/self/mem\b", set(), "change memory of ours in a block of unsafe, where it is counted"),
    (r"\btodo!|\bunimplemented!", set(), "nothing is done because a stub returns a value"),
]

SAME_NAMES = {"Arguments", "Keys", "Engine", "Workload", "Arrival"}
"""Types of Rust whose name means more than one thing. `Arguments`: one per command. `Keys`: one per
workload or dataset. The others: as a plan says it, and as it is built from that."""

SAME_CLASSES = {"Notice"}
"""Classes of Python likewise: on the terminal during a run, and in a report."""

SQL = (
    r"(?i:\b(select|insert|alter|show)\b .*\b(from|into|table|status|global)\b)"
    r"|\b(?i:set (global|session|persist|@@\w+))\b"
    r"|[\"'](ALTER|ANALYZE|BEGIN|CALL|CHECK|COMMIT|CREATE|DELETE|DO|DROP|EXPLAIN|FLUSH|GRANT|INSERT"
    r"|KILL|LOAD|LOCK|OPTIMIZE|PURGE|RENAME|REPLACE|RESET|SELECT|SET|SHOW|START|STOP|TRUNCATE|UNLOCK"
    r"|UPDATE|USE)\b"
)
"""A statement: by the words that belong together, or by the word that a text begins with."""

BANNED_IN_PYTHON = [
    (r"\bshell=True\b", set(), "pass a list of arguments"),
    (r"\bos\.system\(", set(), "use subprocess with a list of arguments"),
    (r"(?<![\w.])random\.(random|shuffle|choice|seed)\(", set(), "use a seeded random.Random"),
    (r"\bpickle\b", set(), "store JSON or SQLite, which can be read and cannot run code"),
    (r"\bsys\.exit\(", {"cli", "__main__"}, "raise a ContendError; only cli ends the program"),
    (
        r"\b(ReportText|cls)\.written\(",
        {"findings/report_text.py", "sections/naming.py", "sections/words.py"},
        "a number enters a sentence only as a finding: add what formats it to words or naming",
    ),
    (SQL, None, "no SQL text in the lab: it belongs to servers, datasets or a probe"),
]

KIND_NAMES = {
    "experiment/settings/server.py": 2,  # names the kinds
    "servers/dsn.py": 4,  # schemes of a DSN, groups of an option file
    "servers/client.py": 1,  # a database of the server's
    "servers/topologies/spider.py": 1,  # a wrapper of Spider's
    "why/candidates/disk.py": 3,
    "why/candidates/queries.py": 2,
}
"""The ratchet: how often a file outside of `servers/kinds` spells a kind of server. What differs by
kind is asked of the kind (`KINDS`). An entry may only shrink or go."""

WORDS = [
    (r"/(work|root|farm)/", "a path of one machine"),
    (
        r"(?i)\b(deb|security|ftp)\.debian\.org|pypi\.org/simple|index\.crates\.io",
        "a registry host",
    ),
    (r"(?i)\bTODO\b|\bFIXME\b|\bXXX\b", "an owed piece of work: do it, or say it in the docs"),
]


def sources(*endings: str) -> list[Path]:
    return [path for path in tracked_files() if path.suffix in endings]


def lines_matching(path: Path, text: str, pattern: str) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_the_name_of_a_rust_type_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    defined = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) ([A-Z]\w*)", re.M)
    for _, path in rust_files():
        if is_rust_test(path):
            continue
        for name in defined.findall(without_rust_tests(path.read_text())):
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    require_one_meaning(places, SAME_NAMES)


def test_the_name_of_a_python_class_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(PYTHON_ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    require_one_meaning(places, SAME_CLASSES)


def require_one_meaning(places: dict[str, list[str]], known: set[str]) -> None:
    more = {name: where for name, where in places.items() if len(where) > 1}
    wrong = [f"{name}: {', '.join(where)}" for name, where in more.items() if name not in known]
    assert not wrong, "\n".join(wrong)
    assert more.keys() >= known, "no longer needed"


def test_a_second_meaning_of_a_name_is_told() -> None:
    with pytest.raises(AssertionError, match=r"Plan: a\.py, b\.py"):
        require_one_meaning({"Plan": ["a.py", "b.py"], "Cell": ["a.py"]}, set())
    with pytest.raises(AssertionError, match="no longer needed"):
        require_one_meaning({"Plan": ["a.py"]}, {"Plan"})


@pytest.mark.parametrize(("pattern", "rooms", "instead"), BANNED_IN_RUST)
def test_rust_calls_nothing_banned(pattern: str, rooms: set[str], instead: str) -> None:
    wrong = []
    for crate, path in rust_files():
        if crate in rooms or is_rust_test(path):
            continue
        code = without_rust_comments(without_rust_tests(path.read_text()))
        wrong += lines_matching(path.relative_to(ROOT), code, pattern)
    assert not wrong, f"{instead}:\n" + "\n".join(wrong)


@pytest.mark.parametrize(("pattern", "rooms", "instead"), BANNED_IN_PYTHON)
def test_python_calls_nothing_banned(pattern: str, rooms: set[str] | None, instead: str) -> None:
    wrong = []
    for path in sorted(PYTHON_ROOT.rglob("*.py")):
        file = path.relative_to(PYTHON_ROOT)
        room = file.parts[0].removesuffix(".py")
        if room != "lab" or "probes" in path.parts if rooms is None else {room, str(file)} & rooms:
            continue
        wrong += lines_matching(path.relative_to(ROOT), path.read_text(), pattern)
    assert not wrong, f"{instead}:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "is_sql"),
    [
        ('f"SET GLOBAL {name} = {value}"', True),
        ('"set global x = 1"', True),
        ('f" ON; SET @@GLOBAL.{name} = 1"', True),
        ('"FLUSH TABLES"', True),
        ("'UPDATE t ' f'{x}'", True),
        ('"how many rows " f"select a from {table}"', True),
        ('"a set of global options"', False),
        ('"Set it up"', False),
        ('"LOADED", "reset"', False),
    ],
)
def test_sql_is_told_from_words(line: str, is_sql: bool) -> None:
    assert bool(re.search(SQL, line)) == is_sql


def test_no_file_grows_past_the_limit() -> None:
    lengths = {
        str(path): len((ROOT / path).read_text().splitlines()) for path in sources(*SOURCE_ENDINGS)
    }
    grown = [
        f"{name}: {length} lines, at most {LONG_FILES.get(name, LINES_MAX)}"
        for name, length in lengths.items()
        if length > LONG_FILES.get(name, LINES_MAX)
    ]
    assert not grown, "split these files by idea:\n" + "\n".join(grown)
    slack = [
        f"{name}: now {lengths.get(name, 0)} lines, the ratchet says {limit}"
        for name, limit in LONG_FILES.items()
        if lengths.get(name, 0) < limit
    ]
    assert not slack, "tighten the ratchet in LONG_FILES:\n" + "\n".join(slack)


@pytest.mark.parametrize(("pattern", "what"), WORDS)
def test_no_file_says(pattern: str, what: str) -> None:
    wrong = []
    for path in tracked_files():
        if path.suffix in {".png", ".gz", ".lock", ".bin"} or "tests/repo" in str(path):
            continue
        text = (ROOT / path).read_bytes().decode("utf-8", "replace")
        wrong += lines_matching(path, text, pattern)
    assert not wrong, f"{what}:\n" + "\n".join(wrong)


def test_versions_agree() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    package = re.search(r'__version__ = "(.+)"', (PYTHON_ROOT / "__init__.py").read_text())
    changelog = re.search(r"^## ([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert package and changelog
    assert cargo == python == package.group(1) == changelog.group(1)


def test_every_source_says_what_it_is() -> None:
    silent = []
    for path in sources(".py", ".rs"):
        text = (ROOT / path).read_text()
        opening = '"""' if path.suffix == ".py" else "//!"
        body = "\n".join(line for line in text.splitlines() if not line.startswith("#!"))
        if body.strip() and not body.lstrip().startswith((opening, "#![no_main]")):
            silent.append(str(path))
    assert not silent, "begin these files with what they are for:\n" + "\n".join(silent)


def test_links_in_the_docs_lead_somewhere() -> None:
    dead = []
    for path in sources(".md"):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", (ROOT / path).read_text()):
            if "://" in target or target.startswith("mailto:"):
                continue
            page = ROOT / path.parent / target if target else ROOT / path
            if not page.exists():
                dead.append(f"{path}: {target}")
            elif page.suffix == ".md" and anchor and anchor not in anchors_of(page):
                dead.append(f"{path}: {target}#{anchor}")
    assert not dead, "dead links:\n" + "\n".join(dead)


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """The names of a page's headings, as the site makes them, and those it gives itself."""
    text = page.read_text()
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    made = {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in plain}
    return frozenset(made | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)))


def test_what_differs_by_kind_of_server_is_asked_of_the_kind() -> None:
    found = {}
    for path in sorted(PYTHON_ROOT.rglob("*.py")):
        place = path.relative_to(PYTHON_ROOT).as_posix()
        spelt = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and node.value in ("mariadb", "mysql")
        ]
        if spelt and not place.startswith("servers/kinds/"):
            found[place] = len(spelt)
    wrong = [
        f"{place}: {count} times, {KIND_NAMES.get(place, 0)} allowed"
        for place, count in found.items()
        if count > KIND_NAMES.get(place, 0)
    ]
    assert not wrong, "\n".join(wrong)
