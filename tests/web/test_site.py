"""What the page may open, what it starts, and what a restart leaves: asked without a browser."""

import contextlib
import fcntl
import http.client
import inspect
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import equipoise
from equipoise.errors import InvalidParameter, NotFound, NotTrusted, RunBusy, TooLarge
from equipoise.evaluation.match import play_match
from equipoise.experiments.claims import CLAIMS, levels_of
from equipoise.games.spots import load_spot_file, spot, spot_file
from equipoise.runs.listing import list_runs, speed_of, status_of, stop_run
from equipoise.runs.lock import has_open, holder, is_held
from equipoise.web import processes, runs, site
from equipoise.web.answers import Asked, Download, Events, Upload, as_json
from equipoise.web.server import ROOMS
from equipoise.web.site import Site, site_of
from tests.web.conftest import serving
from tests.web.test_rooms import waited_for

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def page(runs, tmp_path, monkeypatch):
    """Return a site over a copy of the runs, as seen from its parent folder."""
    shutil.copytree(runs, tmp_path / "page")
    monkeypatch.chdir(tmp_path)
    return Site(home=Path("page"))


# ---- policies from elsewhere


def upload(served, content, name="sent"):
    headers = {"content-type": "application/octet-stream"}
    return served.ask(f"/api/policy/upload?name={name}", body=content, headers=headers)


def test_an_uploaded_policy_is_taken_as_it_is(served, runs):
    content = (runs / "kuhn/policy.npz").read_bytes()
    assert upload(served, content) == (200, {"policy": "page/sent.npz", "game": "kuhn_poker"})
    assert (served.base / "page/sent.npz").read_bytes() == content
    status, said = upload(served, content)  # it does not replace anything
    assert status == 400 and "there already" in said["error"]
    assert served.ask("/api/run/export?to=csv&run=page/sent.npz", raw=True)[0] == 200


def _with(runs, name, content):
    """Return the file of a policy with one of its parts replaced."""
    packed = io.BytesIO()
    with zipfile.ZipFile(runs / "kuhn/policy.npz") as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for each in old.namelist():
            new.writestr(each, content if each == name else old.read(each))
    return packed.getvalue()


def _array(values):
    packed = io.BytesIO()
    np.save(packed, values)
    return packed.getvalue()


def test_hostile_policies_are_refused_in_a_line(served, runs):
    good = (runs / "kuhn/policy.npz").read_bytes()
    header = {"format": "equipoise-policy", "version": 1, "origin": {}, "fingerprint": None}

    def named(game):
        text = json.dumps({**header, "game": game}).encode()
        return _with(runs, "header.npy", _array(np.frombuffer(text, np.uint8)))

    pickled = io.BytesIO()
    np.save(pickled, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    hostile = {
        "nothing": b"",
        "text": b"hello",
        "cut": good[: len(good) // 2],
        "pickled": _with(runs, "header.npy", pickled.getvalue()),
        "python": named(f"python:{served.base}/page/trap.py"),
        "file": named("efg:/etc/passwd"),
        "spiel": named("open_spiel:efg_game(filename=/etc/passwd)"),
        "wrong": _with(runs, "probabilities.npy", _array(np.array([2.0]))),
    }
    for name, content in hostile.items():
        status, said = upload(served, content, name)
        assert status in (400, 403, 404) and "root:" not in said["error"], (name, said)
        assert "upload" not in said["error"]
        assert not (served.base / f"page/{name}.npz").exists()
    assert upload(served, good, "../out")[0] == 400
    assert not list((served.base / "page/.page/uploads").iterdir())


def test_a_policy_that_would_not_fit_in_memory_is_refused(served, tmp_path):
    """A few megabytes of zeros, packed, that say that they are a terabyte."""
    member = 1 << 31
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(600):
            file.writestr(f"{number}.npy", b"")
        for info in file.infolist():
            info.file_size = member  # as a hostile writer may claim
    status, said = upload(served, packed.getvalue(), "bomb")
    assert status == 413 and "memory" in said["error"]


def test_uploads_have_a_bound(served, monkeypatch):
    headers = {"content-type": "application/octet-stream", "content-length": str(1 << 40)}
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=300)
    connection.request("POST", "/api/policy/upload?name=a", b"a", headers)
    assert connection.getresponse().status == 413
    connection.close()


# ---- games and policies


def test_games_that_were_given_may_be_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "other"):
        shutil.copy(EXAMPLES / "own_game.py", f"{name}.py")
    given = site_of(["python:mine.py"])
    assert given.game("python:mine.py") is given.game(given.given_games[0])
    with pytest.raises(NotTrusted):
        given.game("python:other.py")
    equipoise.solve("python:mine.py", iterations=10, out="runs/mine")
    equipoise.solve("python:other.py", iterations=10, out="runs/other")
    assert given.policy("runs/mine").rules.address == given.given_games[0]
    with pytest.raises(NotTrusted):
        given.policy("runs/other")


