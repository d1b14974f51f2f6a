"""Reading /proc and /sys under a root that a test can replace, with a record of missing facts.

A fact that a host does not show is stored as None together with the reason. So a reader of the
results can distinguish "not there" from "not looked for".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contend.units import nested

_LARGEST_TEXT = 4 << 20
_READ_AT_ONCE = 1 << 16
"""For some files of /proc/sys the kernel refuses to fill a larger buffer."""


class Tree:
    """The files of a host. Paths are relative to the root: `proc/stat`, `sys/block`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def text(self, path: str) -> str | None:
        """The file without surrounding blanks; None if it cannot be read."""
        try:
            return _read(self.root / path).decode("utf-8", "replace").strip("\0 \t\r\n")
        except OSError:
            return None

    def why_not(self, path: str) -> str:
        """Why `text` returned None."""
        try:
            _read(self.root / path)
        except FileNotFoundError:
            return f"/{path} does not exist"
        except OSError as error:
            return f"/{path} cannot be read: {error.strerror or error}"
        return f"/{path} appeared only after contend looked for it"

    def names(self, path: str) -> list[str]:
        """Names in a folder, numbers inside them in order of size; empty if there is none."""
        try:
            return sorted((entry.name for entry in (self.root / path).iterdir()), key=_natural)
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        try:
            return (self.root / path).exists()
        except OSError:
            return False


class Facts:
    """Facts by dotted name, recorded singly; `nested` returns them as a tree of plain values."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.values: dict[str, object] = {}
        self.missing: dict[str, str] = {}

    def put(self, name: str, value: object, *, reason: str = "") -> None:
        """Record a value; if it is None, with the reason."""
        self.values[name] = value
        if value is None:
            self.missing[name] = reason

    def read(self, name: str, path: str, parse: Callable[[str], object] = str) -> None:
        """Record the content of a file."""
        text = self.tree.text(path)
        if text is None:
            self.put(name, None, reason=self.tree.why_not(path))
            return
        try:
            self.put(name, parse(text))
        except ValueError:
            self.put(name, None, reason=f"/{path} has unexpected content: {text[:40]!r}")

    def nested(self) -> dict[str, object]:
        """`{"cpu": {"model": …}, …, "missing": {"cpu.governor": reason}}`."""
        return {**nested(self.values), "missing": dict(self.missing)}


def chosen(text: str) -> str:
    """The choice in brackets of `always [madvise] never`; without brackets, the text itself."""
    start, end = text.find("["), text.find("]")
    return text[start + 1 : end] if 0 <= start < end else text


def is_whole(text: str) -> bool:
    """Whether `int` accepts it, as a number that a kernel could mean."""
    return text.isdecimal() and len(text) <= 20


def cpu_list(text: str) -> list[int]:
    """CPU numbers of the kernel's list form: `0-3,8` is 0, 1, 2, 3, 8."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high - low > 1 << 16:
            raise ValueError("not a list of CPUs")
        numbers.extend(range(low, high + 1))
    return numbers


def _read(path: Path) -> bytes:
    data = bytearray()
    with path.open("rb", buffering=0) as file:
        while len(data) < _LARGEST_TEXT and (chunk := file.read(_READ_AT_ONCE)):
            data += chunk
    return bytes(data)


def _natural(name: str) -> tuple[str, int, str]:
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return (stem, int(digits) if digits else -1, name)
