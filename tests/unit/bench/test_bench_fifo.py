"""The truth that `bench/open_loop.py` compares with: `bench/fifo.py`."""

from __future__ import annotations

import numpy as np
import pytest
from bench_module import bench_module

fifo = bench_module("fifo")


def test_the_first_free_server_takes_the_next_event() -> None:
    path = fifo.sample_path([0, 1, 2, 3, 50], [10, 4, 6, 1, 2], servers=2)
    # The second is done at 5, the third with it at 11; the first at 10, and the fourth follows.
    assert path.wait.tolist() == [0, 0, 3, 7, 0]
    assert path.response.tolist() == [10, 4, 9, 8, 2]


def test_the_window_takes_events_by_their_arrival() -> None:
    path = fifo.sample_path([0, 1, 2, 3], [10, 10, 10, 10], servers=1).between(1, 3)
    assert path.arrival.tolist() == [1, 2]
    assert path.wait.tolist() == [9, 18]


@pytest.mark.parametrize("load", [0.3, 0.8, 0.95])
def test_erlang_c_is_known_for_one_and_two_servers(load: float) -> None:
    assert fifo.erlang_c(1, load) == pytest.approx(load)
    assert fifo.erlang_c(2, load) == pytest.approx(2 * load**2 / (1 + load))
    assert fifo.mean_wait(1, load, 10.0) == pytest.approx(10 * load / (1 - load))


def test_erlang_c_is_known_for_sixteen_servers() -> None:
    # 1,280 events/s of 10 ms: the figure that the one queue of an open loop is held against.
    assert fifo.mean_wait(16, 0.8, 10.0) == pytest.approx(0.953, abs=0.001)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (4, 0.7), (16, 0.8)])
def test_long_paths_agree_with_erlang_c(servers: int, load: float) -> None:
    chance = np.random.default_rng(7)
    batches, events = 20, 20_000
    arrivals = np.cumsum(chance.exponential(1 / (servers * load), batches * events))
    path = fifo.sample_path(arrivals, chance.exponential(1, batches * events), servers)
    means = path.wait.reshape(batches, events).mean(axis=1)
    error = means.std(ddof=1) / np.sqrt(batches)
    expected = fifo.mean_wait(servers, load, 1.0)
    assert abs(means.mean() - expected) < 4 * error
    # It could tell an error of a seventh.
    assert 4 * error < expected / 7


def test_a_quantile_is_a_value_that_was_seen() -> None:
    values = np.arange(1.0, 201.0)
    assert fifo.quantile(values, 0.99) == 198.0
