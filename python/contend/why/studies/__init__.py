"""The studies that an experiment may name with `explain`: one file and one line here for each."""

from contend.why.candidate import Candidate
from contend.why.studies import (
    buffer_pool_warmup,
    concurrency,
    engines,
    query_cache,
    segmented_key_cache,
    steps,
)

STUDIES: dict[str, Candidate] = {
    one.CANDIDATE.name: one.CANDIDATE
    for one in (
        *(segmented_key_cache, concurrency, query_cache, engines, buffer_pool_warmup, steps),
    )
}

BY_SECONDS = frozenset({buffer_pool_warmup.CANDIDATE.name})
"""Those that read runs interval by interval."""
