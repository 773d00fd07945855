"""Walking through games, comparing policies, playing: the engine behind `explore`, `play` and the page."""

import json
import random
from collections import Counter

import numpy as np
import pytest

import equipoise
from equipoise.errors import DamagedFile, InvalidNotation, InvalidParameter, NotSupported, TooLarge
from equipoise.evaluation.appraisers import appraiser
from equipoise.evaluation.match import exact_match
from equipoise.evaluation.players import BASELINES, HoldemPlayer, player_of
from equipoise.evaluation.showdowns import all_in_payoff
from equipoise.exploring import Explorer, differences
from equipoise.exploring.play import Record, Session, make_table, read_record
from equipoise.games import load_game
from equipoise.games.notation import read_state
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.board_form import board_form
from equipoise.trees.spot_form import spot_form
from tests.board_strategies import RandomStrategy
from tests.holdem import small_holdem
from tests.spots import small_spot

OWN = "python:examples/own_game.py"


@pytest.fixture(scope="module")
def policies():
    names = ("kuhn_poker", "leduc_poker", "goofspiel(cards=4)", OWN, "bluff(dice=1x1)")
    return {name: equipoise.solve(name, iterations=60).policy for name in names}


@pytest.fixture(scope="module")
def boards():
    game = small_holdem()
    form = board_form(game)
    return HoldemPolicy(rules=form.game, strategy=RandomStrategy(form))


@pytest.fixture(scope="module")
def spot_policy():
    solver = SpotCFR(spot_form(small_spot("turn")), DiscountedCFR(), storage="float64", threads=1)
    solver.run(10)
    return SpotPolicy(form=solver.form, strategy=solver.average_strategy())


def walk(explorer, choose, node=None):
    """Walk from a node to an end, and yield every node on the way."""
    node = explorer.node() if node is None else node
    while True:
        json.dumps(node, allow_nan=False)
        yield node
        if node["state"] == "end":
            return
        if node["state"] == "deal":
            cards = choose(node["deal"]["left"], k=node["deal"]["cards"])
            node = explorer.node(line=node["here"]["line"], board="".join([*node["board"], *cards]))
        else:
            node = explorer.node(**choose(node["actions"], k=1)[0]["to"])


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)", OWN, "bluff(dice=1x1)"])
def test_every_game_can_be_walked_to_its_end(policies, name):
    explorer, draw = Explorer(appraiser(policies[name])), random.Random(1)
    for _ in range(10):
        nodes = list(walk(explorer, draw.sample))
        assert nodes[0]["crumbs"][-1]["to"] == nodes[0]["here"]
        assert nodes[-1]["state"] == "end"
        for node in nodes:
            assert explorer.node(**node["here"]) == node  # what a node names itself leads back to it
            if node["state"] == "decision":
                assert sum(action["probability"] for action in node["actions"]) == pytest.approx(1.0)


def test_hands_at_a_node_have_values_and_reach_adds_up(policies):
    explorer = Explorer(appraiser(policies["leduc_poker"]))
    node = explorer.node(line="cr")
    assert node["player"] == 0 and node["pot"] == 4 and node["to_call"] == 2 and node["round"] == "round 1"
    assert [hand["hand"] for hand in node["hands"]] == ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
    assert all(hand["values"]["fold"] == 0.0 for hand in node["hands"])  # from here on
    after = sum(explorer.node(**action["to"]).get("reach", 0.0) for action in node["actions"] if not action["over"])
    folded = sum(hand["reach"] * hand["strategy"]["fold"] for hand in node["hands"])
    dealt = explorer.node(line="crc/")
    assert dealt["state"] == "deal" and dealt["deal"]["cards"] == 1
    called = sum(explorer.node(line="crc/", board=card)["reach"] for card in dealt["deal"]["left"])
    assert folded + called + after == pytest.approx(node["reach"])


