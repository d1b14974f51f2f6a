"""`contend warm --status` as it is shown."""

from __future__ import annotations

import json
from dataclasses import replace

from contend.cli.warm_display import as_json, as_text
from contend.warm.model import Cache, Survey, WarmTable
from contend.warm.myisam import FilePart
from contend.warm.pool import LIST, OTHERS, Coverage, Held
from contend.warm.status import KeyCache, Misses, Rate, Status

MB = 1 << 20
POOL = Cache("innodb", "InnoDB's buffer pool", 128 * MB, 32 * MB, 16384)
FILES = WarmTable("shop", "old", "MyISAM", (), (), 4 * MB)
SURVEY = Survey("mariadb", "10.11.19", (FILES,), (POOL,))
STATUS = Status(
    SURVEY,
    SURVEY.caches,
    Held(
        (
            Coverage("shop.orders", "k", 64, 128, 16384),
            Coverage("shop.orders", "PRIMARY", 640, 640, 16384),
            Coverage("shop.small", None, 3, None, 16384, "ROW_FORMAT=COMPRESSED"),
            Coverage(OTHERS, None, 5, None, 16384),
        ),
        LIST,
    ),
    (KeyCache("default", 8 * MB, 2 * MB),),
    (FilePart("shop.old", "MyISAM", "rows", MB, 4 * MB),),
    None,
    (),
    (
        Misses("innodb", Rate(10_000, 900), Rate(12_000, 600)),
        Misses("aria", Rate(0, 0), Rate(0, 0)),
    ),
)


def test_a_table_with_bars() -> None:
    assert (
        as_text(STATUS)
        == """\
MariaDB 10.11.19

cache                   used       of
InnoDB's buffer pool  32 MiB  128 MiB  ██▌         25%
key cache default      2 MiB    8 MiB  ██▌         25%

table        index    in the buffer pool         of
shop.orders  PRIMARY              10 MiB     10 MiB  ██████████ 100%
shop.orders  k                     1 MiB      2 MiB  █████       50%
shop.small                        48 KiB  not known
(others)                          80 KiB  not known
(from the list of pages that the server wrote, and its files)
The indexes of shop.small are not told apart: ROW_FORMAT=COMPRESSED.

table     files          in the page cache     of
shop.old  rows (MyISAM)              1 MiB  4 MiB  ██▌         25%

misses                first reading             second reading
InnoDB's buffer pool  900/s, 9.00% of requests  600/s, 5.00% of requests  falling: it gets warmer
"""
    )


def test_what_is_not_known_says_why() -> None:
    away = Status(
        SURVEY, SURVEY.caches, Held((), None, "it is elsewhere"), (), (), "elsewhere", (), ()
    )
    text = as_text(away)
    assert "not known: it is elsewhere." in text
    assert "page cache is not known: elsewhere." in text
    assert "there is no miss rate" in text


def test_a_table_without_files_is_not_called_warm() -> None:
    lost = replace(STATUS, files=(FilePart("shop.e", "MyISAM", "rows", 0, 0),),
                   without_files=("shop.old",))  # fmt: skip
    text = as_text(lost)
    assert "How much of shop.old is in the page cache is not known: no file of it was found" in text
    assert "%" not in next(line for line in text.splitlines() if line.startswith("shop.e "))


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
    assert document["misses"][0]["readings"][1]["miss_share"] == 0.05
