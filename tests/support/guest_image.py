"""What guests start from: the kernel that `make test-needs` got, and a file system in memory with
this machine's Python, those of its modules that contend's rooms of the host import, and contend.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import marshal
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from needs import missing, program

from contend.files import default_cache

SUPPORT = Path(__file__).parent
REPOSITORY = SUPPORT.parents[1]
PACKAGE = REPOSITORY / "python" / "contend"
KERNEL = default_cache() / "test-guest"

MODULES = ("virtio_pci", "virtio_blk", "nvme", "ext4")
"""Of the kernel, with what they need; those that it has built in are not there as files."""

_LISTING = """
import importlib, json, os, sys
sys.path[:] = json.loads(sys.argv[1])
sys.modules["cryptography"] = None  # large, and PyMySQL does without
for name in json.loads(sys.argv[2]):
    importlib.import_module(name)
loaded = list(sys.modules.values())
files = {getattr(module, "__file__", None) for module in loaded}
json.dump(sorted(file for file in files if file and os.path.exists(file)), sys.stdout)
"""


def kernel() -> Path:
    """The kernel's image; skips if it is not there."""
    image = KERNEL / "vmlinuz"
    return image if image.exists() else missing("no kernel for guests: `make test-needs` gets it")


def write_image(
    to: Path,
    called: tuple[str, ...] = ("guest_acts", "guest_host"),
    programs: Sequence[Path] = (),
) -> Path:
    """Write the file system of guests, as the kernel takes it (cpio, not compressed).

    Args:
        called: modules whose functions are called there.
        programs: to be there too, where they are here.
    """
    python = Path(sys.executable).resolve()
    path = [str(PACKAGE.parent), str(SUPPORT), *(entry for entry in sys.path if _is_stdlib(entry))]
    path += [entry for entry in sys.path if entry.endswith("site-packages")]
    paths = [*_imported(python, path, called), python, *_contend(), *programs]
    started = (python, *programs)
    libraries = _libraries([file for file in paths if file in started or ".so" in file.name])
    modules = list(_kernel_modules())
    config = {"path": path, "modules": [f"/modules/{file.name}" for file in modules]}
    init = f"#!{python} -IS\n".encode() + (SUPPORT / "guest_init.py").read_bytes()
    files: dict[str, tuple[bytes, int]] = {
        "init": (init, 0o755),
        "body": (_body(), 0o755),
        "guest.json": (json.dumps(config).encode(), 0o644),
        **{f"modules/{file.name}": (_plain(file), 0o644) for file in modules},
    }
    for file in dict.fromkeys([*paths, *libraries]):
        data, name = file.read_bytes(), str(file).lstrip("/")
        files[name] = (_stripped(file) if data[:4] == b"\x7fELF" else data, file.stat().st_mode)
        if file.suffix == ".py":
            cached = importlib.util.cache_from_source(name, optimization="")
            files[cached] = (_compiled(data, str(file)), 0o644)
    to.write_bytes(b"".join(_cpio(files)))
    return to


def _is_stdlib(entry: str) -> bool:
    return entry.startswith(sys.base_prefix) and "site-packages" not in entry


def _imported(python: Path, path: list[str], called: tuple[str, ...]) -> list[Path]:
    """Files of the modules that are loaded when the rooms are, as Python itself says."""
    names = [*called, "guest_init", "traceback"]
    command = [str(python), "-IS", "-c", _LISTING, json.dumps(path), json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Python looks for this one to know where its library is.
    return [Path(os.__file__), *(Path(name) for name in json.loads(done.stdout))]


def _contend() -> Iterator[Path]:
    """All of it: scripts are run by their path, schemas and tables read as files."""
    for file in sorted(PACKAGE.rglob("*")):
        if file.suffix in (".py", ".json", ".toml") and file.is_file():
            yield file


def _compiled(source: bytes, name: str) -> bytes:
    """What Python keeps of a module, of a kind that it takes without a look at the source: an
    emulated CPU is slow to compile."""
    flags = 1
    head = importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little")
    return head + importlib.util.source_hash(source) + marshal.dumps(compile(source, name, "exec"))


def _body() -> bytes:
    """The program that is placed."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "body")
        command = [program("cc"), "-O1", "-s", "-o", str(made), str(SUPPORT / "guest_body.c")]
        subprocess.run(command, check=True)
        return made.read_bytes()


def _stripped(file: Path) -> bytes:
    """A program or library without its symbols, which are half of it."""
    if (strip := shutil.which("strip")) is None:
        return file.read_bytes()
    with tempfile.NamedTemporaryFile() as made:
        command = [strip, "--strip-unneeded", "-o", made.name, str(file)]
        subprocess.run(command, check=True)
        return Path(made.name).read_bytes()


def _libraries(programs: Iterable[Path]) -> list[Path]:
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=True)
    return [Path(name) for name in sorted(set(re.findall(r"(/\S+) \(0x", done.stdout)))]


def _kernel_modules() -> Iterator[Path]:
    """Those wanted and what they need, in the order in which they are loaded."""
    files = {
        file.name.split(".")[0].replace("-", "_"): file for file in (KERNEL / "modules").iterdir()
    }
    done: set[str] = set()

    def with_needs(name: str) -> Iterator[Path]:
        if name in done or name not in files:
            return
        done.add(name)
        needs = re.search(rb"\0depends=([^\0]*)\0", _plain(files[name]))
        for other in needs[1].decode().split(",") if needs else ():
            yield from with_needs(other.replace("-", "_"))
        yield files[name]

    for name in MODULES:
        yield from with_needs(name)


def _plain(module: Path) -> bytes:
    data = module.read_bytes()
    return lzma.decompress(data) if module.suffix == ".xz" else data


def _cpio(files: dict[str, tuple[bytes, int]]) -> Iterator[bytes]:
    """An archive in the format "newc" of cpio(5), with the folders that the files lie in."""
    folders = sorted({str(parent) for name in files for parent in Path(name).parents} - {"."})
    number = 0
    for name in folders:
        number += 1
        yield _entry(number, name, stat.S_IFDIR | 0o755, b"")
    for name, (data, mode) in files.items():
        number += 1
        yield _entry(number, name, stat.S_IFREG | mode & 0o777, data)
    # The first process has these before it can mount anything.
    yield _entry(number + 1, "dev", stat.S_IFDIR | 0o755, b"")
    for minor, name in ((1, "console"), (9, "urandom")):
        device = (5 if name == "console" else 1, minor)
        yield _entry(number + 1 + minor, f"dev/{name}", stat.S_IFCHR | 0o600, b"", device)
    yield _entry(0, "TRAILER!!!", 0, b"")


def _entry(
    number: int, name: str, mode: int, data: bytes, device: tuple[int, int] = (0, 0)
) -> bytes:
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
