"""A wheel of the program that is here: what is in it, for which systems, and that it is whole."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from needs import missing

from contend import __version__
from contend.files import find_program

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tools" / "wheels"))

from glibc import Needs, Unpackable, read_needs  # noqa: E402
from wheel_of import pack  # noqa: E402

PROGRAM = f"contend-{__version__}.data/scripts/contend-load"
METADATA = f"contend-{__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if any(importlib.util.find_spec(name) is None for name in ("setuptools", "wheel")):
        missing("setuptools or wheel is missing: `make setup` installs both")
    return pack(find_program(), tmp_path_factory.mktemp("dist"))


def test_its_tag_is_what_the_program_needs_and_no_python(wheel: Path) -> None:
    tag = f"py3-none-{read_needs(find_program()).tag()}"
    assert wheel.name == f"contend-{__version__}-{tag}.whl"
    with zipfile.ZipFile(wheel) as opened:
        said = Parser().parsestr(opened.read(f"{METADATA}/WHEEL").decode())
    assert (said.get_all("Tag"), said["Root-Is-Purelib"]) == ([tag], "false")


def test_it_carries_the_program_and_what_the_package_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        assert opened.read(PROGRAM) == find_program().read_bytes()
        assert opened.getinfo(PROGRAM).external_attr >> 16 & 0o777 == 0o755
        names = set(opened.namelist())
        entry = opened.read(f"{METADATA}/entry_points.txt").decode()
    assert "contend = contend.cli.main:main" in entry
    package = ROOT / "python" / "contend"
    unwanted = {"__pycache__"}
    kept = {
        f"contend/{path.relative_to(package)}"
        for path in package.rglob("*")
        if path.is_file() and not unwanted & set(path.parts)
    }
    assert kept - names == set()
    assert {name for name in names if "/__pycache__/" in name or name.endswith(".rs")} == set()


def test_its_record_holds_every_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        lines = list(csv.reader(opened.read(f"{METADATA}/RECORD").decode().splitlines()))
        record = {name: told for name, told, _ in lines if told}
        for name in set(opened.namelist()) - {f"{METADATA}/RECORD"}:
            digest = hashlib.sha256(opened.read(name)).digest()
            coded = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            assert record[name] == f"sha256={coded}", name


def test_its_metadata_names_what_contend_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        said = Parser().parsestr(opened.read(f"{METADATA}/METADATA").decode())
    assert (said["Name"], said["Version"]) == ("contend", __version__)
    assert said["Requires-Python"] == ">=3.11"
    assert any(need.startswith("numpy") for need in said.get_all("Requires-Dist") or [])


def test_a_library_that_not_every_system_has_is_refused() -> None:
    needs = Needs("x86_64", ("libc.so.6", "libssl.so.3", "ld-linux-x86-64.so.2"), (2, 28))
    with pytest.raises(Unpackable, match=r"libssl\.so\.3"):
        needs.tag()


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "contend-load"
    file.write_text("#!/bin/sh\n")
    with pytest.raises(Unpackable, match="is no program"):
        read_needs(file)
