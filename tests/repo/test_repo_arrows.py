"""Who may import whom: the arrows of docs/concepts/architecture.md, read off the imports."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tree import (
    PYTHON_ROOT,
    ROOT,
    RUST_ROOT,
    is_rust_test,
    python_imports,
    room_of_python,
    room_of_rust,
    rust_module,
    rust_modules,
    rust_paths,
    rust_uses,
)

PAGE = (ROOT / "docs/concepts/architecture.md").read_text(encoding="utf-8")

EVERYWHERE = {"errors", "units", "files", "metrics", "__version__"}

PYTHON_ARROWS: dict[str, set[str]] = {
    **{"__init__": set(), "__main__": {"cli"}, "errors": set(), "files": {"errors"}},
    "units": {"errors"},
    **{
        room: set(others.split())
        for room, others in re.findall(r"(?m)^\| `(\w+)/` \|.*\|([a-z ]*)\|$", PAGE)
        if (PYTHON_ROOT / room).is_dir()
    },
}

RUST_ARROWS: dict[str, set[str]] = {
    "lib": set(),
    "main": set(),
    "plan": set(),
    "outcome": set(),
    "random": {"plan"},
    "wire": set(),
    "sql": set(),
    "arrival": {"plan", "random"},
    "record": {"plan", "outcome"},
    "workload": {"plan", "outcome", "random", "wire", "sql", "arrival", "record"},
    "fill": {"plan", "outcome", "random", "wire", "sql"},
    "serve": {"plan", "outcome", "random", "wire", "sql", "fill"},
    "lua": {"plan", "outcome", "random", "wire", "sql", "arrival", "record", "workload"},
    "reactor": {"plan", "outcome"},
    "cpus": {"random"},
    "talk": {"plan", "outcome", "wire", "workload", "reactor"},
    "stand": {"plan", "outcome", "random", "wire", "record", "serve", "reactor", "talk"},
    "load_data": {"plan", "outcome", "wire", "fill", "reactor", "talk"},
    "run": {
        *("plan", "outcome", "random", "wire", "sql", "arrival", "record"),
        *("workload", "fill", "lua", "reactor", "talk", "load_data"),
    },
    "cli": {
        *("plan", "outcome", "random", "wire", "sql", "arrival", "record", "workload"),
        *("fill", "lua", "serve", "reactor", "cpus", "talk", "stand", "load_data", "run"),
    },
}


def test_python_rooms_follow_the_arrows() -> None:
    wrong = []
    for path in sorted(PYTHON_ROOT.rglob("*.py")):
        room = room_of_python(path)
        allowed = PYTHON_ARROWS.get(room)
        where = path.relative_to(ROOT)
        if allowed is None:
            wrong.append(f"{where}: room {room!r} is not in the table of the architecture page")
            continue
        for line, target in python_imports(path.read_text()):
            if target != room and target not in allowed | EVERYWHERE:
                wrong.append(f"{where}:{line}: {room} may not import {target}")
    assert not wrong, "\n".join(wrong)


ROOMS_MAX, MODULES_MAX = 16, 3


def test_the_rooms_are_few_and_each_says_where_to_start() -> None:
    rooms = {path.parent.name: path for path in PYTHON_ROOT.glob("*/__init__.py")}
    modules = {path.stem for path in PYTHON_ROOT.glob("*.py") if not path.stem.startswith("__")}
    assert len(rooms) <= ROOMS_MAX
    assert len(modules) <= MODULES_MAX
    assert rooms.keys() <= PYTHON_ARROWS.keys()
    for name, path in rooms.items():
        says = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert re.search(r"\bstart\b", says, re.IGNORECASE), f"{name} does not say where to start"


WORDS_MAX = 30


def test_the_architecture_explains_few_words() -> None:
    table = PAGE.partition("| word | means |")[2].partition("\n\n")[0]
    assert 1 < len(table.strip().splitlines()) - 1 <= WORDS_MAX


def test_rust_rooms_follow_the_arrows() -> None:
    wrong = []
    for path in sorted(RUST_ROOT.rglob("*.rs")):
        if is_rust_test(path):  # It may start a server of ours.
            continue
        room = room_of_rust(path)
        allowed = RUST_ARROWS.get(room)
        where = path.relative_to(ROOT)
        if allowed is None:
            wrong.append(f"{where}: room {room!r} has no arrows; add it here and to the docs")
            continue
        for line, target in rust_uses(path.read_text()):
            if target != room and target not in allowed and target in RUST_ARROWS:
                wrong.append(f"{where}:{line}: {room} may not use {target}")
    assert not wrong, "\n".join(wrong)


NEUTRAL = {"common", "error", "value"}
"""The modules of `wire` that all protocols share; each other one is a protocol."""

REGISTRY = Path("run/mod.rs")
"""Where a worker gets its dialect."""


def test_a_conversation_and_a_run_know_no_protocol() -> None:
    protocols = {f"wire::{name}" for name in rust_modules()["wire"].keys() - NEUTRAL}
    assert protocols >= {"wire::mysql", "wire::handler_socket"}
    dialects = {"talk::link", "talk::handler_socket"}
    wrong = []
    for path in [RUST_ROOT / "talk/dialect.rs", *sorted((RUST_ROOT / "run").rglob("*.rs"))]:
        where = path.relative_to(RUST_ROOT)
        known = named_in(path.read_text(), rust_module(where), protocols | dialects)
        if where == REGISTRY:
            assert known == dialects, "no longer the place that names the dialects"
        elif not is_rust_test(path):
            wrong += [f"{where} may not use {name}" for name in sorted(known)]
    assert not wrong, "\n".join(wrong)


def named_in(source: str, module: tuple[str, ...], names: set[str]) -> set[str]:
    """Which of these modules, each of the form `room::module`, a source names."""
    return names & {"::".join(path[:2]) for path in rust_paths(source, module)}


def test_a_protocol_is_seen_however_it_is_named() -> None:
    def named(source: str) -> set[str]:
        return named_in(source, ("talk", "dialect"), {"wire::mysql", "talk::link"})

    assert named("use crate::wire::mysql::Options;") == {"wire::mysql"}
    assert named("use crate::{a, wire::{b, mysql}};") == {"wire::mysql"}
    assert named("use crate::a;\nuse super::link::Link;") == {"talk::link"}
    assert named("use crate::wire; // crate::wire::mysql") == set()


@pytest.mark.parametrize("arrows", [PYTHON_ARROWS, RUST_ARROWS], ids=["python", "rust"])
def test_arrows_have_no_circle(arrows: dict[str, set[str]]) -> None:
    left = without_leaves(arrows)
    assert not left, f"these rooms import one another in a circle: {sorted(left)}"


def test_rust_modules_beside_one_another_have_no_circle_at_any_level() -> None:
    wrong = circles(rust_modules())
    assert not wrong, "these modules import one another in a circle:\n" + "\n".join(wrong)


def circles(levels: dict[str, dict[str, set[str]]]) -> list[str]:
    found = []
    for parent, modules in sorted(levels.items()):
        if left := without_leaves(modules):
            circle = {module: sorted(targets & left.keys()) for module, targets in left.items()}
            found.append(f"{parent}: {circle}")
    return found


def test_a_circle_is_seen_however_deep_it_is(tmp_path: Path) -> None:
    def write(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("lib.rs", "mod room;")
    write("room/mod.rs", "mod deep;\nuse deep::inner::A;")
    write("room/deep/a.rs", "use super::inner::A;")
    write("room/deep/inner/one.rs", "use crate::room::deep::{inner::two::B, b};")
    write("room/deep/inner/two.rs", "// super::one is named by words alone\n")
    write("room/deep/b.rs", "#[cfg(test)]\nmod tests { use super::super::a; }")
    levels = rust_modules(tmp_path)
    assert levels["room::deep"] == {"a": {"inner"}, "inner": {"b"}, "b": set()}
    assert levels["room::deep::inner"] == {"one": {"two"}, "two": set()}
    assert circles(levels) == []
    write("room/deep/inner/two.rs", "use super::super::a::X;")
    (circle,) = circles(rust_modules(tmp_path))
    assert circle.startswith("room::deep: {'a': ['inner'], 'inner'")
    write("room/deep/inner/two.rs", "use super::one;")
    (circle,) = circles(rust_modules(tmp_path))
    assert circle.startswith("room::deep::inner: {'one': ['two']")


def without_leaves(arrows: dict[str, set[str]]) -> dict[str, set[str]]:
    """What imports only what is itself in a circle, or imports one."""
    left = dict(arrows)
    while leaves := [room for room, targets in left.items() if not targets & left.keys()]:
        for room in leaves:
            del left[room]
    return left


def test_readers_see_what_they_should() -> None:
    source = (
        "import contend.lab\nfrom contend import spec\nfrom contend.store import x\n"
        "def f():\n    from contend.cli import main\nimport os\n"
    )
    assert list(python_imports(source)) == [(1, "lab"), (2, "spec"), (3, "store"), (5, "cli")]
    rust = (
        "use crate::talk::blocking;\nuse crate::{plan::{Load, Plan}, wire, record::hdr};\n"
        "// crate::cli\n#[cfg(test)]\nmod tests { use crate::lua; }\n"
    )
    assert sorted(rust_uses(rust)) == [(1, "talk"), (2, "plan"), (2, "record"), (2, "wire")]
