"""A Debian mirror in a folder, for tests of getting servers: small, and as broken as asked."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
from pathlib import Path

from contend.servers.apt import architecture

SUITE = "testsuite"


class Mirror:
    """A mirror with one suite, and a machine (`root`) whose apt is configured for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "mirror"
        self.root = folder / "machine"
        self._stanzas: list[str] = []
        (self.folder / "pool").mkdir(parents=True)
        (self.root / "etc/apt").mkdir(parents=True)
        (self.root / "etc/os-release").write_text(f"ID=debian\nVERSION_CODENAME={SUITE}\n")
        self.configure()

    def configure(self, *, trusted: bool = False, uri: str | None = None) -> None:
        """Write the machine's sources."""
        option = " [trusted=yes]" if trusted else ""
        where = f"file:{self.folder}" if uri is None else uri
        (self.root / "etc/apt/sources.list").write_text(f"deb{option} {where} {SUITE} main\n")

    def add(self, name: str, version: str, tree: Path | None = None, depends: str = "") -> Path:
        """Add a package with the files of a tree; its file in the mirror."""
        build = self.folder.parent / f"build-{name}"
        (build / "DEBIAN").mkdir(parents=True)
        if tree is not None:
            # Copies, not links: a link that another test makes or removes changes the file's
            # ctime, and dpkg-deb ends with "file changed as we read it".
            subprocess.run(["cp", "-a", f"{tree}/.", str(build)], check=True)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: {architecture()}\n"
            f"Maintainer: nobody\nDescription: a test\n"
        )
        if depends:
            control += f"Depends: {depends}\n"
        (build / "DEBIAN/control").write_text(control)
        package = self.folder / "pool" / f"{name}_{version}_{architecture()}.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(build), str(package)],
            check=True,
            capture_output=True,
        )
        data = package.read_bytes()
        self._stanzas.append(
            f"{control}Filename: pool/{package.name}\nSize: {len(data)}\n"
            f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
        )
        self.publish()
        return package

    def publish(self) -> None:
        """Write the suite's lists, without a signature."""
        index = f"main/binary-{architecture()}/Packages"
        suite = self.folder / "dists" / SUITE
        (suite / index).parent.mkdir(parents=True, exist_ok=True)
        plain = "\n".join(self._stanzas).encode()
        sums = []
        for name, data in ((index, plain), (f"{index}.gz", gzip.compress(plain))):
            (suite / name).write_bytes(data)
            sums.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}")
        listed = "\n".join(sums)
        (suite / "Release").write_text(
            f"Origin: test\nSuite: {SUITE}\nCodename: {SUITE}\nComponents: main\n"
            f"Architectures: {architecture()}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
            f"SHA256:\n{listed}\n"
        )
