"""The defaults a MySQL program was built with, from what it prints about itself.

MySQL's tables tell where a value came from, but not what the default was.
"""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache

from contend.servers.binary import ServerBinary

_TIMEOUT_S = 60
_RULE = re.compile(r"^-{5,} -{5,}$", re.MULTILINE)
# As the server itself spells these in its tables.
_SPELLINGS = {"(No default value)": "", "TRUE": "ON", "FALSE": "OFF"}


def program_defaults(binary: ServerBinary) -> dict[str, str]:
    """name -> default; empty where the program does not tell."""
    return dict(_defaults(binary.argv))


@lru_cache(maxsize=8)
def _defaults(argv: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    try:
        said = subprocess.run(
            [*argv, "--verbose", "--help"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(parse_defaults(said.stdout).items())


def parse_defaults(text: str) -> dict[str, str]:
    """The table at the end of `--verbose --help`: a rule of dashes, then name and value."""
    parts = _RULE.split(text, maxsplit=1)
    found: dict[str, str] = {}
    if len(parts) < 2:
        return found
    for line in parts[1].strip("\n").splitlines():
        if not line.strip():
            break
        name, _, value = line.partition(" ")
        value = value.strip()
        found[name.replace("-", "_")] = _SPELLINGS.get(value, value)
    return found
