"""Games that cannot be solved here are refused before any work, in one sentence that says why."""

from dataclasses import dataclass, field

import pytest

from equipoise import memory
from equipoise.errors import EquipoiseError
from equipoise.games import CHANCE, TERMINAL, Game, State, load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.poker import Deck, PokerGame
from equipoise.trees import game_tree
from equipoise.trees.best_response import Evaluator
from equipoise.trees.compile import build_game_tree, compile_game
from equipoise.trees.game_tree import tree_from_rules
from tests.solvers import ALGORITHMS, solved


@dataclass(frozen=True)
class Node(State):
    """A hand-made history: who acts, the infoset, what follows; or what is paid."""

    player: int = TERMINAL
    key: str = ""
    after: tuple["Node", ...] = ()
    pays: float = 0.0
    chances: tuple[float, ...] = ()

    def actions(self):
        return range(len(self.after))

    def child(self, action):
        return self.after[action]

    def infoset_key(self):
        return self.key

    def payoff(self):
        return self.pays

    def chance_probabilities(self):
        return self.chances or super().chance_probabilities()


@dataclass(frozen=True)
class HandMade(Game):
    start: Node
    name: str = field(default="hand_made")

    def root(self):
        return self.start


def ends(*payoffs):
    return tuple(Node(pays=payoff) for payoff in payoffs)


def test_forgetting_what_one_did_is_refused():
    later = (Node(0, "later", ends(1, 2)), Node(0, "later", ends(3, 4)))
    with pytest.raises(EquipoiseError, match="hand_made has no perfect recall: infoset 'later' of player 0"):
        compile_game(HandMade(Node(0, "first", later)))


def test_forgetting_what_one_knew_is_refused():
    left = Node(1, "saw left", (Node(1, "blurred", ends(1, 2)),))
    right = Node(1, "saw right", (Node(1, "blurred", ends(3, 4)),))
    with pytest.raises(EquipoiseError, match="infoset 'blurred' of player 1 forgets"):
        compile_game(HandMade(Node(CHANCE, after=(left, right))))


def test_acting_twice_in_one_infoset_is_refused():
    again = Node(0, "absent-minded", (*ends(0), Node(0, "absent-minded", ends(1, 4))))
    with pytest.raises(EquipoiseError, match="infoset 'absent-minded' of player 0"):
        compile_game(HandMade(again))


def test_the_others_past_may_be_forgotten():
    unseen = (Node(1, "blind", ends(1, -1)), Node(1, "blind", ends(-1, 1)))
    form = compile_game(HandMade(Node(0, "pennies", unseen)))
    uniform = tuple(plex.uniform_strategy() for plex in form.treeplexes)
    assert Evaluator(form).best_responses(uniform).nash_conv == pytest.approx(0.0)


def test_one_infoset_with_two_numbers_of_actions_is_refused():
    unlike = (Node(1, "unlike", ends(1, 2)), Node(1, "unlike", ends(1, 2, 3)))
    with pytest.raises(EquipoiseError, match="infoset 'unlike' of player 1 has 3 actions here and 2 in another"):
        compile_game(HandMade(Node(CHANCE, after=unlike)))


def test_chances_that_do_not_sum_to_one_are_refused():
    with pytest.raises(EquipoiseError, match=r"sum to 0\.75, not to 1"):
        compile_game(HandMade(Node(CHANCE, after=ends(1, 2), chances=(0.5, 0.25))))


@pytest.mark.parametrize("player", [0, 1, CHANCE])
def test_a_history_without_actions_is_refused(player):
    with pytest.raises(EquipoiseError, match=r"is to act, but actions\(\) is empty"):
        compile_game(HandMade(Node(player, "stuck")))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_game_without_decisions_has_its_value_or_is_refused(algorithm):
    try:
        form = compile_game(HandMade(Node(CHANCE, after=ends(1, 5))))
    except EquipoiseError as error:
        assert "hand_made" in str(error)  # noqa: PT017
        return
    solver = solved(form, algorithm, 2)
    assert Evaluator(form).best_responses(solver.average_strategy()) == (3.0, (3.0, -3.0))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_game_in_which_only_one_player_decides_is_solved(algorithm):
    form = compile_game(HandMade(Node(1, "alone", ends(1, -5, 2))))
    solver = solved(form, algorithm, 2000)
    assert Evaluator(form).best_responses(solver.average_strategy()).value == pytest.approx(-5.0, abs=0.01)


