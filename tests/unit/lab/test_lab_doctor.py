"""What a run says of doctor's findings before it measures."""

from __future__ import annotations

from typing import Any

import pytest

from contend.lab.session import found_in_words


def record(name: str, severity: str, ignored: str | None = None) -> Any:
    return {"id": name, "severity": severity, "ignored": ignored}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], None),
        ([record("smt", "note")], None),
        ([record("governor", "warning", "it stays")], None),
        (
            [record("barriers", "severe"), record("governor", "warning"), record("thp", "warning")],
            "doctor found on this host severe: barriers; warning: governor, thp "
            "(`contend doctor` says what they cost)",
        ),
    ],
)
def test_a_line_if_there_is_something_to_say(found: list[Any], words: str | None) -> None:
    assert found_in_words(found) == words
