"""Short phrases that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Sequence

from contend.report.model import CellComparison, Progress, Report


def progress_text(progress: Progress) -> str:
    """`504 of 504 measured`, and what became of the others."""
    parts = [f"{progress.measured} of {progress.planned} measured"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.lost:
        parts.append(f"{progress.lost} lost")
    if progress.state != "complete":
        parts.append(progress.state)
    return ", ".join(parts)


def notices_text(report: Report) -> str:
    """How many warnings and failures there are, in a sentence each; empty where there are none."""
    sentences = []
    failed, warned = sum(notice.runs for notice in report.failures), len(report.warnings)
    if failed:
        sentences.append(
            "1 run failed or was lost." if failed == 1 else f"{failed} runs failed or were lost."
        )
    if warned:
        sentences.append("There is 1 warning." if warned == 1 else f"There are {warned} warnings.")
    return " ".join(sentences)


def pairs_text(comparisons: Sequence[CellComparison]) -> str:
    """`n = 8 pairs each`, or the range where it varies."""
    sizes = [one.comparison.n for one in comparisons]
    fewest, most = min(sizes, default=0), max(sizes, default=0)
    return f"n = {most} pairs each" if fewest == most else f"n = {fewest} to {most} pairs"
