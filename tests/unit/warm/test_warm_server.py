"""Whether a server was restarted, by what two readings of it say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contend.warm.work import Life, was_restarted

BEFORE = Life(started_at=1_000_000, connections=40, pid=17)


@pytest.mark.parametrize(
    ("now", "restarted"),
    [
        (Life(started_at=1_000_000, connections=55, pid=17), False),
        (Life(started_at=1_000_001, connections=55, pid=17), False),
        (Life(started_at=1_000_000, connections=55, pid=None), False),
        (Life(started_at=1_000_000, connections=3, pid=17), True),
        (Life(started_at=1_000_003, connections=55, pid=17), True),
        (Life(started_at=1_000_000, connections=55, pid=18), True),
    ],
)
def test_one_sign_is_enough(now: Life, restarted: bool) -> None:
    assert was_restarted(BEFORE, now) is restarted


def test_a_process_that_was_not_known_says_nothing() -> None:
    assert not was_restarted(replace(BEFORE, pid=None), BEFORE)
