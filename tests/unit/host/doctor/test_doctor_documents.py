"""Documents of doctor: kept, ignored, read again, compared, and the words for all that."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_pairs import Case, served, server

from contend.errors import RequestError
from contend.host.doctor import (
    CHECKS,
    HostDocument,
    compare,
    examine,
    lines_of,
    lines_of_comparison,
    lines_of_explanation,
    read_document,
    short_form,
)
from contend.host.doctor.document import ignored_of
from contend.metrics.host import UNITS, Measure
from contend.metrics.probed import CheckRecord


def document(roots: Path, host: str, **measured: Measure) -> HostDocument:
    return examine(Case(host, measured=measured).subject(roots))


def test_every_check_says_why_what_it_costs_and_what_mends_it() -> None:
    for check in CHECKS:
        assert check.why.endswith("."), check.id
        assert check.costs.endswith("."), check.id
        assert check.mend, check.id
        assert check.measure is None or check.measure in UNITS, check.id
        said = "\n".join(lines_of_explanation(check))
        assert said.startswith(f"{check.id}: "), check.id


def test_a_document_is_read_as_it_was_written(roots: Path, tmp_path: Path) -> None:
    found = document(roots, "docker", fsync_us=Measure(400.0, 300.0, 600.0))
    file = tmp_path / "a.json"
    file.write_text(json.dumps(found))
    again = read_document(file)
    assert compare(again, found) == []
    assert again["measured"]["fsync_us"] == [400.0, 300.0, 600.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Expecting value"),
        ("[]", "list indices"),
        ('{"format": 9}', "format 9"),
        ('{"format": 1, "checks": [{"id": 1, "state": {}}]}', "unexpected form"),
        ('{"format": 1, "checks": [], "measured": {"fsync_us": [1]}}', "missing"),
    ],
)
def test_what_is_no_document_is_refused(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    with pytest.raises(RequestError, match=says):
        read_document(file)
    with pytest.raises(RequestError, match="cannot be read"):
        read_document(tmp_path / "none.json")


def test_what_is_ignored_is_shown_with_its_reason(roots: Path) -> None:
    subject = Case("docker").subject(roots)
    found = examine(subject, ignored_of(["cpu-quota=it is the tariff = ours"]))
    lines = "\n".join(lines_of(found))
    assert "ignored (1)" in lines
    assert "[warning; it is the tariff = ours]" in lines
    # A reason for what was not found hides nothing.
    assert "ignored" not in "\n".join(lines_of(examine(subject, ignored_of(["ksm=x"]))))


@pytest.mark.parametrize(
    ("text", "says"), [("cpu-quota", "gives no reason"), ("ksm= ", "reason"), ("cpu=x", "no check")]
)
def test_an_ignore_without_a_reason_or_of_no_check_is_refused(text: str, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        ignored_of([text])


def test_what_was_measured_is_said_and_what_was_not_too(roots: Path) -> None:
    costs = {
        check["id"]: check["cost"]
        for check in document(roots, "docker", fsync_us=Measure(400, 300, 600))["checks"]
    }
    assert costs["filesystem"].startswith("Measured here: ")
    assert "400 µs (300 to 600)" in costs["filesystem"]
    assert costs["governor"].startswith("Not measured here. ")


def test_the_dearest_difference_comes_first_and_what_was_not_measured_last(roots: Path) -> None:
    one = document(
        roots,
        "bare metal",
        fsync_us=Measure(100, 90, 120),
        clock_ns=Measure(25, 25, 30),
        memory_ns=Measure(90, 80, 100),
        wake_us=Measure(20, 15, 25),
    )
    other = document(
        roots,
        "aws",
        fsync_us=Measure(900, 700, 1200),
        clock_ns=Measure(1000, 900, 1100),
        memory_ns=Measure(95, 85, 105),
        wake_us=Measure(60, 50, 70),
    )
    found = compare(one, other)
    ratios = [difference.ratio for difference in found]
    assert found[0].id == "clock-source"
    assert ratios[0] == pytest.approx(40)
    measured = [ratio for ratio in ratios if ratio is not None]
    assert measured == sorted(measured, reverse=True)
    assert ratios == [*measured, *[None] * (len(ratios) - len(measured))]
    ids = [difference.id for difference in found if difference.ratio is None]
    assert "smt" in ids
    # A flush is slower, and nothing that was looked at says why.
    assert any(d.id is None and "flush" in d.title and d.ratio == 9 for d in found)
    words = "\n".join(lines_of_comparison(one, other, found))
    assert words.index("costliest first") < words.index("not measured on both")
    assert "9 times as much on B" in words


def test_measures_that_overlap_are_no_difference(roots: Path) -> None:
    one = document(roots, "bare metal", fsync_us=Measure(100, 60, 200))
    other = document(roots, "bare metal", fsync_us=Measure(150, 100, 300))
    assert compare(one, other) == []
    words = "\n".join(lines_of_comparison(one, other, []))
    assert "no difference" in words


@pytest.mark.parametrize(("measured", "says"), [(("A",), "B: not"), ((), "A and B: not")])
def test_a_comparison_says_where_nothing_was_measured(
    roots: Path, measured: tuple[str, ...], says: str
) -> None:
    one, other = (
        document(
            roots, "bare metal", **({"wake_us": Measure(20, 15, 25)} if side in measured else {})
        )
        for side in ("A", "B")
    )
    words = "\n".join(lines_of_comparison(one, other, compare(one, other)))
    assert f"\n{says}" in words


def test_the_short_form_names_what_it_did_not_measure_in_a_line(roots: Path) -> None:
    def said(found: HostDocument) -> list[str]:
        lines = "\n".join(lines_of(found))
        assert ("because of --short" in lines) == (not found["measured"])
        return [one for one in lines.splitlines() if "steal: not measured" in one]

    assert said(document(roots, "bare metal")) == []
    # What could not be measured is told with its reason.
    assert said(document(roots, "bare metal", wake_us=Measure(20, 15, 25))) != []


def test_two_servers_are_compared_by_their_settings(roots: Path) -> None:
    subject = served().subject(roots)
    one, other = (
        examine(replace(subject, server=each))
        for each in (server(), server(innodb_flush_log_at_trx_commit="2"))
    )
    (found,) = compare(one, other)
    assert (found.id, found.ratio) == ("server-flush", None)


def test_the_short_form_measures_nothing_and_tells_what_was_found(tmp_path: Path) -> None:
    found = short_form(tmp_path, {})
    assert all(one.keys() == CheckRecord.__annotations__.keys() for one in found)
    ids = {check.id for check in CHECKS if check.in_short}
    assert {one["id"] for one in found} <= ids
    order = ["severe", "warning", "note"]
    ranks = [order.index(str(one["severity"])) for one in found]
    assert ranks == sorted(ranks)
    # It is this host's, of which some note is always there or nothing is.
    assert json.dumps(found)


def test_the_guide_names_every_check() -> None:
    page = (Path(__file__).parents[4] / "docs/guides/doctor.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert rows.keys() == {check.id for check in CHECKS}
    for check in CHECKS:
        assert check.title in rows[check.id]
