"""The workflow of GitHub for a schema change, run whole: every shell step of it and of the action
that it uses, on a real server and a small dump. GitHub itself is a program in the place of `gh`."""

from __future__ import annotations

import io
import json
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from run_lab import UNDRAWN, Lab

import contend

yaml = pytest.importorskip("yaml")

pytestmark = pytest.mark.timeout(1200)  # a busy machine may take its time

CI = Path(__file__).parents[2] / "ci" / "github"

GH = """#!{python}
import json, subprocess, sys
from pathlib import Path
words, kept = sys.argv[1:], Path({folder!r})
option = dict(zip(words, words[1:]))
with (kept / "calls").open("a") as calls:
    print(json.dumps(words), file=calls)

def answer(document):
    jq = ["jq", "--raw-output", option["--jq"]]
    subprocess.run(jq, input=json.dumps(document), text=True, check=True)

comments = json.loads((kept / "comments").read_text())
if words[:2] in (["release", "download"], ["run", "download"]):
    Path(option["--dir"]).mkdir()
    (source,) = (kept / words[0]).iterdir()
    (Path(option["--dir"]) / source.name).write_bytes(source.read_bytes())
elif words[:2] == ["run", "list"]:
    answer([{{"databaseId": 77}}])
elif "--method" not in words:
    answer(comments)
else:
    body = Path(option["--field"].removeprefix("body=@")).read_text()
    if option["--method"] == "POST":
        comments.append({{"id": 100 + len(comments), "body": body}})
    else:
        to = words[words.index("PATCH") + 1].rpartition("/")[2]
        next(one for one in comments if str(one["id"]) == to)["body"] = body
    (kept / "comments").write_text(json.dumps(comments))
"""

DUMP = """\
-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
CREATE TABLE orders (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, customer_id INT UNSIGNED NOT NULL,
  placed_at DATETIME NOT NULL, cents INT UNSIGNED NOT NULL) ENGINE=InnoDB;
INSERT INTO orders (customer_id, placed_at, cents) VALUES {rows};
-- Dump completed on 2026-11-30  3:00:00
"""


class Runner:
    """What a runner of GitHub does with the steps of a job, as far as they are shell.

    Args:
        values: of the expressions in `${{ }}`.
    """

    def __init__(self, lab: Lab, load_program: Path, values: dict[str, str]) -> None:
        self.folder, self.values = lab.folder, values
        self.kept = lab.folder / "github"
        for name, file in (("release", _wheel(load_program)), ("run", _dump())):
            (self.kept / name).mkdir(parents=True)
            (self.kept / name / file[0]).write_bytes(file[1])
        other = {"id": 7, "body": "<!-- contend gate: another -->\nof another gate"}
        (self.kept / "comments").write_text(json.dumps([other]))
        site, programs = lab.folder / "site", lab.folder / "bin"
        programs.mkdir()
        (programs / "gh").write_text(GH.format(python=sys.executable, folder=str(self.kept)))
        (programs / "gh").chmod(0o755)
        before = {name: v for name, v in lab.environment.items() if name != "CONTEND_LOAD"}
        self.environment = {
            **before,
            "PATH": f"{programs}:{site}/bin:{Path(sys.executable).parent}:{before['PATH']}",
            "PYTHONPATH": f"{UNDRAWN}:{site}",
            # Its requirements are here, and nothing is to be asked of an index.
            **{"PIP_TARGET": str(site), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"},
            "GITHUB_OUTPUT": str(lab.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(lab.folder / "summary"),
        }

    def run(self, steps: list[dict[str, Any]], env: dict[str, str]) -> int:
        """The exit code of the first step that fails; those with a condition run after it too."""
        code = 0
        for step in steps:
            if code and "if" not in step:
                continue
            if str(step.get("uses", "")).startswith("OWNER/contend/ci/github@"):
                action = yaml.safe_load((CI / "action.yml").read_text())
                given = {name: one.get("default") for name, one in action["inputs"].items()}
                given |= step["with"]
                assert given.keys() == action["inputs"].keys()
                self.values |= {f"inputs.{name}": self._filled(v) for name, v in given.items()}
                code = code or self.run(action["runs"]["steps"], env)
            elif "run" in step:
                done = subprocess.run(
                    ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                    cwd=self.folder,
                    env={**self.environment, **self._all(env), **self._all(step.get("env", {}))},
                    text=True,
                    capture_output=True,
                    check=False,
                )
                print(step["name"], done.returncode, done.stdout, done.stderr)
                code = code or done.returncode
        return code

    def _all(self, env: dict[str, str]) -> dict[str, str]:
        return {name: self._filled(value) for name, value in env.items()}

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], str(text))

    @property
    def comments(self) -> dict[int, str]:
        found = json.loads((self.kept / "comments").read_text())
        return {one["id"]: one["body"] for one in found}

    @property
    def calls(self) -> Iterator[list[str]]:
        return map(json.loads, (self.kept / "calls").read_text().splitlines())


