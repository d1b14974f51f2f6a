"""Getting servers with the machine's own apt: from its mirror, and from one that is broken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from child_python import import_path
from mirror import SUITE, Mirror

from contend.files import default_cache
from contend.servers import PrivateServer, ServerBinary, debian
from contend.servers import got as cache
from contend.servers.apt import architecture, render
from contend.servers.errors import GetFailed, NotVerified, UnknownServer

PACKAGE = "mariadb-server-core"


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return Mirror(tmp_path)


@pytest.fixture
def whole_mirror(mirror: Mirror, mariadb_binary: ServerBinary) -> Mirror:
    """A mirror with a server that runs."""
    mirror.add(PACKAGE, "1:10.11.19", tree=mariadb_binary.basedir.parent)
    return mirror


def get(mirror: Mirror, tmp_path: Path, **more: object) -> ServerBinary:
    return debian.get("mariadb", cache=tmp_path / "cache", root=mirror.root, **more)  # type: ignore[arg-type]


def left_in(tmp_path: Path) -> list[str]:
    servers = cache.servers_folder(tmp_path / "cache")
    return sorted(p.name for p in servers.glob("*")) if servers.exists() else []


def test_what_the_machines_mirror_has_is_verified(any_binary: ServerBinary) -> None:
    assert any_binary.verified
    assert any_binary.source == "debian"
    assert any_binary.program.is_relative_to(default_cache())


def test_the_second_get_asks_nobody(any_binary: ServerBinary) -> None:
    steps: list[str] = []
    again = debian.get(
        any_binary.kind, any_binary.suite, on_progress=lambda step, _percent: steps.append(step)
    )
    assert (again, steps) == (any_binary, [])


def test_an_unsigned_mirror_is_refused(whole_mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(NotVerified, match="could not be verified") as refused:
        get(whole_mirror, tmp_path)
    assert "--unverified" in (refused.value.hint or "")
    assert left_in(tmp_path) == [".lock"]


def test_an_unsigned_mirror_is_taken_where_asked_and_said(
    whole_mirror: Mirror, tmp_path: Path
) -> None:
    steps: list[str] = []
    binary = get(
        whole_mirror,
        tmp_path,
        unverified=True,
        on_progress=lambda step, _percent: steps.append(step),
    )
    assert binary.verified is False
    assert binary.name == f"mariadb-{SUITE}-10.11.19"
    assert left_in(tmp_path) == [".lock", binary.name]
    assert steps[0] == f"reading the package lists of {SUITE}"
    assert {"downloading", "unpacking"} <= set(steps)
    assert get(whole_mirror, tmp_path) == binary


def test_a_mirror_the_administrator_trusts_is_not_called_verified(
    whole_mirror: Mirror, tmp_path: Path
) -> None:
    whole_mirror.configure(trusted=True)
    assert get(whole_mirror, tmp_path).verified is False


def test_a_torn_download_leaves_nothing(mirror: Mirror, tmp_path: Path) -> None:
    package = mirror.add(PACKAGE, "1")
    package.write_bytes(package.read_bytes()[:-100])
    mirror.configure(trusted=True)
    with pytest.raises(GetFailed, match="was interrupted") as failed:
        get(mirror, tmp_path)
    assert failed.value.detail
    assert left_in(tmp_path) == [".lock"]


def test_packages_without_a_server_leave_nothing(mirror: Mirror, tmp_path: Path) -> None:
    mirror.add(PACKAGE, "1")
    mirror.configure(trusted=True)
    with pytest.raises(GetFailed, match="no mariadb server program"):
        get(mirror, tmp_path)
    assert left_in(tmp_path) == [".lock"]


def test_a_cache_whose_path_the_loader_cannot_take_is_refused(
    mirror: Mirror, tmp_path: Path
) -> None:
    with pytest.raises(GetFailed, match="has a colon, a semicolon or"):
        debian.get("mariadb", cache=tmp_path / "a:b", root=mirror.root)


def test_a_cache_with_a_space_in_its_path_works(whole_mirror: Mirror, tmp_path: Path) -> None:
    whole_mirror.configure(trusted=True)
    binary = debian.get("mariadb", cache=tmp_path / "my cache", root=whole_mirror.root)
    with PrivateServer(binary, tmp_path / "a server") as server:
        server.initialise()
        server.start()


def test_a_missing_dependency_is_told(mirror: Mirror, tmp_path: Path) -> None:
    mirror.add(PACKAGE, "1", depends="libnowhere1")
    mirror.configure(trusted=True)
    with pytest.raises(GetFailed, match="the suite lacks packages") as failed:
        get(mirror, tmp_path)
    assert "libnowhere1" in (failed.value.detail or "")


def test_a_missing_package_is_told(mirror: Mirror, tmp_path: Path) -> None:
    mirror.add("something-else", "1")
    mirror.configure(trusted=True)
    with pytest.raises(UnknownServer, match=f"suite {SUITE} .* has no package {PACKAGE}"):
        get(mirror, tmp_path)


def test_a_suite_the_mirror_has_not_gets_the_nearest_name(mirror: Mirror, tmp_path: Path) -> None:
    mirror.configure(trusted=True)
    with pytest.raises(UnknownServer, match="has no suite trixi") as refused:
        get(mirror, tmp_path, suite="trixi")
    assert refused.value.hint == 'Did you mean "trixie"?'


def test_a_mirror_that_does_not_answer_is_told(mirror: Mirror, tmp_path: Path) -> None:
    # Port 9 of this machine: nobody listens there.
    mirror.configure(uri="http://127.0.0.1:9/debian")
    with pytest.raises(GetFailed, match="does not answer"):
        get(mirror, tmp_path)


def test_a_machine_without_a_mirror_is_told(mirror: Mirror, tmp_path: Path) -> None:
    (mirror.root / "etc/apt/sources.list").unlink()
    with pytest.raises(GetFailed, match="Debian suite cannot be determined"):
        get(mirror, tmp_path)
    with pytest.raises(GetFailed, match="none of this machine's apt sources"):
        get(mirror, tmp_path, suite="trixie")


@pytest.mark.parametrize("step", ["reading the package lists of testsuite", "unpacking"])
def test_a_get_that_is_killed_leaves_nothing_usable_and_the_next_works(
    whole_mirror: Mirror, tmp_path: Path, step: str
) -> None:
    whole_mirror.configure(trusted=True)
    script = f"""
