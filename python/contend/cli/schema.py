"""`contend schema`: the JSON Schema of experiment files, for editors that complete and check."""

from __future__ import annotations

import argparse
import json
import sys

from contend.spec import json_schema, key_tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the JSON Schema of experiment files. Editors with TOML support complete "
        "keys and show mistakes with it."
    )
    parser.add_argument(
        "--markdown", action="store_true", help="tables of the keys for people instead"
    )


def run(args: argparse.Namespace) -> int:
    if args.markdown:
        sys.stdout.write(key_tables())
        return 0
    sys.stdout.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0
