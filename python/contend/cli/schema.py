"""`contend schema`: the JSON Schema of experiment files, for editors that complete and check."""

from __future__ import annotations

import argparse
import json
import sys

from contend.spec import json_schema


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    subparsers.add_parser(
        "schema",
        help="print the JSON Schema of experiment files, for your editor",
        description="Print the JSON Schema of experiment files. Editors with TOML support complete "
        "keys and show mistakes with it.",
    )


def run(_args: argparse.Namespace) -> int:
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
