"""Policies of spots: what is played, with what range, and what each action is worth."""

import numpy as np
import pytest

import equipoise
from equipoise import spot
from equipoise.errors import EquipoiseError
from equipoise.evaluation.match import exact_match
from equipoise.games import CHANCE, TERMINAL
from equipoise.games.notation import read_betting
from equipoise.policies.files import Parts, write_parts
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.regret.rules import DiscountedCFR
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.trees.spot_evaluator import SpotEvaluator
from equipoise.trees.spot_form import spot_form
from tests.naive.values import counterfactual_reach, expected_value, uniform_policy
from tests.spots import small_spot


def solved(game, iterations=3):
    """Return the policy after a few iterations."""
    solver = SpotCFR(spot_form(game), DiscountedCFR(), storage="float64")
    solver.run(iterations)
    return SpotPolicy(form=solver.form, strategy=solver.average_strategy())


@pytest.fixture(scope="module", params=["river", "turn", "turn, two suits alike", "flop"])
def both(request):
    """Return a policy, and the same as a dictionary by infoset key."""
    policy = solved(small_spot(request.param))
    keys = uniform_policy(policy.form.game)
    return policy, {key: list(policy[key].values()) for key in keys}


def test_probabilities_add_up_on_every_board_of_the_rules(both):
    _, naive = both
    assert all(sum(probabilities) == pytest.approx(1.0) for probabilities in naive.values())


def test_the_whole_strategy_is_worth_what_the_evaluator_says(both):
    policy, naive = both
    game = policy.form.game
    values = SpotEvaluator(policy.form).best_responses(policy.strategy)
    assert values.value == pytest.approx(expected_value(game.root(), naive), abs=1e-9)
    assert policy.line().means()["value"] == pytest.approx(values.value + game.pot / 2, abs=1e-9)


def test_values_of_actions_reach_and_equity_by_the_definition(both):
    policy, naive = both
    game = policy.form.game
    found = {}  # by infoset key: deals, and sums of values and of wins over them
    for player in range(2):
        for state, others in counterfactual_reach(game, naive, player):
            if state.player != player:
                continue
            sign = 1.0 if player == 0 else -1.0
            values = [sign * expected_value(state.child(a), naive) for a in state.actions()]
            checked = sign * expected_value(checked_down(state), naive)
            entry = found.setdefault(state.infoset_key(), [0.0, np.zeros(len(values)), 0.0])
            entry[0] += others
            entry[1] += others * np.array(values)
            entry[2] += others * checked
    lines = {}
    compared = 0
    for key, (deals, sums, wins) in found.items():
        cards, _, betting = key.partition("|")
        hand, _, board = cards.partition("/")
        line = lines.setdefault((betting, board), policy.line(betting, board))
        place = [game.hand_text(each) for each in line.hands].index(hand)
        if deals < 1e-9:
            continue
        state = read_betting(game.betting, betting)
        own = game.pot / 2 + state.spent[line.player]
        np.testing.assert_allclose(line.values[place], sums / deals + own, atol=1e-7, err_msg=key)
        assert line.equity[place] == pytest.approx((wins / deals + 1) / 2, abs=1e-7)
        np.testing.assert_allclose(line.probabilities[place], naive[key], atol=1e-12)
        compared += 1
    assert compared > 20


class checked_down:  # noqa: N801
    """A history after which nobody bets: the winner takes 1."""

    def __init__(self, state):
        self.state = state
        self.player = -2 if len(state.board) == 5 else -1

    def actions(self):
        dealt = {*self.state.board, *(c for hand in self.state.hands for c in self.state.game.hands[hand])}
        return [card for card in range(self.state.game.deck.size) if card not in dealt]

    def chance_probabilities(self):
        return [1 / len(self.actions())] * len(self.actions())

    def child(self, card):
        state = self.state
        return checked_down(type(state)(state.game, state.hands, (*state.board, card), state.betting))

    def payoff(self):
        mine, theirs = (self.state.game.strength(self.state.game.hands[h], self.state.board) for h in self.state.hands)
        return float(np.sign(mine - theirs))


def test_reach_is_range_times_probabilities():
    policy = solved(small_spot("turn"))
    game = policy.form.game
    line = policy.line("r10c/", "4c")
    for place, hand in enumerate(line.hands):
        key = f"{game.hand_text(hand)}/{game.deck.text(game.board)}|"
        assert line.reach[place] == pytest.approx(policy[key]["bet 10"], abs=1e-12)
    second = policy.range_at("r10c/", "4c", player=1)
    called = policy["6c2d/2c3c4d6d|r10"]["call"]
    assert second.weights[game.hands.index((1, 8))] == pytest.approx(called, abs=1e-12)


def test_hands_classes_and_ranges():
    policy = solved(spot("KsTh7s4d2s", 100, 250, "AA,TT,AKs,AsQs", "KK,77,AKo", bets="1-allin"))
    line = policy.line()
    assert {line.game.hand_text(hand) for hand in line.select("AKs").hands} == {"AhKh", "AdKd", "AcKc"}
    assert len(line.select("AhKh").hands) == 1
    assert len(line.select("TT,AQs").hands) == 4
    assert set(line.by_class()) == {"AA", "TT", "AKs", "AQs"}
    grid = line.grid()
    assert grid[0, 1].sum() == pytest.approx(1.0)
    assert np.isnan(grid[1, 0]).all()
    with pytest.raises(EquipoiseError, match="no hand of 99"):
        line.select("99")