import os, signal
from pathlib import Path
from contend.servers import debian
def die(step, percent):
    if step == {step!r}:
        os.kill(os.getpid(), signal.SIGKILL)
debian.get("mariadb", cache=Path({str(tmp_path / "cache")!r}),
           root=Path({str(whole_mirror.root)!r}), on_progress=die)
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | import_path())
    assert done.returncode == -signal.SIGKILL
    assert cache.list_got(tmp_path / "cache") == []
    binary = get(whole_mirror, tmp_path)
    assert left_in(tmp_path) == [".lock", binary.name]


def test_the_library_and_loader_are_those_of_the_tree(
    any_binary: ServerBinary, private_server: Callable[..., object]
) -> None:
    server = private_server(any_binary)
    maps = Path(f"/proc/{server.pid}/maps").read_text()  # type: ignore[attr-defined]
    files = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
    root = str(any_binary.basedir.parent)
    assert files
    assert not {file for file in files if not file.startswith(root)}


def machine_with_keys(root: Path, *, whole_keyring: bool) -> Path:
    """A machine like this one, whose sources name a keyring that has none of the mirror's keys."""
    keyring = Path("/") / debian.KEYRING
    sources = [s for s in debian.read_sources(Path("/")) if not s.trusted]
    if not keyring.exists() or not sources:
        pytest.skip("this machine has no Debian keyring to leave out")
    (root / "etc/apt/sources.list.d").mkdir(parents=True)
    (root / "etc/os-release").write_bytes(Path("/etc/os-release").read_bytes())
    empty = root / "empty.gpg"
    empty.touch()
    other = [replace(source, signed_by=str(empty)) for source in sources]
    (root / "etc/apt/sources.list.d/x.sources").write_text(render(other, architecture()))
    if whole_keyring:
        (root / debian.KEYRING).parent.mkdir(parents=True)
        (root / debian.KEYRING).write_bytes(keyring.read_bytes())
    return root


def test_the_whole_keyring_verifies_where_the_named_keys_do_not(tmp_path: Path) -> None:
    root = machine_with_keys(tmp_path / "machine", whole_keyring=True)
    binary = debian.get("mariadb", cache=tmp_path / "cache", root=root)
    assert binary.verified is True


def test_a_download_that_no_key_verifies_is_refused(tmp_path: Path) -> None:
    root = machine_with_keys(tmp_path / "machine", whole_keyring=False)
    with pytest.raises(NotVerified, match="could not be verified"):
        debian.get("mariadb", cache=tmp_path / "cache", root=root)
    assert left_in(tmp_path) == [".lock"]
