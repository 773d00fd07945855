"""The server: files of the page as they are, answers as JSON, events as they happen, all behind the guard."""

import asyncio
import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
import traceback
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from equipoise.errors import CannotWrite, DamagedFile, EquipoiseError, InvalidParameter, MissingPackage, TooLarge
from equipoise.web import common, compare, explore, guard, play, runs, spot
from equipoise.web.answers import Answering, Asked, Download, Events, Upload, as_json, status_of
from equipoise.web.site import Site

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError:
    raise MissingPackage(
        "the page needs Starlette and uvicorn; install them by: pip install 'equipoise[web]'"
    ) from None

STATIC = Path(__file__).parent / "static"
ROOMS: tuple[ModuleType, ...] = (common, runs, explore, play, compare, spot)  # each lists its ANSWERS

DEFAULT_PORT = 8017
LOOPBACK = "127.0.0.1"
MOST_BODY = 1 << 20  # bytes of a question
MOST_ASKED = 8  # questions at work at a time: the others wait
MOST_STREAMS = 24  # of events, at a time
SECONDS_BETWEEN_LOOKS = 0.4  # at files that may have changed
SHARE_OF_LOOKING = 5  # times as long as a look took nothing is looked at: large folders take their time
SECONDS_BETWEEN_SIGNS = 15.0  # of life, on a stream without news
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Streams:
    """How many streams of events are open, and whether they should end."""

    def __init__(self) -> None:
        self.open = 0
        self.over = False


def make_app(
    site: Site, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1"), token: str | None = None
) -> Any:
    """Return the page of a site as an ASGI application."""
    streams = Streams()
    at_work = asyncio.Semaphore(MOST_ASKED)
    routes = []
    for room in ROOMS:
        for where, answering in room.ANSWERS.items():
            method, path = where.split(" ")
            if isinstance(answering, Events):
                routes.append(Route(path, _events(site, answering, streams, at_work), methods=["GET"]))
            elif isinstance(answering, Upload):
                routes.append(Route(path, _taking(site, answering, at_work), methods=["POST"]))
            else:
                routes.append(Route(path, _asking(site, answering, at_work), methods=[method]))
    routes.append(Route("/static/{name:path}", _static, methods=["GET"]))
    routes.append(Route("/favicon.ico", lambda request: FileResponse(STATIC / "icon.svg", media_type=_KINDS[".svg"])))
    routes += [Route(f"/{name}", _shell, methods=["GET"]) for name in ("", *room_names())]
    app = Starlette(routes=routes, exception_handlers={404: _unknown, 405: _unknown})
    app.state.streams = streams
    return Guarded(guard.Guard(app, hosts=hosts, token=token), streams)


@dataclass(frozen=True)
class Guarded:
    """The page behind its guard, and its streams, which a server that ends has to end."""

    app: guard.Guard
    streams: Streams

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self.app(scope, receive, send)


def room_names() -> list[str]:
    """Return the rooms of the page, by their modules in ``static/rooms``."""
    return sorted(file.stem for file in (STATIC / "rooms").glob("*.js"))


# ---- files of the page


def _shell(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type=_KINDS[".html"], headers={"cache-control": "no-cache"})


def _static(request: Request) -> Response:
    root = STATIC.resolve()
    file = (root / request.path_params["name"]).resolve()
    if not file.is_relative_to(root) or not file.is_file() or file.suffix not in _KINDS:
        return _json({"error": "there is no such file", "exit_code": 2}, 404)
    return FileResponse(file, media_type=_KINDS[file.suffix], headers={"cache-control": "no-cache"})


async def _unknown(request: Request, error: Exception) -> Response:
    said = f"nothing is at {request.method} {request.url.path!r:.200}; docs/page.md lists what there is"
    return _json({"error": said, "exit_code": 2}, getattr(error, "status_code", 404))


# ---- answers

Endpoint = Callable[[Request], Awaitable[Response]]


def _asking(site: Site, answering: Answering, at_work: asyncio.Semaphore) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        async def answer() -> Response:
            asked = Asked(_query(request) if request.method == "GET" else await _body(request))
            return await _answered(site, answering, asked, at_work)

        return await _in_words(answer)

    return endpoint


def _taking(site: Site, upload: Upload, at_work: asyncio.Semaphore) -> Endpoint:
    """Return what takes a file: its name and the like are in the query, its content is the body."""

    async def endpoint(request: Request) -> Response:
        async def answer() -> Response:
            _require_kind(request, upload.kinds)
            handle, name = tempfile.mkstemp(prefix="upload.", dir=site.kept("uploads"))
            try:
                with open(handle, "wb") as file:
                    async for piece in _pieces(request, upload.most_bytes):
                        await run_in_threadpool(file.write, piece)
                return await _answered(site, upload.answer, Asked(_query(request), upload=Path(name)), at_work)
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(name)

        return await _in_words(answer)

    return endpoint


async def _answered(site: Site, answering: Answering, asked: Asked, at_work: asyncio.Semaphore) -> Response:
    def work() -> bytes | Download:
        answer = answering(site, asked)
        asked.require_all_read()
        return answer if isinstance(answer, Download) else as_json(answer)

    async with at_work:
        answer = await run_in_threadpool(work)
    if isinstance(answer, Download):
        after = BackgroundTask(os.unlink, answer.path) if answer.passing else None
        headers = {"cache-control": "no-store"}
        return FileResponse(
            answer.path, filename=answer.name, media_type=answer.kind, headers=headers, background=after
        )
    return Response(answer, media_type="application/json", headers={"cache-control": "no-store"})


