"""The pages over a folder of runs. Nothing here writes: each answer is read off the store."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from contend.errors import ContendError, RequestError
from contend.findings import study_of
from contend.outside import clean
from contend.report import build, html, images
from contend.report.html import asset, minus
from contend.runs import build as build_history
from contend.runs import default_environment, is_here
from contend.runs.glance import Glance, Kept, glance, glances
from contend.runs.guard import App, guarded
from contend.runs.history_page import render as render_history
from contend.runs.sides import RunSide
from contend.runs.sides_text import change_text, report_of_two
from contend.store import RunFolder


def application(folder: Path, token: str, port: int) -> App:
    """The whole of it, for a server that listens at `port` of loopback."""

    kept: Kept = {}

    def listed(_: Request) -> Response:
        found = _listed(folder, kept)
        names = sorted({one.experiment for one in found if one.experiment})
        return _page("list.html.j2", folder=folder.name, runs=found, experiments=names)

    def live(_: Request) -> Response:
        """How far those have come that are under way."""
        return JSONResponse(
            {
                one.name: {"state": one.state, "measured": one.measured, "planned": one.planned}
                for one in _listed(folder, kept)
            }
        )

    def run(request: Request) -> Response:
        one = _run(folder, request.path_params["name"])
        with RunFolder.open(one.path) as opened:
            report = build(opened)
        charts = html.all_charts(report) if images.can_draw() else ()
        return HTMLResponse(html.render(report, {each.id: images.svg(each) for each in charts}))

    def compare(request: Request) -> Response:
        asked = request.query_params.getlist("run")
        if len(asked) != 2 or asked[0] == asked[1]:
            return _trouble(400, "Two runs are compared.", "Mark two in the list.")
        reports, sides = [], []
        for name in asked:
            with RunFolder.open(_run(folder, name).path) as opened:
                reports.append(build(opened, percentiles=False))
                sides.append(RunSide(name, (study_of(opened, percentiles=False),)))
        try:
            found, why = report_of_two(sides), ""
        except RequestError as error:
            found, why = None, error.message
        return _page(
            "compare.html.j2",
            reports=reports,
            names=asked,
            found=found,
            why=why,
            change_text=change_text,
        )

    def history(request: Request) -> Response:
        name = request.query_params.get("experiment", "")
        _listed(folder, kept)
        environment = default_environment()
        found = build_history(
            [str(folder)],
            experiment=name,
            environment=environment if is_here(environment) else None,
        )
        return HTMLResponse(render_history(found))

    def trouble(_: Request, error: Exception) -> Response:
        assert isinstance(error, ContendError)
        return _trouble(404, error.message, error.hint or "")

    def nothing(_: Request, __: Exception) -> Response:
        return _trouble(404, "There is no such page.", "Begin at the list.")

    routes = [
        Route("/", listed),
        Route("/live.json", live),
        Route("/run/{name}", run),
        Route("/compare", compare),
        Route("/history", history),
    ]
    handlers = {ContendError: trouble, 404: nothing}
    return guarded(Starlette(routes=routes, exception_handlers=handlers), token, port)


class NotServed(ContendError):
    """What was asked for is not in the folder, or the folder is not there any more."""


def _listed(folder: Path, kept: Kept) -> list[Glance]:
    try:
        return glances(folder, kept)
    except OSError as error:
        raise NotServed(
            f"The folder of the runs cannot be read: {error.strerror}.",
            hint="Was it moved or removed? Put it back, or end this and serve another.",
        ) from None


def _run(folder: Path, name: str) -> Glance:
    """A run by the name that the list has; no path is ever made of what was asked."""
    try:
        found = {child.name: child for child in folder.iterdir()}.get(name)
    except OSError:
        found = None
    if found is None or not (found / "results.sqlite").is_file():
        raise NotServed("There is no such run.", hint="It may have been removed: see the list.")
    return glance(found)


def _trouble(status: int, message: str, hint: str) -> Response:
    return _page("trouble.html.j2", status=status, message=message, hint=hint)


def _page(template: str, *, status: int = 200, **values: object) -> Response:
    page = _environment().get_template(template)
    return HTMLResponse(clean(page.render(css=Markup(asset("report.css")), **values)), status)


@cache
def _environment() -> Environment:
    loaders = [PackageLoader(f"contend.{room}") for room in ("runs", "report")]
    environment = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["minus"] = minus
    return environment
