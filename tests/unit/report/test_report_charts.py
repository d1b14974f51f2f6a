"""Charts compile and draw, whatever the levels are."""

from __future__ import annotations

from pathlib import Path

import pytest
import vl_convert
from shown import report_of
from synthetic_run import write_run

from contend.experiment import load_experiment
from contend.report import Report
from contend.report.html import all_charts
from contend.report.images import VEGA_LITE_VERSION, svg
from contend.sections.chart_style import THEMES


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", sorted(THEMES))
def test_colours_can_be_told_from_the_background(theme: str) -> None:
    config = THEMES[theme]
    for colour in config["range"]["category"]:
        assert contrast(colour, config["background"]) >= 3
    for colour in (config["axis"]["labelColor"], config["legend"]["labelColor"]):
        assert contrast(colour, config["background"]) >= 4.5


def test_every_chart_compiles_without_a_warning(
    study_report: Report, capfd: pytest.CaptureFixture[str]
) -> None:
    for chart in all_charts(study_report):
        vl_convert.vegalite_to_vega(chart.spec, vl_version=VEGA_LITE_VERSION, show_warnings=True)
        assert chart.alt and chart.caption
    assert capfd.readouterr().err == ""


def test_published_curves_are_drawn_beside_ours(study_report: Report) -> None:
    gain = next(chart for chart in study_report.charts if chart.id == "change-qps-10-points")
    sources = {value.get("source") for value in gain.spec["data"]["values"]}
    assert sources == {"this machine", "pitbull (published)", "perro (published)"}
    measured = [v for v in gain.spec["data"]["values"] if v["source"] == "this machine"]
    assert len(measured) == 14 and all(v["low"] < v["value"] < v["high"] for v in measured)


@pytest.mark.parametrize(
    "factors",
    [
        '"load.protocol" = ["prepared", "text"]',
        '"load.protocol" = ["prepared", "text"]\n"workload.points" = [10, 100]',
        '"workload.points" = [10, 50, 100]\n"load.connections" = [8]',
    ],
)
def test_names_and_single_columns_are_drawn_too(tmp_path: Path, factors: str) -> None:
    source = f'[workload]\nkind = "random_points"\n[load]\nconnections = 8\n[factors]\n{factors}\n'
    first = factors.partition("=")[0].strip()
    level = '"prepared"' if "protocol" in first else "10"
    source += f"[compare]\nbaseline = {{ {first} = {level} }}\nrepeats = 3\n"
    (tmp_path / "named.toml").write_text(source)
    path = write_run(tmp_path / "run", load_experiment(str(tmp_path / "named.toml")))
    report = report_of(path)
    assert {chart.kind for chart in report.charts} >= {"Throughput", "Response time"}
    for chart in report.charts:
        drawing = svg(chart)
        assert drawing.startswith("<svg") and "NaN" not in drawing and "undefined" not in drawing
