"""Variables of real servers: changed, read back, and told where the server changed its mind."""

from __future__ import annotations

import socket

import pytest
from sql import Factory

from contend.servers import ServerBinary, Truncated
from contend.servers.errors import OptionRejected
from contend.servers.kinds import refuse_ignored, refuse_unknown
from contend.servers.variables import rehearse, set_one


def test_a_value_cut_at_start_is_told(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary, start=False)
    assert server.start({"key-cache-segments": 100, "key_buffer_size": "64M"}) == [
        Truncated("key_cache_segments", "100", "64")
    ]
    assert server.variables()["key_cache_segments"] == "64"


def test_a_flag_stands_alone_where_it_can(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    """`--ansi=1` is refused, and so is `--sync-binlog` alone."""
    server = private_server(any_binary, start=False)
    flags = ("ansi", "log_bin", "slow_query_log", "sync_binlog", "loose_event_scheduler")
    assert server.start(dict.fromkeys(flags, True)) == []
    got = server.variables()
    assert [got[name] for name in ("log_bin", "slow_query_log")] == ["ON", "ON"]
    assert (got["sync_binlog"], got["event_scheduler"]) == ("1", "ON")
    assert "ANSI" in got["sql_mode"]


def test_a_value_cut_while_running_is_told(
    mariadb_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(mariadb_binary)
    assert server.set_global({"key_cache_segments": 32, "key_buffer_size": "64M"}) == []
    assert server.set_global({"key_cache_segments": 100}) == [
        Truncated("key_cache_segments", "100", "64")
    ]
    differing = server.variables_that_differ()
    assert differing["key_cache_segments"] == {"value": "64", "default": "0"}
    assert differing["key_buffer_size"] == {
        "value": str(64 << 20),
        "default": str(128 << 20),
    }


def test_every_kind_tells_what_it_made_of_values_and_what_differs(
    any_binary: ServerBinary, private_server: Factory
) -> None:
    server = private_server(any_binary, start=False)
    most = {"max_connections": 1_000_000_000}
    told = server.start({**most, "slow_query_log": "maybe", "sort_buffer_size": 321_000})
    assert {one.name for one in told} >= {"max_connections", "slow_query_log"}
    assert Truncated("slow_query_log", "maybe", "OFF") in told
    assert server.set_global(most) == [Truncated("max_connections", "1000000000", "100000")]
    differing = server.variables_that_differ()
    assert differing["sort_buffer_size"]["value"] == "321000"
    assert differing["skip_networking"]["value"] == "ON"
    assert "key_buffer_size" not in differing
    assert "foreign_key_checks" not in differing
    assert len(differing) < 40
    assert all(one["value"] != one["default"] for one in differing.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"no_such_thing": 1}, "has no variable no_such_thing"),
        ({"datadir": "x"}, "cannot change datadir while it runs"),
        ({"max_connections": "many"}, "value 'many' for max_connections"),
        ({"default_storage_engine": "Bogus"}, "did not set default_storage_engine"),
        ({"max_connections; DROP": 1}, "is not the name of a server option"),
    ],
)
def test_a_change_that_is_refused_has_words(
    any_binary: ServerBinary,
    shared_server: Factory,
    change: dict[str, str | int],
    words: str,
) -> None:
    server = shared_server(any_binary)
    with pytest.raises(OptionRejected, match=words):
        server.set_global(change)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sort_buffer_size", "4M", True),
        ("sql_mode", "ANSI", True),
        ("no_such_thing", 1, "has no variable no_such_thing"),
        ("back_log", 100, "cannot change back_log while it runs"),
    ],
)
def test_a_change_is_rehearsed_and_nothing_is_changed(
    any_binary: ServerBinary, shared_server: Factory, name: str, value: str | int, said: str | bool
) -> None:
    server = shared_server(any_binary)
    before = server.variables().get(name)
    with server.connect() as connection:
        if isinstance(said, bool):
            assert rehearse(connection, name, value) is said
        else:
            with pytest.raises(OptionRejected, match=said):
                rehearse(connection, name, value)
    assert server.variables().get(name) == before


