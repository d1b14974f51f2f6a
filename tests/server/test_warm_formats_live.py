"""Tables whose files do not say whose their pages are, on every kind of server."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from needs import missing, program

from contend.cli.main import main
from contend.servers import PrivateServer, ServerBinary

Factory = Callable[..., PrivateServer]

OPTIONS = {
    "innodb_buffer_pool_size": "32M",
    "innodb_buffer_pool_dump_at_shutdown": 0,
    "innodb_buffer_pool_load_at_startup": 0,
    "innodb_lru_scan_depth": 100,
}
SQUEEZED = "ROW_FORMAT=COMPRESSED"
PRESSED = {"mariadb": "PAGE_COMPRESSED=1", "mysql": "COMPRESSION='zlib'"}
ROWS = 5000


@pytest.fixture(autouse=True)
def load_program_in_use(monkeypatch: pytest.MonkeyPatch, load_program: Path) -> None:
    monkeypatch.setenv("CONTEND_LOAD", str(load_program))


def filled(server: PrivateServer, tables: dict[str, str]) -> None:
    """Name -> what is behind its columns. All is in the files afterwards, and nothing in memory."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.numbers (n INT PRIMARY KEY)")
        cursor.executemany("INSERT INTO shop.numbers VALUES (%s)", [(n,) for n in range(ROWS)])
        for name, more in tables.items():
            columns = "id INT PRIMARY KEY, v VARCHAR(200), KEY v (v)"
            cursor.execute(f"CREATE TABLE shop.{name} ({columns}) {more}")
            cursor.execute(f"INSERT INTO shop.{name} SELECT n, SHA2(n, 256) FROM shop.numbers")
            cursor.execute(f"ANALYZE TABLE shop.{name}")
            cursor.fetchall()
    server.stop()
    server.start(server.options)


def check(
    server: PrivateServer,
    reasons: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    folder: Path,
) -> None:
    """That each of these tables is scanned, that it is in memory then, and that its indexes are
    not told apart for that reason, but by INNODB_BUFFER_PAGE."""
    words = ["warm", f"mysql://root@/shop?socket={server.socket}", "--journal", str(folder)]

    def said(*more: str) -> str:
        capsys.readouterr()
        code = main([*words, *more])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    plan = said()
    for table, why in reasons.items():
        for index in ("PRIMARY", "v"):
            assert re.search(rf"shop\.{table}\.{index} .*{table}\.ibd has {why}\n", plan), plan
    exact = parts(said("--status", "--exact", "--json"))
    status = parts(said("--status", "--json"))
    for table, why in reasons.items():
        whole = status[f"shop.{table}", None]
        assert whole["share"] is None
        assert whole["why_not"].endswith(f"{table}.ibd has {why}")
        counted = [exact[f"shop.{table}", index]["resident_pages"] for index in ("PRIMARY", "v")]
        # The list has a few pages beside them, that are of no index.
        assert min(counted) > 10
        assert sum(counted) <= whole["resident_pages"] <= sum(counted) + 10
    assert f"not told apart: {server.data_folder}" in said("--status")
    # What has a plain file is told index by index beside them.
    assert status["shop.numbers", "PRIMARY"]["share"] > 0.95
    # A list of such pages says of no page whose it is: as much of each index is scanned.
    said("--save", str(folder / "list"))
    server.stop()
    server.start(server.options)
    words[1] = f"mysql://root@/shop?socket={server.socket}"
    said("--from-dump", str(folder / "list"))
    again = parts(said("--status", "--exact", "--json"))
    for table in reasons:
        for index in ("PRIMARY", "v"):
            before = exact[f"shop.{table}", index]["resident_pages"]
            assert again[f"shop.{table}", index]["resident_pages"] >= 0.9 * before


def parts(text: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(one["table"], one["index"]): one for one in json.loads(text)["innodb"]["parts"]}


def test_compressed_tables_are_scanned_and_told_as_a_whole(
    any_binary: ServerBinary,
    private_server: Factory,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    server = private_server(any_binary, OPTIONS)
    filled(server, {"squeezed": SQUEEZED, "pressed": PRESSED[any_binary.kind]})
    reasons = {"squeezed": "ROW_FORMAT=COMPRESSED", "pressed": "page compression"}
    check(server, reasons, capsys, tmp_path)


@pytest.fixture(scope="module")
def key_plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of MariaDB's plugin that keeps keys in a file, which is in a package of Debian's
    beside that of the server."""
    apt, unpack = program("apt-get"), program("dpkg-deb")
    folder = tmp_path_factory.mktemp("plugins")
    got = subprocess.run(
        [apt, "download", "mariadb-server"], cwd=folder, capture_output=True, text=True
    )
    package = next(folder.glob("*.deb"), None)
    if package is None:
        missing(f"mariadb-server cannot be had from apt: {got.stderr}")
    subprocess.run([unpack, "-x", package, folder], check=True, capture_output=True)
    return folder / "usr" / "lib" / "mysql" / "plugin"


def test_encrypted_tables_are_scanned_and_told_as_a_whole(
    mariadb_binary: ServerBinary,
    private_server: Factory,
    key_plugins: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("1;" + "ab" * 32 + "\n")
    server = private_server(
        mariadb_binary,
        OPTIONS,
        arguments=(
            f"--plugin-dir={key_plugins}",
            "--plugin-load-add=file_key_management",
            f"--file-key-management-filename={keys}",
        ),
    )
    filled(server, {"locked": "ENCRYPTED=YES"})
    check(server, {"locked": "encryption"}, capsys, tmp_path)


@pytest.fixture
def mysql_with_keys(mysql_binary: ServerBinary, tmp_path: Path) -> ServerBinary:
    """MySQL in a folder of its own: the component that keeps keys in a file is loaded only if a
    manifest lies beside the program, which would give every other test's server keys too."""
    whole = next((up for up in mysql_binary.basedir.parents if up.name == "root"), None)
    if whole is None:
        missing("only a MySQL that `contend server get` unpacked can be copied")
    copy = tmp_path / "root"
    subprocess.run(["cp", "-a", f"{whole}/.", str(copy)], check=True)

    def moved(where: object) -> str:
        return str(where).replace(str(whole), str(copy))

    binary = replace(
        mysql_binary,
        argv=tuple(moved(word) for word in mysql_binary.argv),
        basedir=Path(moved(mysql_binary.basedir)),
        share_dir=Path(moved(mysql_binary.share_dir)),
        plugin_dir=Path(moved(mysql_binary.plugin_dir)),
    )
    component, keys = "component_keyring_file", {"path": f"{tmp_path}/keys", "read_only": False}
    assert binary.plugin_dir is not None
    (binary.plugin_dir / f"{component}.cnf").write_text(json.dumps(keys))
    [mysqld] = copy.rglob("sbin/mysqld")
    mysqld.with_suffix(".my").write_text(json.dumps({"components": f"file://{component}"}))
    return binary


def test_encrypted_tables_of_mysql(
    mysql_with_keys: ServerBinary,
    private_server: Factory,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    server = private_server(mysql_with_keys, OPTIONS)
    filled(server, {"locked": "ENCRYPTION='Y'"})
    check(server, {"locked": "encryption"}, capsys, tmp_path)
