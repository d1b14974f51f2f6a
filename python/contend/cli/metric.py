"""`--metric`: what to compare, in place of what the experiment names."""

from __future__ import annotations

import argparse

from contend.errors import RequestError
from contend.spec import MetricNames, Refused


def add_metric(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help="compare this, such as response_us_p99, in place of what the experiment names; may "
        "be given several times, and the first decides",
    )


def metrics_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The names given; none if the experiment's are meant. Raises RequestError."""
    try:
        return MetricNames().read(args.metric) if args.metric else ()
    except Refused as refused:
        raise RequestError(f"--metric {refused.reason}", hint=refused.hint) from None
