"""Lines between servers that several levels share: each is told of all that passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contend.load import far
from contend.load.far import MemberLines


def report(passed: int, late_us: float) -> dict[str, Any]:
    counted = dict.fromkeys(("connections", "refused", "bytes_to_client", "cpu_us"), 0)
    more = {"round_trip_us": 100.0, "refusal": None, "late_us": {"p99": late_us}}
    return {**counted, **more, "bytes_to_server": passed, "late_hdr_ns": f"{late_us}"}


def test_each_asker_hears_all_since_it_last_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([report(1, 5), report(2, 9), report(40, 7), report(0, 0)])
    monkeypatch.setattr(far, "together", lambda _lines: next(told))
    lines = MemberLines(Path("none"))
    assert lines.asker()() is None
    lines._standing.append(None)  # type: ignore[arg-type]
    one, two = lines.asker(), lines.asker()
    one()
    two()  # Both have looked before the run, and look again behind it.
    found = [one(), two()]
    # The first is told what the second heard before too: that is as good as nothing.
    assert [each["bytes_to_server"] for each in found if each] == [42, 40]
    assert [each["late_hdr_ns"] for each in found if each] == ["9", "7"]
