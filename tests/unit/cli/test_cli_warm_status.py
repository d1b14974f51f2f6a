"""The output of `contend warm --status`."""

from __future__ import annotations

import json
import re

from contend.cli.warm_display import as_json, as_text
from contend.warm.coverage import OTHERS, Coverage, Status
from contend.warm.myisam import FilePart
from contend.warm.plan import Cache, Survey, WarmTable

MB = 1 << 20
POOL = Cache("innodb", "InnoDB's buffer pool", 128 * MB, 32 * MB, 16384)
KEY_CACHE = Cache("myisam", "MyISAM's key cache", 8 * MB, 2 * MB, 1024)
FILES = WarmTable("shop", "old", "MyISAM", (), (), 4 * MB)
SURVEY = Survey("mariadb", "10.11.19", (FILES,), (POOL, KEY_CACHE))
STATUS = Status(
    SURVEY,
    (
        Coverage("shop.orders", "k", 64, 128, 16384),
        Coverage("shop.orders", "PRIMARY", 640, 640, 16384),
        Coverage("shop.small", None, 3, None, 16384, "ROW_FORMAT=COMPRESSED"),
        Coverage(OTHERS, None, 5, None, 16384),
    ),
    None,
    (FilePart("shop.old", "MyISAM", "rows", MB, 4 * MB), FilePart("shop.e", "Aria", "rows", 0, 0)),
)


def test_a_table_with_bars() -> None:
    caches, tables, files = (
        [re.split("  +", line) for line in part.splitlines()[1:]]
        for part in as_text(STATUS).split("\n\n")[1:]
    )
    assert caches[0] == ["InnoDB's buffer pool", "32 MiB", "128 MiB", "██▌", "25%"]
    assert caches[1] == ["MyISAM's key cache", "2 MiB", "8 MiB", "██▌", "25%"]
    assert tables[0] == ["shop.orders", "PRIMARY", "10 MiB", "10 MiB", "██████████ 100%"]
    assert tables[1] == ["shop.orders", "k", "1 MiB", "2 MiB", "█████", "50%"]
    assert tables[2:4] == [["shop.small", "48 KiB", "unknown"], ["(others)", "80 KiB", "unknown"]]
    assert "shop.small" in tables[4][0] and "ROW_FORMAT=COMPRESSED" in tables[4][0]
    assert files[0] == ["shop.old", "rows (MyISAM)", "1 MiB", "4 MiB", "██▌", "25%"]
    assert files[1] == ["shop.e", "rows (Aria)", "0 B", "0 B"]


def test_unknown_values_have_a_reason() -> None:
    text = as_text(Status(SURVEY, why_not="it is elsewhere", files_why_not="elsewhere"))
    assert "buffer pool is unknown: it is elsewhere." in text
    assert "page cache is unknown: elsewhere." in text


def test_json_has_bytes_pages_and_shares() -> None:
    document = json.loads(as_json(STATUS))
    assert document["innodb"]["parts"][0] == {
        "table": "shop.orders",
        "index": "k",
        "resident_pages": 64,
        "pages": 128,
        "page_bytes": 16384,
        "share": 0.5,
        "why_not": None,
    }
