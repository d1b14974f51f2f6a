"""Each check on a host that has the fault, and on one that has not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from doctor_pairs import PAIRS, Case

from contend.host import Tree
from contend.host.doctor import CHECKS
from contend.host.doctor.checks import disk
from contend.host.doctor.model import NotChecked, Result, Subject

CHECKED = {check.id: check for check in CHECKS}


def look(name: str, case: Case, roots: Path, patch: pytest.MonkeyPatch) -> Result:
    if case.space is not None:
        free, total, files = case.space
        space = SimpleNamespace(
            f_bavail=free, f_blocks=total, f_frsize=1, f_files=1, f_favail=files
        )
        patch.setattr(disk, "os", SimpleNamespace(statvfs=lambda _path: space))
    return CHECKED[name].look(case.subject(roots))


def test_every_check_has_both_its_hosts() -> None:
    """A check without a pair is not tested, and a pair without a check is of none."""
    without, of_none = CHECKED.keys() - PAIRS.keys(), PAIRS.keys() - CHECKED.keys()
    assert not without, f"checks without a host that has the fault and one that has not: {without}"
    assert not of_none, f"hosts of no check: {of_none}"
    assert len(CHECKED) == len(CHECKS)
    assert sum(not check.is_of_server for check in CHECKS) >= 30


@pytest.mark.parametrize("name", PAIRS)
def test_a_host_with_the_fault_and_one_without(
    name: str, roots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = PAIRS[name]
    faulty = look(name, pair.faulty, roots, monkeypatch)
    assert (faulty.severity, pair.says in faulty.evidence) == (pair.severity, True), faulty
    well = look(name, pair.well, roots, monkeypatch)
    assert well.severity is None, well
    assert well.evidence


ASK_OTHERWISE = {"free-space", "virtual-machine", "damon-pageout"}
"""They ask the kernel itself, or take that nothing is there for an answer."""


@pytest.mark.parametrize("name", sorted(PAIRS.keys() - ASK_OTHERWISE))
def test_where_nothing_is_shown_it_says_what_cannot_be_seen(name: str, tmp_path: Path) -> None:
    """A container that hides /proc and /sys: no check finds a fault that it did not see."""
    with pytest.raises(NotChecked, match=r"\w"):
        CHECKED[name].look(Subject(Tree(tmp_path), tmp_path / "data"))


def test_a_flush_that_reaches_no_disk_is_severe(
    roots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for took_us in (49, 57):
        quick = look("fsync-latency", Case(measured={"fsync_us": took_us}), roots, monkeypatch)
        assert quick.severity == "severe"
        assert "too fast" in quick.evidence


def test_studies_are_not_called_by_the_letters_that_the_project_gives_them() -> None:
    for check in CHECKS:
        assert "Study " not in check.why + check.costs + check.mend
