"""Which options empty the cache of an engine, and what fills it again within moments."""

from __future__ import annotations

import pytest

from contend.warm.model import disturbs
from contend.warm.myisam import reloading


@pytest.mark.parametrize(
    ("engine", "option", "empties"),
    [
        ("MyISAM", "key_cache_segments", True),
        ("MyISAM", "key_buffer_size", True),
        ("MyISAM", "max_connections", False),
        ("InnoDB", "innodb_buffer_pool_size", True),
        ("InnoDB", "key_buffer_size", False),
        ("RocksDB", "rocksdb_block_cache_size", True),
        ("MEMORY", "key_buffer_size", False),
    ],
)
def test_which_options_empty_the_cache(engine: str, option: str, empties: bool) -> None:
    assert disturbs(engine, ["other", option]) is empties


def test_a_key_cache_alone_is_filled_again_within_moments() -> None:
    assert reloading("MyISAM", ["a", "b`c"]) == (
        "LOAD INDEX INTO CACHE `a`",
        "LOAD INDEX INTO CACHE `b``c`",
    )
    assert reloading("InnoDB", ["a"]) is None
