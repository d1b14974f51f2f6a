"""The scripts of `contend completion`, run by the shells."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import program

from contend.cli.completion import SHELLS, completion
from contend.cli.main import main
from contend.cli.parser import COMMANDS
from contend.experiment import recipes

Ask = Callable[..., set[str]]

BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
$(complete -p contend | sed -E 's/.*-F ([^ ]+).*/\\1/') contend "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def in_bash(folder: Path, *arguments: str) -> set[str]:
    script = folder / "script"
    script.write_text(completion("bash"))
    return run(folder, "bash", "--norc", "-c", BASH, "bash", str(script), *arguments)


def in_fish(folder: Path, *arguments: str) -> set[str]:
    script = folder / "script"
    script.write_text(completion("fish"))
    asked = f'source "{script}"; complete -C "{" ".join(arguments)}"'
    lines = run(folder, program("fish"), "--no-config", "-c", asked)
    return {line.split("\t")[0].rstrip("/") for line in lines}


def run(folder: Path, *command: str) -> set[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return set(filter(None, done.stdout.splitlines()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").touch()
    (tmp_path / "contend-runs").mkdir()
    return tmp_path


@pytest.mark.parametrize("ask", [in_bash, in_fish])
def test_it_completes_what_the_parsers_know(folder: Path, ask: Ask) -> None:
    assert ask(folder, "contend", "") == set(COMMANDS)
    assert ask(folder, "contend", "completion", "") == set(SHELLS)
    assert ask(folder, "contend", "show", "--js") == {"--json"}
    assert "remove" in ask(folder, "contend", "server", "re")


@pytest.mark.parametrize("ask", [in_bash, in_fish])
def test_it_completes_recipes_files_and_folders(folder: Path, ask: Ask) -> None:
    asked = {name for name in recipes() if name.startswith("seg")}
    assert asked and ask(folder, "contend", "run", "seg") == asked
    assert ask(folder, "contend", "run", "mi") == {"mine.toml"}
    assert ask(folder, "contend", "show", "con") == {"contend-runs"}
    assert ask(folder, "contend", "show", "mi") == set()
    assert ask(folder, "contend", "warm", "--journal", "con") == {"contend-runs"}


def test_zsh_accepts_the_script(folder: Path) -> None:
    (folder / "_contend").write_text(completion("zsh"))
    asked = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; print ${_comps[contend]}"
    zsh = program("zsh")
    assert run(folder, zsh, "-f", "-c", asked) == {"_contend"}
    assert run(folder, zsh, "-f", "-n", "_contend") == set()


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "choose from" in capsys.readouterr().err
