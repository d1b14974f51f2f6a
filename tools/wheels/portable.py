"""Build contend-load for systems older than this one, and of another architecture.

zig links: it knows which names each glibc has, so the program asks for none that is newer than
2.28. It and cargo-zigbuild are packages of PyPI, kept in build/wheels.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
GLIBC = (2, 28)
"""As old as Debian 10, RHEL 8, Ubuntu 20.04 have it."""

BUILDERS = ("cargo-zigbuild==0.24.0", "ziglang==0.17.0")
TRUE = shutil.which("true") or "/bin/true"


class NoRust(Exception):
    """No Rust for a target, and why."""


def build(machine: str, folder: Path) -> Path:
    """contend-load for `machine`, from any glibc of 2.28 on. Raises NoRust, RuntimeError."""
    target = TARGETS[machine]
    see_to_rust(target)
    bin_folder = builders(folder / "builders")
    environment = os.environ | {
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(folder / "target")),
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        # Of LuaJIT only the library is wanted. Its own program, which would be linked besides,
        # takes an unwinder from gcc's library, which zig does not have.
        "TARGET_LD": TRUE,
        "TARGET_STRIP": TRUE,
        "CARGO_PROFILE_RELEASE_STRIP": "debuginfo",
    }
    version = ".".join(map(str, GLIBC))
    words = ["--release", "--locked", "--bin", "contend-load", "--target", f"{target}.{version}"]
    done = subprocess.run(["cargo", "zigbuild", *words], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"contend-load for {machine} was not built: see above")
    return Path(environment["CARGO_TARGET_DIR"]) / target / "release" / "contend-load"


def see_to_rust(target: str) -> None:
    """Have Rust's standard library for a target. Raises NoRust."""
    libraries = ["rustc", "--print", "target-libdir", "--target", target]
    folder = subprocess.run(libraries, capture_output=True, text=True, check=False).stdout.strip()
    if any(Path(folder).glob("libstd-*.rlib")):
        return
    if shutil.which("rustup") is None:
        raise NoRust(f"Rust's standard library for {target} is missing, and rustup, which gets it")
    added = subprocess.run(
        ["rustup", "target", "add", target], capture_output=True, text=True, check=False
    )
    if added.returncode:
        raise NoRust(f"rustup has no standard library for {target}:\n{added.stderr.strip()}")


def builders(folder: Path) -> Path:
    """Where zig and cargo-zigbuild are, in an environment of their own."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if not (folder / "bin" / "cargo-zigbuild").exists():
        subprocess.run([python, "-m", "pip", "install", "--quiet", *BUILDERS], check=True)
    return folder / "bin"
