"""What a list of pages came to, by what is in the buffer pool afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contend.warm import by_list, server_list
from contend.warm.page_list import Pages, of_tablespace
from contend.warm.server_list import ServerHost
from contend.warm.work import WarmProgress, WarmUpResult

PAGE = 16384
ASKED = {
    "shop.a.PRIMARY": of_tablespace(5, np.arange(100, dtype=np.uint32)),
    "shop.b.PRIMARY": of_tablespace(6, np.arange(50, dtype=np.uint32)),
}


def load(
    patch: pytest.MonkeyPatch, counts: list[int], held: Callable[[], Pages]
) -> tuple[WarmUpResult, list[WarmProgress]]:
    """Loads what is asked for; the pool then has so many pages, before and after."""

    def loads(_connection: Any, _host: Any, _journal: Any, pages: Pages, tell: Any) -> None:
        tell(len(pages), len(pages))

    patch.setattr(server_list, "load", loads)
    patch.setattr(by_list, "_pages_of_data", lambda _connection: counts.pop(0))
    patch.setattr(by_list, "taken", lambda *_: held())
    told: list[WarmProgress] = []
    nobody: Any = None
    loaded = by_list.load_list(nobody, ServerHost(Path()), nobody, ASKED, PAGE, told.append)
    return loaded, told


def not_asked() -> Pages:
    raise AssertionError("the list was taken though the pool grew by all of it")


def test_a_pool_that_grew_by_the_list_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, told = load(monkeypatch, [300, 450], not_asked)
    assert (loaded.size, loaded.refused) == (150 * PAGE, {})
    assert told[-1].done == told[-1].sizes == {by_list.NAME: 150 * PAGE}


def test_what_was_there_before_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, _ = load(monkeypatch, [450, 450], lambda: np.concatenate(list(ASKED.values())))
    assert loaded.refused == {}


def test_what_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    held = np.concatenate([ASKED["shop.a.PRIMARY"], ASKED["shop.b.PRIMARY"][:20]])
    loaded, _ = load(monkeypatch, [300, 420], lambda: held)
    ((name, why),) = loaded.refused.items()
    assert name == "shop.b.PRIMARY"
    assert why.startswith("40% of its pages are in the buffer pool")
