"""The action of GitHub and the template of GitLab: read as YAML, and their shell steps run with a
program in the place of contend that ends as it is told."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

CI = Path(__file__).parents[3] / "ci"
STAND_IN = """#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
words = sys.argv[1:]
Path(os.environ["SEEN"]).write_text(json.dumps(words))
if int(os.environ["CODE"]) != 2:
    Path(words[words.index("--markdown") + 1]).write_text("a comment\\n")
sys.exit(int(os.environ["CODE"]))
"""


def read(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((CI / name).read_text(encoding="utf-8"))
    return document


def run(folder: Path, script: str, code: int, **more: str) -> tuple[int, list[str]]:
    """Its exit code, and the words that contend was called with."""
    program = folder / "bin" / "contend"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "CODE": str(code),
        "SEEN": str(folder / "seen"),
        "CONTEND_FOLDER": "out put",
        "CONTEND_COMMAND": "try --sql 'SELECT 1' --fail-if-slower 3%",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        **more,
    }
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=env,
        check=False,
        timeout=60,
    )
    return done.returncode, json.loads((folder / "seen").read_text())


WORDS = [
    *("try", "--sql", "SELECT 1", "--fail-if-slower", "3%", "--yes", "--out", "out put/run"),
    *("--junit", "out put/gate.xml", "--markdown", "out put/gate.md"),
]


@pytest.mark.parametrize(
    ("code", "policy", "ends"),
    [(0, "fail", 0), (2, "pass", 2), (3, "pass", 3), (4, "fail", 4), (4, "pass", 0)],
)
def test_the_action_of_github(tmp_path: Path, code: int, policy: str, ends: int) -> None:
    action = read("github/action.yml")
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in steps)
    inputs = set(action["inputs"])
    gate = next(step for step in steps if step.get("id") == "gate")
    used = {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in gate["env"].values()}
    assert used == inputs
    ended, words = run(tmp_path, gate["run"], code, CONTEND_IF_NOT_CERTAIN=policy)
    assert (ended, words) == (ends, WORDS)
    assert (tmp_path / "output").read_text() == f"code={code}\n"
    assert (tmp_path / "summary").exists() == (code != 2)


@pytest.mark.parametrize("code", [0, 3, 4])
def test_the_template_of_gitlab(tmp_path: Path, code: int) -> None:
    job = read("gitlab/gate.yml")[".contend-gate"]
    assert run(tmp_path, "\n".join(job["script"]), code) == (code, WORDS)
    assert job["allow_failure"]["exit_codes"] == 4
    assert job["artifacts"]["when"] == "always"
