"""Every cause, by the name that `experiment.explain` gives: one file and one line here."""

from contend.why.evidence import Cause
from contend.why.studies.buffer_pool_warmup import WARM_UP
from contend.why.studies.concurrency import CONCURRENCY
from contend.why.studies.engines import ENGINES
from contend.why.studies.query_cache import QUERY_CACHE
from contend.why.studies.segmented_key_cache import KEY_CACHE
from contend.why.studies.steps import STEPS

CAUSES: dict[str, Cause] = {
    cause.name: cause for cause in (KEY_CACHE, CONCURRENCY, QUERY_CACHE, ENGINES, WARM_UP, STEPS)
}
