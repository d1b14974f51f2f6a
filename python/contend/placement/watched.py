"""A real-time process under the watchdog (`watchdog.py`), which gets a sign of the lab twice a
second."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

PATIENCE_S = 10.0
SIGN_EVERY_S = 0.5

_PROGRAM = Path(__file__).with_name("watchdog.py")


class Watched:
    """Watches a process until `close`.

    Args:
        log: where the watchdog says that it ended the process.
    """

    def __init__(self, pid: int, log: IO[bytes] | int, patience_s: float = PATIENCE_S) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), str(pid), str(patience_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        self._over = threading.Event()
        self._signs = threading.Thread(target=self._give_signs, name="contend-signs", daemon=True)
        self._signs.start()

    def close(self) -> None:
        """The process was ended by whoever started it."""
        self._over.set()
        self._signs.join()
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _give_signs(self) -> None:
        signs = self.process.stdin
        assert signs is not None
        # The watchdog may have done its work, and be gone.
        with contextlib.suppress(OSError):
            while not self._over.wait(SIGN_EVERY_S):
                signs.write(b".")
                signs.flush()
