"""`contend completion`: scripts with which a shell completes contend's commands and options.

The script is generated from the parsers, and does not call contend while the user types. An
argument is completed according to its placeholder in the help.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from contend.cli.parser import COMMANDS, build_parser

SHELLS = ("bash", "zsh", "fish")
_FILES = frozenset({"FILE", "PATH", "A.json"})
_FOLDERS = frozenset({"DIR", "FOLDER", "RUN"})


def add_completion(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a completion script for contend's commands, options, recipes and files. bash: put "
        'eval "$(contend completion bash)" in ~/.bashrc. zsh: write it to a file _contend in a '
        "folder of $fpath. fish: contend completion fish > "
        "~/.config/fish/completions/contend.fish"
    )
    parser.add_argument("shell", choices=SHELLS, help="your shell")
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    sys.stdout.write(completion(args.shell) + "\n")
    return 0


def completion(shell: str) -> str:
    """The script for one of `SHELLS`."""
    import shtab

    parser = build_parser(COMMANDS)
    recipes = _recipes()
    for action in _arguments(parser):
        places = _placeholders(action)
        if "RECIPE" in places:
            action.complete = recipes  # type: ignore[attr-defined]
        elif places & _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif places & _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell)
    return script.rstrip()


def _placeholders(action: argparse.Action) -> frozenset[str]:
    metavar = action.metavar
    names = metavar if isinstance(metavar, tuple) else (metavar or "",)
    return frozenset(word for name in names for word in name.split("|"))


def _recipes() -> dict[str, object]:
    """For each shell, how it completes the name of a recipe, or a file."""
    from contend.experiment import recipes

    names = " ".join(recipes())
    function = "_contend_recipe_or_file"
    bash = f'{function}() {{ compgen -W "{names}" -- $1; compgen -f -- $1; }}'
    return {
        "bash": function,
        "zsh": f"{{compadd -- {names}; _files}}",
        "fish": f"{names} (__fish_complete_path (commandline -ct))",
        "preamble": {"bash": bash},
    }


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every argument of a parser and of those below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for listed in action._choices_actions:
                below = action.choices[listed.dest]
                below.description = listed.help  # shown next to it in the shell's list
                yield from _arguments(below)
        else:
            yield action