def test_a_running_server_is_not_sent_elsewhere(
    any_binary: ServerBinary, shared_server: Factory
) -> None:
    server = shared_server(any_binary)
    before = server.variables()["general_log_file"]
    with server.connect() as connection:
        for ask in (rehearse, set_one):
            with pytest.raises(OptionRejected, match="outside the server's own folder"):
                ask(connection, "general_log_file", "/nowhere/all.log")
    assert server.variables()["general_log_file"] == before


def test_mariadb_says_of_a_value_too_what_it_would_do(
    mariadb_binary: ServerBinary, shared_server: Factory
) -> None:
    with shared_server(mariadb_binary).connect() as connection:
        assert not rehearse(connection, "key_cache_segments", 100)
        with pytest.raises(OptionRejected, match="value 'many' for max_connections"):
            rehearse(connection, "max_connections", "many")


@pytest.mark.parametrize(
    "name",
    [
        *("sort_buffer_size", "sort-buffer-size", "skip_name_resolve", "skip_log_bin", "ansi"),
        *("log_bin", "disable_log_bin", "hot.key_buffer_size", "loose_nosuch"),
        "loose_skip_log_bin",
    ],
)
def test_a_program_knows_its_options(any_binary: ServerBinary, name: str) -> None:
    refuse_unknown(any_binary, [name])


@pytest.mark.parametrize(
    ("name", "meant"),
    [("sort_bufer_size", "sort_buffer_size"), ("inodb_io_capacity", "innodb_io_capacity")],
)
def test_what_a_program_does_not_know_is_refused_with_the_nearest(
    any_binary: ServerBinary, name: str, meant: str
) -> None:
    with pytest.raises(OptionRejected, match=f"has no option {name}") as caught:
        refuse_unknown(any_binary, ["sort_buffer_size", name])
    assert caught.value.hint == f'Did you mean "{meant}"?'
    refuse_unknown(any_binary, ["plugin_load_add", name])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("key_buffer", "Write the full name: key_buffer_size."),
        ("loose_key_buffer", "Write the full name: key_buffer_size."),
        ("skip_slow_query_lo", 'Did you mean "slow_query_log"?'),
        ("innodb_page_siz", "Write the full name: innodb_page_size."),
        ("innodb_support_xa", "older releases had it"),
        ("qqq_www_eee", "--verbose --help` lists all options."),
    ],
)
def test_the_beginning_of_a_name_is_none(any_binary: ServerBinary, name: str, hint: str) -> None:
    """MariaDB takes it, and a record, a dataset and the read-back value would go by other names."""
    with pytest.raises(OptionRejected, match=f"has no option {name}") as caught:
        refuse_unknown(any_binary, [name])
    assert hint in (caught.value.hint or "")


def test_nor_is_it_where_plugins_have_options(any_binary: ServerBinary) -> None:
    refuse_unknown(any_binary, ["plugin_load_add", "rocksdb_block_cache_size"])
    with pytest.raises(OptionRejected, match="has no option innodb_page_siz"):
        refuse_unknown(any_binary, ["plugin_load_add", "innodb_page_siz"])


def test_what_every_server_would_ignore_is_refused(
    mariadb_binary: ServerBinary, mysql_binary: ServerBinary
) -> None:
    both = [mariadb_binary, mysql_binary]
    refuse_ignored(both, ["loose_query_cache_type", "sort_buffer_size", "loose_skip_log_bin"])
    refuse_ignored(both, ["loose_nosuch", "plugin_load_add"])
    with pytest.raises(OptionRejected, match="would ignore loose_nosuch"):
        refuse_ignored(both, ["loose_nosuch"])
    with pytest.raises(OptionRejected, match="would ignore loose_query") as caught:
        refuse_ignored([mysql_binary], ["loose_query_cache_type"])
    assert caught.value.hint == "Remove it."


def test_another_port_is_taken_where_one_is_in_use(
    mariadb_binary: ServerBinary, private_server: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = [taken.getsockname()[1]]
        from contend.servers import private

        choose = private.free_port
        monkeypatch.setattr(private, "free_port", lambda: ports.pop() if ports else choose())
        server = private_server(mariadb_binary, tcp=True)
        assert server.port not in (None, taken.getsockname()[1])
        assert server.variables()["port"] == str(server.port)
