"""Stops: the first ends the work, and shielded parts are completed."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from contend import errors
from contend.errors import ENOUGH, WorkError, shielded, watched

STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def are_watched() -> Iterator[None]:
    touched = [*STOPS, signal.SIGALRM]
    before = [signal.getsignal(stop) for stop in touched]
    with watched():
        yield
    assert [signal.getsignal(stop) for stop in touched] == before


def test_an_alarm_of_other_code_is_left_alone() -> None:
    # A limit of the test's own may be set; it is taken over and given back.
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with watched(), contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, left_s)


@pytest.mark.parametrize("stop", STOPS)
def test_only_the_first_signal_ends_the_work(stop: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(stop)
    for another in STOPS:
        signal.raise_signal(another)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_shielded_part_is_completed(count: int) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):
        with shielded():
            with shielded():
                for _ in range(count):
                    signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")
        done.append("behind")
    assert done == ["inner", "outer"]


def test_on_the_way_out_a_shield_raises_nothing_more() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with shielded():
        signal.raise_signal(signal.SIGTERM)


def test_an_error_of_the_part_is_the_cause_of_the_stop() -> None:
    with pytest.raises(KeyboardInterrupt) as stopped, shielded():
        signal.raise_signal(signal.SIGINT)
        raise WorkError("it could not be put back")
    assert isinstance(stopped.value.__cause__, WorkError)
    with pytest.raises(WorkError), shielded():
        raise WorkError("nobody stopped it")


def test_a_third_signal_limits_each_step(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(errors, "LIMIT_S", 0.05)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), shielded():
            for _ in range(ENOUGH):
                signal.raise_signal(signal.SIGINT)
            time.sleep(60)
            raise AssertionError("it was let sleep")
    assert capfd.readouterr().err.count("cleaning up") == 1


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with watched():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_are_not_shielded() -> None:
    done = []

    def part() -> None:
        with shielded():
            done.append(1)

    thread = threading.Thread(target=part)
    thread.start()
    thread.join()
    assert done == [1]