def test_boards_are_given_with_or_without_the_spots_own():
    policy = solved(spot("Td9d6hQc", 200, 900, "AA,JJ", "KK,T9s", bets="1"), 1)
    first, second = policy.line("cc/", "Ks"), policy.line("cc/", "Td9d6hQcKs")
    np.testing.assert_array_equal(first.values, second.values)
    assert first.board_text() == "Td9d6hQcKs"
    assert len(list(policy.runouts(1))) == 48
    for text, board, says in [
        ("cc/", "", "give the river"),
        ("", "Ks", "leave out --board"),
        ("cc/", "Td", "already"),
        ("cc/cc", "Ks", "over"),
        ("x", "", "not legal"),
    ]:
        with pytest.raises(EquipoiseError, match=says):
            policy.line(text, board)
    with pytest.raises(EquipoiseError, match="not in the range"):
        policy["AhKh/Td9d6hQc|"]


def test_boards_that_stand_for_others_are_counted():
    policy = solved(spot("Td9d6h", 200, 300, "AA,87s", "KK,T9s", bets="1", raises="none"), 1)
    assert sum(count for _, count in policy.runouts(1)) == 49
    clubs, spades = policy.line("cc/", "2c"), policy.line("cc/", "2s")
    swapped = {"c": "s", "s": "c"}
    names = ["".join(swapped.get(c, c) for c in clubs.game.hand_text(hand)) for hand in clubs.hands]
    listed = {frozenset([name[:2], name[2:]]): row for name, row in zip(names, clubs.values, strict=True)}
    for hand, row in zip(spades.hands, spades.values, strict=True):
        text = spades.game.hand_text(hand)
        np.testing.assert_array_equal(row, listed[frozenset([text[:2], text[2:]])])


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_a_policy_is_saved_and_opened_without_a_solver(tmp_path, storage):
    game = spot("Td9d6hQc", 200, 900, first="66+,A8s+", second="QQ-22,AJo:0.5")
    solution = equipoise.solve(game, iterations=5, parameters={"storage": storage})
    solution.policy.save(tmp_path / "spot.npz")
    opened = equipoise.load_policy(tmp_path / "spot.npz")
    assert isinstance(opened, SpotPolicy)
    assert opened.game == game.name
    assert opened.origin["iterations"] == 5
    assert equipoise.exploitability(game, opened) == solution.exploitability
    np.testing.assert_array_equal(opened.line("r200").values, solution.policy.line("r200").values)
    with pytest.raises(EquipoiseError, match="OpenSpiel has no spots"):
        opened.to_open_spiel()


def test_a_damaged_or_foreign_file_is_refused(tmp_path):
    policy = solved(spot("Td9d6hQc2s", 200, 900, first="66+", second="QQ-22"))
    header, arrays = policy.parts()
    short = {**arrays, "strategy_last": arrays["strategy_last"][:-16]}
    write_parts(tmp_path / "short.npz", Parts(header, short), compressed=False)
    with pytest.raises(EquipoiseError, match=r"damaged: tables of .* numbers"):
        equipoise.load_policy(tmp_path / "short.npz")
    write_parts(tmp_path / "order.npz", Parts({**header, "layout": "other"}, arrays), compressed=False)
    with pytest.raises(EquipoiseError, match="a different order"):
        equipoise.load_policy(tmp_path / "order.npz")
    policy.save(tmp_path / "good.npz")
    with pytest.raises(EquipoiseError, match="not of kuhn_poker"):
        equipoise.load_policy(tmp_path / "good.npz", game="kuhn_poker")
    with pytest.raises(EquipoiseError, match="has other rules"):
        equipoise.load_policy(tmp_path / "good.npz", game="spot(board=Td9d6hQc2s,pot=300,stack=900)")


@pytest.mark.parametrize("name", ["river", "turn, two suits alike"])
@pytest.mark.parametrize("opponent", ["policy", "uniform"])
def test_exact_matches_are_what_the_rules_pay(name, opponent):
    game = small_spot(name)
    mine = equipoise.solve(game, iterations=50).policy
    theirs = equipoise.solve(game, iterations=3).policy if opponent == "policy" else opponent
    found = exact_match(mine, theirs)

    def shares(by, state):
        actions = state.actions()
        return [1 / len(actions)] * len(actions) if by == "uniform" else by[state.infoset_key()].values()

    def worth(state, seats):
        if state.player == TERMINAL:
            return state.payoff()
        chances = state.chance_probabilities() if state.player == CHANCE else shares(seats[state.player], state)
        pairs = zip(state.actions(), chances, strict=True)
        return sum(chance * worth(state.child(action), seats) for action, chance in pairs if chance > 0.0)

    assert found.seats[0] == pytest.approx(worth(game.root(), (mine, theirs)), abs=1e-6)
    assert found.seats[1] == pytest.approx(-worth(game.root(), (theirs, mine)), abs=1e-6)
    assert exact_match(mine, mine).mean == pytest.approx(0.0, abs=1e-9)
    assert exact_match(theirs, mine).mean == pytest.approx(-found.mean)


def test_exact_matches_of_spots_that_a_network_values_are_refused():
    game = equipoise.spot("Td9d6hQc", 200, 900, "AA,KK", "QQ,JJ", "1", until="river", values="network")
    policy = equipoise.solve(game, iterations=2).policy
    with pytest.raises(EquipoiseError, match="leave out values to play"):
        exact_match(policy, policy)
