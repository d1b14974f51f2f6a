"""Made-up runs of a model server: what it counts of its locks."""

from __future__ import annotations

from dataclasses import replace

from synthetic_run import SEGMENTS

from contend.store import RunRecord


def of_model(record: RunRecord) -> RunRecord:
    """What a model server counts: one lock of which 30 % of the visits wait, or four that share
    them; each held for 80 ns a visit, of which one in ten was timed."""
    segments = record.cell[SEGMENTS]
    split = (400, 300, 200, 100) if segments else (1000,)
    waits = 0.05 if segments else 0.3
    counted = [
        {
            "segment": number,
            "visits": visits,
            "waits": round(visits * waits),
            "sampled": visits // 10,
            "held_ns": 8 * visits,
            "waited_ns": 0,
        }
        for number, visits in enumerate(split)
    ]
    rows = [{"segment": n, "read_requests": visits} for n, visits in enumerate(split, 1)]
    server = {**record.probes["server"], "kind": "model", "without_effect": ["query_cache_type"]}
    probes = {
        **record.probes,
        "server": server,
        "model": {"queries": 10, "segments": counted},
        "key_caches": rows if segments else [{"segment": None, "read_requests": 1000}],
    }
    return replace(record, probes=probes)
