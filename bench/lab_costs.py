"""What the lab itself costs: starting, the page, and the report of a large run folder.

    python bench/lab_costs.py                     # start times, page, report of 5,040 runs
    python bench/lab_costs.py --installed         # the size of an installation without extras

CPU time is user and system time of the child, least of several; on a busy machine wall time says
how busy it is.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from contend.program import find_program

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

CONTEND = [sys.executable, "-m", "contend"]


def cost(command: list[str], cache: Path, times: int) -> tuple[float, float, float]:
    """CPU and wall time in ms, least of several; most memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    cpu, wall = [], []
    memory_mb = 0.0
    for _ in range(times + 1):  # the first compiles
        began = time.perf_counter()
        child = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
        wall.append(time.perf_counter() - began)
        cpu.append(used.ru_utime + used.ru_stime)
        memory_mb = max(memory_mb, used.ru_maxrss / 1024)
    return min(cpu[1:]) * 1000, min(wall[1:]) * 1000, memory_mb


def first_paint_ms(page: Path) -> str:
    from browser import Browser, missing_browser

    if reason := missing_browser():
        return reason
    times = []
    with Browser() as browser:
        for _ in range(12):
            browser.open(page)
            browser.wait_for("return performance.getEntriesByType('paint').length === 2")
            times.append(
                float(
                    browser.run(
                        "return performance.getEntriesByType('paint')"
                        ".find(one => one.name === 'first-contentful-paint').startTime"
                    )
                )
            )
    return f"least {min(times):.0f}, median {statistics.median(times):.0f}, most {max(times):.0f}"


def installed(folder: Path) -> None:
    """The packages that `pip install .` brings; contend's own files come on top."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *wanted], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    sizes = {path.name: size_mb(path) for path in packages.iterdir() if path.is_dir()}
    print(f"{size_mb(folder):.0f} MB without contend's own files; the largest packages:")
    for name in sorted(sizes, key=lambda one: -sizes[one])[:8]:
        print(f"  {name} {sizes[name]:.0f}")


def size_mb(folder: Path) -> float:
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installed", action="store_true", help="the size of an installation")
    arguments = parser.parse_args()
    from synthetic_run import study, write_run, write_slices

    with tempfile.TemporaryDirectory(prefix="contend-lab-costs-") as name:
        folder = Path(name)
        if arguments.installed:
            installed(folder / "venv")
            return
        os.environ.setdefault("CONTEND_LOAD", str(find_program()))
        cache = folder / "bytecode"
        print("| command | CPU, ms | wall, ms | memory, MB |\n|---|---|---|---|")
        starts = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "contend --help": [*CONTEND, "--help"],
            "contend recipes": [*CONTEND, "recipes"],
            "contend sysbench … --help": [*CONTEND, "sysbench", "oltp_read_only", "--help"],
            "contend-load sysbench … --help": [
                str(find_program()), "sysbench", "oltp_read_only", "--help",
            ],
        }  # fmt: skip
        for title, command in starts.items():
            print("| {} | {:.0f} | {:.0f} | {:.0f} |".format(title, *cost(command, cache, 9)))
        large = write_run(folder / "large", study(sets=("compare.repeats=80",)))
        for word in ("show", "report"):
            figures = cost([*CONTEND, word, str(large)], cache, 2)
            print("| {} of 5,040 runs | {:.0f} | {:.0f} | {:.0f} |".format(word, *figures))
        page = write_slices(folder / "study") / "report.html"
        subprocess.run([*CONTEND, "report", str(page.parent)], check=True, capture_output=True)
        print(f"\npage of the study: {page.stat().st_size} bytes")
        print(f"first contentful paint, ms: {first_paint_ms(page)}")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
