"""`contend recipes`, `contend schema`: the built-in experiment files, and what one may say."""

from __future__ import annotations

import argparse
import json
import sys

from contend.cli.output import say
from contend.spec import json_schema, key_tables, load_experiment, recipe_text, recipes


def add_recipes(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the built-in experiments with what they ask."
    actions = parser.add_subparsers(metavar="ACTION", dest="action")
    show = actions.add_parser(
        "show",
        help="print a recipe's file",
        description="Print a recipe's file: a start for an experiment of your own.",
    )
    show.add_argument("name", help="name of the recipe")
    parser.set_defaults(run=_recipes)


def _recipes(args: argparse.Namespace) -> int:
    if args.action == "show":
        sys.stdout.write(recipe_text(args.name))
        return 0
    for name in recipes():
        say(f"{name}\n    {load_experiment(name).question}")
    return 0


def add_schema(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the JSON Schema of experiment files. Editors with TOML support complete "
        "keys and show mistakes with it."
    )
    parser.add_argument(
        "--markdown", action="store_true", help="tables of the keys for people instead"
    )
    parser.set_defaults(run=_schema)


def _schema(args: argparse.Namespace) -> int:
    if args.markdown:
        sys.stdout.write(key_tables())
        return 0
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
