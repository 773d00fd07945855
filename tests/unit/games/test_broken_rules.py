"""Games of one's own whose rules are broken: each is refused, with the history and the reason, before it is solved."""

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError, InvalidGame
from equipoise.evaluation.match import play_match
from equipoise.evaluation.players import BASELINES
from equipoise.games.efg import write_efg
from equipoise.trees.compile import compile_game
from equipoise.trees.game_tree import tree_from_rules

CHANCE, TERMINAL = equipoise.CHANCE, equipoise.TERMINAL


@dataclass(frozen=True, slots=True)
class CoinState(equipoise.State):
    """Chance throws a coin that player 0 sees; player 0 then bets or folds, and player 1 bets or folds unseeing."""

    game: "Coin"
    moves: tuple[int, ...] = ()

    def _answer(self, method, right, *arguments):
        broken = self.game.broken.get((method, self.moves, *arguments), right)
        if isinstance(broken, Exception):
            raise broken
        return broken(self) if callable(broken) else broken

    @property
    def player(self):
        return self._answer("player", (CHANCE, 0, 1, TERMINAL)[min(len(self.moves), 3)])

    def actions(self):
        return self._answer("actions", (0, 1) if len(self.moves) < 3 else ())

    def child(self, action):
        return self._answer("child", CoinState(self.game, (*self.moves, action)), action)

    def infoset_key(self):
        return self._answer("infoset_key", f"saw {self.moves[0]}" if len(self.moves) == 1 else f"after {self.moves[1]}")

    def payoff(self):
        return self._answer("payoff", float(self.moves[0] + self.moves[1] - self.moves[2]))

    def chance_probabilities(self):
        return self._answer("chance_probabilities", [0.5, 0.5])

    def action_name(self, action):
        names = ("heads", "tails") if not self.moves else ("bet", "fold")
        return self._answer("action_name", names[action], action)


class Coin(equipoise.Game):
    name = "coin"

    def __init__(self, **broken):
        self.broken = broken.get("rules", {})

    def root(self):
        return CoinState(self)


END = (0, 1, 0)
BROKEN = {
    "player out of range": (("player", (0,)), 5, "coin, after [heads]: player is 5: it must be 0, 1, CHANCE"),
    "player of another kind": (("player", (0,)), 1.0, "after [heads]: player is 1.0"),
    "player that is no number": (("player", ()), None, "coin, at the start: player is None"),
    "player far out of range": (("player", (1,)), 10**30, "after [tails]: player is 1000"),
    "end with actions": (("actions", END), (0, 1), "after [heads, fold, bet]: the game is over (player is TERMINAL)"),
    "no actions": (("actions", (1,)), (), "after [tails]: player 0 is to act, but actions() is empty"),
    "no outcomes": (("actions", ()), (), "at the start: chance is to act, but actions() is empty"),
    "an action twice": (("actions", (1,)), (0, 0), "after [tails]: actions() has an action twice: [0, 0]"),
    "an outcome twice": (("actions", ()), (1, 1), "at the start: actions() has an action twice"),
    "actions without a length": (("actions", (1,)), iter((0, 1)), "after [tails]: actions() raised TypeError"),
    "actions that are None": (("actions", (1,)), None, "after [tails]: actions() raised TypeError"),
    "negative chance": (("chance_probabilities", ()), [1.5, -0.5], "at the start: chance_probabilities() has 1.5"),
    "only negative chance": (("chance_probabilities", ()), [-0.5, 1.0], "chance_probabilities() has -0.5"),
    "chances below 1": (("chance_probabilities", ()), [0.5, 0.4], "chance_probabilities() sum to 0.9, not to 1"),
    "chance that is NaN": (("chance_probabilities", ()), [math.nan, 0.5], "chance_probabilities() has nan"),
    "too few chances": (("chance_probabilities", ()), [1.0], "chance_probabilities() has 1 number for 2 actions"),
    "too many chances": (("chance_probabilities", ()), [0.5, 0.5, 0], "chance_probabilities() has 3 numbers for 2"),
    "chances that are None": (("chance_probabilities", ()), None, "chance_probabilities() raised TypeError"),
    "chance that is text": (("chance_probabilities", ()), ["a", "b"], "chance_probabilities() raised ValueError"),
    "payoff that is NaN": (("payoff", END), math.nan, "coin, after [heads, fold, bet]: payoff() is nan"),
    "infinite payoff": (("payoff", END), -math.inf, "after [heads, fold, bet]: payoff() is -inf"),
    "enormous payoff": (("payoff", END), 1e300, "payoff() is 1e+300: it must be a finite number of at most 1e+100"),
    "enormous whole payoff": (("payoff", END), 10**400, "payoff() is 1000"),
    "payoff that is text": (("payoff", END), "1", "payoff() is '1', of type str: it must be a number"),
    "no payoff": (("payoff", END), None, "payoff() is None, of type NoneType"),
    "payoff of both": (("payoff", END), (1, -1), "payoff() is (1, -1), of type tuple"),
    "key that is no text": (("infoset_key", (0,)), ("saw", 0), "infoset_key() is ('saw', 0), of type tuple"),
    "key that is None": (("infoset_key", (0,)), None, "after [heads]: infoset_key() is None"),
    "key that is bytes": (("infoset_key", (0,)), b"saw", "infoset_key() is b'saw', of type bytes"),
    "key with NUL": (("infoset_key", (0,)), "a\0b", r"after [heads]: infoset_key() is 'a\x00b': a key cannot contain"),
    "key that is no Unicode": (("infoset_key", (0,)), "\ud800", "which is not valid Unicode text"),
    "exception": (("payoff", END), ZeroDivisionError("by\n zero"), "payoff() raised ZeroDivisionError: by zero"),
    "exception of the player": (("player", (0,)), KeyError("x"), "after [heads]: player raised KeyError: 'x'"),
    "exception of a child": (("child", (0,), 1), IndexError("no"), "after [heads]: child(1) raised IndexError: no"),
    "exception of a key": (
        ("infoset_key", (0,)),
        IndexError("no"),
        "after [heads]: infoset_key() raised IndexError: no",
    ),
    "exception of a name": (("action_name", (0,), 1), IndexError("no"), "action_name() raised IndexError: no"),
    "child that is None": (("child", (0,), 1), None, "after [heads]: child(1) is None, of type NoneType"),
    "child that is no state": (("child", (0,), 1), (0, 1), "it must be an equipoise.State"),
    "state that changes itself": (("child", (0,), 1), lambda state: state, "child(1) is the state itself"),
    "name that is no text": (("action_name", (0,), 1), 7, "action_name(1) is 7, of type int"),
    "names that are the same": (("action_name", (0,), 1), "bet", "two actions have one name: ['bet', 'bet']"),
    "names that differ": (
        ("action_name", (1, 0), 1),
        "pass",
        "coin, after [tails, bet]: infoset 'after 0' of player 1 has actions bet, pass here and bet, fold in another",
    ),
    "numbers of actions that differ": (
        ("actions", (1, 0)),
        (0,),
        "coin, after [tails, bet]: infoset 'after 0' of player 1 has 1 actions here and 2 in another history",
    ),
}