def test_open_policies_are_few_and_follow_their_files(page):
    first = page.policy("page/kuhn")
    assert page.policy("page/kuhn") is first
    equipoise.resume("page/kuhn", iterations=300)
    assert page.policy("page/kuhn") is not first
    for number in range(site.MOST_POLICIES + 2):
        first.save(f"page/{number}.npz")
        page.policy(f"page/{number}.npz")
    assert len(page.policies._open) == site.MOST_POLICIES


def test_a_policy_larger_than_memory_is_not_opened(page, monkeypatch):
    monkeypatch.setattr("equipoise.memory.available_bytes", lambda: 1000)
    with pytest.raises(TooLarge):
        page.policy("page/leduc")


def test_names_of_new_runs(page):
    for name in ("..", "a/b", "/etc", "", ".hidden", "-x", "a" * 101, "a\n"):
        with pytest.raises(InvalidParameter):
            page.new(name)
    with pytest.raises(InvalidParameter, match="there already"):
        page.new("kuhn")


def test_numbers_that_are_none_become_null():
    assert as_json({"a": float("nan"), "b": [float("inf"), np.float32(1.5)], "c": np.arange(2)}) == (
        b'{"a":null,"b":[null,1.5],"c":[0,1]}'
    )


# ---- processes


def test_so_many_processes_at_a_time(page, monkeypatch):
    monkeypatch.setattr(processes, "MOST_AT_A_TIME", 1)
    said = {"game": "leduc_poker", "iterations": 10**9, "name": "a"}
    runs.start(page, Asked(said))
    process = runs._process_of(page, Path("page/a"))
    try:
        with pytest.raises(RunBusy, match="still running"):
            runs.start(page, Asked({**said, "name": "b"}))
    finally:
        waited_for(lambda: is_held(Path("page/a/lock")), "the run has begun")
        process.stop()
        waited_for(lambda: not process.is_running, "the run has ended")
    assert status_of(page.run("page/a")) == "stopped"


def test_closing_the_server_loses_nothing(runs, tmp_path):
    """What one server starts, the next one shows; the run goes on in between."""
    shutil.copytree(runs, tmp_path / "page")
    with serving(tmp_path, "page") as first:
        status, _ = first.ask("/api/run/start", {"game": "leduc_poker", "iterations": 10**9, "name": "on"})
        assert status == 200
        status, match = first.ask("/api/match/start", {"a": "page/kuhn", "b": "uniform", "hands": 10**10})
        assert status == 200
        waited_for(lambda: (tmp_path / "page/on/log.jsonl").exists(), "the run has begun")
    log = tmp_path / "page/on/log.jsonl"
    size = log.stat().st_size
    waited_for(lambda: log.stat().st_size > size, "the run goes on without a server")
    with serving(tmp_path, "page") as second:
        assert {each["run"]: each["status"] for each in second.ask("/api/runs")[1]["runs"]}["page/on"] == "running"
        assert second.ask(f"/api/match?match={match['match']}")[1]["status"] == "running"
        assert second.ask("/api/run/stop", {"run": "page/on"})[0] == 200
        assert second.ask("/api/match/stop", {"match": match["match"]})[0] == 200
        waited_for(lambda: not is_held(tmp_path / "page/on/lock"), "the run has stopped")
        waited_for(lambda: second.ask(f"/api/match?match={match['match']}")[1]["status"] == "stopped", "it has stopped")


