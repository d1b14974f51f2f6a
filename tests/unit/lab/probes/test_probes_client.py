"""The rule of the client-limited mark, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from fake_load import done_of
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.lab.probes.checks import against_ceiling, why_client_limited

CEILING = {"qps": 100_000.0, "cpu_us_per_query": 10.0, "workers": 1, "n": 5}


def done(qps: float, cpu_us: float = 10.0, **more: Any) -> dict[str, Any]:
    plan = {"load": {"connections": 8, "measure_s": 1.0}}
    return done_of(plan, qps=qps, client={"cpu_us": cpu_us * qps}, **more)


def share(asked: float, cpu_us: float = 10.0, **ceiling: Any) -> float:
    return float(against_ceiling({**CEILING, **ceiling}, done(asked, cpu_us))["share"])


def limited(qps: float, cpu_us: float = 10.0, **more: Any) -> str | None:
    run = done(qps, cpu_us, **more)
    return why_client_limited(run, {"calibration": against_ceiling(CEILING, run)})


class TestShare:
    def test_it_is_of_the_ceiling(self) -> None:
        assert share(30_000) == pytest.approx(0.3)

    @pytest.mark.parametrize("cpu_us", [1.0, 9.0, 10.0, 11.0])
    def test_a_tenth_more_cpu_changes_nothing_and_less_never_helps(self, cpu_us: float) -> None:
        assert share(30_000, cpu_us) == pytest.approx(0.3)

    def test_where_the_thread_is_the_ceiling_twice_the_cost_is_half_of_it(self) -> None:
        # 10 µs a query and 100,000 queries a second: the thread does nothing else.
        assert share(30_000, 20.0) == pytest.approx(0.6)

    def test_where_the_way_is_the_ceiling_the_cost_adds_to_it(self) -> None:
        # 50 µs there and back, 10 of them CPU: 5 µs more make it 55.
        assert share(10_000, 15.0, qps=20_000) == pytest.approx(10_000 * 55e-6)

    def test_several_workers_bear_it_together(self) -> None:
        alone, together = share(30_000, 20.0), share(30_000, 20.0, workers=2)
        assert alone > together == pytest.approx(0.3 + 30_000 * 5e-6)

    def test_a_run_without_queries_has_no_share(self) -> None:
        assert share(0) == 0

    def test_the_record_has_what_it_was_compared_with(self) -> None:
        found = against_ceiling(CEILING, done(30_000, 20.0))
        assert CEILING.items() <= found.items()
        assert found["cpu_ratio"] == pytest.approx(2.0)
        assert found["qps_here"] == pytest.approx(50_000)

    @settings(deadline=None)
    @given(
        qps=st.floats(1, 1e6),
        cpu_us=st.floats(0.1, 1e4),
        ceiling=st.floats(1, 1e6),
        usual_us=st.floats(0.1, 1e4),
    )
    def test_it_grows_with_the_load_and_never_falls_below_the_plain_share(
        self, qps: float, cpu_us: float, ceiling: float, usual_us: float
    ) -> None:
        one = {**CEILING, "qps": ceiling, "cpu_us_per_query": usual_us}
        run = done_of({"load": {"connections": 1, "measure_s": 1e4}}, qps=qps)
        run["client"] = {"cpu_us": cpu_us * run["queries"]}
        found = against_ceiling(one, run)
        assert found["share"] >= qps / ceiling * (1 - 1e-9)
        assert found["qps_here"] <= ceiling * (1 + 1e-9)


class TestMark:
    def test_below_half_of_the_ceiling_the_client_is_not_the_bottleneck(self) -> None:
        assert limited(49_900) is None

    def test_above_it_is_marked_with_the_figures(self) -> None:
        reason = limited(50_100) or ""
        assert reason.startswith("50,100 ") and "50% of the 100,000" in reason

    def test_a_dearer_query_is_told(self) -> None:
        reason = limited(30_000, 20.0) or ""
        assert "60% of the 50,000" in reason and "2.0 times the CPU" in reason

    def test_a_busy_thread_is_enough_without_a_calibration(self) -> None:
        run = done(1_000, client_busiest_thread_share=0.86)
        assert "contend-load was busy 86%" in (why_client_limited(run, {}) or "")
        run = done(1_000, client_busiest_thread_share=0.85)
        assert why_client_limited(run, {}) is None

    def test_both_signs_are_told(self) -> None:
        reason = limited(80_000, client_busiest_thread_share=0.9) or ""
        assert "busiest thread" in reason
        assert "80% of the 100,000" in reason
