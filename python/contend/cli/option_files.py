"""Sets of options from option files, for a server: `contend try --a old.cnf --b new.cnf`. Also
compares sets with each other and with the server's defaults.

Every line that does not become an option of the set is accounted for: in an error, or in a remark
with its file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contend.cli.try_levels import FileSet, level_of, same, try_command
from contend.errors import RequestError
from contend.experiment import Level, layout_options
from contend.experiment.settings.server import MYSQL
from contend.servers import variables
from contend.servers.binary import ServerBinary
from contend.servers.kinds import KINDS, may_ignore, refuse_unknown
from contend.servers.machine_options import machine_reason
from contend.servers.option_file import OptionLine, read_option_lines
from contend.servers.options import as_text, normal_name, readings

_BINARY_LOG = "log_bin"
_ADDED = ("performance_schema_instrument", "plugin_load_add")
"""Options whose lines all count."""

_SERVER_GROUP = re.compile(r"(mysqld|mariadb|mariadbd|server)(-\d.*)?")
_SWITCHES = {"skip_": False, "disable_": False, "enable_": True}


@dataclass(slots=True)
class _Reading:
    """A file while it is read, for one server.

    Args:
        path: as typed.
        known: the server's options; empty if it does not report them.
        settings: option -> the name and the value in the set, with the place.
        left_out: reason -> the lines.
    """

    path: Path
    binary: ServerBinary
    known: frozenset[str]
    defaults: Mapping[str, str]
    settings: dict[str, tuple[str, Level, str]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def leave_out(self, reason: str, name: str, place: str) -> None:
        self.left_out.setdefault(reason, []).append(self.called(name, place))

    def called(self, name: str, place: str) -> str:
        """A name with its line, and the file if that is an included one."""
        where = place.removeprefix(f"{self.path}:")
        return f"{name} ({place if where == place else f'line {where}'})"


def read_file_set(path: Path, binary: ServerBinary) -> tuple[FileSet, list[str]]:
    """The options of a file for a server, and remarks on lines that have no effect or are left out.

    Raises:
        RequestError: the file cannot be read, or the server would not start with it.
    """
    lines = read_option_lines(path)
    groups = variables.program_groups(binary)
    reading = _Reading(
        path, binary, KINDS[binary.kind].known_options(binary), variables.program_defaults(binary)
    )
    server = f"{binary.kind} {binary.version}"
    others = {line.group for line in lines} - {*groups}
    if of_servers := sorted(one for one in others if _SERVER_GROUP.fullmatch(one)):
        unread = ", ".join(f"[{one}]" for one in of_servers)
        reading.remarks.append(f"{path}: {server} does not read {unread}")
    named = [(_name_of(line, binary), line) for line in lines if line.group in groups]
    if not named:
        raise RequestError(
            f"{path} has no option for {server}", hint="Its options belong in a group [mysqld]."
        )
    kept = [(name, line) for name, line in named if not _is_of_machine(reading, name, line)]
    names = [name for name, _ in kept]
    refuse_unknown(binary, names, {name: line.place for name, line in reversed(kept)})
    for name, line in kept:
        if may_ignore(binary, name, names):
            reading.leave_out(f"options that {server} lacks and ignores", name, line.place)
        else:
            _set(reading, name, line)
    return _file_set(reading)


def _name_of(line: OptionLine, binary: ServerBinary) -> str:
    if line.name.startswith("-"):
        raise RequestError(
            f"{line.place}: {line.name} begins with a dash", hint="Write it without dashes."
        )
    if binary.kind == MYSQL and line.name != line.name.lower():
        raise RequestError(
            f"{line.place}: {binary.kind} {binary.version} has no option {line.name}",
            hint=f"Write it in lower case: {line.name.lower()}.",
        )
    try:
        return normal_name(line.name)
    except RequestError as error:
        error.add_place(line.place)
        raise


def _is_of_machine(reading: _Reading, name: str, line: OptionLine) -> bool:
    if name == _BINARY_LOG and line.value is not None:
        # The log stays on, under a name of the private server's.
        reading.leave_out("the name of the binary log, which stays on", name, line.place)
        return False
    reason = machine_reason(name, line.value)
    if reason is None:
        return False
    reading.leave_out(reason, name, line.place)
    return True


def _set(reading: _Reading, name: str, line: OptionLine) -> None:
    option, name, value = _effect(reading.known, reading.defaults, name, line.value)
    if value is True and name in variables.valued_options(reading.binary) and name != _BINARY_LOG:
        raise RequestError(f"{line.place}: {name} needs a value", hint=f"Write {name} = VALUE.")
    before = reading.settings.pop(option, None)
    if before is not None and option in _ADDED:
        raise RequestError(
            f"{line.place}: {name} is given again after {before[2]}, and the server uses both",
            hint="Join the values in one line, or leave one out.",
        )
    if before is not None:
        reading.remarks.append(f"{line.place}: {name} counts, not {before[0]} at {before[2]}")
    reading.settings[option] = name, value, line.place


def _effect(
    known: frozenset[str], defaults: Mapping[str, str], name: str, text: str | None
) -> tuple[str, str, Level]:
    """The option that a line sets, the name in the set, and its value. Both spellings of a switch
    become the same: `skip_` is false, and stays if the option is not a switch, like log_bin."""
    plain = readings(name)[0]
    for prefix, is_on in _SWITCHES.items():
        option = plain.removeprefix(prefix)
        if option == plain or option not in known:
            continue
        if is_on != (text == "0"):
            return option, option, True
        if defaults.get(option) in ("ON", "OFF"):
            return option, option, False
        return option, f"skip_{option}", True
    # The server may know the option only with a plugin, and ignores it without.
    kept = plain if plain in known or not known else name
    return plain, kept, True if plain == _BINARY_LOG or text is None else level_of(text)


def _file_set(reading: _Reading) -> tuple[FileSet, list[str]]:
    path = reading.path
    options: dict[str, Level] = {}
    places: dict[str, str] = {}
    usual = []
    for option, (name, value, place) in reading.settings.items():
        is_usual = _is_usual(option, name, value, reading.defaults.get(option))
        if is_usual:
            usual.append(reading.called(_assigned(name, value), place))
        if not (is_usual and layout_options({name: value})):
            options[name], places[name] = value, place
    remarks = [f"{path}: left out, {why}: {', '.join(of)}" for why, of in reading.left_out.items()]
    if usual:
        remarks.append(f"{path}: the server's default anyway: {', '.join(usual)}")
    return FileSet(path.name, options, places), [*reading.remarks, *remarks]


def _is_usual(option: str, name: str, value: Level, default: str | None) -> bool:
    if default is None:
        return False
    if name != option:
        return default in ("", "OFF")
    return bool(default) if option == _BINARY_LOG else same(value, default)


def as_in_file(options: Mapping[str, Level], binary: ServerBinary) -> dict[str, Level]:
    """A typed set with the names and values that such lines of an option file get, so that both
    spellings of a switch are the same option."""
    known = KINDS[binary.kind].known_options(binary)
    defaults = variables.program_defaults(binary)
    found = {}
    for name, value in options.items():
        text = None if value is True else as_text(value)
        _, kept, read = _effect(known, defaults, name, text)
        # The typed name of a binary log is allowed, a file's is left out.
        found[kept] = value if kept == name else read
    return found


def is_default(name: str, value: Level, defaults: Mapping[str, str]) -> bool:
    """Whether an option of a set has the server's default."""
    option = name if name in defaults else name.removeprefix("skip_")
    return _is_usual(option, name, value, defaults.get(option))


def listed(options: Mapping[str, Level]) -> str:
    return ", ".join(_assigned(name, value) for name, value in options.items())


def _assigned(name: str, value: Level) -> str:
    return name if value is True else f"{name}={as_text(value)}"


def remarks_on(
    one: Mapping[str, Level], other: Mapping[str, Level], defaults: Mapping[str, str]
) -> list[str]:
    """What two sets share; and how to compare the only option in which their servers differ.

    Args:
        defaults: of the server.
    """
    shared = {
        name: value for name, value in one.items() if name in other and same(value, other[name])
    }
    remarks = []
    if shared:
        remarks.append(f"the same in both sets: {listed(shared)}")
    effective = ({**defaults, **one}, {**defaults, **other})
    levels = {
        name: [each[name] for each in effective if name in each]
        for name in dict.fromkeys((*one, *other))
    }
    differing = {name: pair for name, pair in levels.items() if len(pair) < 2 or not same(*pair)}
    if len(differing) == 1:
        ((name, pair),) = differing.items()
        if len(pair) == 2:
            remarks.append(
                f"only {name} differs: `{try_command(name, pair)}` compares it by itself"
            )
    return remarks
