"""What doctor mends: noted before, put back by `contend restore`, also after a kill at any line."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_pairs import Case
from killed import in_a_process_of_its_own

from contend.cli.main import main
from contend.doctor import CHECKS, mend
from contend.doctor.model import DoctorCheck
from contend.errors import RequestError
from contend.undo import HostRefused, default_folder, journals_in

SWAPPY = Case(
    files={
        "proc/meminfo": "MemTotal: 1000 kB\nSwapTotal: 100 kB\nSwapFree: 100 kB\n",
        "proc/sys/vm/swappiness": "60\n",
    }
)


def check(name: str) -> DoctorCheck:
    return next(one for one in CHECKS if one.id == name)


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "STATE"))


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """Where thousands of fsyncs cost nothing, if there is such a place."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def test_it_stays_mended_until_it_is_put_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = SWAPPY.subject(tmp_path)
    file = subject.tree.root / "proc/sys/vm/swappiness"
    told: list[str] = []
    remedy = mend(check("swappiness"), subject, default_folder(), told.append)
    assert file.read_text() == "1"
    assert remedy == "contend restore host"
    assert told == [f"{file}: was '60', is '1'"]
    (journal,) = journals_in(default_folder())
    assert json.loads(journal.read_text())["undo"][0]["before"] == "60"
    assert mend(check("swappiness"), subject, default_folder(), told.append) is None
    assert "is fine" in told[-1]
    assert main(["restore", "host"]) == 0
    assert file.read_text().strip() == "60"
    assert journals_in(default_folder()) == []
    capsys.readouterr()


_MENDS = """
import sys
from pathlib import Path
from killed import killed_at_every_step
sys.path.insert(0, sys.argv[2])
from contend.cli.main import main
from contend.doctor import CHECKS, mend
from contend.doctor.model import Subject
from contend.host import Tree
from contend.undo import default_folder

root = Path(sys.argv[1])
file = root / "proc/sys/vm/swappiness"
check = next(one for one in CHECKS if one.id == "swappiness")
changed = kills = 0

def work():
    mend(check, Subject(Tree(root), Path("/data")), default_folder(), lambda words: None)

for line in killed_at_every_step(work, ("doctor/mend", "contend/undo")):
    kills += 1
    changed += file.read_text().strip() != "60"
    assert main(["restore", "host", "--yes"]) == 0, line
    assert file.read_text().strip() == "60", line
assert file.read_text().strip() == "1"
assert main(["restore", "host", "--yes"]) == 0
assert file.read_text().strip() == "60"
print(kills, changed, file=sys.stderr)
print("KILLED", kills, changed)
"""


def test_a_kill_at_any_line_leaves_what_restore_puts_back(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(in_memory / "STATE"))
    root = SWAPPY.subject(in_memory).tree.root
    said = in_a_process_of_its_own(_MENDS, root, Path(__file__).parent)
    _, kills, changed = next(
        line.split() for line in said.splitlines() if line.startswith("KILLED")
    )
    assert int(kills) > 20
    assert int(changed) > 0


def test_several_files_are_mended_together(tmp_path: Path) -> None:
    subject = Case(
        files={"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": "powersave\n"}
    ).subject(tmp_path)
    mend(check("governor"), subject, default_folder(), lambda _words: None)
    cpus = subject.tree.root / "sys/devices/system/cpu"
    assert {file.read_text().strip() for file in cpus.glob("cpu*/cpufreq/scaling_governor")} == {
        "performance"
    }


def test_what_contend_cannot_mend_says_what_would(tmp_path: Path) -> None:
    subject = Case("docker").subject(tmp_path)
    with pytest.raises(RequestError, match="does not mend cpu-quota itself") as refused:
        mend(check("cpu-quota"), subject, default_folder(), lambda _words: None)
    assert "cpu.max" in str(refused.value.hint)
    with pytest.raises(RequestError, match="cannot be seen here"):
        mend(check("steal"), subject, default_folder(), lambda _words: None)


def test_a_setting_that_is_not_there_is_refused_and_the_rest_can_be_put_back(
    tmp_path: Path,
) -> None:
    """Of two files the second is gone: what was changed before is noted, and put back."""
    subject = Case(
        files={
            "proc/sys/vm/dirty_bytes": "0\n",
            "proc/sys/vm/dirty_ratio": "20\n",
            "proc/sys/vm/dirty_background_bytes": "0\n",
        }
    ).subject(tmp_path)
    vm = subject.tree.root / "proc/sys/vm"
    (vm / "dirty_bytes").unlink()
    with pytest.raises(HostRefused, match="dirty_bytes"):
        mend(check("dirty-pages"), subject, default_folder(), lambda _words: None)
    assert (vm / "dirty_background_bytes").read_text() == "67108864"
    assert main(["restore", "host"]) == 0
    assert (vm / "dirty_background_bytes").read_text().strip() == "0"
