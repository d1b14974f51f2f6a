"""Where contend-load is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from contend.errors import RequestError

PROGRAM = "contend-load"


def find_program() -> Path:
    """The contend-load to use: `CONTEND_LOAD`, else next to this Python, else on PATH."""
    named = os.environ.get("CONTEND_LOAD")
    if named:
        if not os.access(named, os.X_OK):
            raise RequestError(
                f"CONTEND_LOAD names {named}, which is not a program",
                hint="Unset it, or point it at contend-load.",
            )
        return Path(named)
    beside = Path(sys.executable).parent / PROGRAM
    if os.access(beside, os.X_OK):
        return beside
    import shutil  # costs more than the rest of this file

    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    raise RequestError(
        f"{PROGRAM} was not found beside {sys.executable} nor on PATH",
        hint="Install contend with `make setup` or `pip install .`, which builds it.",
    )
