"""Each room end to end in Chromium: what a user does there, and that axe finds nothing serious in it."""

import json
import re
import shutil
import time
from importlib.resources import files

import pytest
from playwright.sync_api import expect

from equipoise.runs.directory import RunDirectory
from equipoise.runs.lock import NAME, is_held
from equipoise.web.server import room_names

pytestmark = pytest.mark.browser

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()


def faults(window):
    """Return what axe finds in the page that is shown, the serious part of it."""
    window.evaluate(AXE)
    found = window.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", room_names())
def test_axe_finds_nothing_serious(room, name, dark):
    window = room(name, dark=dark)
    expect(window.locator("main h1 ~ *").first).to_be_visible()
    for summary in window.locator("main details > summary").all():
        summary.click()
    if name == "runs":
        expect(window.get_by_label("Algorithm")).to_be_visible()
        expect(window.locator("svg.chart .curve")).to_have_count(1)
    assert faults(window) == []


# ---- Runs


def test_curves_of_several_runs_on_every_axis(room):
    window = room("runs?run=page/kuhn")
    expect(window.locator("svg.chart .curve")).to_have_count(1)
    window.get_by_role("checkbox", name="show page/leduc").check()
    expect(window.locator("svg.chart .curve")).to_have_count(2)
    expect(window).to_have_url(re.compile("run=page%2Fkuhn&run=page%2Fleduc"))
    for axis, label in (("seconds", "seconds"), ("core_seconds", "core-seconds"), ("iteration", "iterations")):
        window.get_by_label("Across").select_option(axis)
        expect(window.locator("svg.chart")).to_contain_text(label)
    # The level that a paper has published for Leduc is a line.
    expect(window.locator("svg.chart .level-text")).to_contain_text("NFSP")
    # The keyboard reads points off: the last ones of both runs.
    window.locator("svg.chart").focus()
    window.keyboard.press("End")
    expect(window.locator("output.readout")).to_contain_text("page/kuhn: iterations 200")
    window.keyboard.press("ArrowDown")
    window.keyboard.press("End")
    expect(window.locator("output.readout")).to_contain_text("page/leduc: iterations 50")
    # A link to this picture shows this picture.
    window.reload()
    expect(window.locator("svg.chart .curve")).to_have_count(2)


def test_a_run_shows_its_settings_and_its_machine(room, served):
    config = json.loads((served.base / "page/kuhn/config.json").read_text())
    card = room("runs?run=page/kuhn").locator("[data-run='page/kuhn']")
    for text in ("kuhn_poker", "cfr+", "alternating", config["versions"]["numpy"], config["machine"]["cpu"]):
        expect(card).to_contain_text(text)


def test_a_run_shows_its_speed_and_its_workers(room, served):
    shutil.copytree(served.base / "page/kuhn", served.base / "page/shared")
    log = served.base / "page/shared/log.jsonl"
    record = json.loads(log.read_text().splitlines()[-1])
    del record["crc32"]
    record |= {"iteration": record["iteration"] + 1, "workers": 2, "solving_seconds": record["solving_seconds"] + 0.5}
    log.write_text(log.read_text() + json.dumps(record) + "\n")
    told = room("runs?run=page/shared").locator("[data-run='page/shared'] .speed")
    expect(told).to_contain_text("2 workers of a cluster, 2 iterations/s")
    shutil.rmtree(served.base / "page/shared")


def test_exports_are_files(room, served):
    window = room("runs?run=page/kuhn")
    with window.expect_download() as download:
        window.get_by_text("Export", exact=True).click()
        window.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename == "kuhn.csv"
    text = download.value.path().read_text()
    assert text.startswith("player,infoset,action,probability") and text.count("\n") == 25
    exports = served.base / "page/.page/exports"  # emptied after the last byte is sent
    waited_for(lambda: not list(exports.iterdir()), "something is left of the export")
    status, settings = served.ask("/api/run/export?to=toml&run=page/kuhn", raw=True)
    assert status == 200 and b'game = "kuhn_poker"' in settings


