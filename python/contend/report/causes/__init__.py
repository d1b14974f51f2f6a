"""Analyses of the cause, by the name that `experiment.explain` gives. One a file."""

from __future__ import annotations

from contend.report.causes.base import Explanation
from contend.report.causes.segmented_key_cache import SegmentedKeyCache

EXPLANATIONS: dict[str, Explanation] = {"segmented-key-cache": SegmentedKeyCache()}

PLAIN = Explanation()


def explanation_of(name: str | None) -> Explanation:
    """The named analysis, or the plain one. A name from a newer contend is no reason to fail."""
    return EXPLANATIONS.get(name or "", PLAIN)


__all__ = ["EXPLANATIONS", "Explanation", "explanation_of"]
