"""One local page over a folder of runs: a list, each report, two side by side, one experiment over
time, the progress of a run under way. Nothing here writes: each answer comes from the store.

    serve(Path("contend-runs"), 0, print)     # loopback, any free port, a token in the address

Starlette and uvicorn come with `contend[serve]`; only this file and `guard` need them.
"""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from contend.errors import ContendError, RequestError
from contend.findings import study_of
from contend.report import build, html, images
from contend.runs.glance import Glance, Kept, glances
from contend.runs.guard import App, guarded
from contend.runs.history import build as build_history
from contend.runs.history_page import render as render_history
from contend.runs.page import filled
from contend.runs.sides import RunSide, refuse_twice
from contend.runs.sides_text import change_text, report_of_sides
from contend.store import RunFolder

LOOPBACK = "127.0.0.1"


class NotServed(ContendError):
    """The requested run or page is not in the folder, or the folder is gone."""


def serve(folder: Path, port: int, say: Callable[[str], object]) -> None:
    """Serve until interrupted; prints the address, with its token, when it accepts requests.

    Raises:
        RequestError: the folder is none, or the port is in use.
    """
    if not folder.is_dir():
        raise RequestError(
            f"{folder} is not a folder.",
            hint="Name the folder of your run folders, such as contend-runs.",
        )
    with _listening(port) as sock:
        port = int(sock.getsockname()[1])
        token = secrets.token_urlsafe(24)
        say(f"http://{LOOPBACK}:{port}/?token={token}")
        config = uvicorn.Config(
            application(folder.resolve(), token, port),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
        )
        uvicorn.Server(config).run(sockets=[sock])


def _listening(port: int) -> socket.socket:
    """A socket of loopback; port 0 is any free one. Raises RequestError."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen(64)
    except (OSError, OverflowError) as error:
        found.close()
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is in use" if in_use else f"cannot be used: {str(error).rstrip('.')}"
        raise RequestError(
            f"port {port} of {LOOPBACK} {why}.",
            hint="Choose a different --port, or leave it out for any free one.",
        ) from None
    return found


def application(folder: Path, token: str, port: int) -> App:
    """The whole application, for a server that listens at `port` of loopback."""

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
        with RunFolder.open(_run(folder, request.path_params["name"])) as opened:
            report = build(opened)
        charts = html.all_charts(report) if images.can_draw() else ()
        return HTMLResponse(html.render(report, {each.id: images.svg(each) for each in charts}))

    def compare(request: Request) -> Response:
        names = request.query_params.getlist("run")
        if len(names) != 2 or names[0] == names[1]:
            return _error_page(400, "Exactly two runs can be compared.", "Select two in the list.")
        reports, sides = [], []
        for name in names:
            with RunFolder.open(_run(folder, name)) as opened:
                reports.append(build(opened, percentiles=False))
                sides.append(RunSide(name, (study_of(opened, percentiles=False),)))
        found, why = None, ""
        try:
            refuse_twice((side.name, side.studies[0]) for side in sides)
            found = report_of_sides(sides)
        except RequestError as error:
            why = error.message
        return _page(
            "compare.html.j2",
            reports=reports,
            names=names,
            found=found,
            why=why,
            change_text=change_text,
        )

    def history(request: Request) -> Response:
        _listed(folder, kept)
        name = request.query_params.get("experiment", "")
        return HTMLResponse(render_history(build_history([str(folder)], experiment=name)))

    def failed(_: Request, error: Exception) -> Response:
        assert isinstance(error, ContendError)
        return _error_page(404, error.message, error.hint or "")

    def no_page(_: Request, __: Exception) -> Response:
        return _error_page(404, "There is no such page.", "Start at the list.")

    pages = {
        "/": listed,
        "/live.json": live,
        "/run/{name}": run,
        "/compare": compare,
        "/history": history,
    }
    routes = [Route(path, page) for path, page in pages.items()]
    handlers = {ContendError: failed, 404: no_page}
    return guarded(Starlette(routes=routes, exception_handlers=handlers), token, port)


def _listed(folder: Path, kept: Kept) -> list[Glance]:
    try:
        return glances(folder, kept)
    except OSError as error:
        raise NotServed(
            f"The folder of runs cannot be read: {error.strerror}.",
            hint="If it was moved, move it back, or serve the new folder.",
        ) from None


def _run(folder: Path, name: str) -> Path:
    """A run folder by its name in the list; a request never becomes a path."""
    try:
        found = {child.name: child for child in folder.iterdir()}.get(name)
    except OSError:
        found = None
    if found is None or not (found / "results.sqlite").is_file():
        raise NotServed("There is no such run.", hint="It may have been removed. See the list.")
    return found


def _error_page(status: int, message: str, hint: str) -> Response:
    return _page("error.html.j2", status=status, message=message, hint=hint)


def _page(template: str, *, status: int = 200, **values: object) -> Response:
    return HTMLResponse(filled(template, **values), status)