def test_the_table_of_infosets_is_sorted_filtered_and_paged(policies):
    explorer = Explorer(appraiser(policies["leduc_poker"]))
    all_of = explorer.infosets(limit=1000)
    assert all_of["of"] == all_of["found"] == 936 and len(all_of["rows"]) == 500
    first = explorer.infosets(sort="gain", limit=5, player=1, contains="Ks")
    assert all(row["player"] == 1 and "Ks" in row["infoset"] for row in first["rows"])
    gains = [row["gain"] for row in first["rows"]]
    assert gains == sorted(gains, reverse=True) and gains[0] > 0
    assert explorer.infosets(sort="gain", limit=4, offset=1, player=1, contains="Ks")["rows"] == first["rows"][1:]
    by_name = explorer.infosets(sort="infoset", descending=False, limit=3)["rows"]
    assert [row["infoset"] for row in by_name] == sorted(policies["leduc_poker"].keys)[:3]
    with pytest.raises(InvalidParameter, match="cannot be sorted by 'size'"):
        explorer.infosets(sort="size")


@pytest.mark.parametrize("name", ["leduc_poker", "goofspiel(cards=4)", "bluff(dice=1x1)"])
def test_an_infoset_can_be_gone_to(policies, name):
    policy = policies[name]
    explorer = Explorer(appraiser(policy))
    for key in random.Random(2).sample(list(policy.keys), 12):
        node = explorer.node(infoset=key)
        assert node["infoset"]["infoset"] == key
        assert node["infoset"]["strategy"] == pytest.approx(dict(policy[key]))


def test_hold_em_has_grids_for_both_players(boards):
    explorer = Explorer(appraiser(boards))
    node = explorer.node(line="cc/", board="2c3d", limit=1000)
    combos = {cell["name"]: cell["combos"] for cell in node["grid"]["cells"]}
    assert sum(combos.values()) == node["hands_of"] == len(node["hands"]) == 45
    for cell in node["grid"]["cells"]:
        own = [hand for hand in node["hands"] if hand["class"] == cell["name"]]
        assert len(own) == cell["combos"]
        assert cell["reach"] == pytest.approx(sum(hand["reach"] for hand in own))
        assert sum(cell["strategy"].values()) == pytest.approx(1.0)
    assert [each["player"] for each in node["ranges"]] == [0, 1]
    assert all(sum(cell["combos"] for cell in each["cells"]) == 45 for each in node["ranges"])
    some = explorer.node(line="cc/", board="2c3d", hands="55,5c4d")
    assert some["hands_of"] == 4 and some["chosen"]["reach"] < some["all"]["reach"]
    detail = explorer.hand("cc/", "2c3d", "5c4d")
    assert sum(each["probability"] for each in detail["belief_by_class"]) == pytest.approx(1.0)
    with pytest.raises(InvalidNotation, match="no hand of 2c2d"):
        explorer.node(line="cc/", board="2c3d", hands="2c2d")
    with pytest.raises(TooLarge):
        explorer.infosets()


def test_spots_are_walked_like_other_poker(spot_policy):
    explorer, draw = Explorer(appraiser(spot_policy)), random.Random(4)
    for _ in range(5):
        nodes = list(walk(explorer, draw.sample))
        assert nodes[0]["pot"] == 10 and nodes[0]["round"] == "turn" and nodes[-1]["state"] == "end"
    node = explorer.node()
    shown = spot_policy.line()
    for hand in node["hands"]:
        place = list(map(spot_policy.form.game.hand_text, shown.hands)).index(hand["hand"])
        assert list(hand["values"].values()) == pytest.approx(shown.values[place].tolist(), abs=1e-9)
        assert hand["equity"] == pytest.approx(shown.equity[place], abs=1e-9)


def test_wrong_places_are_told(policies):
    poker, tree = (Explorer(appraiser(policies[name])) for name in ("leduc_poker", OWN))
    for explorer, where, said in [
        (poker, {"line": "cr", "board": "Ks"}, "at most 0"),
        (poker, {"line": "crx"}, "x"),
        (poker, {"path": "0"}, "--line"),
        (tree, {"path": "0.7"}, "7 is not one of them"),
        (tree, {"path": "0.peek"}, "'peek' is no action"),
        (tree, {"line": "c"}, "--path"),
    ]:
        with pytest.raises((InvalidNotation, NotSupported), match=said):
            explorer.node(**where)


