"""Who may ask the page: this machine's user, from a page that this server sent.

Every web page that a user visits can reach a server on the user's machine: by requests from other sites, and by names
that lead to 127.0.0.1 (DNS rebinding). So a request must name this server as its host, and must not come from a page of
another origin. What is sent forbids scripts, styles and pictures from elsewhere, and being shown inside another page.
"""

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlencode

from equipoise.web.answers import as_json

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "equipoise"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Lets through what may be asked, and nothing else."""

    def __init__(self, app: Application, *, hosts: Collection[str], token: str | None = None) -> None:
        """``hosts`` are names of this server without a port; with a ``token``, addresses are taken as names, too."""
        self._app, self._hosts, self._token = app, {host.lower() for host in hosts}, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in headers and key in ("host", "origin", "authorization"):
                headers[key] = "\n"  # given twice: no name that is known
            else:
                headers[key] = value.decode("latin-1")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        refused = self._refusal(scope["method"], headers)
        if refused is not None:
            await _answer(send_guarded, 403, as_json({"error": refused, "exit_code": 2}))
        elif self._token is None or self._knows(headers):
            await self._app(scope, receive, send_guarded)
        elif scope["path"] == "/" and self._is_token(_query(scope).get("token", [""])[0]):
            await self._let_in(scope, send_guarded)
        else:
            said = "this page needs its token: open the address that `equipoise serve` has printed"
            await _answer(send_guarded, 401, as_json({"error": said, "exit_code": 2}))

    def _refusal(self, method: str, headers: dict[str, str]) -> str | None:
        host = headers.get("host", "")
        if not self._is_ours(host):
            return f"this server is not called {host!r:.100}: open it by the address that `equipoise serve` has printed"
        if (origin := headers.get("origin")) is not None and origin.lower() != f"http://{host.lower()}":
            return f"a page of {origin!r:.100} may not ask this server"
        if method not in ("GET", "HEAD") and origin is None and "sec-fetch-site" in headers and not _is_same(headers):
            return "a page of another site may not ask this server"
        if (
            headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")
            and headers.get("sec-fetch-mode") != "navigate"
        ):
            return "a page of another site may not ask this server"
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.lower()
        if not name.endswith("]"):
            before, colon, port = name.rpartition(":")
            name = before if colon and port.isdigit() else name
        name = name.strip("[]")
        if name in self._hosts:
            return True
        if self._token is None:
            return False
        try:
            ipaddress.ip_address(name)  # no name that somebody could make lead here
        except ValueError:
            return False
        return True

    def _knows(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        cookies = (piece.strip().partition("=") for piece in headers.get("cookie", "").split(";"))
        return any(name == COOKIE and self._is_token(value) for name, _, value in cookies)

    def _is_token(self, text: str) -> bool:
        return self._token is not None and secrets.compare_digest(text.encode(), self._token.encode())

    async def _let_in(self, scope: Scope, send: Send) -> None:
        """Remember a browser that came with the token, and take it out of the address."""
        left = {name: values for name, values in _query(scope).items() if name != "token"}
        where = f"/?{urlencode(left, doseq=True)}" if left else "/"
        cookie = f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, b"", (("location", where), ("set-cookie", cookie)))


def _is_same(headers: dict[str, str]) -> bool:
    return headers.get("sec-fetch-site") in ("same-origin", "none")


def _query(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope.get("query_string", b"").decode("latin-1"))


async def _answer(send: Send, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
    listed = (("content-type", "application/json"), ("content-length", str(len(body))), *headers)
    encoded = [(name.encode(), value.encode()) for name, value in listed]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
