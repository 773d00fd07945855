"""The rooms Explore and Play, end to end in Chromium and through the API, for small poker, other games and hold'em."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

import equipoise
from equipoise.games.hand_histories import read_acpc_line, read_phhs
from tests.web.conftest import serving
from tests.web.test_rooms import faults

OWN = Path("examples/own_game.py").resolve()
FLOP = "flop_holdem(caps=1-1)"
SPOT = "spot(board=Td9d6hQc2s,pot=200,stack=400,first=66+|AJs|KQo,second=QQ-22|AJo:0.5|T9s,bets=1-allin)"
GAMES = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "goofspiel": "goofspiel(cards=4)",
    "own": f"python:{OWN}",
    "flop": FLOP,
    "spot": SPOT,
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Serve a page over a solved run of each kind of game."""
    base = tmp_path_factory.mktemp("shelf")
    for name, game in GAMES.items():
        equipoise.solve(game, iterations=4 if name == "flop" else 60, out=base / "page" / name)
    with serving(base, "page", f"python:{OWN}") as page:
        yield page


@pytest.fixture
def at(shelf, opened):
    """Return what opens an address of that page."""
    return lambda path, **options: opened(shelf.url + path, **options)


def settle(window):
    window.locator("[aria-busy]").wait_for(state="detached")


# ---- Explore, by the API


