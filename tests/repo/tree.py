"""What the repository tests read: the files git tracks or would track, and who imports whom."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON_ROOT = ROOT / "python" / "contend"
RUST_ROOT = ROOT / "load"


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the project, relative to its root, that git does not ignore and that exists."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = sorted(set(filter(None, listing.split("\0"))))
    return tuple(Path(name) for name in names if (ROOT / name).is_file())


def room_of_python(path: Path) -> str:
    """The room of a Python file: its first folder under contend/, or its own name."""
    first = path.relative_to(PYTHON_ROOT).parts[0]
    return first.removesuffix(".py")


def rust_crates() -> dict[str, Path]:
    """The sources of each crate of the load generator, by its folder; those of the program are
    `contend-load`."""
    crates = {path.parent.name: path for path in sorted((RUST_ROOT / "crates").glob("*/src"))}
    return {"contend-load": RUST_ROOT / "src", **crates}


def rust_files() -> list[tuple[str, Path]]:
    """Each source of the load generator, with its crate."""
    crates = rust_crates().items()
    return [(crate, path) for crate, root in crates for path in sorted(root.rglob("*.rs"))]


def is_rust_test(path: Path) -> bool:
    """Whether a file of the Rust program is there for tests alone."""
    return path.stem in ("tests", "testing") or "tests" in path.relative_to(RUST_ROOT).parts


def python_imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and room of every import of contend in a Python source, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "contend" and len(parts) > 1:
                    yield node.lineno, parts[1]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            parts = node.module.split(".")
            if parts[0] == "contend":
                if len(parts) > 1:
                    yield node.lineno, parts[1]
                else:
                    for alias in node.names:
                        yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            yield node.lineno, f"relative import of level {node.level}"


def without_rust_tests(source: str) -> str:
    """A Rust source up to its test module, which may use any room."""
    return re.split(r"^#\[cfg\(test\)\]\s*\nmod ", source, maxsplit=1, flags=re.MULTILINE)[0]


def without_rust_comments(source: str) -> str:
    """A Rust source whose line comments are blank, so that prose cannot count as code."""
    return re.sub(r"//[^\n]*", "", source)


def rust_modules(root: Path) -> dict[str, dict[str, set[str]]]:
    """Of each module of the crate that has modules of its own, those, each with its siblings that
    it names, in itself or in anything inside it. Test modules do not count."""
    sources = {
        module: path.read_text()
        for path in root.rglob("*.rs")
        if (module := rust_module(path.relative_to(root)))[-1:] not in {("tests",), ("main",)}
    }
    levels: dict[str, dict[str, set[str]]] = {}
    for module in sources:
        # A folder without a file of its own is a module too.
        for depth in range(len(module)):
            levels.setdefault("::".join(module[:depth]), {}).setdefault(module[depth], set())
    for module, source in sources.items():
        for named in rust_paths(source, module):
            pairs = zip(module, named, strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            siblings = levels.get("::".join(module[:same]), {})
            if same < min(len(module), len(named)) and named[same] in siblings:
                siblings[module[same]].add(named[same])
    return levels


def rust_module(path: Path) -> tuple[str, ...]:
    """The module of a file below the root of its crate; () is the crate itself."""
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def rust_paths(source: str, inside: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every `crate::` and `super::` path in a source that is the module `inside`, from the root of
    the crate."""
    code = without_rust_comments(without_rust_tests(source))
    for match in re.finditer(r"\b(crate|super(?:::super)*)((?:::\w+)*)(::\{)?", code):
        up = match.group(1).count("super")
        base = inside[: len(inside) - up] if up else ()
        named = (*base, *filter(None, match.group(2).split("::")))
        if match.group(3) is None:
            yield named
        else:
            yield from ((*named, *path) for path in _grouped(code, match.end()))


def _grouped(code: str, start: int) -> Iterator[tuple[str, ...]]:
    """The paths in a brace group of a `use` line: {a::b, c::{d, e}} gives a::b, c::d, c::e."""
    path: tuple[str, ...] = ()
    before = [path]  # what stands in front of each group that is open
    for token in re.finditer(r"[{},]|\w+", code[start:]):
        text = token.group()
        if text == "{":
            before.append(path)
            continue
        if text not in {",", "}"}:
            path = (*path, text)
            continue
        if path != before[-1]:
            yield path
        if text == "}":
            before.pop()
            if not before:
                return
        path = before[-1]
