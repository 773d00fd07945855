"""Who may ask the page, and what it may be made to do."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
from urllib.parse import quote, urlsplit

import pytest

from tests.web.conftest import serving


def raw(page, method, path, headers, body=None):
    """Ask with exactly these headers."""
    address = urlsplit(page.url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=300)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None and "content-length" not in headers:
        connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def own(page):
    return urlsplit(page.url).netloc


def test_listens_on_this_machine_only(served):
    port = urlsplit(served.url).port
    addresses = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {
        "127.0.0.1"
    }
    for address in addresses:  # the machine's own, from outside
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, port), timeout=60)
    assert urlsplit(served.url).hostname == "127.0.0.1"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "192.168.1.7:8017"])
def test_another_host_name_is_refused(served, host):
    response, content = raw(served, "GET", "/api/runs", {"host": host})
    assert response.status in (400, 403)
    assert b"kuhn" not in content


def test_no_host_and_two_hosts_are_refused(served):
    assert raw(served, "GET", "/api/runs", {})[0].status in (400, 403)
    response, content = raw(served, "GET", "/api/runs", {"Host": own(served), "host": "evil.example"})
    assert response.status in (400, 403) and b"kuhn" not in content


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused(served, origin, method):
    headers = {"host": own(served), "origin": origin, "content-type": "application/json"}
    path = "/api/runs" if method == "GET" else "/api/run/stop"
    response, content = raw(served, method, path, headers, None if method == "GET" else b"{}")
    assert response.status == 403, content
    assert response.getheader("access-control-allow-origin") is None


def test_a_page_of_another_site_is_refused_without_an_origin_too(served):
    headers = {"host": own(served), "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert raw(served, "GET", "/api/runs", headers)[0].status == 403
    headers |= {"sec-fetch-mode": "navigate", "content-type": "application/json"}
    assert raw(served, "POST", "/api/run/stop", headers, b"{}")[0].status == 403
    assert raw(served, "GET", "/", {**headers})[0].status == 200  # a link to the page may be followed


def test_own_origin_is_answered(served):
    headers = {"host": own(served), "origin": f"http://{own(served)}", "sec-fetch-site": "same-origin"}
    assert raw(served, "GET", "/api/runs", headers)[0].status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_could_send_is_refused(served, kind):
    status, said = served.ask("/api/run/stop", body=b'{"run":"page/kuhn"}', headers={"content-type": kind})
    assert status == 400 and "application/json" in said["error"]


@pytest.mark.parametrize("path", ["/", "/runs", "/api/runs", "/static/page.js", "/api/none", "/static/none.js"])
def test_every_answer_forbids_what_is_from_elsewhere(served, path):
    response, _ = raw(served, "GET", path, {"host": own(served)})
    policy = response.getheader("content-security-policy")
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy
    assert response.getheader("x-content-type-options") == "nosniff"
    assert response.getheader("referrer-policy") == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/static/../site.py", "/static/%2e%2e/site.py", "/static/..%2fsite.py", "/static//etc/passwd", "/static/"]
)
def test_files_of_the_page_only(served, path):
    response, content = raw(served, "GET", path, {"host": own(served)})
    assert response.status == 404 and b"import" not in content


def test_bodies_have_a_bound(served):
    headers = {"host": own(served), "content-type": "application/json"}
    response, said = raw(served, "POST", "/api/run/stop", {**headers, "content-length": str(2 << 20)}, b"{")
    assert response.status == 413 and b"bytes" in said
    # one that does not say how long it is
    piece = f"{1 << 16:x}\r\n".encode() + b"a" * (1 << 16) + b"\r\n"
    body = piece * 16 + b"1\r\na\r\n0\r\n\r\n"
    head = {**headers, "transfer-encoding": "chunked"}
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as asked:
        lines = [f"{name}: {value}" for name, value in head.items()]
        asked.sendall("\r\n".join(["POST /api/run/stop HTTP/1.1", *lines, "", ""]).encode() + body)
        assert asked.recv(4096).startswith(b"HTTP/1.1 413")


def test_what_is_not_json_is_refused_in_a_line(served):
    for body in (b"", b"{", b"[1]", b'"a"', b"[" * 100_000, b"\xff"):
        status, said = served.ask("/api/run/stop", body=body)
        assert status == 400 and said["exit_code"] == 2, body


def test_unknown_names_are_refused(served):
    status, said = served.ask("/api/run?run=page/kuhn&rnu=2")
    assert (status, said) == (400, {"error": "there is no 'rnu' here; did you mean 'run'?", "exit_code": 2})


@pytest.fixture(scope="module")
def token_page(runs, tmp_path_factory):
    base = tmp_path_factory.mktemp("token")
    shutil.copytree(runs, base / "page")
    with serving(base, "page", "--host", "0.0.0.0") as page:
        yield page


def test_another_address_needs_the_token(token_page):
    address = urlsplit(token_page.url)
    token = address.query.removeprefix("token=")
    assert len(token) >= 32
    host = f"127.0.0.1:{address.port}"
    local = type(token_page)(f"http://{host}/", token_page.process, token_page.base)
    for path in ("/", "/api/runs", "/static/page.js"):
        response, content = raw(local, "GET", path, {"host": host})
        assert response.status == 401 and b"kuhn" not in content
    wrong = token[:-1] + ("y" if token.endswith("x") else "x")
    for headers in ({"authorization": f"Bearer {wrong}"}, {"cookie": "equipoise="}, {"authorization": token}):
        assert raw(local, "GET", "/api/runs", {"host": host, **headers})[0].status == 401
    assert raw(local, "GET", "/?token=wrong", {"host": host})[0].status == 401
    assert raw(local, "GET", "/api/runs", {"host": host, "authorization": f"Bearer {token}"})[0].status == 200
    # A browser that comes with the token is remembered, and the token leaves the address.
    response, _ = raw(local, "GET", f"/?token={token}", {"host": host})
    assert response.status == 303 and response.getheader("location") == "/"
    cookie = response.getheader("set-cookie")
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert raw(local, "GET", "/api/runs", {"host": host, "cookie": cookie.split(";")[0]})[0].status == 200
    # Names that somebody could make lead here are refused there, too.
    headers = {"host": f"evil.example:{address.port}", "authorization": f"Bearer {token}"}
    assert raw(local, "GET", "/api/runs", headers)[0].status == 403


@pytest.mark.parametrize("run", ["/etc", "../..", "page/../..", "page/out", "page/kuhn/../../..", "", "page\0", "none"])
def test_paths_do_not_leave_the_folder(served, run):
    if run == "page/out" and not (served.base / run).exists():
        (served.base / "elsewhere").mkdir()
        shutil.copytree(served.base / "page/kuhn", served.base / "elsewhere/kuhn")
        os.symlink(served.base / "elsewhere/kuhn", served.base / run)
    for path in ("/api/run?run=", "/api/run/export?to=log&run=", "/api/run/export?to=npz&run="):
        status, said = served.ask(path + quote(run))
        assert status in (400, 404), said
        assert "iterations" not in json.dumps(said)


@pytest.mark.parametrize("file", ["log.jsonl", "config.json", "policy.npz", "checkpoints/000000000200.npz"])
def test_files_of_a_run_do_not_lead_elsewhere(served, file):
    run = served.base / "page" / f"linked-{file.replace('/', '-')}"
    shutil.copytree(served.base / "page/kuhn", run)
    elsewhere = served.base / f"elsewhere-{file.replace('/', '-')}"
    (run / file).rename(elsewhere)
    os.symlink(elsewhere, run / file)
    status, said = served.ask(f"/api/run?run=page/{run.name}")
    assert status == 404 and "leads out" in said["error"]
    shutil.rmtree(run)


def test_games_in_python_do_not_run(served):
    trap = served.base / "page" / "trap.py"
    trap.write_text(f"open({str(served.base / 'ran')!r}, 'w')\n")
    for game in (f"python:{trap}", "python:page/trap.py", " python:page/trap.py"):
        status, said = served.ask("/api/run/start", {"game": game})
        assert status == 403 and "equipoise serve" in said["error"]
    # nor those that a run or a policy names
    config = json.loads((served.base / "page/kuhn/config.json").read_text())
    run = served.base / "page" / "named"
    shutil.copytree(served.base / "page/kuhn", run)
    (run / "config.json").write_text(json.dumps({**config, "game": f"python:{trap}"}))
    for path in ("/api/run/resume",):
        assert served.ask(path, {"run": "page/named"})[0] == 403
    assert served.ask("/api/run/export?to=csv&run=page/named")[0] == 403
    assert not (served.base / "ran").exists()
    shutil.rmtree(run)


@pytest.mark.parametrize("game", ["efg:/etc/passwd", "spot:/etc/passwd", "open_spiel:efg_game(filename=/etc/passwd)"])
def test_games_do_not_read_files_elsewhere(served, game):
    status, said = served.ask("/api/run/start", {"game": game})
    assert status in (403, 404) and "root:" not in said["error"]


def test_without_the_extra_one_line_says_what_to_install(tmp_path):
    for module in ("starlette", "uvicorn"):
        (tmp_path / f"{module}.py").write_text("raise ImportError('no module here')\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-m", "equipoise", "serve", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "pip install 'equipoise[web]'" in done.stderr
