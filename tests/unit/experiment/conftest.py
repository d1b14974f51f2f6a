"""A small experiment file, and a way to load text as if it were one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from contend.experiment import Experiment, load_experiment

SMALL = """\
[experiment]
name = "small"
question = "Does it?"

[server]
change = "in_place"
options = { key_buffer_size = "64M" }

[data]
engine = "MyISAM"
rows = 1_000

[workload]
kind = "random_points"

[load]
warmup = "100ms"
measure = "2s"

[factors]
"server.options.key_cache_segments" = [0, 32]
"load.connections" = [1, 8]

[compare]
baseline = { "server.options.key_cache_segments" = 0 }
repeats = 4

[quick]
"data.rows" = 100
"load.connections" = 8
"""


@pytest.fixture
def small_text() -> str:
    return SMALL


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Experiment]:
    """Load text as the file `it.toml` of the present folder."""
    monkeypatch.chdir(tmp_path)

    def load_text(
        text: str = SMALL, *, sets: Sequence[str] = (), variant: str = "default"
    ) -> Experiment:
        Path("it.toml").write_text(text, encoding="utf-8")
        return load_experiment("it.toml", sets=sets, variant=variant)

    return load_text
