"""Options: from values to arguments and SQL, and whether the server took them whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.servers.error_log import Truncated
from contend.servers.errors import OptionRejected
from contend.servers.options import (
    Value,
    as_arguments,
    as_sql,
    assignment,
    normal_name,
    size_in_bytes,
    truncation,
)
from contend.servers.variables import parse_defaults


def test_options_become_arguments() -> None:
    assert as_arguments(
        {
            "key_buffer_size": "512M",
            "query-cache-type": 0,
            "slow_query_log": True,
            "skip_log_bin": True,
            "skip_external_locking": False,
            "hot.key_buffer_size": 1024,
            "init_file": "",
            "loose_sync_binlog": True,
            "event_scheduler": False,
        },
        frozenset({"sync_binlog"}),
    ) == [
        "--key-buffer-size=512M",
        "--query-cache-type=0",
        "--slow-query-log",
        "--skip-log-bin",
        "--hot.key-buffer-size=1024",
        "--init-file=",
        "--loose-sync-binlog=1",
        "--event-scheduler=0",
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("datadir", "--datadir", "Socket", "pid-file", "skip-networking", "tmpdir"),
        *("loose-datadir", "skip_log_error", "loose_disable_port"),
    ],
)
def test_what_contend_sets_itself_is_refused(name: str) -> None:
    with pytest.raises(OptionRejected, match="contend itself sets"):
        as_arguments({name: "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log_bin", "/var/lib/mysql/bin"),
        ("loose_log_bin", " /var/lib/mysql/bin"),
        ("general_log_file", "~/all.log"),
        ("general_log_file", "~mysql/all.log"),
        ("innodb_undo_directory", "../undo"),
        ("innodb_undo_directory", "here/../../undo"),
        ("innodb_undo_directory", ".."),
        ("innodb_data_file_path", "ibdata1:12M;/dev/sdb1:3Gnewraw"),
        ("slave_load_tmpdir", "here:/tmp"),
        ("file_key_management_filekey", "FILE:/etc/keys"),
        ("made_up", "file:///etc/keys"),
        ("wsrep_provider_options", "gcache.size=1M;gcache.dir=/var"),
        ("debug", "d:t:o,/tmp/trace"),
        ("plugin_dir", "/usr/lib/mysql/plugin"),
        ("ssl_ca", "/etc/ssl/ca.pem"),
    ],
)
def test_a_place_outside_the_folder_is_refused_whatever_the_option(name: str, value: str) -> None:
    with pytest.raises(OptionRejected, match="outside the server's own folder"):
        as_arguments({name: value})
    for scope in ("GLOBAL", "SESSION"):
        with pytest.raises(OptionRejected, match="outside the server's own folder"):
            assignment(name, value, scope)


@pytest.mark.parametrize(
    "value",
    [
        *("all.log", "logs/all.log", "./undo", "a/../b", ".", "...", "", "ibdata1:12M:autoextend"),
        *("Europe/Berlin", "+00:00", "SET @a = 1/2", "SELECT 1; /* why */ SELECT 2", "SET @a='/b'"),
        *('+ -><()~*:""&|', "wait/io/file/%=ON", "::1,::/0,10.0.0.0/8", "mrr=on,icp=off"),
        *("gcomm://127.0.0.1:4567", "gmcast.listen_addr=tcp://127.0.0.1:1;socket.ssl=NO", "a~/b"),
    ],
)
def test_other_values_are_not_taken_for_one(value: str) -> None:
    assert as_arguments({"x": value}) == [f"--x={value}"]


@pytest.mark.parametrize("name", ["", "a b", "x;y", "1x", "a=b", "a.b.c", "ключ"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(OptionRejected, match="is not the name of a server option"):
        normal_name(name)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "1"),
        (64, "64"),
        (0.5, "0.5"),
        ("512M", "536870912"),
        ("64", "64"),
        ("off", "OFF"),
        ("default", "DEFAULT"),
        ("O_DIRECT", "'O_DIRECT'"),
        ("it's \\ here", "'it''s \\\\ here'"),
        ("", "''"),
    ],
)
def test_values_become_sql(value: Value, expected: str) -> None:
    assert as_sql(value) == expected


@given(st.text())
def test_no_text_ends_its_quotes(text: str) -> None:
    sql = as_sql(text)
    if sql.startswith("'"):
        inside = sql[1:-1].replace("\\\\", "").replace("''", "")
        assert "'" not in inside
        assert "\\" not in inside


@given(st.integers(0, 10**12), st.sampled_from(["", "K", "m", "G"]))
def test_sizes_are_powers_of_1024(number: int, suffix: str) -> None:
    power = {"": 0, "K": 1, "m": 2, "G": 3}[suffix]
    assert size_in_bytes(f"{number}{suffix}") == number * 1024**power


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        (64, "64"),
        ("512M", "536870912"),
        (True, "ON"),
        (False, "OFF"),
        ("on", "1"),
        (75.5, "75.500000"),
        ("O_DIRECT", "O_DIRECT"),
        (0, "LEGACY"),
        ("TRADITIONAL", "STRICT_TRANS_TABLES,TRADITIONAL"),
        (5, None),
    ],
)
def test_what_was_taken_whole_is_no_truncation(asked: Value, got: str | None) -> None:
    assert truncation("x", asked, got) is None


def test_what_was_cut_is_told() -> None:
    assert truncation("key_cache_segments", 100, "64") == Truncated(
        "key_cache_segments", "100", "64"
    )
    assert truncation("max_connections", "1G", "100000") is not None
    assert truncation("slow_query_log", True, "OFF") is not None


def test_reads_the_defaults_a_program_prints() -> None:
    text = (
        "mysqld  Ver 9.7.4\n\nVariables (--variable-name=value)\n"
        "and boolean options {FALSE|TRUE}        Value (after reading options)\n"
        "--------------------------------------- ------------------------------\n"
        "key-buffer-size                         8388608\n"
        "local-infile                            FALSE\n"
        "init-file                               (No default value)\n"
        "ssl-cipher                              \n"
        "\nTo see what values a running server uses, type\nnot-a-variable 1\n"
    )
    assert parse_defaults(text) == {
        "key_buffer_size": "8388608",
        "local_infile": "OFF",
        "init_file": "",
        "ssl_cipher": "",
    }
    assert parse_defaults("nothing of the kind") == {}
