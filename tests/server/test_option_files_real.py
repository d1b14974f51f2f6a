"""Option files, as the real servers read them."""

from __future__ import annotations

from pathlib import Path

from contend.cli.option_files import read_file_set
from contend.servers import ServerBinary
from contend.servers.binary import run_program
from contend.servers.kinds import KINDS
from contend.servers.option_file import read_option_lines
from contend.servers.variables import parse_defaults, program_groups, program_options

LINES = r"""
# comment
; comment
[client]
client=1
[mysqld]
a=1
 b = 2
c = "quoted # text" # comment
d = 'x'y
e = abc#comment
f = it''s ; no comment
g = a\nb\tc\sd\\e\qf\"
h = "open
i = "a # b\" # c" # d
j = a'b#c'd
k = x\
l-l_l=4
flag
flag # = comment
empty=
spaced name = 5
two = a = b
[MySQLd] junk
upper=1
[ mysqld ]
blank=1
[mariadb]
mariadb=1
[mariadbd]
mariadbd=1
[server]
server=1
[galera]
galera=1
[mysqld_safe]
safe=1
"""


def shown_by(binary: ServerBinary, file: Path) -> str:
    """The arguments that a program reads from a file, as it prints them."""
    at = binary.argv.index("--no-defaults")
    argv = [*binary.argv[:at], f"--defaults-file={file}", "--print-defaults"]
    answer = run_program(argv, timeout_s=60)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.partition("arguments:\n")[2]


def test_a_file_is_read_as_by_the_server(any_binary: ServerBinary, tmp_path: Path) -> None:
    numbers = any_binary.version.split(".")
    parts = (numbers[:count] for count in (1, 2, 3))
    versions = ".".join(numbers[:2])[:-1], *map(".".join, parts)
    grouped = [
        f"[{name}-{one}]\n{name}_{one} = 1\n"
        for name in ("mysqld", "mariadb", "mariadbd", "server")
        for one in versions
    ]
    folder = tmp_path / "included.d"
    folder.mkdir()
    for name in ("b", "A", "10", "9", ".h"):
        (folder / f"{name}.cnf").write_text(f"[server]\nfile = {name}\n")
    (folder / "no.txt").write_text("[mysqld]\nunread\n")
    file = tmp_path / "my.cnf"
    file.write_text(f"{LINES}{''.join(grouped)}\n[mysqld]\n!includedir {folder}\nlast\n")
    groups = program_groups(any_binary)
    read = [one for one in read_option_lines(file) if one.group in groups]
    texts = [f"--{one.name}" + ("" if one.value is None else f"={one.value}") for one in read]
    assert shown_by(any_binary, file).strip() == " ".join(texts)


SETTINGS = """
[mysqld]
sort-buffer_size = 1M
max_connections = 100
max-connections = 200
skip-innodb-file-per-table
disable_innodb-adaptive-hash-index = 0
enable-slow-query-log
enable-general-log = 0
loose-skip-innodb-doublewrite
loose-nosuch = 1
loose-join-buffer-size = 256K
skip-name-resolve
skip-log-bin
flush = OFF
sql_mode = "ANSI,STRICT_TRANS_TABLES" # no more
low-priority-updates
innodb_flush_log_at_trx_commit = 2
maximum-read-buffer-size = 1M
init_connect = 'SET @a = "x # y"'
"""


def test_a_set_has_the_effect_of_its_file(any_binary: ServerBinary, tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(SETTINGS)
    made, _ = read_file_set(file, any_binary)
    arguments = KINDS[any_binary.kind].option_arguments(made.options, any_binary)
    at = any_binary.argv.index("--no-defaults")
    start, rest = any_binary.argv[:at], any_binary.argv[at + 1 :]
    seen = [
        run_program([*start, *argv, "--verbose", "--help"], timeout_s=60).stdout
        for argv in (
            [f"--defaults-file={file}", *rest],
            ["--no-defaults", *rest, *arguments],
            ["--no-defaults", *rest],
        )
    ]
    by_file, by_set, without = map(parse_defaults, seen)
    changed = {name for name in by_file if by_file[name] != without[name]}
    assert {"sort_buffer_size", "innodb_doublewrite", "slow_query_log", "sql_mode"} <= changed
    assert by_set == by_file


def test_removed_options_are_not_there(any_binary: ServerBinary) -> None:
    removed = KINDS[any_binary.kind].removed
    assert removed and not removed & program_options(any_binary)
