"""The page of candidates shows the texts of the candidates."""

from __future__ import annotations

import math
import os
from pathlib import Path

from made_up_pairs import SIGNS

from contend.why.candidate import Candidate, Proposal, Sign
from contend.why.candidates import CANDIDATES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "candidates.md"

HEAD = (
    "# Candidates: causes that an experiment can try\n\n"
    "The causes that [`contend why`](../guides/why.md) looks for and tries, in its order. "
    "`CONTEND_UPDATE_GOLDEN=1 pytest tests/golden/test_golden_candidates.py` writes this page "
    "from the files in `python/contend/why/candidates/`. Doses and placebos depend on the pair; "
    "here they are those of made-up pairs on a host with 2 CPUs and 2 memory nodes, most of them "
    "with 8 connections.\n\n"
    "A sign is a metric of the slower side, of the faster side, of the side with more of it, or "
    "the slower side's divided by the faster side's. All signs of a candidate must hold.\n"
)

_AT = {
    "slower": "slower side",
    "faster": "faster side",
    "either": "either side",
    "over": "slower over faster",
}


def bounds(sign: Sign) -> str:
    low = "" if sign.least == -math.inf else f"at least {sign.least:g}"
    high = "" if sign.most == math.inf else f"at most {sign.most:g}"
    known = ", if a diagnostic pass was run (`contend run … --budget`)" if sign.if_known else ""
    return " and ".join(filter(None, (low, high))) + known


def section(one: Candidate) -> str:
    has_it, _ = SIGNS[one.name]
    proposal = one.propose(has_it)
    lines = [f"## `{one.name}`", "", f"{one.title[0].upper()}{one.title[1:]}.", ""]
    lines.append(f"- **Limits** {one.limit}.")
    if one.contains:
        names = ", ".join(f"`{name}`" for name in one.contains)
        lines.append(f"- **Contains** {names}: it must take away more than that.")
    lines += [f"- **Sign**, {_AT[s.at]}: `{s.name}` {bounds(s)}." for s in one.signature]
    if isinstance(proposal, Proposal):
        lines += [
            f"- **Dose {number}**: {dose.words}. {changes(dose.sets)}"
            for number, dose in enumerate(proposal.doses, start=1)
        ]
        lines.append(f"- **Placebo**: {proposal.placebo.words}. {changes(proposal.placebo.sets)}")
        lines.append(f"- **Predicted**: removes at least {proposal.least:.0%} of the difference.")
    else:
        lines.append(f"- **Never tried**: {proposal}.")
    return "\n".join([*lines, f"- **Refuted by** {one.refuted_by}.", ""])


def changes(sets: object) -> str:
    assert isinstance(sets, dict)
    return ", ".join(f"`{path}` = `{value}`" for path, value in sets.items())


def test_the_page_lists_every_candidate() -> None:
    text = "\n".join([HEAD, *map(section, CANDIDATES.values())])
    if os.environ.get("CONTEND_UPDATE_GOLDEN"):
        PAGE.write_text(text)
    assert text == PAGE.read_text()
