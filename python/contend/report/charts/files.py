"""Charts as files: the specifications of the page, drawn as SVG and PNG without a browser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import vl_convert

from contend.report.charts.theme import THEMES
from contend.report.model import Chart

VEGA_LITE_VERSION = "6.4"
_PNG_SCALE = 2.0


def svg(chart: Chart) -> str:
    return str(
        vl_convert.vegalite_to_svg(
            chart.spec,
            vl_version=VEGA_LITE_VERSION,
            config=THEMES["light"],
            allowed_base_urls=[],
        )
    )


def write_files(charts: Iterable[Chart], drawings: Mapping[str, str], folder: Path) -> list[Path]:
    """Write each chart as `ID.svg`, which is its drawing, and `ID.png`; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in charts:
        image, raster = folder / f"{chart.id}.svg", folder / f"{chart.id}.png"
        image.write_text(drawings[chart.id], encoding="utf-8")
        raster.write_bytes(vl_convert.svg_to_png(drawings[chart.id], scale=_PNG_SCALE))
        written += [image, raster]
    return written
