"""Option files: split like the servers do, with the files that they include. That the servers do it
like this is shown in tests/server/test_option_files_real.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import RequestError
from contend.servers.machine_options import machine_reason
from contend.servers.option_file import Entry, entries, read_option_lines
from contend.servers.options import RESERVED


def read(path: Path) -> list[tuple[str, str, str | None]]:
    return [(one.place, one.name, one.value) for one in read_option_lines(path)]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("a=1", "a", "1"),
        ("  a \t=  1 \r", "a", "1"),
        ("a", "a", None),
        ("a=", "a", ""),
        ("a = b = c", "a", "b = c"),
        ("a b=1", "a b", "1"),
        ("a=x#y", "a", "x"),
        ("a=x # y", "a", "x"),
        ("a # =x", "a", None),
        ("a=x ; y", "a", "x ; y"),
        ("a='x # y' # z", "a", "x # y"),
        ('a="x \\" # y" # z', "a", 'x " # y'),
        ("a=b'c#d'e", "a", "b'c#d'e"),
        ("a='b", "a", "'b"),
        ("a='b#c", "a", "'b#c"),
        ("a='", "a", "'"),
        ("a=''", "a", ""),
        ("a=' x '", "a", " x "),
        ("a='it''s'", "a", "it''s"),
        ("a='x'y", "a", "'x'y"),
        (r"a=\n\t\r\b|\s\\\"\'", "a", "\n\t\r\b| \\\"'"),
        (r"a=\q\0", "a", r"\q\0"),
        ("a=x\\", "a", "x\\"),
    ],
)
def test_a_line_has_a_name_and_a_value(line: str, name: str, value: str | None) -> None:
    assert list(entries(f"[mysqld]\n{line}\n")) == [Entry(2, "mysqld", name, value)]


@pytest.mark.parametrize("line", ["", "  ", "# a=1", "  #a=1", "; a=1", "\t;"])
def test_comments_and_blank_lines_are_nothing(line: str) -> None:
    assert list(entries(f"[mysqld]\n{line}\n")) == []


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("[mysqld]", "mysqld"),
        ("  [MySQLd-9.7  ] # comment", "mysqld-9.7"),
        ("[ mysqld]", " mysqld"),
        ("[mysqld]junk", "mysqld"),
    ],
)
def test_a_group_is_in_brackets(line: str, group: str) -> None:
    assert list(entries(f"{line}\na=1")) == [Entry(2, group, "a", "1")]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\n"), max_size=12)
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)


def written(value: str) -> str:
    """A value in quotes, which the servers read back."""
    for letter, code in (("\\", "\\\\"), ('"', '\\"'), ("\r", "\\r")):
        value = value.replace(letter, code)
    return f'"{value}"'


@given(st.lists(st.tuples(NAMES, st.none() | TEXT)))
def test_written_options_are_read_back(options: Sequence[tuple[str, str | None]]) -> None:
    lines = [name if value is None else f"{name} = {written(value)} # x" for name, value in options]
    read_back = entries("\n".join(["[mysqld]", *lines]))
    assert [(one.name, one.value) for one in read_back] == options


def test_files_are_read_where_they_are_included(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    (folder / "folder.cnf").mkdir(parents=True)
    for name in ("b.cnf", "Z.cnf", "a.cnf", ".h.cnf", "a.ini", "c.txt"):
        (folder / name).write_text(f"[mysqld]\n{name[-5]}=1\n")
    one = tmp_path / "one.txt"
    one.write_text("[client]\n[mysqld]\none\n")
    main = tmp_path / "main.cnf"
    main.write_text(f"!include {one}\n[mariadb]\nx=1\n  !includedir\t{folder}/ \ny=2\n")
    assert read(main) == [
        (f"{one}:3", "one", None),
        (f"{main}:3", "x", "1"),
        *((f"{folder}/{name}:2", name[-5], "1") for name in (".h.cnf", "Z.cnf", "a.cnf", "b.cnf")),
        (f"{main}:5", "y", "2"),
    ]
    assert read_option_lines(main)[-1].group == "mariadb"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a=1\n", "main.cnf:1: a is in no group"),
        ("[mysqld\na=1\n", r"main.cnf:1: the group \[mysqld has no \]"),
        ("[mysqld]\n=1\n", "main.cnf:2: = has no option"),
        ("!include other.cnf\n", "main.cnf:1: !include needs an absolute path"),
        ("!include\n", "main.cnf:1: !include needs an absolute path"),
        ("!include /nowhere/x.cnf\n", "main.cnf:1: there is no file /nowhere/x.cnf"),
        ("!includedir /nowhere\n", "main.cnf:1: the folder /nowhere cannot be read: No such"),
        ("!include /x.cnf # x\n", "main.cnf:1: !include has a comment"),
        ("!import /x.cnf\n", "main.cnf:1: unknown directive !import"),
    ],
)
def test_what_the_servers_would_not_read_is_refused(tmp_path: Path, text: str, error: str) -> None:
    main = tmp_path / "main.cnf"
    main.write_text(text)
    with pytest.raises(RequestError, match=error):
        read_option_lines(main)


def test_a_file_may_be_included_twice_but_not_by_itself(tmp_path: Path) -> None:
    main, other = tmp_path / "main.cnf", tmp_path / "other.cnf"
    main.write_text(f"[mysqld]\n!include {other}\n!include {other}\n")
    other.write_text("[mysqld]\na=1\n")
    assert len(read(main)) == 2
    other.write_text(f"!includedir {tmp_path}\n")
    with pytest.raises(RequestError, match=r"other\.cnf:1: .*main\.cnf includes itself"):
        read_option_lines(main)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"no option file .*gone\.cnf"):
        read_option_lines(tmp_path / "gone.cnf")
    with pytest.raises(RequestError, match="cannot be read: Is a directory"):
        read_option_lines(tmp_path)
    (tmp_path / "latin.cnf").write_bytes(b"[mysqld]\n# \xe9\n")
    with pytest.raises(RequestError, match="not UTF-8"):
        read_option_lines(tmp_path / "latin.cnf")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("datadir", "x", "places of the machine's files"),
        ("loose_ssl_ca", "ca.pem", "keys, certificates and passwords"),
        ("skip_ssl", None, "keys, certificates and passwords"),
        ("wsrep_on", "ON", "replication"),
        ("report_password", "x", "the machine's identity"),
        ("ft_stopword_file", "/etc/words", "places of the machine's files"),
        ("ft_stopword_file", "", None),
        ("innodb_ft_enable_stopword", "1", None),
        ("slow_query_log", "1", None),
        ("sync_binlog", "0", None),
        ("log_slow_query", "0", None),
    ],
)
def test_options_of_the_machine(name: str, value: str | None, reason: str | None) -> None:
    assert machine_reason(name, value) == reason


def test_what_contend_sets_itself_belongs_to_the_machine() -> None:
    assert [name for name in RESERVED if machine_reason(name, "x") is None] == []