async def _in_words(answer: Callable[[], Awaitable[Response]]) -> Response:
    """Return an answer, or what is wrong in one line."""
    try:
        return await answer()
    except EquipoiseError as error:
        return _json({"error": str(error), "exit_code": 2}, status_of(error))
    except MemoryError:
        return _json({"error": "this does not fit in memory", "exit_code": 2}, 413)
    except Exception as error:
        traceback.print_exc()
        return _json(
            {"error": f"a fault of equipoise itself ({type(error).__name__}); the server's terminal says more"}, 500
        )


def _json(content: Mapping[str, Any], status: int) -> Response:
    return Response(as_json(content), status, media_type="application/json", headers={"cache-control": "no-store"})


def _query(request: Request) -> dict[str, Any]:
    """Return a query; what is named more than once is a list."""
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in found:
            found[name] = [*found[name], value] if isinstance(found[name], list) else [found[name], value]
        else:
            found[name] = value
    return found


def _require_kind(request: Request, kinds: tuple[str, ...]) -> None:
    """Refuse other kinds of content: those that a form of another site could send without being asked first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise InvalidParameter(f"send {' or '.join(kinds)}, not {kind!r:.60}")


async def _body(request: Request) -> dict[str, Any]:
    _require_kind(request, ("application/json",))
    content = b"".join([piece async for piece in _pieces(request, MOST_BODY)])
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"what was sent is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise DamagedFile("what was sent is not a JSON object")
    return found


async def _pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    """Return what is sent, piece by piece, up to so many bytes."""
    said = request.headers.get("content-length", "0")
    taken = 0
    if said.isdigit() and int(said) > most:
        raise TooLarge(f"at most {most:,} bytes are taken here, and {int(said):,} are announced")
    async for piece in request.stream():
        taken += len(piece)
        if taken > most:
            raise TooLarge(f"at most {most:,} bytes are taken here")
        yield piece


# ---- events


def _events(site: Site, events: Events, streams: Streams, at_work: asyncio.Semaphore) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        async def answer() -> Response:
            if streams.open >= MOST_STREAMS:
                raise TooLarge(f"{MOST_STREAMS} streams of events are open already; close a page")
            asked = Asked(_query(request))
            news = await run_in_threadpool(events.watch, site, asked)
            asked.require_all_read()
            return StreamingResponse(_stream(news, streams, at_work), media_type="text/event-stream", headers=_NO_STORE)

        return await _in_words(answer)

    return endpoint


_NO_STORE = {"cache-control": "no-store", "x-accel-buffering": "no"}


async def _stream(news: Callable[[], Any], streams: Streams, at_work: asyncio.Semaphore) -> AsyncIterator[bytes]:
    streams.open += 1
    try:
        quiet = 0.0
        yield b"retry: 1000\n\n"
        while not streams.over:
            began = time.monotonic()
            async with at_work:
                found = await run_in_threadpool(lambda: None if (said := news()) is None else as_json(said))
            if found is not None:
                yield b"data: " + found + b"\n\n"
                quiet = 0.0
            elif quiet >= SECONDS_BETWEEN_SIGNS:
                yield b": still here\n\n"
                quiet = 0.0
            pause = max(SECONDS_BETWEEN_LOOKS, SHARE_OF_LOOKING * (time.monotonic() - began))
            await asyncio.sleep(pause)
            quiet += pause
    finally:
        streams.open -= 1


# ---- running


class _Server(uvicorn.Server):
    """A server that says when it is ready, and ends its streams when it ends."""

    def __init__(self, config: uvicorn.Config, streams: Streams, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._streams, self._ready = streams, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.over = True
        await super().shutdown(sockets)


def serve(
    site: Site,
    *,
    host: str = LOOPBACK,
    port: int | None = None,
    browser: bool = True,
    on_ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the page until Ctrl-C. ``on_ready`` is told its address, with the token if it has one."""
    listening = _listen(host, port)
    number = listening.getsockname()[1]
    alone = host in (LOOPBACK, "localhost", "::1")
    token = None if alone else secrets.token_urlsafe(24)
    names = ("127.0.0.1", "localhost", "::1", host, *(() if alone else (socket.gethostname(),)))
    shown = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        shown = socket.gethostname()
    address = f"http://{shown}:{number}/" + (f"?token={token}" if token else "")
    app = make_app(site, hosts=names, token=token)

    def ready() -> None:
        on_ready(address)
        if browser and _has_screen():
            threading.Thread(target=_open_browser, args=(address,), daemon=True).start()

    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=200,
        h11_max_incomplete_event_size=64 << 10,
        ws="none",
        lifespan="off",
    )
    with contextlib.suppress(KeyboardInterrupt):
        _Server(config, app.streams, ready).run(sockets=[listening])


def _has_screen() -> bool:
    """Return whether a browser would have a screen: one that runs in the terminal would take it from us."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open_browser(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens at a port; at a free one if none was asked for and the usual one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (DEFAULT_PORT, 0) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(128)
            return listening
        except (OSError, OverflowError) as error:
            listening.close()
            if number and port is None:
                continue
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise CannotWrite(f"cannot listen at {host}:{number} ({said}); choose another --port or --host") from None
    raise AssertionError("one of the ports was tried last")
