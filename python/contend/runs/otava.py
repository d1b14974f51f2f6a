"""Apache Otava, in an environment of its own in the user's cache, called as a process.

Its release pins a numpy that we do not, and brings the clients of three clouds. Of all that, the
search for change points needs numpy and scipy alone, so only these are installed beside it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from contend.errors import RequestError, WorkError
from contend.folders import default_cache
from contend.locks import locked

VERSION = "0.8.0"

PACKAGES = (f"apache-otava=={VERSION}", "numpy==2.2.0", "scipy")
"""With the numpy that this release asks for."""

WINDOW_LEN, MAX_PVALUE, MIN_MAGNITUDE = 50, 0.001, 0.0
"""Otava's defaults."""

_TIMEOUT_S = 600


class NoOtava(RequestError):
    """Change points were asked for, and what finds them is not here."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change point as Otava has it: the first value after it, and the chance of its t-test."""

    at: int
    p: float


def default_environment() -> Path:
    """By Otava's version and Python's."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return default_cache() / "otava" / f"{VERSION}-python{python}"


def is_here(environment: Path) -> bool:
    return (environment / "bin" / "python").is_file()


def get(environment: Path, say: Callable[[str], object]) -> bool:
    """Install Otava; False if it is there already. It appears whole or not at all.

    Raises:
        WorkError: pip or venv failed; the detail is what it said.
    """
    environment.parent.mkdir(parents=True, exist_ok=True)
    with locked(environment.parent / "lock", on_wait=lambda: say("another contend gets Otava")):
        if is_here(environment):
            return False
        new = Path(tempfile.mkdtemp(prefix="new-", dir=environment.parent))
        try:
            say(f"contend: getting {', '.join(PACKAGES)} into {environment}")
            _run([sys.executable, "-m", "venv", str(new)])
            pip = [str(new / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
            _run([*pip, "install", "--quiet", "--no-deps", *PACKAGES])
            ask(new, [[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]])
            new.rename(environment)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return True


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise WorkError(
            f"Apache Otava could not be installed: `{' '.join(command[1:4])}` failed.",
            hint="It is got from the Python package index: check the network, and that this "
            "Python has venv and pip.",
            detail="\n".join((done.stderr or done.stdout).strip().splitlines()[-8:]),
        )


def ask(environment: Path, series: Sequence[Sequence[float]]) -> list[list[Proposed]]:
    """The change points of each series, at Otava's defaults.

    Raises:
        NoOtava: it is not installed.
        WorkError: it failed, or answered nonsense.
    """
    if not is_here(environment):
        raise NoOtava(
            "change points are found by Apache Otava, which is not here.",
            hint="`contend history --get-otava` installs it in a folder of its own in your cache "
            "(about 240 MB, from the Python package index); `--no-change-points` does without.",
        )
    asked = {
        "series": [list(one) for one in series],
        "window_len": WINDOW_LEN,
        "max_pvalue": MAX_PVALUE,
        "min_magnitude": MIN_MAGNITUDE,
    }
    with resources.as_file(resources.files("contend.runs") / "ask_otava.py") as script:
        command = [str(environment / "bin" / "python"), "-I", "-W", "ignore", str(script)]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(asked, allow_nan=False),
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
            if done.returncode:
                raise _failed(environment, done.stderr)
            found = [[Proposed(at, p) for at, p in one] for one in json.loads(done.stdout)]
        except subprocess.TimeoutExpired:
            raise _failed(environment, f"it took longer than {_TIMEOUT_S} s") from None
        except (OSError, ValueError, TypeError) as error:
            raise _failed(environment, str(error)) from None
    if len(found) != len(series):
        raise _failed(environment, f"{len(series)} series were asked, {len(found)} answered")
    return found


def _failed(environment: Path, why: str) -> WorkError:
    return WorkError(
        f"Apache Otava in {environment} failed.",
        hint="Remove that folder and install it again: `contend history --get-otava`.",
        detail="\n".join(why.strip().splitlines()[-6:]),
    )
