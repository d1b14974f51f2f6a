"""How long does the list of `contend serve` take with so many run folders?

    python bench/serve_list.py [--folders 1000] [--rounds 5]

The folders are copies of one made-up run. Printed are the times of all rounds, by the clock and of
the CPU, and the load: on a host that others use clock and CPU lie apart. `first` reads every
folder, `again` is what a list of the same page takes from then on, with one run that has gone on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from contend.runs.glance import Kept, glances

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from many_runs import write_runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (first,) = write_runs(folder, 1)
        for number in range(2, args.folders + 1):
            shutil.copytree(first, folder / f"run-{number:04}")
        for _ in range(args.rounds):
            kept: Kept = {}
            timed("first", folder, kept)
            os.utime(first / "results.sqlite")
            timed("again", folder, kept)
    return 0


def timed(what: str, folder: Path, kept: Kept) -> None:
    began_s, cpu_s = time.perf_counter(), time.process_time()
    found = glances(folder, kept)
    took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    load = os.getloadavg()[0]
    print(
        f"{what}: {len(found)} run folders: {took_s:.2f} s, {cpu_s:.2f} s of CPU, load {load:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
