"""What contend-load is told of a warm-up, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_connection import FakeConnection

from contend.load.process import LoadFailed
from contend.servers.kinds import KINDS
from contend.undo import Journal
from contend.warm.loader import end_marked, load_parts
from contend.warm.parts import Piece
from contend.warm.throttle import Limits
from contend.warm.work import WarmingBroke, WarmProgress, WarmUpResult, Work

PARTS = [
    Piece("shop.a.PRIMARY", "SELECT COUNT(*) FROM a WHERE `id` BETWEEN", (1, 90, 3)),
    Piece("shop.a.s", "SELECT 1"),
    Piece("shop.a.s", "SELECT 2"),
]  # fmt: skip
SIZES = {"shop.a.PRIMARY": 300, "shop.a.s": 100}


def scanned(upto: int, *ranges: int, refused: str = "") -> dict[str, Any]:
    names = list(SIZES)
    parts = [
        {"name": name, "ranges": count, "refused": name == refused}
        for name, count in zip(names, ranges, strict=True)
    ]
    return {"upto": upto, "parts": parts}


class Load:
    """Tells of these scans, one an interval, then ends, or fails."""

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


def load(
    fake: Load, folder: Path, told: list[WarmProgress] | None = None, upto: int = 0
) -> WarmUpResult:
    with Journal.open(folder, "s") as journal:
        work = Work.of(PARTS, {"sizes": SIZES, "kind": "mariadb", "pages": 20})
        work.upto = upto
        any_load: Any = fake
        return load_parts(
            any_load, {"socket": "/s"}, work, journal,
            connect=lambda: pytest.fail("this limit needs no probe"), env={},
            limits=Limits(pages_per_second=600), connections=3,
            listen=[].append if told is None else told.append,
        )  # fmt: skip


def test_what_is_told_and_how_far_it_is(tmp_path: Path) -> None:
    told: list[WarmProgress] = []
    fake = Load(scanned(1, 1, 0), scanned(5, 3, 2))
    loaded = load(fake, tmp_path, told)
    (plan,) = fake.plans
    assert plan["workload"]["kind"] == "scan"
    assert plan["workload"]["parts"][0]["keys"] == {"first": 1, "last": 90, "ranges": 3}
    assert plan["workload"]["skip"] == 0
    assert plan["server"]["init_sql"][0] == KINDS["mariadb"].patience
    # Three connections that read 20 pages each ten times a second.
    assert plan["load"]["arrival"]["think_s"] == 0.1
    assert "READ ONLY" in plan["server"]["init_sql"][1]
    assert [progress.done for progress in told] == [
        {"shop.a.PRIMARY": 100.0, "shop.a.s": 0.0},
        {"shop.a.PRIMARY": 300.0, "shop.a.s": 100.0},
        {"shop.a.PRIMARY": 300.0, "shop.a.s": 100.0},
    ]
    assert loaded.size == 400
    assert loaded.refused == {}


def test_a_resumed_one_skips_what_is_done_and_counts_the_rest(tmp_path: Path) -> None:
    fake = Load(scanned(5, 3, 2))
    assert load(fake, tmp_path, upto=4).size == 50
    assert fake.plans[0]["workload"]["skip"] == 4


def test_what_the_server_refused_is_named_with_the_reason(tmp_path: Path) -> None:
    fake = Load(scanned(5, 3, 2, refused="shop.a.s"))
    fake.errors = [{"message": "no such table", "code": 1146}]
    assert load(fake, tmp_path).refused == {"shop.a.s": "no such table (1146)"}


def test_a_broken_one_leaves_in_the_journal_how_far_it_was(tmp_path: Path) -> None:
    fake = Load(scanned(2, 2, 0), error=LoadFailed("the server closed the connection"))
    with pytest.raises(WarmingBroke, match="broke off: the server closed") as broke:
        load(fake, tmp_path)
    assert "--resume" in (broke.value.hint or "")
    with Journal.open(tmp_path, "s") as journal:
        work = Work.noted(journal)
        assert work is not None and work.upto == 2


def test_only_statements_with_the_mark_are_ended() -> None:
    rows = {7: "SELECT /* warm 1a */ 1", 8: "SELECT /* warm 2b */ 1", 9: None}
    threads = [(number, "u", "h", "d", "Query", 1, "", text) for number, text in rows.items()]
    talk: Any = FakeConnection({"PROCESSLIST": threads})
    assert end_marked(talk, "warm 1a") == 1
    assert talk.statements[1:] == ["KILL QUERY 7"]
