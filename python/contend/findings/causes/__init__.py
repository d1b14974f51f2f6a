"""Every cause, by the name that `experiment.explain` gives: one file and one line here."""

from contend.findings.causes.buffer_pool_warmup import WARM_UP
from contend.findings.causes.concurrency import CONCURRENCY
from contend.findings.causes.engines import ENGINES
from contend.findings.causes.query_cache import QUERY_CACHE
from contend.findings.causes.segmented_key_cache import KEY_CACHE
from contend.findings.causes.steps import STEPS
from contend.findings.evidence import Cause

CAUSES: dict[str, Cause] = {
    cause.name: cause for cause in (KEY_CACHE, CONCURRENCY, QUERY_CACHE, ENGINES, WARM_UP, STEPS)
}
