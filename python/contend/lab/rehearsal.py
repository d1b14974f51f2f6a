"""Options on a server that is not ours: whether it would take them, asked before data are loaded
there."""

from __future__ import annotations

from contend.errors import RequestError, did_you_mean
from contend.lab.borrowed import NO_MATTER, is_same, needs_restart
from contend.servers.errors import OptionRejected, ReadOnly
from contend.servers.existing import ExistingServer
from contend.servers.options import as_text, normal_name
from contend.servers.variables import read_all, rehearse
from contend.spec import Experiment, Level, cell_specs

_OPTIONS = "server.options."


def rehearse_options(server: ExistingServer, experiment: Experiment, *, exact: bool) -> None:
    """Refuse an option that the server would not take; nothing on it is changed.

    Args:
        exact: a value that the server would change is refused too.

    Raises:
        RequestError: it has no such variable, does not change it while it runs, or refuses or
            changes the value.
    """
    wanted = {
        (normal_name(name), type(value), value)
        for cell in cell_specs(experiment)
        for name, value in cell["server.options"].items()
        if normal_name(name) not in NO_MATTER
    }
    if not wanted:
        return
    fixed: dict[str, Level] = {}
    with server.connect() as connection:
        there = read_all(connection)
        for name, _kind, value in sorted(wanted, key=lambda one: (one[0], as_text(one[2]))):
            if name not in there:
                raise OptionRejected(
                    f"{server.dsn} has no variable {name}.", hint=did_you_mean(name, there)
                )
            if is_same(value, there[name]):
                continue
            try:
                is_taken = rehearse(connection, name, value)
            except ReadOnly:
                fixed[name] = value
                continue
            if exact and not is_taken:
                raise RequestError(
                    f"{server.dsn} changes {name} = {as_text(value)}: it does not take that value",
                    hint="Name values that it takes as they are.",
                )
    if fixed:
        raise needs_restart(server.dsn, fixed, there, compared=_compared(experiment))


def _compared(experiment: Experiment) -> str:
    """The option that is compared; empty if something else is."""
    path = next(iter(experiment.compare.baseline), "")
    return normal_name(path.removeprefix(_OPTIONS)) if path.startswith(_OPTIONS) else ""
