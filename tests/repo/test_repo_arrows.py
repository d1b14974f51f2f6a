"""Who may import whom: the arrows of docs/concepts/architecture.md, read off the imports."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tree import (
    PYTHON_ROOT,
    ROOT,
    RUST_ROOT,
    is_rust_test,
    python_imports,
    room_of_python,
    rust_crates,
    rust_modules,
    without_rust_comments,
    without_rust_tests,
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


ROOMS_MAX, MODULES_MAX = 17, 3


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


def test_the_architecture_has_each_crate() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \|.*\|([a-z ]*)\|$", PAGE.partition("| crate |")[2])
    crates = rust_crates()
    del crates["contend-load"]
    assert [name for name, _ in rows] == sorted(crates, key=[name for name, _ in rows].index)
    for name, others in rows:
        manifest = tomllib.loads((crates[name].parent / "Cargo.toml").read_text())
        used = {other for other in manifest["dependencies"] if other.startswith("contend-")}
        assert {f"contend-{other}" for other in others.split()} == used, name


def test_a_run_knows_no_protocol() -> None:
    registry = RUST_ROOT / "crates/engine/src/lib.rs"
    protocols = re.compile(
        r"\bcontend_(?:wire::(?:mysql|handler_socket)|client::(?:link|handler_s))"
    )
    named = {
        path
        for path in rust_crates()["engine"].rglob("*.rs")
        if not is_rust_test(path)
        and protocols.search(without_rust_comments(without_rust_tests(path.read_text())))
    }
    assert named == {registry}


def test_arrows_have_no_circle() -> None:
    left = without_leaves(PYTHON_ARROWS)
    assert not left, f"these rooms import one another in a circle: {sorted(left)}"


def test_rust_modules_beside_one_another_have_no_circle_at_any_level() -> None:
    wrong = [line for root in rust_crates().values() for line in circles(rust_modules(root))]
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