def waited_for(fact, what, seconds=300):
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_start_watch_stop_and_resume(room, served):
    window = room("runs")
    window.get_by_text("Start a run").click()
    window.get_by_label("Game").fill("leduc_poker")
    window.get_by_label("Algorithm").select_option("cfr")
    window.get_by_label("Iterations", exact=True).fill("1000000000")
    window.get_by_label("Name").fill("long")
    window.get_by_role("button", name="Start").click()
    expect(window.get_by_role("row", name="page/long")).to_contain_text("running")
    window.get_by_role("checkbox", name="show page/long").check()
    card = window.locator("[data-run='page/long']")
    expect(card).to_contain_text("running")
    # News come by themselves: the curve grows.
    legend = window.locator(".legend li", has_text="page/long")
    before = legend.text_content()
    expect(legend).not_to_have_text(before)
    # What has the focus keeps it while news come.
    head = window.get_by_role("button", name="Iterations")
    head.focus()
    row = window.get_by_role("row", name="page/long")
    before = row.text_content()
    expect(row).not_to_have_text(before)
    expect(head).to_be_focused()
    # It is a process of its own, with a lock; stopping it writes a checkpoint.
    folder = served.base / "page/long"
    assert is_held(folder / NAME)
    card.get_by_role("button", name="Stop").click()
    expect(card.get_by_role("button", name="Resume")).to_be_visible()
    expect(card).to_contain_text("stopped")
    stopped_at = RunDirectory.open(folder).newest_checkpoint()
    assert stopped_at > 0 and not is_held(folder / NAME)
    # And it goes on from there.
    status, said = served.ask("/api/run/resume", {"run": "page/long", "iterations": stopped_at + 1})
    assert (status, said["status"]) == (200, "starting")
    expect(window.get_by_role("row", name="page/long")).to_contain_text("finished")
    assert RunDirectory.open(folder).newest_checkpoint() == stopped_at + 1


def test_a_run_that_cannot_start_says_why(room):
    window = room("runs")
    window.get_by_text("Start a run").click()
    window.get_by_label("Game").fill("leduc")
    window.get_by_role("button", name="Start").click()
    expect(window.get_by_role("status").filter(has_text="did you mean")).to_contain_text("leduc_poker")
    # What only the run itself finds out is said in the list, and can be taken off it.
    window.get_by_label("Game").fill("leduc_poker")
    window.get_by_label("Algorithm").select_option("cfr")
    window.get_by_label("Seconds", exact=True).fill("0")
    window.get_by_label("Name").fill("wrong")
    window.get_by_role("button", name="Start").click()
    row = window.get_by_role("row", name="page/wrong")
    expect(row).to_contain_text("seconds=0.0 is not valid")
    row.get_by_role("button", name="Forget").click()
    expect(row).to_have_count(0)


# ---- Compare


def test_a_match_is_followed_to_its_end(room, served):
    window = room("compare")
    window.get_by_label("Player A").select_option("page/leduc")
    window.get_by_label("Player B").select_option("uniform")
    window.get_by_label("Hands", exact=True).fill("400000")
    window.get_by_role("button", name="Play", exact=True).click()
    match = window.get_by_role("region", name="Match", exact=True)
    expect(match).to_contain_text("over")
    expect(match.locator("svg.chart polygon")).to_have_count(1)
    expect(match.get_by_role("row", name="AIVAT")).to_be_visible()
    _, listed = served.ask("/api/matches")
    result = listed["matches"][0]["result"]
    # What is shown is what the command line says.
    assert result["hands"] == 400_000 and result["mean_mbb"] > 500
    expect(match.locator(".large")).to_contain_text(f"{result['mean_mbb']:.4g} mbb/g")
    _, whole = served.ask(f"/api/match?match={listed['matches'][0]['match']}")
    hands = [standing["hands"] for standing in whole["standings"]]
    assert len(hands) > 3 and hands == sorted(set(hands))
    # The link opens the same match.
    window.reload()
    expect(match).to_contain_text("over")


def test_an_exact_match(room):
    window = room("compare")
    window.get_by_label("Player A").select_option("page/kuhn")
    window.get_by_label("Player B").select_option("always-call")
    window.get_by_label("exactly, without playing").check()
    window.get_by_role("button", name="Play", exact=True).click()
    expect(window.get_by_role("region", name="Match", exact=True)).to_contain_text("exactly")


