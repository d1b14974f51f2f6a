"""Recordings: the statements of a real server's log, kept under a name.

    recordings/<digest>.rec    under the user's cache: statements, as contend-load reads them
    recordings/<name>.json     the recording of that name, and the logs that it came from

Equal logs make equal recordings, so two names may refer to one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from contend.errors import RequestError, did_you_mean
from contend.files import locked, replace_file
from contend.load.ask import import_log

OnRead = Callable[[int, int], None]
"""Called with the bytes of the log read so far, and the statements found in them."""


class UnknownRecording(RequestError):
    """No log was imported under that name."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The recording that a name refers to.

    Args:
        files: the logs, by their absolute paths; `-` for standard input.
        digest: SHA-256 over its statements.
    """

    name: str
    digest: str
    files: tuple[str, ...]
    statements: int
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / f"{self.digest}.rec"


def find_recording(cache: Path, name: str) -> Recording:
    """The recording of that name.

    Raises:
        UnknownRecording: nothing was imported under it, or its file is gone.
    """
    folder = _folder(cache)
    try:
        stored = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        recording = Recording(**{**stored, "files": tuple(stored["files"])}, folder=folder)
    except FileNotFoundError:
        hint = did_you_mean(name, [one.stem for one in folder.glob("*.json")])
        raise UnknownRecording(
            f'there is no recording "{name}"',
            hint=hint or f"Import a log with `contend log import FILE --name {name}`.",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UnknownRecording(
            f"the recording {name} cannot be read: {error}",
            hint=f"Import its log again with `contend log import FILE --name {name} --replace`.",
        ) from None
    if not recording.path.is_file():
        raise UnknownRecording(
            f"the file of the recording {name} is gone: {recording.path}",
            hint=f"Import its log again with `contend log import FILE --name {name} --replace`.",
        )
    return recording


def list_recordings(cache: Path) -> list[Recording]:
    """Those that can be read, by name."""
    found = []
    for path in sorted(_folder(cache).glob("*.json")):
        try:
            found.append(find_recording(cache, path.stem))
        except UnknownRecording:
            continue
    return found


def import_recording(
    program: Path,
    files: Sequence[str],
    name: str,
    *,
    cache: Path,
    options: Sequence[str] = (),
    replace: bool = False,
    on_progress: OnRead = lambda _bytes, _statements: None,
) -> tuple[Recording, dict[str, Any]]:
    """Read logs into a recording and keep it under a name.

    Args:
        program: contend-load.
        options: further arguments of its import.
        replace: the name may belong to a different recording.

    Returns:
        the recording, and what the import reports: see docs/reference/recordings.md.

    Raises:
        RequestError: the name is taken, or a file is not a log of a known format.
        LoadFailed: a file cannot be read.
    """
    folder = _folder(cache)
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f".{name}.new"
    with locked(folder / ".lock"):
        try:
            done = import_log(program, files, new, options=options, on_progress=on_progress)
            absolute = tuple(one if one == "-" else str(Path(one).absolute()) for one in files)
            recording = Recording(name, done["recording"], absolute, done["statements"], folder)
            if not replace:
                _require_free(cache, recording)
            new.replace(recording.path)
        finally:
            new.unlink(missing_ok=True)
        document = {key: value for key, value in asdict(recording).items() if key != "folder"}
        replace_file(folder / f"{name}.json", json.dumps(document, indent=1) + "\n")
        _remove_unnamed(cache)
    return recording, done


def drop_recording(cache: Path, name: str) -> int:
    """Forget a name, and remove its file unless a different name refers to it; returns bytes
    freed."""
    find_recording(cache, name)
    with locked(_folder(cache) / ".lock"):
        (_folder(cache) / f"{name}.json").unlink()
        return _remove_unnamed(cache)


def _require_free(cache: Path, recording: Recording) -> None:
    try:
        before = find_recording(cache, recording.name)
    except UnknownRecording:
        return
    if before.digest != recording.digest:
        raise RequestError(
            f"the recording {recording.name} exists, with different statements",
            hint="Use a different --name, or replace it with --replace.",
        )


def _remove_unnamed(cache: Path) -> int:
    named = {one.path for one in list_recordings(cache)}
    freed = 0
    for path in _folder(cache).glob("*.rec"):
        if path not in named:
            freed += path.stat().st_size
            path.unlink()
    return freed


def _folder(cache: Path) -> Path:
    return cache / "recordings"
