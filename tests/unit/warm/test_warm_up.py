"""A list of pages and the scans of contend-load: the progress and the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_connection import FakeConnection

from contend.load.process import LoadFailed
from contend.servers.dsn import Dsn
from contend.servers.kinds import KINDS
from contend.servers.undo import Journal
from contend.warm import server_list
from contend.warm.coverage import ByList
from contend.warm.plan import WarmPlan
from contend.warm.scan import WarmingBroke, WarmProgress, Work, scan
from contend.warm.server_list import Pages, ServerHost, of_tablespace
from contend.warm.throttle import Limits
from contend.warm.warm_up import (
    BY_LIST,
    TOLERANCE_S,
    Listener,
    WarmUpResult,
    _WarmUp,
    end_marked,
    warm_up,
    was_restarted,
)

PAGE = 16384
ASKED = {
    "shop.a.PRIMARY": of_tablespace(5, np.arange(100, dtype=np.uint32)),
    "shop.b.PRIMARY": of_tablespace(6, np.arange(50, dtype=np.uint32)),
}


def by_list(
    patch: pytest.MonkeyPatch, counts: list[int], held: Callable[[], Pages]
) -> tuple[WarmUpResult, list[WarmProgress]]:
    """Loads a list; `counts`: pages in the buffer pool, before and after."""

    def loads(_connection: Any, _host: Any, _journal: Any, pages: Pages, tell: Any) -> None:
        tell(len(pages), len(pages))

    patch.setattr(server_list, "load", loads)
    patch.setattr(server_list, "take", lambda *_: held())
    patch.setattr(_WarmUp, "_pages_of_data", lambda _self: counts.pop(0))
    events: list[WarmProgress] = []
    unused: Any = None
    listen = Listener(progress=events.append)
    begun = _WarmUp(unused, unused, "mariadb", unused, unused, Limits(), listen)
    begun.load_list(ByList(ServerHost(Path()), ASKED, PAGE))
    return begun.result, events


def not_called() -> Pages:
    raise AssertionError("the list was taken though the pool grew by all of it")


def test_a_pool_that_grew_by_the_list_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, events = by_list(monkeypatch, [300, 450], not_called)
    assert (loaded.size, loaded.refused) == (150 * PAGE, {})
    assert events[-1].done == events[-1].sizes == {BY_LIST: 150 * PAGE}


def test_pages_loaded_earlier_are_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, _ = by_list(monkeypatch, [450, 450], lambda: np.concatenate(list(ASKED.values())))
    assert loaded.refused == {}


def test_an_index_that_is_not_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    held = np.concatenate([ASKED["shop.a.PRIMARY"], ASKED["shop.b.PRIMARY"][:20]])
    loaded, _ = by_list(monkeypatch, [300, 420], lambda: held)
    ((name, why),) = loaded.refused.items()
    assert name == "shop.b.PRIMARY"
    assert "40% of its pages" in why


PARTS: list[dict[str, Any]] = [
    {
        "name": "shop.a.PRIMARY",
        "statement": "SELECT COUNT(*) FROM a WHERE `id` BETWEEN",
        "keys": {"first": 1, "last": 90, "ranges": 3},
    },
    {"name": "shop.a.s", "statement": "SELECT 1"},
    {"name": "shop.a.s", "statement": "SELECT 2"},
]
SIZES = {"shop.a.PRIMARY": 300, "shop.a.s": 100}


def scanned(upto: int, *ranges: int, refused: str = "") -> dict[str, Any]:
    parts = [
        {"name": name, "ranges": count, "refused": name == refused}
        for name, count in zip(SIZES, ranges, strict=True)
    ]
    return {"upto": upto, "parts": parts}


class Load:
    """Reports these scans, one per interval, then ends, or fails."""

    def __init__(self, *scans: dict[str, Any], error: LoadFailed | None = None) -> None:
        self.scans, self.error = scans, error
        self.plans: list[Any] = []
        self.errors: list[dict[str, Any]] = []

    def run(self, plan: Any, *, env: Mapping[str, str], on_event: Any) -> Any:
        self.plans.append(plan)
        on_event({"type": "hello", "pid": 1})
        for one in self.scans:
            on_event({"type": "interval", "scanned": one})
        if self.error is not None:
            raise self.error
        done = {"type": "done", "scanned": self.scans[-1], "errors": self.errors}
        on_event(done)
        return done


def work(upto: int = 0) -> Work:
    return Work(PARTS, SIZES, 20, "mark", "mariadb", True, BEFORE, upto)


def load(
    fake: Load, folder: Path, events: list[WarmProgress] | None = None, upto: int = 0
) -> tuple[float, dict[str, str]]:
    with Journal.open(folder, "s") as journal:
        any_load: Any = fake
        size, _held_s, refused = scan(
            any_load, {"socket": "/s"}, work(upto), journal,
            connect=lambda: pytest.fail("this limit needs no probe"), env={},
            limits=Limits(pages_per_second=600), connections=3,
            listen=[].append if events is None else events.append,
        )  # fmt: skip
    return size, refused


def test_progress_of_a_load(tmp_path: Path) -> None:
    events: list[WarmProgress] = []
    fake = Load(scanned(1, 1, 0), scanned(5, 3, 2))
    assert load(fake, tmp_path, events) == (400, {})
    (plan,) = fake.plans
    assert plan["workload"] == {"kind": "scan", "parts": PARTS, "skip": 0}
    assert plan["server"]["init_sql"][0] == KINDS["mariadb"].patience
    # Three connections that read 20 pages each ten times a second.
    assert plan["load"]["arrival"]["think_s"] == 0.1
    assert "READ ONLY" in plan["server"]["init_sql"][1]
    assert [progress.done for progress in events] == [
        {"shop.a.PRIMARY": 100.0, "shop.a.s": 0.0},
        {"shop.a.PRIMARY": 300.0, "shop.a.s": 100.0},
        {"shop.a.PRIMARY": 300.0, "shop.a.s": 100.0},
    ]


def test_a_resumed_load_skips_finished_ranges_and_counts_the_rest(tmp_path: Path) -> None:
    fake = Load(scanned(5, 3, 2))
    assert load(fake, tmp_path, upto=4)[0] == 50
    assert fake.plans[0]["workload"]["skip"] == 4


def test_a_refused_item_is_named_with_the_reason(tmp_path: Path) -> None:
    fake = Load(scanned(5, 3, 2, refused="shop.a.s"))
    fake.errors = [{"message": "no such table", "code": 1146}]
    assert load(fake, tmp_path)[1] == {"shop.a.s": "no such table (1146)"}


def test_a_broken_load_leaves_its_progress_in_the_journal(tmp_path: Path) -> None:
    fake = Load(scanned(2, 2, 0), error=LoadFailed("the server closed the connection"))
    with pytest.raises(WarmingBroke, match="the server closed") as broke:
        load(fake, tmp_path)
    assert "--resume" in (broke.value.hint or "")
    with Journal.open(tmp_path, "s") as journal:
        noted = Work.noted(journal)
        assert noted is not None and noted.upto == 2


BEFORE: list[int | None] = [1_000_000, 40, 17]


@pytest.mark.parametrize(
    ("now", "restarted"),
    [
        ([1_000_000, 55, 17], False),
        ([1_000_000 + TOLERANCE_S, 55, 17], False),
        ([1_000_000, 55, None], False),
        ([1_000_000, 3, 17], True),
        ([1_000_000 + TOLERANCE_S + 1, 55, 17], True),
        ([1_000_000 - TOLERANCE_S - 1, 55, 17], True),
        ([1_000_000, 55, 18], True),
    ],
)
def test_one_sign_of_a_restart_is_enough(now: list[int | None], restarted: bool) -> None:
    assert was_restarted(BEFORE, now) is restarted
    assert not was_restarted([1_000_000, 40, None], BEFORE)


def test_only_statements_with_the_mark_are_ended() -> None:
    rows = {7: "SELECT /* warm 1a */ 1", 8: "SELECT /* warm 2b */ 1", 9: None}
    threads = [(number, "u", "h", "d", "Query", 1, "", text) for number, text in rows.items()]
    talk: Any = FakeConnection({"PROCESSLIST": threads})
    end_marked(talk, "warm 1a")
    assert talk.statements[1:] == ["KILL QUERY 7"]


def test_a_stop_leaves_nothing_of_an_earlier_warm_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server forgets its list, and ranges of a different plan are not the requested ones."""

    class Server:
        dsn = Dsn.parse("socket:/s")

        def connect(self, database: str | None = None, **_more: Any) -> Any:
            return FakeConnection()

    def stopped(_begun: _WarmUp, _by_list: ByList) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_WarmUp, "load_list", stopped)
    with Journal.open(tmp_path, "s") as journal:
        work().note(journal)
        unused: Any = None
        with pytest.raises(KeyboardInterrupt):
            warm_up(
                Server(), WarmPlan((), ()), "mariadb", journal, unused, Limits(), Listener(),
                by_list=ByList(ServerHost(Path()), ASKED, PAGE),
            )  # fmt: skip
        assert journal.work is None
