"""How a password gets to the hosts: from here if nobody can read along, else they must have it in
their own environment. It is never part of a task, which schedulers log, nor of what a worker logs
of its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contend.errors import RequestError
from contend.load.hosts.cluster import LoadHost


def environment_for(
    host: LoadHost, plan: Any, env: Mapping[str, str], *, is_private: bool
) -> dict[str, str]:
    """What contend-load there is to find in its environment beside what it has.

    Args:
        env: what it would find here.
        is_private: nobody can read what is sent there.

    Raises:
        RequestError: the host lacks a secret, and it cannot be sent.
    """
    secret = sorted({name for name in _named(plan) if name in env})
    if is_private or not secret:
        return {name: env[name] for name in secret}
    there = host.ask("has_variables", secret)
    missing = [name for name in secret if name not in there]
    if missing:
        raise RequestError(
            f"the password would go to host {host.name} over a connection that others can read",
            hint=f"Set {' and '.join(missing)} in the environment of the Dask workers, or give "
            "the scheduler TLS (an address that begins with tls://).",
        )
    return {}


def sealed(env: dict[str, str]) -> Callable[[], dict[str, str]]:
    """What is not seen in the message that carries it: Dask's workers log messages as Python prints
    them if their level is debug. A function that no module knows is sent whole."""
    return lambda: env


def _named(plan: Any) -> Iterator[str]:
    """The variables that a plan says a secret is in."""
    if isinstance(plan, Mapping):
        for key, value in plan.items():
            if key.endswith("_env") and isinstance(value, str):
                yield value
            else:
                yield from _named(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _named(value)
