"""The nearest known name."""

from __future__ import annotations

import pytest

from contend.errors import nearest

OPTIONS = (
    *("innodb_buffer_pool_stats", "innodb_flush_log_at_trx_commit", "innodb_io_capacity"),
    *("innodb_read_only", "innodb_trx", "key_cache_segments", "max_connections"),
    *("sort_buffer_size", "workload.points", "server.knobs.delay_us", "server.knobs.stall_ms"),
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sort_bufer_size", "sort_buffer_size"),
        ("Sort-Buffer_Sizes", "sort_buffer_size"),
        ("sort_size", "sort_buffer_size"),
        ("inodb_io_capacity", "innodb_io_capacity"),
        ("flush_log_at_trx_commit", "innodb_flush_log_at_trx_commit"),
        ("max_conections", "max_connections"),
        ("key_cache_segmnts", "key_cache_segments"),
        ("workload.point", "workload.points"),
        ("points", "workload.points"),
        ("server.knobs.delay_ms", "server.knobs.delay_us"),
        ("innodb_thread_concurrency", None),
        ("innodb_support_xa", None),
        ("innodb_buffer_pool_instances", None),
        ("xyzzy", None),
    ],
)
def test_similar_names(name: str, meant: str | None) -> None:
    assert nearest(name, OPTIONS) == meant
