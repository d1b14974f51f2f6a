"""A run of the model server, profiled: perf beside a real process, from the command to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from needs import profiler_works
from run_lab import Lab

pytestmark = pytest.mark.timeout(900)  # a busy machine may take its time

KNOB = """
[factors]
"server.knobs.under_lock_ns" = [0, 20_000]

[compare]
baseline = { "server.knobs.under_lock_ns" = 0 }
repeats = 2
"""


def test_a_finished_run_is_profiled_once(tmp_path: Path, load_program: Path) -> None:
    profiler_works()
    lab = Lab(tmp_path, tmp_path / "cache", load_program, "model")
    text = lab.file.read_text().partition("[factors]")[0]
    lab.file.write_text(text + KNOB)
    done = lab.run()
    assert done.returncode == 0, done.stderr
    out = str(lab.out)
    plain = lab.contend("profile", out, "--yes", "--minutes", "0.5", "--hz", "499")
    assert plain.returncode == 0, plain.stderr
    assert "499 per second of CPU time" in plain.stdout
    assert (lab.out / "profile" / "results.sqlite").is_file()
    # Once more it only shows what was seen, and so do the report and the JSON.
    again = lab.contend("profile", out)
    assert again.stdout == plain.stdout
    seen = json.loads(lab.contend("profile", out, "--json").stdout)
    assert min(seen["samples"]) > 0
    assert {one["function"] for one in seen["functions"]}
    page = lab.contend("report", out)
    assert page.returncode == 0, page.stderr
    assert "Where the CPU time goes" in (lab.out / "report.html").read_text()
