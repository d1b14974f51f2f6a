"""The option `--goal`, and what cannot be combined with it."""

from __future__ import annotations

import argparse

from contend.cli.parser import Parser
from contend.errors import RequestError


def add_goal(parser: Parser) -> None:
    parser.add_argument(
        "--goal",
        metavar="GOAL",
        help="find the highest rate (events per second, open loop) that holds a goal such as "
        "'p99<20ms', for each level; any metric with an upper limit, or knee: the p95 is three "
        "times as long as at low rates",
    )


def refuse_with_goal(args: argparse.Namespace) -> None:
    """These examine a difference at one load."""
    for option in ("why", "profile", "budget"):
        if getattr(args, option, False):
            raise RequestError(
                f"--{option} cannot be combined with a goal: levels were measured at different "
                "rates",
                hint="Compare the levels at one rate: --set load.arrival.kind=open "
                "--set load.arrival.rate=RATE.",
            )