@pytest.mark.parametrize(("where", "answer", "said"), BROKEN.values(), ids=BROKEN)
def test_broken_rules_are_refused_with_the_history_and_the_reason(where, answer, said):
    if isinstance(answer, type(iter(()))):
        answer = (lambda values: lambda state: iter(values))(tuple(answer))
    game = Coin(rules={where: answer})
    with pytest.raises(EquipoiseError, match=re.escape(said)) as caught:
        equipoise.solve(game, iterations=10)
    assert "\n" not in str(caught.value)


ON_THE_WAY = [name for name in BROKEN if "differ" not in name and "name" not in name and "key" not in name]


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_broken_rules_are_refused_where_they_are_played(name):
    where, answer, said = BROKEN[name]
    if isinstance(answer, type(iter(()))):
        answer = lambda state: iter((0, 1))  # noqa: E731
    game = Coin(rules={where: answer})

    class Uniform:  # asked state by state, so that the match goes through the rules
        name = "mine"
        action_probabilities = staticmethod(BASELINES["uniform"].action_probabilities)

    with pytest.raises(EquipoiseError, match=re.escape(said.removeprefix("coin, "))):
        play_match(Uniform(), "uniform", hands=200, game=game)


@pytest.mark.parametrize("name", [name for name in BROKEN if "names that differ" not in name and "Unicode" not in name])
def test_broken_rules_are_refused_where_they_are_written(name, tmp_path):
    where, answer, said = BROKEN[name]
    if name == "key with NUL":
        pytest.skip("an .efg file can hold it")
    if isinstance(answer, type(iter(()))):
        answer = lambda state: iter((0, 1))  # noqa: E731
    with pytest.raises(EquipoiseError, match=re.escape(said.split(" of player")[0])):
        write_efg(Coin(rules={where: answer}), tmp_path / "coin.efg")
    assert not list(tmp_path.iterdir())


