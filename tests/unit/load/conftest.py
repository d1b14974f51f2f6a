"""What the tests of the calibration share."""

from __future__ import annotations

from pathlib import Path

import pytest
from calibration_fakes import disturbed_by, scripted_program


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return scripted_program(tmp_path)


@pytest.fixture(autouse=True)
def quiet_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else this machine does."""
    monkeypatch.setattr("contend.load.calibration.watched", disturbed_by)
