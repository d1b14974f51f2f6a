"""Charts drawn without a browser: as files, as small drawings for the page, and as a script.

All of it is done by vl-convert, which comes with `contend[images]` and is asked for when a chart
is drawn.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from contend.folders import default_cache
from contend.report.chart_style import THEMES
from contend.report.model import Chart

VEGA_LITE_VERSION = "6.4"
_PNG_SCALE = 2.0
_SVG = "{http://www.w3.org/2000/svg}"

WITHOUT_CHARTS = (
    "charts are left out, because the package that draws them is not installed: "
    "pip install 'contend[images]'"
)


def can_draw() -> bool:
    """Whether vl-convert is installed."""
    return importlib.util.find_spec("vl_convert") is not None


def _converter() -> ModuleType:
    import vl_convert

    return vl_convert


def svg(chart: Chart) -> str:
    """The chart as an SVG document."""
    return str(
        _converter().vegalite_to_svg(
            chart.spec,
            vl_version=VEGA_LITE_VERSION,
            config=THEMES["light"],
            allowed_base_urls=[],
        )
    )


def write_files(charts: Iterable[Chart], drawings: Mapping[str, str], folder: Path) -> list[Path]:
    """Write each chart as `ID.svg`, which is its drawing, and `ID.png`; returns the paths."""
    written = []
    for chart in charts:
        folder.mkdir(parents=True, exist_ok=True)
        image, raster = folder / f"{chart.id}.svg", folder / f"{chart.id}.png"
        image.write_text(drawings[chart.id], encoding="utf-8")
        raster.write_bytes(_converter().svg_to_png(drawings[chart.id], scale=_PNG_SCALE))
        written += [image, raster]
    return written


def script(charts: Iterable[Chart]) -> str:
    """The script that draws the charts of a page: their specifications, Vega, and our part.

    Vega-Lite is compiled here, which leaves a third of the script out of the page.
    """
    specs = {chart.id: _vega(chart) for chart in charts}
    data = {"charts": specs, "dark": _dark_for_light()}
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return f"window.chartData={text};{_bundle()}"


def _vega(chart: Chart) -> dict[str, Any]:
    """The chart in the light colours, without the title and the width that the page gives it."""
    spec = {key: value for key, value in chart.spec.items() if key != "title"}
    spec["autosize"] = {"type": "fit", "contains": "padding"}
    return dict(
        _converter().vegalite_to_vega(spec, vl_version=VEGA_LITE_VERSION, config=THEMES["light"])
    )


@cache
def _bundle() -> str:
    """Vega with our part. The address names the copy of Vega that vl-convert carries; of what it
    would import by itself, Vega-Lite and vega-embed among them, the page needs nothing.

    It takes a second to make and is always the same, so it is kept in the user's cache.
    """
    converter = _converter()
    vega = f"https://cdn.jsdelivr.net/npm/vega@{converter.get_vega_version()}/+esm"
    ours = (resources.files("contend.report") / "templates" / "charts.js").read_text("utf-8")
    source = f'import {{ View, parse }} from "{vega}";\n{ours}'
    made_of = f"{version('vl-convert-python')} {VEGA_LITE_VERSION} {source}"
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    kept = default_cache() / "charts" / f"{digest}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return kept.read_text("utf-8")
    made = str(converter.javascript_bundle(source, vl_version=VEGA_LITE_VERSION))
    # A report that cannot be kept is a report all the same.
    with contextlib.suppress(OSError):
        _keep(kept, made)
    return made


def _keep(path: Path, text: str) -> None:
    """Write a file as a whole: nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def _dark_for_light() -> dict[str, str]:
    """Each colour of the light theme with the one in its place in the dark theme."""
    light, dark = (re.findall(r"#[0-9a-f]{6}", json.dumps(THEMES[name])) for name in THEMES)
    return dict(zip(light, dark, strict=True))


_NOT_SEEN = ("class", "role", "pointer-events", "font-family", "stroke-miterlimit", "version")
_DEFAULTS = {
    *(("opacity", "1"), ("stroke-width", "1"), ("font-size", "12px"), ("font-weight", "normal")),
    ("transform", "translate(0,0)"),
}


def compact(drawing: str) -> str:
    """The same picture in a quarter of the size, for the page, whose style gives text its font.

    What cannot be seen goes (the targets of the pointer, groups of nothing, words for screen
    readers, which the page says itself), coordinates are rounded to a tenth, lines of one look
    become one path.
    """
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(drawing)
    for name in ("width", "height"):
        root.attrib.pop(name, None)  # it takes the size of its column
    _tidy(root)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _tidy(element: ElementTree.Element) -> None:
    for name, value in list(element.attrib.items()):
        if name in _NOT_SEEN or name.startswith("aria-") or (name, value) in _DEFAULTS:
            del element.attrib[name]
        elif name in ("d", "transform", "x", "y", "x2", "y2"):
            element.set(name, re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.1f}", value))
    kept: list[ElementTree.Element] = []
    for child in list(element):
        element.remove(child)
        if _is_empty(child):
            continue
        _tidy(child)
        if child.tag == f"{_SVG}line":
            child = _as_path(child)
        plain_group = child.tag == f"{_SVG}g" and not child.attrib
        kept += list(child) if plain_group else [child]
    for child in kept:
        if len(element) and _same_look(element[-1], child):
            element[-1].set("d", f"{element[-1].get('d')}{child.get('d')}")
        elif child.tag != f"{_SVG}g" or len(child):
            element.append(child)


def _is_empty(element: ElementTree.Element) -> bool:
    hidden = element.get("opacity") == "0" or element.get("display") == "none"
    backdrop = element.get("class") == "background" and not element.get("fill")
    return hidden or backdrop or (element.tag == f"{_SVG}path" and not element.get("d"))


def _as_path(line: ElementTree.Element) -> ElementTree.Element:
    place = re.fullmatch(r"translate\((-?[\d.]+),(-?[\d.]+)\)", line.get("transform", ""))
    if place is None and line.get("transform"):
        return line
    x, y = place.groups() if place else ("0", "0")
    to = f"l{line.get('x2', '0')},{line.get('y2', '0')}"
    look = {k: v for k, v in line.attrib.items() if k not in ("transform", "x2", "y2")}
    return ElementTree.Element(f"{_SVG}path", {"d": f"M{x},{y}{to}", **look})


def _same_look(one: ElementTree.Element, other: ElementTree.Element) -> bool:
    """Lines that follow one another and look alike can be one path."""
    if not all(each.tag == f"{_SVG}path" and "l" in each.get("d", "") for each in (one, other)):
        return False
    looks = [{k: v for k, v in each.attrib.items() if k != "d"} for each in (one, other)]
    return looks[0] == looks[1]