def test_a_match_can_be_stopped(room, served):
    window = room("compare")
    window.get_by_label("Player A").select_option("page/leduc")
    window.get_by_label("Player B").select_option("always-raise")
    window.get_by_label("Hands", exact=True).fill("10000000000")
    window.get_by_role("button", name="Play", exact=True).click()
    match = window.get_by_role("region", name="Match", exact=True)
    expect(match.locator(".large")).to_contain_text("mbb/g")
    match.get_by_role("button", name="Stop").click()
    expect(match).to_contain_text("stopped")
    _, listed = served.ask("/api/matches")
    assert listed["matches"][0]["status"] == "stopped"


def test_a_policy_from_elsewhere_can_be_added(room, runs):
    window = room("compare")
    expect(window.get_by_label("Player A")).to_be_visible()
    with window.expect_file_chooser() as chooser:
        window.get_by_role("button", name="Add a policy file").click()
    chooser.value.set_files(
        {"name": "friend.npz", "mimeType": "application/zip", "buffer": (runs / "kuhn/policy.npz").read_bytes()}
    )
    expect(window.get_by_label("Player A").locator("option[value='page/friend.npz']")).to_have_count(1)


# ---- Solve a spot


def test_a_spot_is_solved_and_saved(room, served):
    window = room("spot")
    grid = window.get_by_role("grid", name="First player's range")
    hands = window.get_by_role("region", name="First player's range").get_by_label("Hands")
    expect(hands).to_have_value("66+,A8s+,KQo")
    grid.get_by_role("gridcell", name="76s").click()
    expect(hands).to_have_value("66+,A8s+,76s,KQo")
    expect(grid.get_by_role("gridcell", name="76s")).to_have_attribute("aria-label", "76s, 100 %")
    # By keyboard: the cell to the right.
    window.keyboard.press("ArrowRight")
    window.keyboard.press("Space")
    expect(hands).to_have_value("66+,A8s+,75s+,KQo")
    window.get_by_label("Cards", exact=True).fill("Td9d6hQc2s")
    window.get_by_label("Bets", exact=True).fill("1-allin")
    expect(window.get_by_text("betting nodes")).to_be_visible()
    window.get_by_label("Name").fill("river")
    window.get_by_role("button", name="Save the spot").click()
    file = served.base / "page/spots/river.txt"
    expect(window.get_by_label("Load a saved spot").locator("option")).to_have_count(2)
    assert "board Td9d6hQc2s\npot 200\nstack 900\nfirst 66+,A8s+,75s+,KQo\n" in file.read_text()
    window.get_by_role("button", name="Solve").click()
    progress = window.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("finished")
    expect(progress.locator(".large")).to_contain_text("% of the pot")
    result = json.loads((served.base / "page/river/result.json").read_text())
    assert result["exploitability_pot"] <= 0.5
    # Load it again: everything is back.
    window.goto(served.url + "spot")
    expect(hands).to_have_value("66+,A8s+,KQo")
    window.get_by_label("Load a saved spot").select_option("river")
    expect(hands).to_have_value("66+,A8s+,75s+,KQo")
    expect(window.get_by_label("Cards", exact=True)).to_have_value("Td9d6hQc2s")


def test_painting_several_hands_with_a_weight(room):
    window = room("spot")
    region = window.get_by_role("region", name="Second player's range")
    hands = region.get_by_label("Hands")
    expect(hands).to_have_value("QQ-22,T9s,AJo:0.5")
    region.get_by_role("button", name="No hands").click()
    expect(hands).to_have_value("")
    window.get_by_label("Weight that a click").fill("50")
    region.locator("[data-hand=AA]").scroll_into_view_if_needed()
    first = region.locator("[data-hand=AA]").bounding_box()
    last = region.locator("[data-hand=AQs]").bounding_box()
    window.mouse.move(first["x"] + 8, first["y"] + 8)
    window.mouse.down()
    window.mouse.move(last["x"] + 8, last["y"] + 8, steps=12)
    window.mouse.up()
    expect(hands).to_have_value("AA:0.5,AQs+:0.5")


def test_a_spot_that_makes_no_sense_says_why(room):
    window = room("spot")
    window.get_by_label("Cards", exact=True).fill("TdTd6h")
    window.get_by_label("Pot", exact=True).focus()
    expect(window.locator("p.mistake", has_text="Td")).to_be_visible()
