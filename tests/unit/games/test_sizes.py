"""Every count and value of the games that is known: a wrong rule shows as a wrong number."""

import pytest

from equipoise import solve
from equipoise.errors import EquipoiseError
from equipoise.games import TERMINAL, load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.bluff import Bluff
from equipoise.games.poker import Deck, PokerGame
from equipoise.games.sizes import betting_size, hands_by_round, num_deals, num_infoset_actions, num_infosets
from equipoise.trees.best_response import Evaluator
from equipoise.trees.build_goofspiel import count_histories as count_goofspiel_histories
from equipoise.trees.compile import build_game_tree, build_public_tree, compile_game, count_infosets
from equipoise.trees.public_tree import count_histories
from tests.naive.values import histories


@pytest.mark.parametrize(
    ("text", "infosets", "decisions", "terminals"),
    [
        ("kuhn_poker", 12, 24, 30),
        ("one_card_poker(cards=5)", 20, 80, 100),
        ("one_card_poker(cards=13)", 52, 624, 780),
        ("leduc_poker", 936, 3_780, 5_520),
        ("nl_leduc(stack=5)", 3_648, 14_760, 25_620),
        ("goofspiel(cards=4)", 162, 501, 576),
        ("goofspiel(cards=4,last_round=played)", 738, 1_653, 576),
        ("goofspiel(cards=5)", 2_124, 12_531, 14_400),
    ],
)
def test_rules_by_enumeration(text, infosets, decisions, terminals):
    players = {}
    keys = set()
    for state in histories(load_game(text)):
        kind = "decision" if state.player >= 0 else state.player
        players[kind] = players.get(kind, 0) + 1
        if state.player >= 0:
            keys.add((state.player, state.infoset_key()))
    assert (len(keys), players["decision"], players[TERMINAL]) == (infosets, decisions, terminals)


@pytest.mark.parametrize(
    ("text", "infosets", "decisions", "terminals"),
    [
        ("bluff(dice=1x1)", 24_576, 147_456, 147_420),
        ("goofspiel(cards=5,last_round=played)", 9_948, 41_331, 14_400),
        ("goofspiel(cards=6)", 34_482, 451_123, 518_400),
        ("goofspiel(cards=6,last_round=played)", 166_002, 1_487_923, 518_400),
        ("goofspiel(cards=7)", 667_896, 22_105_035, 25_401_600),
    ],
)
def test_trees_of_larger_games(text, infosets, decisions, terminals):
    tree = build_game_tree(load_game(text))
    counts = (tree.num_infosets, int((tree.player >= 0).sum()), int((tree.player == TERMINAL).sum()))
    assert counts == (infosets, decisions, terminals)


@pytest.mark.parametrize(("last_round", "decisions"), [("automatic", 22_105_035), ("played", 72_908_235)])
def test_goofspiel_of_seven_cards_is_counted_without_being_built(last_round, decisions):
    game = load_game(f"goofspiel(cards=7,last_round={last_round})")
    assert count_goofspiel_histories(game) == decisions + 25_401_600


@pytest.mark.parametrize(("stack", "infosets"), [(5, 3_648), (10, 97_728), (15, 1_140_672)])
def test_no_limit_leduc_infosets(stack, infosets):
    tree = build_public_tree(load_game(f"nl_leduc(stack={stack})"))
    assert tree.num_infosets == infosets
    if stack == 15:
        assert count_histories(tree) == pytest.approx(13.5e6, rel=5e-3)


@pytest.mark.parametrize(
    ("dice", "rounds"),
    [
        ((1, 1), {(1, 1): 24_576}),
        ((2, 1), {(2, 1): 3_538_944, (1, 1): 24_576}),
        ((1, 2), {(1, 2): 3_538_944, (1, 1): 24_576}),
    ],
)
def test_bluff_infosets_round_by_round(dice, rounds):
    game = Bluff(dice)
    tree = build_public_tree(game)
    counted = {}
    for player, nodes in enumerate(tree.deciding):
        for subgame, current in enumerate(game.rounds()):
            here = int((tree.subgame[nodes] == subgame).sum()) * tree.stages[subgame].width(player)
            counted[current.dice] = counted.get(current.dice, 0) + here
    assert counted == rounds
    assert tree.num_infosets == sum(rounds.values())


@pytest.mark.parametrize(
    ("text", "algorithm", "iterations", "value"),
    [
        ("kuhn_poker", "pcfr+", 3_000, -1 / 18),
        ("one_card_poker(cards=5)", "pcfr+", 3_000, -1 / 15),
        ("one_card_poker(cards=13)", "pcfr+", 3_000, -5 / 78),
        ("leduc_poker", "cfr+", 20_000, -0.085606424078),
    ],
)
def test_values(text, algorithm, iterations, value):
    solution = solve(text, algorithm, iterations=iterations)
    assert solution.value == pytest.approx(value, abs=1e-7)
    # The value of the game lies between what each player is sure of: a proof, whatever the solver did.
    below, above = value - solution.nash_conv, value + solution.nash_conv
    assert below <= solution.value <= above
    assert solution.nash_conv < 1e-5