@pytest.mark.parametrize("name", GAMES)
def test_answers_are_those_of_the_command_line(shelf, name):
    _, node = shelf.ask(f"/api/explore/node?policy=page/{name}")
    own = ["--trust-game"] if name == "own" else []
    command = [sys.executable, "-m", "equipoise", "explore", f"page/{name}", "--json", *own]
    done = subprocess.run(command, cwd=shelf.base, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == node


def test_wrong_questions_are_told(shelf):
    for path, code, said in [
        ("node?policy=page/none", 404, "no such file or run"),
        ("node?policy=../elsewhere", 404, "not in page"),
        ("node?policy=page/leduc&line=zz", 400, "first action"),
        ("node?policy=page/leduc&lines=c", 400, "there is no 'lines' here"),
        ("node?policy=page/leduc&limit=100000", 400, "limit"),
        ("node?policy=uniform&game=python:/tmp/x.py", 403, "Python code"),
        ("infosets?policy=page/flop", 413, "too many infosets"),
        ("compare?policy=page/leduc&other=page/kuhn", 400, "two games"),
        ("hand?policy=page/leduc&line=crc/&hand=Ks", 400, "nobody acts here"),
    ]:
        status, answer = shelf.ask(f"/api/explore/{path}")
        assert (status, said in answer["error"]) == (code, True), (path, status, answer)


# ---- Explore, in the browser


def test_leduc_is_walked_action_by_action_and_card_by_card(at):
    window = at("explore?policy=page/leduc")
    expect(window.get_by_role("heading", name="first player to act")).to_be_visible()
    for name in ("Js", "Qh", "Ks"):
        expect(window.get_by_role("table").get_by_role("button", name=name)).to_be_visible()
    window.get_by_role("link", name=re.compile("check")).first.click()
    expect(window.get_by_role("heading", name="second player to act after check")).to_be_visible()
    window.keyboard.press("1")  # check
    expect(window.get_by_role("heading", name="1 card to come after check, check")).to_be_visible()
    window.get_by_role("link", name="Kh", exact=True).click()
    expect(window.get_by_role("heading", name="first player to act on Kh after check, check")).to_be_visible()
    expect(window).to_have_url(re.compile("line=cc%2F&board=Kh"))
    window.reload()  # the address is a link to what is shown
    expect(window.get_by_role("heading", name="first player to act on Kh after check, check")).to_be_visible()
    window.get_by_role("table").get_by_role("button", name="Qs").click()
    belief = window.get_by_role("list", name="Belief")
    expect(belief).to_contain_text("Ks")
    expect(belief).not_to_contain_text("Kh")  # it lies on the board
    window.keyboard.press("Backspace")
    expect(window.get_by_role("heading", name="1 card to come after check, check")).to_be_visible()
    window.get_by_role("navigation", name="Way here").get_by_role("link", name="first: check").click()
    expect(window.get_by_role("heading", name="second player to act after check")).to_be_visible()
    window.go_back()
    expect(window.get_by_role("heading", name="1 card to come after check, check")).to_be_visible()


def test_infosets_are_sorted_filtered_and_opened(at):
    window = at("explore?policy=page/leduc")
    window.get_by_text("All infosets").click()
    rows = window.get_by_role("region", name="All infosets").get_by_role("row")
    expect(rows).to_have_count(26)
    window.get_by_label("Contains").fill("Ks/Kh|")
    expect(rows.nth(1)).to_contain_text("Ks/Kh|")
    window.get_by_role("button", name="Gain").click()
    expect(window.get_by_role("columnheader", name="Gain")).to_have_attribute("aria-sort", "descending")
    first = rows.nth(1).get_by_role("link")
    key = first.inner_text()
    first.click()
    expect(window.get_by_role("heading", name=re.compile("what it may be up against"))).to_be_visible()
    assert key.startswith("Ks/Kh|")


def test_two_policies_stand_side_by_side(at):
    window = at("explore?policy=page/leduc&other=uniform")
    expect(window.get_by_role("region", name="Hands at this node")).to_have_count(2)
    window.get_by_text(re.compile("differ most")).click()
    table = window.get_by_role("region", name="Differences")
    expect(table.get_by_role("row").nth(1)).to_contain_text("|")
    table.get_by_role("link").first.click()
    expect(window.get_by_role("heading", name=re.compile("what it may be up against"))).to_be_visible()


@pytest.mark.parametrize("name", ["goofspiel", "own"])
def test_other_games_are_walked_by_their_tree(at, name):
    window = at(f"explore?policy=page/{name}")
    tree = window.get_by_role("region", name="Tree around this node")
    expect(tree).to_be_visible()
    expect(window.get_by_role("region", name="Actions at this infoset")).to_contain_text("best response")
    tree.get_by_role("link").nth(1).click()
    expect(window.get_by_role("navigation", name="Way here").get_by_role("listitem")).to_have_count(2)
    settle(window)
    for _ in range(8):
        if window.get_by_role("heading", name=re.compile("the end")).count():
            break
        window.keyboard.press("1")
        settle(window)
        window.wait_for_timeout(100)
    expect(window.get_by_text(re.compile("Player 0 gets"))).to_be_visible()


def test_flop_hold_em_has_grids_that_the_keyboard_reaches(at):
    window = at("explore?policy=page/flop&line=cc/")
    expect(window.get_by_text("Choose 3 cards.")).to_be_visible()
    for card in ("ace of clubs", "7 of diamonds", "2 of spades"):
        window.get_by_role("button", name=card).click()
    expect(window.get_by_role("heading", name="big blind to act on 2s 7d Ac after call, check")).to_be_visible()
    grid = window.get_by_role("grid", name="Big blind acts: hands of the big blind")
    expect(grid.get_by_role("gridcell")).to_have_count(169)
    grid.locator("[data-hand=AA]").focus()
    window.keyboard.press("ArrowRight")
    expect(window.get_by_role("region", name="Details")).to_contain_text("AKs (3 combinations)")
    window.keyboard.press("Enter")
    table = window.get_by_role("region", name="Hands at this node")
    expect(table).to_contain_text("AdKd")
    table.get_by_role("button", name="AdKd").click()
    expect(window.get_by_role("list", name="Belief")).to_be_visible()
    for mode in ("value", "best", "reach"):
        window.get_by_label("Cells show").select_option(mode)
        expect(grid.locator("[data-hand=AKs] small")).not_to_have_text("")
    window.get_by_text("Ranges as text").click()
    window.get_by_label("Hands", exact=True).fill("AA,KQs")
    window.get_by_label("Hands", exact=True).press("Tab")
    expect(window.get_by_role("heading", name="AA,KQs: 7 combinations")).to_be_visible()
    assert window.get_by_label("Range of the small blind here").input_value() != ""


def test_a_spot_is_explored(at):
    window = at("explore?policy=page/spot")
    expect(window.get_by_role("heading", name=re.compile("first player to act on Td 9d 6h Qc 2s"))).to_be_visible()
    window.locator("[data-hand=KQo]").first.click()
    expect(window.get_by_role("columnheader", name="Equity")).to_be_visible()


def test_grids_and_details_of_a_hand_are_seen_together_on_a_laptop(at):
    """As in programs that players know: what is pointed at is told next to the grid, not below the screen."""
    window = at("explore?policy=page/spot", width=1366, height=768)
    detail = window.get_by_role("region", name="Details")
    grids = window.get_by_role("grid")
    expect(grids).to_have_count(2)
    settle(window)
    for shown in (grids.nth(0), grids.nth(1), detail):
        box = shown.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 768 and box["x"] + box["width"] <= 1366
    grids.nth(0).locator("[data-hand=KQo]").hover()
    expect(detail).to_contain_text("KQo (9 combinations)")
    grids.nth(0).locator("[data-hand=KQo]").click()
    expect(window.get_by_role("region", name="Hands at this node")).to_be_in_viewport()


def test_ranges_are_drawn_next_to_the_hand_that_comes_most(at):
    """Where few hands come, the rest of their colours can still be told apart; the numbers say how many."""
    window = at("explore?policy=page/flop&line=rc/&board=2s7dAc")
    settle(window)
    script = (
        "all => [...all.querySelectorAll('.hand-cell')].map(each => parseFloat(each.style.getPropertyValue('--tall')))"
    )
    for grid in window.get_by_role("grid").all():
        heights = [height for height in grid.evaluate(script) if height == height]
        assert max(heights) == 100.0 and min(heights) < 95.0


# ---- Play


def test_the_game_is_asked_for_only_without_a_solution(at):
    window = at("play")
    game = window.get_by_label("Game", exact=True)
    expect(game).to_be_hidden()
    window.get_by_label("Solution", exact=True).select_option("")
    expect(game).to_be_visible()


def test_players_are_called_what_they_are_called_at_the_table(at):
    window = at("play?solution=page/flop")
    window.get_by_label("Your seat").select_option("0")
    window.get_by_role("button", name="Deal").click()
    expect(window.get_by_text("you are the small blind")).to_be_visible()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("opponent", ["", "uniform"])
def test_whole_hands_pay_what_the_rules_say(shelf, name, opponent):
    """Hands are played through the API against each kind of policy, and played again by the rules."""
    said = {"solution": f"page/{name}", "opponent": opponent, "seed": 5, "costs": True}
    status, view = shelf.ask("/api/play/start", said)
    assert status == 200, view
    total, game = 0.0, equipoise.load_game(GAMES[name])
    for _ in range(4):
        while view["state"] == "decision":
            place = view["actions"][-1]["place"] if name != "flop" else view["actions"][0]["place"]
            status, view = shelf.ask(
                "/api/play/act", {"session": view["session"], "place": place, "step": view["step"]}
            )
            assert status == 200, view
        total += view["result"]["payoff"]
        kept = json.loads((shelf.base / "page/.page/games" / f"{view['session']}.json").read_text())
        hand = kept["hands"][-1]
        state = game.root()
        for action in hand["actions"]:
            state = state.child(action)
        assert state.player == equipoise.TERMINAL
        assert view["result"]["payoff"] == (state.payoff() if hand["seat"] == 0 else -state.payoff())
        status, view = shelf.ask("/api/play/deal", {"session": view["session"]})
        assert status == 200, view
    assert view["score"]["plain"] == pytest.approx(total)
    assert view["score"]["luck_method"].startswith("AIVAT") and "without_luck" in view["score"]
    assert all(choice["cost"] is not None for choice in view["choices"])


NETWORKS = {"traversals": 20, "steps": 2, "policy_steps": 2, "width": 16}
OPPONENTS = {
    "networks, listed": ("leduc_poker", "deep-cfr", NETWORKS, 2),
    "networks, limit hold'em": ("limit_holdem", "sd-cfr", {"traversals": 20, "steps": 2, "width": 16}, 1),
    "buckets": (FLOP, "es-mccfr", {"buckets": "ehs2:5"}, 2000),
}


@pytest.mark.parametrize("kind", OPPONENTS)
def test_hands_against_networks_and_buckets_pay_what_the_rules_say(shelf, kind):
    address, algorithm, parameters, iterations = OPPONENTS[kind]
    name = kind.replace(" ", "-").replace(",", "").replace("'", "")
    equipoise.solve(address, algorithm, iterations=iterations, parameters=parameters, out=shelf.base / "page" / name)
    status, view = shelf.ask(
        "/api/play/start", {"solution": f"page/{name}", "opponent": "", "seed": 3, "seat": "turns"}
    )
    assert status == 200, view
    game = equipoise.load_game(address)
    for _ in range(3):
        while view["state"] == "decision":
            calls = [each["place"] for each in view["actions"] if each["name"] in ("call", "check")]
            said = {"session": view["session"], "place": calls[0], "step": view["step"]}
            status, view = shelf.ask("/api/play/act", said)
            assert status == 200, view
        hand = json.loads((shelf.base / "page/.page/games" / f"{view['session']}.json").read_text())["hands"][-1]
        state = game.root()
        for action in hand["actions"]:
            state = state.child(action)
        assert state.player == equipoise.TERMINAL
        assert view["result"]["payoff"] == (state.payoff() if hand["seat"] == 0 else -state.payoff())
        status, view = shelf.ask("/api/play/deal", {"session": view["session"]})
        assert status == 200, view


def test_a_restart_loses_nothing_and_hands_can_be_kept(shelf, tmp_path):
    _, view = shelf.ask("/api/play/start", {"solution": "page/flop", "seed": 1})
    for _ in range(3):
        while view["state"] == "decision":
            _, view = shelf.ask("/api/play/act", {"session": view["session"], "place": 1})
        _, view = shelf.ask("/api/play/deal", {"session": view["session"]})
    query = f"session={view['session']}"
    shutil.copytree(shelf.base / "page", tmp_path / "page")
    with serving(tmp_path, "page") as again:
        assert again.ask(f"/api/play/look?{query}") == (200, view)
        assert view["session"] in [each["session"] for each in again.ask("/api/play/sessions")[1]["sessions"]]
    game = equipoise.load_game(FLOP)
    _, log = shelf.ask(f"/api/play/history?{query}&form=acpc", raw=True)
    assert len([read_acpc_line(game, line) for line in log.decode().splitlines()]) == 3
    _, hands = shelf.ask(f"/api/play/history?{query}&form=phh", raw=True)
    assert len(read_phhs(game, hands.decode())) == 3


def test_wrong_moves_are_told_and_change_nothing(shelf):
    _, view = shelf.ask("/api/play/start", {"solution": "page/leduc", "seed": 1, "seat": "0"})
    name = view["session"]
    for path, said, code in [
        ("act", {"session": name, "place": 9}, 400),
        ("act", {"session": name, "place": 0, "step": "9.9"}, 400),
        ("act", {"session": "0" * 16, "place": 0}, 404),
        ("act", {"session": "../../x", "place": 0}, 404),
        ("deal", {"session": name}, 400),
        ("start", {"solution": "/etc/passwd"}, 404),
        ("start", {}, 400),
        ("start", {"opponent": "uniform", "game": "kuhn_poker", "costs": True}, 400),
        ("start", {"opponent": "uniform", "game": "python:/tmp/evil.py"}, 403),
        ("start", {"solution": "page/leduc", "practice": {"line": "zz"}}, 400),
    ]:
        status, answer = shelf.ask(f"/api/play/{path}", said)
        assert status == code and "error" in answer, (path, said, status, answer)
    assert shelf.ask(f"/api/play/look?session={name}")[1] == view


def test_flop_hold_em_is_played_in_the_browser(at):
    window = at("play?solution=page/flop")
    window.get_by_label("say what each choice cost").check()
    window.get_by_role("button", name="Deal").click()
    acts = window.get_by_role("group", name="Your choices")
    expect(acts).to_be_visible()
    expect(window.get_by_role("group", name="the opponent").get_by_label("hidden cards")).to_be_visible()
    for _ in range(6):
        settle(window)
        if not acts.count():
            break
        acts.get_by_role("button", name=re.compile("call|check")).first.click()
        settle(window)
        window.wait_for_timeout(150)
    expect(window.get_by_text(re.compile("You win|You lose|Nobody wins"))).to_be_visible()
    expect(window.get_by_role("region", name="What your choices cost")).to_contain_text("against the solution")
    expect(window.get_by_role("region", name="Score")).to_contain_text("AIVAT")
    window.get_by_role("button", name="Next hand").click()
    expect(window.get_by_text("hand 2")).to_be_visible()
    window.reload()
    expect(window.get_by_text("hand 2")).to_be_visible()


@pytest.mark.parametrize("name", ["kuhn", "goofspiel", "own"])
def test_small_games_are_played_by_the_keyboard(at, name):
    window = at(f"play?solution=page/{name}")
    window.get_by_label("show what the solution does").check()
    window.get_by_role("button", name="Deal").click()
    for _ in range(6):
        settle(window)
        window.wait_for_timeout(150)
        if window.get_by_role("button", name="Next hand").count():
            break
        expect(window.get_by_role("region", name="Hint")).to_be_visible()
        window.keyboard.press("1")
    expect(window.get_by_role("button", name="Next hand")).to_be_focused()
    expect(window.get_by_text(re.compile("You win|You lose|Nobody wins"))).to_be_visible()


def test_practice_begins_where_one_lost_most(at):
    window = at("play?solution=page/leduc&line=cr")
    window.get_by_label("say what each choice cost").check()
    window.get_by_role("button", name="Deal").click()
    expect(window.get_by_text(re.compile("practice from cr"))).to_be_visible()
    window.get_by_role("button", name=re.compile("fold")).click()
    expect(window.get_by_role("button", name="Next hand")).to_be_visible()
    for _ in range(12):  # until a fold was a mistake
        if window.get_by_role("region", name="What your choices cost").locator(".lost").count():
            break
        window.get_by_role("button", name="Next hand").click()
        window.get_by_role("button", name=re.compile("fold")).click()
        expect(window.get_by_role("button", name="Next hand")).to_be_visible()
    window.get_by_text("Practise where you lost most").click()
    window.get_by_role("button", name="Practise this").first.click()
    expect(window.get_by_text(re.compile(r"practice from [QK].\|cr"))).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "path",
    ["explore?policy=page/flop&line=cc/&board=2c7dAs", "explore?policy=page/goofspiel", "play?solution=page/flop"],
)
def test_axe_finds_nothing_serious_in_what_is_shown(at, path, dark):
    window = at(path, dark=dark)
    settle(window)
    if path.startswith("play"):
        window.get_by_role("button", name="Deal").click()
        expect(window.get_by_role("region", name="Score")).to_be_visible()
    else:
        expect(window.get_by_role("navigation", name="Way here")).to_be_visible()
        for summary in window.locator("main details > summary").all():
            summary.click()
    assert faults(window) == []
    assert window.evaluate("document.documentElement.scrollWidth") <= 1280