def test_policies_are_compared_where_play_comes(policies):
    policy = policies["kuhn_poker"]
    one, other = Explorer(appraiser(policy)), Explorer(appraiser("uniform", game="kuhn_poker"))
    assert differences(one, one)["rows"] == []
    found = differences(one, other)
    for row in found["rows"]:
        mine, theirs = row["strategies"]
        assert row["difference"] == pytest.approx(0.5 * sum(abs(mine[a] - theirs[a]) for a in mine))
    weighted = [row["weighted"] for row in found["rows"]]
    assert weighted == sorted(weighted, reverse=True) and found["sum"] == pytest.approx(sum(weighted))
    with pytest.raises(NotSupported, match="two games"):
        differences(one, Explorer(appraiser(policies["leduc_poker"])))


def test_large_games_are_compared_round_by_round(boards):
    first, second = Explorer(appraiser(boards)), Explorer(appraiser("uniform", game=boards.rules))
    start, later = differences(first, second), differences(first, second, line="cc/", board="2c3d")
    assert "before the board" in start["compared"] and "on 2c3d" in later["compared"]
    assert all("/2c3d|" in row["infoset"] for row in later["rows"]) and later["rows"]


# ---- playing


def session(policy, opponent=None, **said):
    name = "solution"
    solution = player_of(name, policy)
    met = solution if opponent is None else opponent
    game = appraiser(policy).game
    record = Record(game=game.address, opponent=met.name, solution=name, **said)
    return Session(record, make_table(game, met, solution))


def play_hands(played, count, draw):
    for _ in range(count):
        played.deal()
        while not played.is_over:
            played.act(draw.randrange(len(played.view()["actions"])))


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "goofspiel(cards=4)", OWN, "bluff(dice=1x1)"])
def test_luck_free_scores_are_unbiased_and_costs_are_what_is_lost(policies, name):
    """A hand's score without luck is the game's value less what the choices cost, exactly."""
    played = session(policies[name], seed=2, costs=True)
    play_hands(played, 12, random.Random(3))
    start = [played.table.luck.start_value(seat) for seat in range(2)]
    for number in range(12):
        cost = sum(decision.cost for decision in played.decisions(number))
        assert played.without_luck(number) == pytest.approx(start[played.record.hands[number].seat] - cost, abs=1e-8)
        assert played.payoff(number) == played.played(number).payoff_to_a()
    score = played.score()
    assert score["plain"] == pytest.approx(sum(played.payoff(n) for n in range(12)))
    assert "AIVAT" in score["luck_method"]


def test_without_luck_is_the_same_in_the_mean(policies):
    """Uniform play from both seats: the mean without luck is the exact result, with far less noise than the plain."""
    policy = policies["leduc_poker"]
    played = session(policy, seed=5)
    draw = random.Random(8)
    play_hands(played, 400, draw)
    exact = exact_match("uniform", policy).mean
    fair = np.array([played.without_luck(n) for n in range(400)])
    plain = np.array([played.payoff(n) for n in range(400)])
    assert abs(fair.mean() - exact) < 4 * fair.std() / 20
    assert fair.std() < 0.7 * plain.std()


def test_cards_are_dealt_fairly(policies):
    played = session(policies["leduc_poker"], BASELINES["always-call"], seat="0", seed=1)
    play_hands(played, 1200, random.Random(0))
    first = Counter(hand.actions[0] for hand in played.record.hands)
    assert len(first) == 6 and all(abs(count - 200) < 60 for count in first.values())


def test_a_session_is_a_file_and_goes_on_as_if_it_had_not_stopped(policies, tmp_path):
    def fresh():
        return session(policies["leduc_poker"], seed=9, costs=True)

    whole, parts = fresh(), fresh()
    draws = random.Random(1), random.Random(1)
    play_hands(whole, 3, draws[0])
    for _ in range(3):
        parts.deal()
        while not parts.is_over:
            parts.act(draws[1].randrange(len(parts.view()["actions"])))
            parts.record.save(tmp_path / "game.json")
            parts = Session(read_record(tmp_path / "game.json"), parts.table)
    assert parts.record == whole.record and parts.view() == whole.view()