def test_uniform_play_on_leduc_is_as_bad_as_is_known(compiled):
    form = compiled("leduc_poker")
    uniform = tuple(plex.uniform_strategy() for plex in form.treeplexes)
    assert Evaluator(form).best_responses(uniform).exploitability == pytest.approx(2.37361, abs=5e-6)


@pytest.mark.parametrize(
    "text", ["kuhn_poker", "one_card_poker(cards=5)", "leduc_poker", "nl_leduc(stack=5)", "nl_leduc(stack=7)"]
)
def test_poker_is_counted_without_being_listed(text):
    game = load_game(text)
    tree = build_public_tree(game)
    assert num_infosets(game) == count_infosets(game) == tree.num_infosets
    assert betting_size(game.betting).nodes == tree.num_nodes
    assert num_infoset_actions(game) == sum(plex.num_sequences - 1 for plex in compile_game(game).treeplexes)


def small_holdem(board_cards):
    """Return a game with hands of one card and as many rounds as deals, the first one empty."""
    rounds = (BettingRound(max_raises=1, bet_size=2),) * len(board_cards)
    deck = Deck(ranks=("T", "J", "Q", "K", "A"))
    return PokerGame(f"small{board_cards}", deck, BettingRules(blinds=(1, 2), rounds=rounds), board_cards)


@pytest.mark.parametrize("board_cards", [(0,), (0, 1), (0, 2), (0, 1, 1), (0, 0, 2), (0, 2, 0)])
def test_boards_of_several_cards_and_several_deals_are_counted(board_cards):
    game = small_holdem(board_cards)
    listed = list(histories(game))
    keys = {(state.player, state.infoset_key()) for state in listed if state.player >= 0}
    assert len(keys) == num_infosets(game) == count_infosets(game) == compile_game(game).num_infosets
    shown = [state for state in listed if state.player == TERMINAL and state.betting.folded < 0]
    assert num_deals(game) == len({(state.hands, state.board) for state in shown})


def test_flop_holdem_is_as_large_as_is_published():
    game = load_game("flop_holdem")
    size = betting_size(game.betting)
    assert size.decisions == (8, 70) and size.deals == (0, 7)
    assert hands_by_round(game) == [1_326, 25_989_600]
    assert num_infosets(game) == 8 * 1_326 + 70 * 25_989_600 == 1_819_282_608
    # Up to suits: 169 hands before the flop, 1,286,792 with it; Brown et al. 2019 print the infoset-actions.
    assert num_infosets(game, (169, 1_286_792)) == 8 * 169 + 70 * 1_286_792 == 90_076_792
    assert num_infoset_actions(game, (169, 1_286_792)) == 234_199_693


def test_limit_holdem_is_as_large_as_is_published():
    # Bowling et al. 2015: 3.19e14 infosets with four bets a round, and 1.38e13 up to suits.
    assert num_infosets(load_game("limit_holdem(caps=3-4-4-4)")) == pytest.approx(3.19e14, rel=2e-3)
    assert num_infosets(load_game("limit_holdem(caps=3-3-4-4)")) == 248_395_757_948_208
    canonical = (169, 1_286_792, 55_190_538, 2_428_287_420)  # hands up to suits by round: Waugh 2013
    assert num_infosets(load_game("limit_holdem(caps=3-4-4-4)"), canonical) == pytest.approx(1.38e13, rel=4e-3)


def test_no_limit_holdem_is_counted_or_refused():
    size = betting_size(load_game("nolimit_holdem").betting)
    assert size.decisions == (20, 100, 340, 900)
    with pytest.raises(EquipoiseError, match="the betting has more than 1,000 different states"):
        betting_size(load_game("nolimit_holdem(stack=1000,actions=full)").betting, most_states=1000)


def test_caps_are_a_parameter_of_both_limit_games():
    flop, limit = load_game("flop_holdem"), load_game("limit_holdem")
    assert load_game("flop_holdem(caps=3-4)") == flop and flop.name == "flop_holdem"
    assert limit.name == "limit_holdem(caps=3-4-4-4)"
    # Flop hold'em is limit hold'em without its last two rounds (Deep CFR, section 5).
    assert betting_size(flop.betting).decisions == (8, 70) == betting_size(limit.betting).decisions[:2]
    smaller = load_game("flop_holdem(caps=3-3)")
    assert smaller.name == "flop_holdem(caps=3-3)"
    assert betting_size(smaller.betting).decisions == (8, 56)
    assert betting_size(load_game("limit_holdem(caps=3-3-4-4)").betting).decisions == (8, 56, 490, 4410)


def test_a_name_with_a_nul_character_is_refused():
    for text in ("open_spiel:kuhn_poker(\0=2)", "nl_leduc(stack=\0)"):
        with pytest.raises(EquipoiseError, match="NUL"):
            load_game(text)
