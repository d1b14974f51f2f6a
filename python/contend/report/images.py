"""Charts drawn without a browser: as files, and as small drawings for the page.

vl-convert draws all of them. It comes with `contend[images]` and is imported when a chart is
drawn.
"""

from __future__ import annotations

import importlib.util
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from contend.errors import RequestError, clean
from contend.files import replace_file
from contend.sections.chart_style import THEMES
from contend.sections.model import Chart

VEGA_LITE_VERSION = "6.4"
_PNG_SCALE = 3.0
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
    return clean(
        _converter().vegalite_to_svg(
            clean(json.dumps(chart.spec, ensure_ascii=False)),
            vl_version=VEGA_LITE_VERSION,
            config=THEMES["light"],
            allowed_base_urls=[],
        )
    )


def write_files(charts: Iterable[Chart], drawings: Mapping[str, str], folder: Path) -> list[Path]:
    """Write each chart as `ID.svg`, which is its drawing, and `ID.png`; returns the paths."""
    written = []
    for chart in charts:
        if folder.is_symlink():
            raise RequestError(f"{folder} is a symbolic link", hint="Remove it, and try again.")
        folder.mkdir(parents=True, exist_ok=True)
        image, raster = folder / f"{chart.id}.svg", folder / f"{chart.id}.png"
        replace_file(image, drawings[chart.id])
        replace_file(raster, _converter().svg_to_png(drawings[chart.id], scale=_PNG_SCALE))
        written += [image, raster]
    return written


def dark_style() -> str:
    """The style that gives the drawings of a page the colours of the dark theme."""
    light, dark = (re.findall(r"#[0-9a-f]{6}", json.dumps(THEMES[name])) for name in THEMES)
    return "".join(
        f'.chart [{name}="{one}"]{{{name}:{other}}}'
        for one, other in dict(zip(light, dark, strict=True)).items()
        for name in ("fill", "stroke")
    )


_NOT_SEEN = ("class", "role", "pointer-events", "font-family", "stroke-miterlimit", "version")
_DEFAULTS = {
    *(("opacity", "1"), ("stroke-width", "1"), ("font-size", "12px"), ("font-weight", "normal")),
    ("transform", "translate(0,0)"),
}


def compact(drawing: str) -> str:
    """The same picture in a quarter of the size, for the page, whose style gives text its font.

    Invisible parts go: empty groups, text for screen readers, and the title, which the page
    prints. Coordinates are rounded to a tenth, and lines that look the same become one path. The
    tooltip text of a mark becomes its `data-tooltip`.
    """
    ElementTree.register_namespace("", _SVG[1:-1])
    root = ElementTree.fromstring(drawing)
    for name in ("width", "height"):
        root.attrib.pop(name, None)  # it takes the size of its column
    _without_title(root)
    _tidy(root)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


_TITLE = 28
"""Height of a title at the top of a drawing. The page sets it in its own type."""


def _without_title(root: ElementTree.Element) -> None:
    for group in root.iter(f"{_SVG}g"):
        titles = [one for one in group if "role-title" in one.get("class", "")]
        for one in titles:
            group.remove(one)
            x, y, width, height = map(float, root.get("viewBox", "0 0 0 0").split())
            root.set("viewBox", f"{x:g} {y + _TITLE:g} {width:g} {height - _TITLE:g}")


def _tidy(element: ElementTree.Element) -> None:
    if element.tag == f"{_SVG}path" and (label := element.get("aria-label")):
        element.set("data-tooltip", label)
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
        elif child.get("opacity") == "0":
            child = _as_target(child)
        plain_group = child.tag == f"{_SVG}g" and not child.attrib
        kept += list(child) if plain_group else [child]
    for child in kept:
        if len(element) and _same_look(element[-1], child):
            element[-1].set("d", f"{element[-1].get('d')}{child.get('d')}")
        elif child.tag != f"{_SVG}g" or len(child):
            element.append(child)


def _is_empty(element: ElementTree.Element) -> bool:
    says = element.get("aria-label") or element.tag != f"{_SVG}path"
    hidden = (element.get("opacity") == "0" and not says) or element.get("display") == "none"
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


def _as_target(mark: ElementTree.Element) -> ElementTree.Element:
    """Where the pointer finds a point: a circle that is not seen."""
    place = re.fullmatch(r"translate\((-?[\d.]+),(-?[\d.]+)\)", mark.get("transform", ""))
    x, y = place.groups() if place else ("0", "0")
    kept = {"fill": mark.get("fill", ""), "data-tooltip": mark.get("data-tooltip", "")}
    return ElementTree.Element(f"{_SVG}circle", {"class": "at", "cx": x, "cy": y, "r": "8", **kept})


def _same_look(one: ElementTree.Element, other: ElementTree.Element) -> bool:
    """Lines that follow one another and look alike can be one path."""
    if not all(each.tag == f"{_SVG}path" and "l" in each.get("d", "") for each in (one, other)):
        return False
    looks = [{k: v for k, v in each.attrib.items() if k != "d"} for each in (one, other)]
    return looks[0] == looks[1]