def test_nothing_hidden_is_shown_before_the_end(policies):
    played = session(policies["leduc_poker"], seat="1", seed=4)
    for _ in range(20):
        played.deal()
        while not played.is_over:
            view = played.view()
            assert view["table"]["hands"][0] is None and len(view["table"]["hands"][1]) == 1
            assert "result" not in view and "hint" not in view and "solution" not in json.dumps(view["choices"])
            played.act(0 if len(view["actions"]) < 3 else 1)
        shown = played.view()["table"]
        assert (shown["hands"][0] is None) == (shown["folded"] is not None)


@pytest.mark.parametrize("name", ["leduc_poker", "goofspiel(cards=4)", OWN])
def test_practice_begins_where_one_lost_most(policies, name):
    played = session(policies[name], seed=2, costs=True)
    play_hands(played, 15, random.Random(3))
    worst = played.worst(3)
    assert worst and worst[0]["cost"] == max(d.cost for n in range(15) for d in played.decisions(n))
    played.record.practice = worst[0]["practice"]
    hidden = set()
    for _ in range(30):
        played.deal()
        assert played.view()["knows"] == worst[0]["knows"]
        hidden.add(tuple(played.hand.actions[: played.hand.given]))
        while not played.is_over:
            played.act(0)
        assert played.without_luck(len(played.record.hands) - 1) is not None
    if name == "leduc_poker":
        assert len(hidden) > 1  # what is not seen is drawn


def test_practice_from_a_line_deals_hands_that_come_there(spot_policy, boards):
    for policy, start in ((spot_policy, {"line": "c"}), (boards, {"line": "cc/", "board": "2c3d"})):
        played = session(policy, seed=1, practice=start)
        own = set()
        for _ in range(6):
            played.deal()
            table = played.view()["table"]
            assert table["line"] == start["line"]
            assert "".join(table["board"]).endswith(start.get("board", ""))
            own.add(tuple(table["hands"][played.hand.seat]))
            while not played.is_over:
                played.act(0)
        assert len(own) > 1


def test_hands_of_hold_em_are_played_against_a_policy_over_boards(boards):
    played = Session(
        Record(game=boards.rules.address, opponent="x", solution="x", seed=3, costs=True),
        make_table(boards.rules, HoldemPlayer("x", boards), HoldemPlayer("x", boards)),
    )
    play_hands(played, 20, random.Random(1))
    assert played.score()["luck_method"].startswith("AIVAT")
    lines = played.history("acpc").splitlines()
    assert len(lines) == 20 and all(line.startswith("STATE:") for line in lines)


def test_all_in_equity_is_the_mean_over_boards():
    game = load_game("nolimit_holdem(stack=1000)")
    # Aces against kings of other suits on the turn: two kings of 44 cards lose.
    end = read_state(game, hands=("AhAd", "KsKc"), board="2c7d9sTh3d", betting="cc/cc/r1000c")
    assert end.payoff() == 1000.0
    assert all_in_payoff(end) == pytest.approx(1000 * (42 - 2) / 44)
    shown = read_state(game, hands=("AhAd", "KsKc"), board="2c7d9sTh3d", betting="cc/cc/cc/r1000c")
    assert all_in_payoff(shown) == 1000.0
    folded = read_state(game, hands=("AhAd", "KsKc"), board="2c7d9s", betting="cc/r1000f")
    assert all_in_payoff(folded) == folded.payoff()
    before = read_state(game, hands=("AhAd", "KsKc"), board="2c7d9sTh3d", betting="r1000c")
    assert all_in_payoff(before) == pytest.approx(1000 * (0.8171 - 0.1782), abs=25)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 9},
        {"seat": 3},
        {"hands": [{"seat": 0, "actions": ["x"], "given": 0}]},
        {"hands": [{"seat": 0, "actions": [1], "given": 2}]},
        {"practice": {"elsewhere": "x"}},
        {"seed": "1"},
    ],
)
def test_damaged_sessions_are_refused(tmp_path, change):
    path = tmp_path / "game.json"
    path.write_text(json.dumps({**Record(game="kuhn_poker", opponent="uniform").to_json(), **change}))
    with pytest.raises(DamagedFile):
        read_record(path)


def test_actions_that_the_rules_lack_are_refused(policies):
    played = session(policies["kuhn_poker"])
    played.deal()
    played.record.hands[0].actions[1] = played.record.hands[0].actions[0]  # one card for both
    with pytest.raises(DamagedFile, match="rules lack"):
        Session(played.record, played.table)
