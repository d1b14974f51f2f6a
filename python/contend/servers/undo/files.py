"""Changes a file through which the kernel shows and takes a setting (/proc/sys, /sys, /proc/irq),
and restores it. All files of a host are in one journal, `this_host()`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from contend.errors import RequestError, shielded
from contend.host.tree import Tree, chosen
from contend.servers.undo.journal import Entry, Journal
from contend.servers.undo.variables import Agree, NotAgreed, NotTaken

FILE = "file"
"""Its entry has `path`; `before`, the original content (the chosen one of several choices); and
`ours`, contend's value, once known. If contend was killed before that, `ours` is missing and the
present content is contend's."""

_TWINS = {
    "dirty_ratio": "dirty_bytes",
    "dirty_bytes": "dirty_ratio",
    "dirty_background_ratio": "dirty_background_bytes",
    "dirty_background_bytes": "dirty_background_ratio",
}
"""Pairs of files of /proc/sys/vm: one is 0 because the other is in force. Writing 0 is impossible;
only writing the other sets it."""


class HostRefused(RequestError):
    """The kernel, or the setup of this host, does not allow this change."""


def read(path: Path) -> str:
    """The value in the file: `none` for `[none] mq-deadline`; raises HostRefused."""
    tree = Tree(path.parent)
    text = tree.text(path.name)
    if text is None:
        try:
            path.read_bytes()
        except OSError as error:
            raise _refused(path, error) from error
        raise HostRefused(f"{path} cannot be read")
    return chosen(text)


def require(path: Path, value: str | None) -> None:
    """Check a change before it is tried: refuse a file that cannot be written, or a `value` that is
    not one of those offered. With `value` None, only writing is checked.

    Raises:
        HostRefused: the change is not possible.
    """
    if not path.exists():
        raise _refused(path, OSError(errno.ENOENT, ""))
    if not os.access(path, os.W_OK):
        raise _refused(path, OSError(_why_no_writing(path), ""), value)
    offers = _offers(path)
    if value is not None and offers and value not in offers:
        raise HostRefused(
            f"{path} does not offer {value!r}", hint=f"It offers {', '.join(offers)}."
        )


def _offers(path: Path) -> list[str]:
    """The values that a file offers, if any: both of `[none] mq-deadline`. For a governor a second
    file lists them; the SMT file may show why it cannot be set."""
    tree = Tree(path.parent)
    if path.name == "scaling_governor":
        return (tree.text("scaling_available_governors") or "").split()
    text = tree.text(path.name) or ""
    if path.name == "control" and text in ("notsupported", "notimplemented", "forceoff"):
        return [text]
    return [word.strip("[]") for word in text.split()] if "[" in text else []


def change(journal: Journal, path: Path, value: str, others: Iterable[Path] = ()) -> str:
    """Write `value` to the file; the journal records the original content before.

    Args:
        journal: the host's.
        others: files that the kernel changes with it, which are restored too.

    Returns:
        The content now: the kernel may have rounded the value.

    Raises:
        HostRefused: the change is not possible; nothing was changed.
    """
    before = read(path)
    entry = _noted(journal, path)
    if before == value:
        return before
    require(path, value)
    noted: list[Entry] = []
    if entry is None:
        # The latest is reverted first: a twin sets the 0 here; the others follow this one.
        noted += _note_others(journal, others)
        noted.append(entry := journal.note(FILE, path=str(path), before=before))
        noted += _note_others(journal, _twin_of(path))
    elif "ours" in entry:
        del entry["ours"]
        journal.write()
    with shielded():
        try:
            _write(path, value)
        except OSError as error:
            journal.replace(noted, [])
            raise _refused(path, error, value) from error
        now = read(path)
        entry["ours"] = [now]
        journal.write()
    return now


def put_back(entry: Entry, agree: Agree) -> str:
    """Restore the original content of the file; returns a description of it.

    Raises:
        NotAgreed: it was changed since by others, and the user did not agree.
        HostRefused, NotTaken: it could not be restored.
    """
    path, before = Path(entry["path"]), str(entry["before"])
    now = read(path)
    if now != before:
        ours = entry.get("ours")
        if ours is not None and now not in ours and not agree(_question(entry, now)):
            raise NotAgreed(f"it was {before!r}, and something else changed it to {now!r}")
        try:
            _write(path, before)
        except OSError as error:
            raise _refused(path, error, before) from error
        if (got := read(path)) != before:
            raise NotTaken(f"the kernel changed it to {got!r}")
    return f"{path} = {before}"


def is_back(entry: Entry) -> bool:
    """Whether the original content is already there, as after a reboot."""
    return read(Path(entry["path"])) == str(entry["before"])


def in_words(entry: Entry) -> str:
    return f"{entry['path']} (was {entry['before']})"


def _question(entry: Entry, now: str) -> str:
    before, ours = entry["before"], " or ".join(entry["ours"])
    return (
        f"{entry['path']} was {before!r}, contend set it to {ours!r}, and something else changed "
        f"it to {now!r}. Write {before!r}?"
    )


def _noted(journal: Journal, path: Path) -> Entry | None:
    return next(
        (e for e in journal.undo if e["kind"] == FILE and e["path"] == str(path)),
        None,
    )


def _note_others(journal: Journal, others: Iterable[Path]) -> list[Entry]:
    return [
        journal.note(FILE, path=str(other), before=read(other))
        for other in others
        if _noted(journal, other) is None
    ]


def _twin_of(path: Path) -> list[Path]:
    twin = path.with_name(_TWINS.get(path.name, path.name))
    return [twin] if twin != path and twin.exists() else []


def _write(path: Path, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _why_no_writing(path: Path) -> int:
    try:
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError as error:
        return error.errno or errno.EACCES
    return errno.EROFS if read_only else errno.EACCES


def _refused(path: Path, error: OSError, value: str | None = None) -> HostRefused:
    hint = None
    if error.errno in (errno.EACCES, errno.EPERM):
        hint = "Run as root." if os.geteuid() else "This host forbids it even for root."
    elif error.errno == errno.EROFS:
        hint = "Change it on the host itself: here it is mounted read-only, as in a container."
    elif error.errno in (errno.EINVAL, errno.ERANGE, errno.EBUSY, errno.EIO):
        offers = Tree(path.parent).text(path.name) or ""
        hint = f"It contains {offers[:200]!r} now."
    elif error.errno == errno.ENOENT:
        hint = "This kernel has no such setting, or the device is gone."
    reason = os.strerror(error.errno) if error.errno else str(error)
    problem = "cannot be read" if value is None else f"does not accept {value!r}"
    return HostRefused(f"{path} {problem}: {reason}", hint=hint)
