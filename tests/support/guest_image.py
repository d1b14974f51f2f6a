"""What guests start from: the kernel that `make test-needs` got, and a file system in memory with
this machine's Python, those of its modules that contend's rooms of the host import, and contend.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from needs import missing

from contend.folders import default_cache

SUPPORT = Path(__file__).parent
REPOSITORY = SUPPORT.parents[1]
PACKAGE = REPOSITORY / "python" / "contend"
KERNEL = default_cache() / "test-guest"

MODULES = ("virtio_pci", "virtio_blk", "nvme", "ext4")
"""Of the kernel, with what they need; those that it has built in are not there as files."""

_LISTING = """
import importlib, json, os, sys
sys.path[:] = json.loads(sys.argv[1])
for name in json.loads(sys.argv[2]):
    importlib.import_module(name)
loaded = list(sys.modules.values())
files = {getattr(module, name, None) for module in loaded for name in ("__file__", "__cached__")}
json.dump(sorted(file for file in files if file and os.path.exists(file)), sys.stdout)
"""


def kernel() -> Path:
    """The kernel's image; skips if it is not there."""
    image = KERNEL / "vmlinuz"
    return image if image.exists() else missing("no kernel for guests: `make test-needs` gets it")


def write_image(
    to: Path, imported: tuple[str, ...] = ("guest_acts",), programs: Sequence[Path] = ()
) -> Path:
    """Write the file system of guests, as the kernel takes it (cpio, not compressed).

    Args:
        imported: modules that are imported before a guest is ready, so that no call waits for it.
        programs: to be there too, where they are here.
    """
    python = Path(sys.executable).resolve()
    path = [str(PACKAGE.parent), str(SUPPORT), *(entry for entry in sys.path if _is_stdlib(entry))]
    path += [entry for entry in sys.path if entry.endswith("site-packages")]
    paths = [*_imported(python, path, imported), python, *_contend(), *programs]
    started = (python, *programs)
    libraries = _libraries([file for file in paths if file in started or ".so" in file.name])
    modules = list(_kernel_modules())
    config = {
        "path": path,
        "modules": [f"/modules/{file.name}" for file in modules],
        "import": imported,
    }
    init = f"#!{python} -IS\n".encode() + (SUPPORT / "guest_init.py").read_bytes()
    files: dict[str, tuple[bytes, int, int]] = {
        "init": (init, 0o755, 0),
        "guest.json": (json.dumps(config).encode(), 0o644, 0),
        **{f"modules/{file.name}": (_plain(file), 0o644, 0) for file in modules},
    }
    for file in dict.fromkeys([*paths, *libraries]):
        about = file.stat()
        files[str(file).lstrip("/")] = (
            file.read_bytes(),
            about.st_mode & 0o777,
            int(about.st_mtime),
        )
    to.write_bytes(b"".join(_cpio(files)))
    return to


def _is_stdlib(entry: str) -> bool:
    return entry.startswith(sys.base_prefix) and "site-packages" not in entry


def _imported(python: Path, path: list[str], imported: tuple[str, ...]) -> list[Path]:
    """Files of the modules that are loaded when the rooms are, as Python itself says."""
    names = [*imported, "guest_init", "guest_body", "traceback"]
    command = [str(python), "-IS", "-c", _LISTING, json.dumps(path), json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # Python looks for this one to know where its library is.
    return [Path(os.__file__), *(Path(name) for name in json.loads(done.stdout))]


def _contend() -> Iterator[Path]:
    """All of it: scripts are run by their path, schemas and tables read as files."""
    for file in sorted(PACKAGE.rglob("*")):
        if file.suffix in (".py", ".pyc", ".json", ".toml") and file.is_file():
            yield file


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


def _cpio(files: dict[str, tuple[bytes, int, int]]) -> Iterator[bytes]:
    """An archive in the format "newc" of cpio(5), with the folders that the files lie in."""
    folders = sorted({str(parent) for name in files for parent in Path(name).parents} - {"."})
    number = 0
    for name in folders:
        number += 1
        yield _entry(number, name, stat.S_IFDIR | 0o755, 0, b"")
    for name, (data, mode, mtime) in files.items():
        number += 1
        yield _entry(number, name, stat.S_IFREG | mode, mtime, data)
    # The first process has these before it can mount anything.
    yield _entry(number + 1, "dev", stat.S_IFDIR | 0o755, 0, b"")
    for minor, name in ((1, "console"), (9, "urandom")):
        device = (5 if name == "console" else 1, minor)
        yield _entry(number + 1 + minor, f"dev/{name}", stat.S_IFCHR | 0o600, 0, b"", device)
    yield _entry(0, "TRAILER!!!", 0, 0, b"")


def _entry(
    number: int, name: str, mode: int, mtime: int, data: bytes, device: tuple[int, int] = (0, 0)
) -> bytes:
    fields = (number, mode, 0, 0, 1, mtime, len(data), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
