"""Which variables of SHOW GLOBAL STATUS are counters, and which say something else; read from
`status_variables.toml`, which has the source."""

from __future__ import annotations

import tomllib
from importlib import resources

_LISTS = tomllib.loads(
    (resources.files("contend.metrics") / "status_variables.toml").read_text(encoding="utf-8")
)

GAUGES_OF: dict[str, frozenset[str]] = {
    kind: frozenset(names) for kind, names in _LISTS["gauges"].items()
}
"""By `every` kind of server, `mariadb` alone, `mysql` alone, and what only some have."""

IDENTITIES = frozenset(_LISTS["identities"]["names"])
"""Numbers that only name something, or are settings of a library."""

GAUGES = frozenset().union(*GAUGES_OF.values()) | IDENTITIES
"""They say how something is at a moment, and not how often something was done."""

CLOCKS = frozenset(_LISTS["clocks"]["names"])
"""Counters that tick by the clock."""

QUERIES = frozenset(_LISTS["queries"]["names"])
"""Counters of the queries themselves, of which there is one a query."""