def test_answers_of_other_kinds_of_numbers_are_taken():
    plain = tree_from_rules(Coin())
    rules = {("player", (0,)): np.int64(0), ("payoff", END): Fraction(0 + 1 - 0), ("actions", (1,)): np.array([0, 1])}
    rules |= {("chance_probabilities", ()): np.array([0.5, 0.5]), ("payoff", (0, 0, 0)): np.float32(0)}
    other = tree_from_rules(Coin(rules=rules))
    for array in ("player", "payoff", "probability", "infoset", "first_child"):
        assert np.array_equal(getattr(plain, array), getattr(other, array))


def test_imperfect_recall_is_told_with_two_histories():
    broken = {("infoset_key", moves): "none" for moves in [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]}
    broken |= {("player", moves): 0 for moves in [(0, 0), (0, 1), (1, 0), (1, 1)]}
    with pytest.raises(
        EquipoiseError, match=r"no perfect recall: infoset 'none'.* it holds \[heads\] and \[heads, bet\]"
    ):
        compile_game(Coin(rules=broken))


@dataclass(frozen=True, slots=True)
class WalkState(equipoise.State):
    """Two players take turns; with ``end`` the first of the ``choices`` ends the game."""

    game: "Walk"
    moves: int = 0
    over: bool = False

    @property
    def player(self):
        return TERMINAL if self.over or self.moves >= self.game.length else self.moves % 2

    def actions(self):
        return range(self.game.choices) if self.player != TERMINAL else ()

    def child(self, action):
        return WalkState(self.game, self.moves + 1, self.game.end and action == 0)

    def infoset_key(self):
        return f"{self.moves}"

    def payoff(self):
        return 1.0


class Walk(equipoise.Game):
    def __init__(self, choices, *, end=False, length=math.inf):
        self.choices, self.end, self.length = choices, end, length

    def root(self):
        return WalkState(self)


@pytest.mark.parametrize(("choices", "end"), [(1, False), (2, False), (2, True)])
def test_an_endless_game_is_refused(choices, end):
    with pytest.raises(
        EquipoiseError, match=r"^Walk, after \[.*989 more.*\]: the game is not over after 1,000 actions.* set max_depth"
    ):
        equipoise.solve(Walk(choices, end=end), iterations=1)


def test_an_endless_game_is_refused_where_it_is_played_and_written(tmp_path):
    class Uniform:
        name = "mine"
        action_probabilities = staticmethod(BASELINES["uniform"].action_probabilities)

    with pytest.raises(EquipoiseError, match="not over after 1,000 actions"):
        play_match(Uniform(), "uniform", hands=4, game=Walk(3))
    with pytest.raises(EquipoiseError, match="not over after 1,000 actions"):
        write_efg(Walk(1), tmp_path / "walk.efg")


def test_a_game_with_too_many_histories_is_refused_before_they_are_made():
    class Small(Walk):
        max_nodes = 500

    with pytest.raises(EquipoiseError, match=r"more than 500 histories: .* set max_nodes \(now 500\) in class Small"):
        tree_from_rules(Small(2, length=9))
    assert tree_from_rules(Small(2, length=7)).num_nodes == 255
    with pytest.raises(EquipoiseError, match=r"has about 1.0e\+15 histories"):
        tree_from_rules(Small(10**15, length=1))


def test_the_bounds_can_be_raised():
    class Long(Walk):
        max_depth = 2000

    assert tree_from_rules(Long(1, length=2000)).num_nodes == 2001
    with pytest.raises(EquipoiseError, match="2,000 actions"):
        tree_from_rules(Long(1, length=2001))


@pytest.mark.parametrize("bound", ["max_depth", "max_nodes"])
@pytest.mark.parametrize("value", [None, 0, -1, "9", float("nan"), True, property(lambda game: 1 / 0)])
def test_bounds_that_are_no_numbers_are_refused(bound, value):
    game = type("Bounded", (Coin,), {bound: value})()
    with pytest.raises(InvalidGame, match=f"class Bounded: {bound} (is|raised) "):
        equipoise.solve(game, iterations=1)


@pytest.mark.parametrize(
    ("strength", "said"),
    [
        (lambda deck, hand, board: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda deck, hand, board: 0.5, "'float' object cannot be interpreted as an integer"),
        (lambda deck, hand, board: None, "'NoneType' object cannot be interpreted as an integer"),
        (lambda deck, hand, board: 2**40 * hand[0], "give at most 2**30"),
    ],
)
@pytest.mark.parametrize("engine", ["vector", "sequence"])
def test_own_strengths_of_poker_hands_are_checked(strength, said, engine):
    game = replace(equipoise.load_game("leduc_poker"), strength=strength)
    with pytest.raises(InvalidGame) as caught:
        equipoise.solve(game, iterations=1, engine=engine)
    assert said in str(caught.value)
    assert "strength() of " in str(caught.value)
