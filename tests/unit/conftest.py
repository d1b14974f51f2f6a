"""Run folders of the reference study and what the report makes of them, built once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from contend.report import Report, build
from contend.store import RunFolder


@pytest.fixture(scope="session")
def study_path(tmp_path_factory: pytest.TempPathFactory, study_run: Callable[[Path], Path]) -> Path:
    """A complete run folder of the study. Tests read it and never write to it."""
    return study_run(tmp_path_factory.mktemp("study") / "run")


@pytest.fixture(scope="session")
def study_report(study_path: Path) -> Report:
    with RunFolder.open(study_path) as folder:
        return build(folder)
