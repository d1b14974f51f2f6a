"""Put a contend-load that is built already and the Python package into one wheel.

The wheel is that of the project's own back end without its Rust part, plus the program, which pip
puts beside `contend`. No Python version is in its tag: a program has none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from glibc import read_needs

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("python", "LICENSE", "README.md")


def pack(program: Path, folder: Path) -> Path:
    """A wheel of the package with this contend-load, in `folder`. Raises Unpackable."""
    tag = f"py3-none-{read_needs(program).tag()}"
    with tempfile.TemporaryDirectory(prefix="contend-wheel-") as made:
        tree = Path(made)
        stage(tree / "source")
        call("pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", *to(tree / "pure"))
        (pure,) = (tree / "pure").glob("contend-*.whl")
        call("wheel", "unpack", "--dest", str(tree / "open"), str(pure))
        (opened,) = (tree / "open").iterdir()
        (metadata,) = opened.glob("*.dist-info")
        scripts = opened / f"{metadata.stem}.data" / "scripts"
        scripts.mkdir(parents=True)
        shutil.copyfile(program, scripts / "contend-load")
        (scripts / "contend-load").chmod(0o755)
        said = metadata / "WHEEL"
        text = said.read_text().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
        said.write_text(text.replace("Tag: py3-none-any", f"Tag: {tag}"))
        folder.mkdir(parents=True, exist_ok=True)
        call("wheel", "pack", "--dest-dir", str(folder), str(opened))
        return folder / f"{metadata.stem}-{tag}.whl"


def to(folder: Path) -> list[str]:
    return ["--wheel-dir", str(folder), str(folder.parent / "source")]


def stage(source: Path) -> None:
    """The package's source without its Rust part."""
    source.mkdir()
    for name in PARTS:
        part = ROOT / name
        if part.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(part, source / name, ignore=unwanted)
        else:
            shutil.copyfile(part, source / name)
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    text, bins = re.subn(r"(?ms)^\[\[tool\.setuptools-rust\.bins\]\]\n.*?(?=^\[)", "", text)
    text, needs = re.subn(r', "setuptools-rust[^"]*"', "", text)
    assert (bins, needs) == (1, 1), "pyproject.toml builds its Rust part in another way now"
    (source / "pyproject.toml").write_text(text, "utf-8")


def call(module: str, *words: str) -> None:
    """Run a module of this Python; what it says is shown if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        env=os.environ | {"SOURCE_DATE_EPOCH": commit_time()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"python -m {module} {' '.join(words)} failed:\n{done.stdout}")


def commit_time() -> str:
    """When the commit was made, in seconds, so that wheels of one commit are alike."""
    said = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return said or "315532800"