PHONE = {"width": 360, "height": 740}
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth && !each.closest(".scroll"))
  .map((each) => `${each.outerHTML.slice(0, 120)} ends at ${each.getBoundingClientRect().right}`)"""


@pytest.mark.parametrize("name", GAMES)
def test_phones_show_a_node_without_scrolling_sideways(at, name):
    window = at(f"explore?policy=page/{name}" + ("&line=cc/&board=2c7dAs" if name == "flop" else ""), **PHONE)
    expect(window.get_by_role("navigation", name="Way here")).to_be_visible()
    settle(window)
    assert window.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("name", GAMES)
def test_phones_show_every_state_of_a_hand_without_scrolling_sideways(shelf, at, name):
    """Hands of a seed, with all that can be said about them, until each of their kinds of states was looked at."""
    said = {"solution": f"page/{name}", "seed": 5, "hints": True, "costs": True}
    _, view = shelf.ask("/api/play/start", said)
    window = at(f"play?session={view['session']}", **PHONE)
    hands = window.get_by_text(re.compile(r"^hand \d+$"))
    acts = window.locator(".acts button")
    for step in range(10):
        expect(window.get_by_role("region", name="Score")).to_be_visible()
        assert window.evaluate(TOO_WIDE) == [], (hands.inner_text(), step)
        with window.expect_response(re.compile("/api/play/(act|deal)")):
            acts.nth(step % acts.count()).click()
        settle(window)
    window.get_by_text("Practise where you lost most").click()
    expect(window.locator("details.card > div > *").first).to_be_visible()
    assert window.evaluate(TOO_WIDE) == []


def test_games_in_progress_are_listed_before_the_first_deal_only(shelf, at):
    """The list may arrive after the first hand is dealt: then it shows nowhere."""
    for name in GAMES:  # with addresses that are wider than a phone
        shelf.ask("/api/play/start", {"solution": f"page/{name}", "seed": 1})
    window = at("play?solution=page/leduc", **PHONE)
    unfinished = window.get_by_role("heading", name="Games in progress")
    expect(unfinished).to_be_visible()
    assert window.evaluate(TOO_WIDE) == []
    late = []
    window.route("**/api/play/sessions", lambda route: late.append(route))  # a built-in function is refused
    window.reload()
    window.get_by_role("button", name="Deal").click()
    expect(window.get_by_role("region", name="Score")).to_be_visible()
    with window.expect_response("**/api/play/sessions") as answer:
        late[0].continue_()
    answer.value.finished()
    expect(unfinished).to_have_count(0)
    window.get_by_label("hints before a choice").check()  # one more answer, so that the first was dealt with
    expect(window.get_by_role("region", name="Hint")).to_be_visible()
    expect(unfinished).to_have_count(0)