def test_a_run_that_a_terminal_has_started_can_be_stopped(tmp_path):
    command = [sys.executable, "-m", "equipoise", "solve", "leduc_poker", "--seconds", "600", "--out", "run"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as solving:
        waited_for(lambda: (tmp_path / "run/log.jsonl").exists(), "the run has begun")
        assert holder(tmp_path / "run").pid == solving.pid
        assert [each["status"] for each in list_runs(tmp_path)] == ["running"]
        stop_run(tmp_path / "run")
        assert solving.wait(60) == 130
    assert [each["status"] for each in list_runs(tmp_path)] == ["stopped"]
    with pytest.raises(NotFound, match="not running"):
        stop_run(tmp_path / "run")


def test_a_lock_that_names_a_process_of_somebody_else_does_no_harm(page, tmp_path):
    """A folder from elsewhere may say that any process writes it: only one that has the lock open is asked to stop."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as innocent:
        lock = tmp_path / "page/kuhn/lock"
        lock.write_text(json.dumps({"pid": innocent.pid, "host": "here", "since": "now"}))
        with open(lock, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(RunBusy):
                stop_run(tmp_path / "page/kuhn")
            # nor does what is kept of a process
            folder = page.kept("processes") / "false"
            folder.mkdir()
            (folder / "started.json").write_text(json.dumps({"kind": "run", "run": "page/kuhn", "pid": innocent.pid}))
            with open(folder / "messages.txt", "wb") as messages:
                fcntl.flock(messages, fcntl.LOCK_EX)
                with pytest.raises(equipoise.EquipoiseError, match="not known which process"):
                    runs.stop(page, Asked({"run": "page/kuhn"}))
        assert innocent.poll() is None
        assert not has_open(innocent.pid, lock)
        innocent.send_signal(signal.SIGKILL)


# ---- what the rooms stand on


def test_standings_are_what_shorter_matches_come_to():
    policy = equipoise.solve("kuhn_poker", iterations=50).policy
    for players, known in (((policy, "uniform"), "both"), (("always-call", "uniform"), "none")):
        standings = []
        play_match(*players, hands=60_000, game="kuhn_poker", known=known, seed=3, on_standing=standings.append)
        hands = [standing.hands for standing in standings]
        assert len(hands) >= 3 and hands == sorted(set(hands))
        for standing in standings[:2]:
            shorter = play_match(*players, hands=standing.hands, game="kuhn_poker", known=known, seed=3)
            assert standing.aivat == (known == "both")
            assert standing.best.mean == pytest.approx(shorter.best.mean, rel=1e-9)
            assert standing.best.interval == pytest.approx(shorter.best.interval, rel=1e-9)


def test_a_spot_is_written_as_the_file_that_it_is_read_from(tmp_path):
    games = [
        spot("Td9d6hQc", 200, 900, "66+,A8s+,KhQh", "QQ-22,AJo:0.5", "0.5-1-allin"),
        spot("Td9d6h", 20, 100, bets="0.33/0.75/1-allin", raises="1", rake=0.05, cap=3.0),
        spot("Td9d6hQc2s", 200, 900, "66+,QQ", "AA-22", "1-allin", locks=["c:QQ=c", ":66=c:0.5,r200:0.5"]),
    ]
    for game in games:
        file = tmp_path / "spot.txt"
        file.write_text(spot_file(game))
        assert load_spot_file(str(file)) == game
        assert equipoise.load_game(game.name) == game


def test_published_levels_belong_to_games_that_there_are():
    assert [(level.value, level.measure) for level in levels_of("flop_holdem(caps=3-4)")] or levels_of("flop_holdem")
    assert [level.value for level in levels_of("leduc_poker")] == [0.037]
    assert sum(len(claim.levels) for claim in CLAIMS.values()) == sum(
        len(levels_of(equipoise.load_game(level.game).address)) > 0 for c in CLAIMS.values() for level in c.levels
    )
    assert levels_of("kuhn_poker") == []


# ---- hostile questions

NAMES = sorted(
    set(
        re.findall(
            r"""asked\.(?:text|texts|whole|number|flag|mapping|one_of)\(\s*["'](\w+)""",
            "".join(Path(module.__file__).read_text() for module in ROOMS),
        )
    )
)
HOSTILE = [
    None,
    0,
    -1,
    1e308,
    float("nan"),
    True,
    [],
    {},
    [[]],
    {"a": [1]},
    "",
    "x",
    "../..",
    "/etc/passwd",
    "-x",
    "a" * 5000,
    "\0",
    "\u202e",
    "page/kuhn",
    "page/leduc",
    "kuhn_poker",
    "spot(board=",
    "1e400",
    "NaN",
    "[" * 200,
]


@pytest.mark.parametrize("where", [where for module in ROOMS for where in module.ANSWERS])
def test_whatever_is_asked_the_answer_is_one_line(page, where, monkeypatch):
    """No question ends in a fault: each name with each kind of nonsense, alone and beside what is right."""

    def refuse(*arguments, **more):
        raise RunBusy("not now")

    monkeypatch.setattr(processes, "start", refuse)
    answering = next(module.ANSWERS[where] for module in ROOMS if where in module.ANSWERS)
    if isinstance(answering, Upload):
        return
    ask = (lambda *given: answering.watch(*given)()) if isinstance(answering, Events) else answering
    right = {"run": "page/kuhn", "policy": "page/kuhn", "game": "kuhn_poker", "a": "page/kuhn", "b": "uniform"}
    text = inspect.getsource(inspect.unwrap(answering.watch if isinstance(answering, Events) else answering))
    for name in [each for each in NAMES if f'"{each}"' in text] or NAMES[:3]:
        for value in HOSTILE:
            for beside in ({}, right):
                with contextlib.suppress(equipoise.EquipoiseError):
                    said = ask(page, Asked({**beside, name: value}))
                    if not isinstance(said, Download):
                        json.loads(as_json(said))


def test_every_question_is_in_the_documents():
    text = (Path(__file__).parents[2] / "docs" / "page.md").read_text()
    for module in ROOMS:
        for where in module.ANSWERS:
            assert re.search(rf"`{where.split(' ')[1]}(\?[^`]*)?`", text), where


def test_how_fast_a_run_goes_and_on_how_many_workers_is_told():
    records = [
        {"iteration": 10, "nodes_touched": 1000.0, "solving_seconds": 2.0, "traversal_seconds": 1.0, "workers": 2},
        {"iteration": 30, "nodes_touched": 4000.0, "solving_seconds": 6.0, "traversal_seconds": 2.5, "workers": 3},
    ]
    told = {"workers": 3, "iterations_per_second": 5.0, "nodes_per_second": 2000.0}
    assert speed_of(records) == told
    assert speed_of(records[:1]) == {"workers": 2, "iterations_per_second": 5.0, "nodes_per_second": 1000.0}
    assert speed_of([]) == {}
    assert speed_of([{"iteration": 3}]) == {}  # a log of an earlier version
