"""Changes what a check knows how to change. What it was is on the disk before, so that
`contend restore` puts it back, also after a kill."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contend.doctor.model import DoctorCheck, Fine, Subject, Unseen
from contend.errors import RequestError
from contend.servers.existing import ExistingServer
from contend.undo import Journal, change_file, this_host
from contend.undo.variables import change as change_variable

Tell = Callable[[str], object]


def mend(
    check: DoctorCheck,
    subject: Subject,
    journals: Path,
    tell: Tell,
    server: ExistingServer | None = None,
) -> str | None:
    """Mend what a check finds, and leave it so.

    Args:
        journals: the folder of the journals.
        server: the one whose variables are changed.

    Returns:
        The command that puts it back; None if there is nothing to mend.

    Raises:
        RequestError: contend cannot mend it, or the kernel or the server refuses.
    """
    result = check.look(subject)
    if isinstance(result, Fine):
        tell(f"{check.id} is fine: {result.evidence}")
        return None
    if isinstance(result, Unseen):
        raise RequestError(f"{check.id} cannot be seen here: {result.why}")
    if check.variables is not None and server is not None:
        return _variables(check, subject, journals, tell, server)
    files = check.files(subject) if check.files is not None else {}
    if not files:
        raise RequestError(
            f"contend does not mend {check.id} itself.", hint=result.mend or check.mend
        )
    with Journal.open(journals, this_host()) as journal:
        for name, value in files.items():
            path = subject.tree.root / name
            before = subject.tree.text(name)
            now = change_file(journal, path, value)
            tell(f"{path}: was {before!r}, is {now!r}")
        return journal.remedy


def _variables(
    check: DoctorCheck, subject: Subject, journals: Path, tell: Tell, server: ExistingServer
) -> str:
    assert check.variables is not None
    with (
        Journal.of_server(journals, server) as journal,
        server.connect() as connection,
    ):
        for name, value in check.variables(subject).items():
            was = subject.server.variables.get(name) if subject.server else None
            if was is None:
                continue  # Another kind of server has no such variable.
            change_variable(connection, journal, name, value)
            tell(f"{name}: was {was}, is {value}")
        return journal.remedy
