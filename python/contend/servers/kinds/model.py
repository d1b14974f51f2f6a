"""The model server: contend-load's own. Its rows are a function of a seed, so there is nothing to
make or copy. Its own counters are not sent over the protocol: on a signal it adds a line to a
file."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pymysql.connections import Connection

from contend.experiment.settings.model_server import HAS, WITHOUT_EFFECT
from contend.experiment.settings.server import MODEL
from contend.metrics.probed import ModelCounters
from contend.servers.binary import ServerBinary
from contend.servers.errors import ServerFailed
from contend.servers.kinds.base import Kind, Site
from contend.servers.options import Value, as_text, normal_name, same_value
from contend.servers.variables import Differing, read_all

TRUTH_NAME = "truth.jsonl"
"""The server's counters, one line per signal; next to its log."""

_PATIENCE_S = 10.0
_POLL_S = 0.002


class ModelKind(Kind):
    name = MODEL
    computes_rows = True
    has_key_caches = True

    def start_arguments(self, site: Site) -> list[str]:
        port = [] if site.port is None else [f"--port={site.port}"]
        return [f"--socket={site.socket}", *port, f"--truth={truth_file(site.log)}"]

    def option_arguments(self, options: Mapping[str, Value], binary: ServerBinary) -> list[str]:
        del binary
        named = {normal_name(name): as_text(value) for name, value in options.items()}
        return [f"--variable={n}={text}" for n, text in named.items() if n not in WITHOUT_EFFECT]

    def known_options(self, binary: ServerBinary) -> frozenset[str]:
        del binary
        return frozenset({*HAS, *WITHOUT_EFFECT})

    def without_effect(self, options: Mapping[str, Value]) -> list[str]:
        return sorted(name for name in map(normal_name, options) if name in WITHOUT_EFFECT)

    def differing(
        self, connection: Connection[Any], binary: ServerBinary | None = None
    ) -> Differing:
        del binary
        there = read_all(connection)
        return {
            name: {"value": there[name], "default": default}
            for name, default in HAS.items()
            if name in there and not same_value(there[name], default)
        }

    def counted(self, pid: int, log: Path) -> ModelCounters:
        file = truth_file(log)
        before = _lines(file)
        try:
            os.kill(pid, signal.SIGUSR1)
        except ProcessLookupError:
            raise ServerFailed("the model server ended.", hint=f"Its log is {log}.") from None
        deadline = time.monotonic() + _PATIENCE_S
        while len(lines := _lines(file)) <= len(before):
            if time.monotonic() > deadline:
                raise ServerFailed(
                    f"the model server did not write its counters within {_PATIENCE_S:.0f} s.",
                    hint=f"It writes them to {file}; its log is {log}.",
                )
            time.sleep(_POLL_S)
        line = json.loads(lines[-1])
        return cast(ModelCounters, {n: line[n] for n in ModelCounters.__annotations__ if n in line})


def truth_file(log: Path) -> Path:
    """The file for the counters of a server with this log."""
    return log.with_name(TRUTH_NAME)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return []