def _wheel(load_program: Path) -> tuple[str, bytes]:
    """Both programs, packed like `make wheel` does it, without their requirements."""
    package, info = Path(contend.__file__).parent, "contend-0.1.0.dist-info"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for file in package.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(package.parent))
        wheel.write(load_program, "contend-0.1.0.data/scripts/contend-load")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: contend\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
        start = "[console_scripts]\ncontend = contend.cli.main:main\n"
        wheel.writestr(f"{info}/entry_points.txt", start)
        wheel.writestr(f"{info}/RECORD", "")
    tag = f"py3-none-linux_{platform.machine()}"
    return f"contend-0.1.0-{tag}.whl", packed.getvalue()


def _dump() -> tuple[str, bytes]:
    rows = (f"({1 + n % 50}, '2026-11-{1 + n % 28:02} 12:00:00', {n % 900})" for n in range(2000))
    return "shop.sql", DUMP.format(rows=", ".join(rows)).encode()


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_workflow_of_a_schema_change(lab: Lab, load_program: Path) -> None:
    (workflow,) = yaml.safe_load((CI / "schema-change.yml").read_text())["jobs"].values()
    experiment = (CI / "schema-change.toml").read_text()
    for usual, short in (
        ('at_most = "5m"', 'at_most = "15s"\nrepeats = 2'),
        ("connections = 8", 'connections = 2\nwarmup = "20ms"\nmeasure = "100ms"'),
        ("50000", "50"),
        ("[data]", '[server.options]\ninnodb_log_file_size = "8M"\n\n[data]'),
    ):
        assert usual in experiment
        experiment = experiment.replace(usual, short)
    (lab.folder / "ci").mkdir()
    (lab.folder / "ci" / "schema-change.toml").write_text(experiment)
    values = {
        "github.token": "a token",
        "github.repository": "us/shop",
        "github.event.pull_request.number": "12",
    }
    runner = Runner(lab, load_program, values)
    code = runner.run(workflow["steps"], workflow["env"])

    assert code in (0, 3)
    assert (lab.folder / "site" / "bin" / "contend-load").exists()
    assert (lab.folder / "output").read_text() == f"code={code}\n"
    assert runner.comments.keys() == {7, 101}
    comment = runner.comments[101]
    assert comment == (lab.folder / "summary").read_text()
    mark, head, *_ = comment.splitlines()
    assert mark == "<!-- contend gate: index-by-customer -->"
    ends = ("gate slower",) if code else ("gate passed", "let pass by --if-not-certain pass")
    assert any(end in head for end in ends)
    for metric in ("Event rate", "Service time of latest, p50", "Service time of insert, p50"):
        assert f"\n| {metric} | by_customer = on |" in comment
    downloads = [words for words in runner.calls if words[1] == "download"]
    assert [words[0] for words in downloads] == ["release", "run"]
    assert "77" in downloads[1] and "shop-dump" in downloads[1]

    # The next run finds its comment, and replaces it.
    (lab.folder / "contend-gate" / "gate.md").write_text(f"{mark}\nlater")
    action = yaml.safe_load((CI / "action.yml").read_text())
    assert runner.run(action["runs"]["steps"][-1:], workflow["env"]) == 0
    assert runner.comments == {**runner.comments, 101: f"{mark}\nlater"}
    assert len(runner.comments) == 2
