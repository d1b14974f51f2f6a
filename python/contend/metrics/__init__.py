"""The figures of a run that can be compared: by name, with unit and direction.

    metric = metric_of("response_us_p99")
    metric.value(run)                 # µs, or None if this run does not have it

Names end in their unit or the quantity that they count: `qps`, `response_us_p99`,
`server_cpu_us_per_query`, `status.Handler_read_key_per_query`, `statement.NAME.qps`,
`event.NAME.response_us_p99`. docs/reference/metrics.md lists them for users.
"""

from contend.metrics.model import EVENTS, SECONDS, THROUGHPUT, Metric, Run
from contend.metrics.names import (
    ALWAYS_SHOWN,
    COSTS,
    FIXED,
    KEY_REQUESTS,
    PERCENTILES,
    UnknownMetric,
    metric_of,
    names_in,
)
from contend.metrics.read import DISTURBANCES
