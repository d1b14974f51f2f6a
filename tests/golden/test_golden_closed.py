"""What `contend show` prints of closed work: a sweep without a baseline, and statements apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from closed_run import ENGINES, SWEEP, write_closed
from shop_run import write_shop
from test_golden_show import in_full, plain_terminal, shown
from transcripts import check

__all__ = ["plain_terminal"]


def test_a_sweep_beside_published_figures(capsys: pytest.CaptureFixture[str]) -> None:
    check("show-sweep", shown(capsys, str(write_closed(Path(), SWEEP))))


def test_statements_apart(capsys: pytest.CaptureFixture[str]) -> None:
    check("show-statements", shown(capsys, str(write_closed(Path(), ENGINES))))


def test_an_index_and_what_it_costs(capsys: pytest.CaptureFixture[str]) -> None:
    path = write_shop(Path())
    check("show-setup", shown(capsys, str(path)))
    check("show-setup-full", in_full(capsys, path))
