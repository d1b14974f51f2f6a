"""`contend recipes`: the built-in experiment files, listed or printed."""

from __future__ import annotations

import argparse
import sys

from contend.spec import load_experiment, recipe_text, recipes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the built-in experiments with what they ask."
    actions = parser.add_subparsers(metavar="ACTION", dest="action")
    show = actions.add_parser(
        "show",
        help="print a recipe's file",
        description="Print a recipe's file: a start for an experiment of your own.",
    )
    show.add_argument("name", help="name of the recipe")


def run(args: argparse.Namespace) -> int:
    if args.action == "show":
        sys.stdout.write(recipe_text(args.name))
        return 0
    for name in recipes():
        sys.stdout.write(f"{name}\n    {load_experiment(name).question}\n")
    return 0