@pytest.fixture
def little_memory(monkeypatch):
    for module in (memory, game_tree):
        monkeypatch.setattr(module, "available_bytes", lambda: 8 * memory.GIB)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("text", "engine", "message"),
    [
        ("goofspiel(cards=8)", "auto", r"tree of goofspiel\(cards=8\) \(3\.04e\+09 histories\) needs about 1\d\d\."),
        ("bluff(dice=2x2)", "auto", r"bluff\(dice=2x2\) \(\d+,\d+,\d+ public nodes, 21 rolls\) needs about"),
        ("bluff(dice=2x1)", "sequence", r"tree of bluff\(dice=2x1\) \(.*e\+\d+ histories\) needs about"),
        ("nl_leduc(stack=25)", "auto", r"nl_leduc\(stack=25\) \(5,557,884 .*nodes\) needs about"),
    ],
)
def test_what_does_not_fit_in_memory_is_refused_with_numbers(text, engine, message):
    with pytest.raises(EquipoiseError, match=message + r".* and 8\.0 GiB is available"):
        compile_game(load_game(text), engine)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("engine", ["auto", "sequence", "vector"])
@pytest.mark.parametrize(
    ("text", "deals", "instead"),
    [
        ("flop_holdem", r"2\.8e\+10", "board by board"),
        ("limit_holdem", r"5\.6e\+13", "in buckets"),
        ("nolimit_holdem", r"5\.6e\+13", "in buckets"),
        ("nolimit_holdem(actions=full)", r"5\.6e\+13", "in buckets"),
    ],
)
def test_holdem_is_refused_at_once(text, engine, deals, instead):
    message = rf"{text[:11]}.* \({deals} of two hands and a board\) needs about .* {instead}"
    with pytest.raises(EquipoiseError, match=message):
        compile_game(load_game(text), engine)


def test_board_cards_in_several_deals_have_no_public_tree():
    rounds = (BettingRound(max_raises=1, bet_size=2),) * 3
    deck = Deck(ranks=("J", "Q", "K", "A"))
    game = PokerGame("two_deals", deck, BettingRules(blinds=(1, 2), rounds=rounds), (0, 1, 1))
    with pytest.raises(EquipoiseError, match="two_deals cannot be solved with --engine vector; use --engine sequence"):
        compile_game(game, "vector")
    assert compile_game(game).engine == "sequence"


def test_a_list_of_histories_needs_more_memory_than_a_public_tree(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**25)
    game = load_game("nl_leduc(stack=10)")
    assert compile_game(game, "vector").num_infosets == 97_728
    with pytest.raises(EquipoiseError, match=r"tree of nl_leduc\(stack=10\) \(1\.15e\+06 histories\) needs about"):
        compile_game(game, "sequence")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("text", ["phantom_ttt", "goofspiel(imp_info=True,num_cards=10)"])
def test_a_huge_game_of_open_spiel_is_refused_by_an_estimate(text, monkeypatch):
    game = load_game(f"open_spiel:{text}")
    monkeypatch.setattr(
        game_tree._SeenInfosets, "number", pytest.fail
    )  # called for each decision while a tree is built
    with pytest.raises(EquipoiseError, match=r"about \d\.\de\+\d+ histories \(sampled estimate\); 8\.0 GiB of memory"):
        build_game_tree(game)


def test_a_tree_that_outgrows_memory_while_it_is_built_is_given_up(monkeypatch):
    monkeypatch.setattr(game_tree, "estimate_histories", lambda game: 10.0)
    monkeypatch.setattr(game_tree, "available_bytes", lambda: 100 * game_tree.PYTHON_BYTES_PER_HISTORY)
    with pytest.raises(EquipoiseError, match="do not fit in memory"):
        tree_from_rules(load_game("leduc_poker"))


def test_an_engine_that_a_game_does_not_have_is_refused():
    with pytest.raises(
        EquipoiseError, match=r"goofspiel\(cards=4\) cannot be solved with --engine vector; use --engine sequence"
    ):
        compile_game(load_game("goofspiel(cards=4)"), "vector")
    with pytest.raises(EquipoiseError, match="unknown engine 'fast'"):
        compile_game(load_game("goofspiel(cards=4)"), "fast")
