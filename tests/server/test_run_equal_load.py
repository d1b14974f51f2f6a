"""The shop of docs/guides/index-cost.md, small, on a real server: both sides at the same load."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_lab import Lab

from contend.metrics.read import alone, at_rate

SHOP = Path(__file__).parents[2] / "bench" / "experiments" / "index-cost.toml"
KINDS = {"latest", "spent", "count", "insert"}

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time


def test_a_shop_is_measured_at_the_same_load(lab: Lab) -> None:
    text = SHOP.read_text(encoding="utf-8").replace("200_000", "2_000")
    text = text.replace('at_most = "150s"', 'repeats = 2\nby = "slices"')
    text = text.replace("connections = 8", 'connections = 8\nslice = "40ms"\nsettle = "10ms"')
    lab.file.write_text(text)
    done = lab.contend("run", lab.file, "--server", lab.server, "--equal-load", "--out", lab.out)
    assert done.returncode == 0, done.stderr
    records = lab.records()
    assert len(records) == 4 and all(one.status == "ok" for one in records)
    rates = {one.probes["equal_load"]["rate"] for one in records}
    least = {one.probes["equal_load"]["least"] for one in records}
    assert len(rates) == len(least) == 1
    assert rates.pop() == pytest.approx(0.7 * least.pop())
    for one in records:
        assert one.done is not None and "closed" in one.done["arrival"]
        by_rate = at_rate(one)
        assert by_rate is not None and "open" in by_rate["arrival"]
        assert {name: _asked(of) for name, of in alone(one).items()} == {k: {k} for k in KINDS}
    shown = lab.contend("show", lab.out)
    assert "70 % of what the slower level holds" in shown.stdout.replace("\n", " ")
    assert lab.servers_alive() == [] and lab.left() == []


def _asked(done: object) -> set[str]:
    """The classes of statements that were asked."""
    return {one["name"] for one in done["classes"] if one["queries"]}  # type: ignore[index]
