"""How every chart looks, in light and in dark: configuration for Vega-Lite, nothing else.

The first colour of the palette is the baseline's and is grey; the others keep apart for readers
with any kind of colour vision, and reach 3:1 against their background.
"""

from __future__ import annotations

from typing import Any

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'

_LIGHT_PALETTE = ["#6b6b6b", "#0a66b0", "#c2500a", "#137a53", "#8748b5", "#8f7200"]
_DARK_PALETTE = ["#a9a9a9", "#62b3f2", "#f2925c", "#53c79c", "#c39bf0", "#d8bb4e"]


def _config(ink: str, muted: str, grid: str, background: str, palette: list[str]) -> dict[str, Any]:
    return {
        "background": background,
        "font": FONT,
        "view": {"stroke": None},
        "range": {"category": palette},
        "axis": {
            "labelColor": muted,
            "titleColor": muted,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "gridColor": grid,
            "domainColor": muted,
            "tickColor": muted,
            "titlePadding": 8,
        },
        "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
        "axisX": {"grid": False},
        "legend": {
            "labelColor": ink,
            "titleColor": muted,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "bottom",
            "direction": "horizontal",
            "symbolStrokeWidth": 2,
            "symbolSize": 120,
            "symbolBaseFillColor": muted,
            "symbolBaseStrokeColor": muted,
            "symbolOpacity": 1,
            "columns": 4,
            "labelLimit": 0,
            "titleLimit": 0,
            "layout": {"bottom": {"direction": "vertical", "margin": 6}},
        },
        "title": {
            "color": ink,
            "subtitleColor": muted,
            "anchor": "start",
            "fontSize": 15,
            "fontWeight": 600,
            "offset": 14,
        },
        "rule": {"color": muted},
        "bar": {"color": palette[1]},
    }


THEMES: dict[str, dict[str, Any]] = {
    "light": _config("#1c1c1a", "#5b5b57", "#e6e5e0", "#ffffff", _LIGHT_PALETTE),
    "dark": _config("#ededea", "#a9a9a3", "#363633", "#1b1b1a", _DARK_PALETTE),
}
