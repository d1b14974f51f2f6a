"""What `contend doctor` prints, to the letter, of hosts that are made up.

A transcript that changed on purpose is written anew with CONTEND_UPDATE_GOLDEN=1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from transcripts import check

from contend.cli.main import main
from contend.host.doctor import examine, lines_of
from contend.host.doctor.document import ignored_of
from contend.metrics.host import Measure

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "unit" / "host" / "doctor"))
from doctor_pairs import Case  # noqa: E402


def spread(value: float) -> Measure:
    return Measure(value, value * 0.8, value * 1.3)


DOCKER = Case(
    "docker",
    measured={"fsync_us": spread(410), "clock_ns": spread(26), "steal_share": spread(0.04)},
    space=None,
)
AWS = Case(
    "aws", measured={"fsync_us": spread(2100), "clock_ns": spread(980), "steal_share": spread(0.04)}
)


def test_doctor_examines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = examine(DOCKER.subject(tmp_path), ignored_of(["cpu-quota=the plan we pay for"]))
    # What is free is of the disk below the tests.
    document["checks"] = [one for one in document["checks"] if one["id"] != "free-space"]
    check("doctor", "\n".join(lines_of(document)) + "\n")


def test_doctor_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, case in (("A.json", DOCKER), ("B.json", AWS)):
        document = examine(case.subject(tmp_path))
        document["checks"] = [one for one in document["checks"] if one["id"] != "free-space"]
        (tmp_path / name).write_text(json.dumps(document))
    (tmp_path / "broken.json").write_text("{}")
    compared = ["--compare", str(tmp_path / "A.json"), str(tmp_path / "B.json")]
    said = ""
    for words in (
        ["--explain", "clock-source"],
        ["--explain", "clock-sorce"],
        compared,
        ["--compare", str(tmp_path / "A.json"), str(tmp_path / "broken.json")],
        ["--ignore", "ksm"],
        ["--folder", str(tmp_path / "none")],
        ["--server", "localhost"],
    ):
        code = main(["doctor", *words])
        out = capsys.readouterr()
        line = " ".join(words).replace(f"{tmp_path}/", "")
        said += f"$ contend doctor {line}\n{out.out}{out.err}exit {code}\n\n"
    check("doctor-commands", said.replace(f"{tmp_path}/", ""))
