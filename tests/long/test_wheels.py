"""The wheels that `make wheels` left in dist: each program runs on its kind of machine, and the one
for this kind is enough to ask whether a setting is faster."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
import venv
import zipfile
from pathlib import Path

import pytest
from needs import missing

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = Path("/usr/aarch64-linux-gnu")
"""Of Debian's libc6-arm64-cross and libgcc-s1-arm64-cross, if CONTEND_AARCH64_ROOT says no other
place."""


def wheel_for(machine: str) -> Path:
    """The one for the oldest systems."""
    found = sorted((ROOT / "dist").glob(f"contend-*manylinux*_{machine}.whl"))
    return found[0] if found else missing(f"no wheel for {machine} in dist: `make wheels` makes it")


def program_of(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (one for one in opened.namelist() if one.endswith("scripts/contend-load"))
        program = Path(opened.extract(name, folder))
    program.chmod(0o755)
    return program


def test_the_program_for_aarch64_loads_a_server_under_qemu(tmp_path: Path) -> None:
    """Both sides of it: its null server answers its load."""
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    root = Path(os.environ.get("CONTEND_AARCH64_ROOT", LIBRARIES))
    if emulator is None or not (root / "lib" / "ld-linux-aarch64.so.1").exists():
        missing("qemu-user-static, libc6-arm64-cross or libgcc-s1-arm64-cross is missing")
    program = program_of(wheel_for("aarch64"), tmp_path)
    emulated = [emulator, "-L", root, program]
    # epoll: an emulator passes on few of the kernel's newer calls.
    plan = {
        "version": 1,
        "server": {"socket": str(tmp_path / "null.sock")},
        "workload": {"kind": "point_select", "rows": 1000},
        "load": {
            **{"connections": 2, "events": 500, "warmup_s": 0, "measure_s": 120},
            "engine": "epoll",
        },
    }
    server = [*emulated, "null-server", f"--socket={tmp_path / 'null.sock'}"]
    with subprocess.Popen(server, stdout=subprocess.PIPE) as serving:
        assert serving.stdout is not None and serving.stdout.readline()
        ran = subprocess.run(
            [*emulated, "run", "-"], input=json.dumps(plan), capture_output=True, text=True
        )
        serving.terminate()
    assert ran.returncode == 0, ran.stderr
    done = json.loads(ran.stdout.splitlines()[-1])
    assert (done["type"], done["events"], done["errors"]) == ("done", 500, [])


def test_a_wheel_alone_tries_a_setting(
    tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    """In a new environment, without Rust on the PATH. What it took is recorded."""
    wheel = wheel_for(platform.machine())
    venv.create(tmp_path / "new", with_pip=True)
    bin_folder = tmp_path / "new" / "bin"
    environment = {"PATH": f"{bin_folder}:/usr/bin:/bin", "HOME": str(tmp_path)}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert shutil.which("cargo", path=environment["PATH"]) is None
    pip = [bin_folder / "pip", "install", "--quiet", wheel]
    subprocess.run(pip, check=True, env={**os.environ, **environment})
    begun = time.monotonic()
    tried = subprocess.run(
        [
            *("contend", "try", "key_cache_segments=0,32", "--engine=MyISAM"),
            *("--workload=random_points", "--server=model", "--for=20s", "--yes"),
        ],
        executable=bin_folder / "contend",
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert tried.returncode == 0, tried.stderr
    assert "key_cache_segments" in tried.stdout
    record_property("contend try of a wheel, s", round(time.monotonic() - begun, 1))
    record_property("load of the host", round(os.getloadavg()[0], 1))
