"""Get what only the tests and the benchmarks need, and say what could not be had.

Servers of other kinds and releases come through contend's own Debian provider. The programs we
are compared with, and the browser that opens the report, are Debian packages: installed with apt
when this runs as root, else unpacked under the user's cache with a wrapper for each in
`.venv/bin`, so that nothing of the system is touched. The kernel of the guests in which placement
is tested is always unpacked there: installed, it would be this machine's next one. What is missing
in the end is named; the tests that need it say so when they skip, and fail where
CONTEND_TEST_ALL=1 forbids that.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from contend.errors import ContendError
from contend.files import default_cache
from contend.servers import debian
from contend.servers.apt import Apt, architecture, for_suite, render, unpack

SERVERS = (
    ("mariadb", None, ()),
    ("mariadb", None, ("handlersocket",)),
    ("mariadb", "trixie", ()),
    ("mysql", "sid", ()),
)

PROGRAMS = {
    "sysbench": ("sysbench", "usr/bin/sysbench"),
    "mariadb-slap": ("mariadb-client", "usr/bin/mariadb-slap"),
    "chromium": ("chromium", "usr/lib/chromium/chromium"),
    "chromedriver": ("chromium-driver", "usr/bin/chromedriver"),
    "perf": ("linux-perf", "usr/bin/perf"),
    "valgrind": ("valgrind", "usr/bin/valgrind"),
    "fish": ("fish", "usr/bin/fish"),
    "zsh": ("zsh", "usr/bin/zsh"),
    "mandoc": ("mandoc", "usr/bin/mandoc"),
    "qemu-system-x86_64": ("qemu-system-x86", "usr/bin/qemu-system-x86_64"),
}
"""Program -> the package it is in, and where it lies in an unpacked tree."""

INSTALLED_ONLY = ("fish", "zsh")
"""Shells find their functions where they were installed, and unpacked not at all."""

ARGUMENTS = {"qemu-system-x86_64": '-L "{root}/usr/share/qemu" -L "{root}/usr/share/seabios"'}
"""What a program is told of where it was unpacked, before anything else."""

KERNEL = "linux-image-cloud-amd64"
"""Debian's kernel for virtual machines, of guests."""

KERNEL_NEEDS = ("initramfs-tools", "kmod", "linux-base")
"""What is needed to install it, which nobody does."""

KERNEL_FOLDERS = ("drivers/virtio", "drivers/block", "drivers/nvme", "fs", "lib", "crypto")
"""Of its modules, those that a guest may load."""


def main() -> int:
    missing = [*get_servers(), *get_programs(), *get_kernel()]
    for line in missing:
        print(f"contend: for the tests, missing: {line}", file=sys.stderr)
    return 0


def get_servers() -> list[str]:
    """Get every server kind the tests want. Returns what could not be had, and why."""
    missing = []
    for kind, suite, extras in SERVERS:
        try:
            binary = debian.get(kind, suite, extras=extras)
            print(f"contend: for the tests: {binary.name}")
        except ContendError as error:
            name = "+".join((kind, *extras))
            missing.append(f"{name}@{suite or 'own suite'}: {error}")
    return missing


def get_programs() -> list[str]:
    """Get every peer program. Returns what could not be had, and why."""
    wanted = {name: where for name, where in PROGRAMS.items() if shutil.which(name) is None}
    if not wanted:
        return []
    packages = sorted({package for package, _ in wanted.values()})
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install(packages)
    else:
        try:
            unpacked = {n: where for n, where in wanted.items() if n not in INSTALLED_ONLY}
            if unpacked:
                unpack_programs(unpacked, sorted({package for package, _ in unpacked.values()}))
        except ContendError as error:
            return [f"{name}: {error}" for name in wanted]
    return [f"{name}: it could not be installed" for name in wanted if shutil.which(name) is None]


def install(packages: list[str]) -> None:
    """Install Debian packages as root. A failure shows as a program that is still missing."""
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages],
    ):
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)


def get_kernel() -> list[str]:
    """Get the kernel of guests: its image and modules. Returns why it could not be had."""
    folder = default_cache() / "test-guest"
    if architecture() != "amd64":
        return ["a kernel for guests: they are amd64, as what is tested in them would be"]
    if (folder / "vmlinuz").exists():
        return []
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="test-guest-") as made:
            tree = Path(made)
            unpack_kernel(tree)
            shutil.rmtree(folder, ignore_errors=True)
            (tree / "kernel").rename(folder)
    except ContendError as error:
        return [f"a kernel for guests: {error}"]
    return []


def unpack_kernel(tree: Path) -> None:
    """Fill `tree`/kernel."""
    for file in download(tree, [KERNEL], stand_ins=KERNEL_NEEDS):
        unpack(file, tree / "root")
    kernel = tree / "kernel"
    (kernel / "modules").mkdir(parents=True)
    (image,) = (tree / "root/boot").glob("vmlinuz-*")
    image.rename(kernel / "vmlinuz")
    (kernel / "release").write_text(image.name.removeprefix("vmlinuz-") + "\n")
    for folder in KERNEL_FOLDERS:
        for module in (tree / "root").glob(f"**/kernel/{folder}/**/*.ko*"):
            module.rename(kernel / "modules" / module.name)


def download(tree: Path, packages: list[str], stand_ins: tuple[str, ...] = ()) -> list[Path]:
    """Packages of the machine's own suite with all they need, but for what stand-ins are for."""
    machine = debian.read_sources(Path("/"))
    suite = debian.own_suite(machine, Path("/"))
    apt = Apt(tree / "apt", render(for_suite(machine, suite, suite), architecture()))
    apt.pretend_installed(dict.fromkeys(stand_ins, "999"))
    apt.update(suite)
    return apt.download(packages, lambda _step, _percent: None)


def unpack_programs(wanted: dict[str, tuple[str, str]], packages: list[str]) -> None:
    """Unpack packages with all they need, and write a wrapper for each program."""
    tree = default_cache() / "test-programs"
    shutil.rmtree(tree, ignore_errors=True)
    root = tree / "root"
    root.mkdir(parents=True)
    for file in download(tree, packages):
        unpack(file, root)
    shutil.rmtree(tree / "apt")
    libraries = sorted({path.parent for path in root.rglob("*.so*")} | {root / "lib64"})
    loader = next(root.rglob("ld-linux-*.so.*"))
    for name, (_, program) in wanted.items():
        write_wrapper(Path(sys.executable).parent / name, root, loader, libraries, root / program)


def write_wrapper(
    wrapper: Path, root: Path, loader: Path, libraries: list[Path], program: Path
) -> None:
    """Write a script that runs an unpacked program with its own loader and libraries."""
    path = ":".join(map(str, libraries))
    told = ARGUMENTS.get(wrapper.name, "").format(root=root)
    modules = next((str(file.parent) for file in root.rglob("accel-tcg-*.so")), "")
    wrapper.write_text(
        "#!/bin/sh\n"
        f'export XDG_DATA_DIRS="{root}/usr/share:${{XDG_DATA_DIRS:-/usr/share}}"\n'
        f'export VALGRIND_LIB="{root}/usr/libexec/valgrind"\n'
        f'export QEMU_MODULE_DIR="{modules}"\n'
        f'exec "{loader}" --library-path "{path}" "{program}" {told} "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


if __name__ == "__main__":
    sys.exit(main())
