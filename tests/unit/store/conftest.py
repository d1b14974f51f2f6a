"""Run folders for the tests of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contend.store import Planned, RunFolder, RunRecord

EXPERIMENT = {
    "name": "tiny",
    "question": "Does it help?",
    "source": '[experiment]\nname = "tiny"\n',
}


@pytest.fixture
def record() -> Callable[..., RunRecord]:
    """Builds a plausible record of a numbered run."""

    def build(run: int, status: str = "ok", **changes: object) -> RunRecord:
        fields: dict[str, object] = {
            "run": run,
            "block": run // 2,
            "repeat": run // 2,
            "cell": {"server.options.x": run % 2, "load.connections": 8},
            "status": status,
            "started_at": "2026-03-01T10:00:00.000+00:00",
            "ended_at": "2026-03-01T10:00:07.000+00:00",
            "plan": {"version": 1, "server": {"password_env": "CONTEND_PASSWORD"}},
            "done": {
                **{"qps": 1000.5, "queries": 1000, "measured_s": 1.0},
                "latency_us": {"p50": 10.0},
            },
            "intervals": [{"index": 0, "start_s": 0.0, "duration_s": 1.0, "qps": 1000.0}],
            "probes": {"status": {"Key_reads": 0}},
        }
        return RunRecord(**(fields | changes))  # type: ignore[arg-type]

    return build


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A fresh run folder of ten planned runs, open for writing."""
    planned = [Planned(n, n // 2, n // 2, {"server.options.x": n % 2}) for n in range(10)]
    return RunFolder.create(tmp_path / "run", EXPERIMENT, planned, {"cpus": 2})
