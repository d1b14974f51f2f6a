"""Gates in experiment files: how their limits are written, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from contend.experiment import Experiment, SpecError, from_dict, to_dict

Load = Callable[..., Experiment]

INSERT = "statement.insert.service_us_p50"


@pytest.mark.parametrize(
    ("typed", "limits"),
    [
        ("3%", {"qps": 0.03}),
        ("0.03", {"qps": 0.03}),
        ("throughput 3%, p99 10 %", {"qps": 0.03, "response_us_p99": 0.1}),
        ("p99=10%,throughput = 2.5%", {"response_us_p99": 0.1, "qps": 0.025}),
        (f"{INSERT} 10%", {INSERT: 0.1}),
        ("insert.p99 10%", {"event.insert.response_us_p99": 0.1}),
        (f'{{ throughput = "3 %", "{INSERT}" = 0.1 }}', {"qps": 0.03, INSERT: 0.1}),
    ],
)
def test_limits_by_metric(load: Load, typed: str, limits: dict[str, float]) -> None:
    experiment = load(sets=[f"compare.fail_if_slower={typed}"])
    assert experiment.compare.fail_if_slower == pytest.approx(limits)
    # The report shows what the gate is about, and the metric that decides comes first.
    assert experiment.compare.metric == tuple(dict.fromkeys(("qps", *limits)))
    assert from_dict(json.loads(json.dumps(to_dict(experiment)))) == experiment


def test_the_limit_alone_is_of_the_metric_that_decides(load: Load) -> None:
    sets = ("compare.fail_if_slower=3%", 'compare.metric=["response_us_p99", "qps"]')
    assert load(sets=sets).compare.fail_if_slower == {"response_us_p99": 0.03}


@pytest.mark.parametrize(
    ("typed", "message", "hint"),
    [
        ("thruput 3%", 'names "thruput", which is not a metric', '"throughput"'),
        ("latency_p99 3%", 'names "latency_p99", which is not a metric', '"response_us_p99"'),
        ("throughput 3%, qps 5%", "names qps twice", "one limit"),
        ("p99 3%, response_us_p99 5%", 'names "response_us_p99" twice', "one limit"),
        ("p99 10", "has no % after 10", "p99 10 %"),
        ("3", "has no % after 3", "3 %"),
        ("3%, p99 10%", 'has "3%" without a metric', "throughput 3 %"),
        ("p99 0%", "needs a slowdown of p99 above 0", None),
        ("-3%", "above 0 and below 100 %, not -3 %", None),
        ("p99 100%", "below 100 %", None),
        ("p99", 'must be a slowdown such as "3 %", or one for each metric, not "p99"', "3 %"),
        ("{}", "must be a slowdown", None),
        ("[0.1]", "must be a slowdown", None),
        ('{ p99 = "10" }', 'gives "p99" no slowdown in percent: "10"', "3 %"),
        (f'{{ {INSERT} = "10 %" }}', f"needs {INSERT} in quotes", INSERT),
    ],
)
def test_what_is_no_gate(load: Load, typed: str, message: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as refused:
        load(sets=[f"compare.fail_if_slower={typed}"])
    assert message in refused.value.message
    assert hint is None or hint in (refused.value.hint or "")


@pytest.mark.parametrize("metric", ["inserts.p99", "statement.inserts.service_us_p50"])
def test_a_statement_that_the_workload_does_not_have(load: Load, metric: str) -> None:
    workload = 'workload={kind="sql", text="""@insert\\nSELECT 1"""}'
    gate = "compare.fail_if_slower={} 10%"
    load(sets=[workload, gate.format(metric.replace("inserts", "insert"))])
    with pytest.raises(SpecError, match=r"compare\.fail_if_slower names .* no statement"):
        load(sets=[workload, gate.format(metric)])
