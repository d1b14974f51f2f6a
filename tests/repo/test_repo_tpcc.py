"""The faults of other TPC-C kits: the record names a test for each, and each of them is there."""

from __future__ import annotations

import re

from tree import ROOT, tracked_files

RECORD = ROOT / "docs" / "decisions" / "0029-tpcc.md"
TEST = re.compile(r"^\s*(?:def|fn) (\w+)\(", re.MULTILINE)


def test_every_fault_has_a_test_that_exists() -> None:
    rows = [line.split("|")[2] for line in RECORD.read_text().splitlines() if line.startswith("| ")]
    named = [re.findall(r"`(\w+)`", row) for row in rows[1:]]
    assert len(named) > 20 and all(named)
    sources = (path for path in tracked_files() if path.suffix in {".py", ".rs"})
    there = {name for path in sources for name in TEST.findall((ROOT / path).read_text())}
    assert {name for names in named for name in names} - there == set()
