"""The record of a run, and the figures of it that can be compared: by name, unit and direction.

    metric = metric_of("response_us_p99")
    metric.value(run)                 # µs, or None if this run does not have it

Names end in their unit or the quantity that they count: `qps`, `response_us_p99`,
`server_cpu_us_per_query`, `status.Handler_read_key_per_query`, `statement.NAME.qps`,
`event.NAME.response_us_p99`. docs/reference/metrics.md lists them for users.

`plan` and `outcome` have the types of contend-load, `probed` those of the lab's own observations.
The room imports nothing from other rooms. Start in `names.py`.
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
