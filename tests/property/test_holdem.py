"""Hold'em under drawn stacks, caps and bet sizes: chips are conserved, raises are legal, hands are zero-sum."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.games import CHANCE, TERMINAL, load_game
from equipoise.games.betting import CALL, FOLD, RAISE, PotSizes, apply_action, legal_actions, raise_totals
from equipoise.games.hand_ranks import best_five

limit_games = st.one_of(
    st.just("flop_holdem"),
    st.tuples(*[st.integers(0, 5)] * 4).map(lambda caps: f"limit_holdem(caps={'-'.join(map(str, caps))})"),
)
sizes = st.lists(st.sampled_from(["0.25", "0.33", "0.5", "0.75", "1", "1.5", "2", "3"]), max_size=3, unique=True)
actions = st.one_of(
    st.sampled_from(["fcpa", "full", "allin"]),
    sizes.map(lambda listed: "-".join([*listed, "allin"])),
    sizes.filter(bool).map("-".join),
)
no_limit_games = st.tuples(st.integers(100, 3000), actions).map(
    lambda drawn: f"nolimit_holdem(stack={drawn[0]},actions={drawn[1]})"
)
games = st.one_of(limit_games, no_limit_games)


def play(game, data):
    """Yield (state, action) of a hand with drawn cards and actions, then (last state, -1)."""
    state = game.root()
    dice = data.draw(st.randoms(use_true_random=False))
    while state.player != TERMINAL:
        if state.player == CHANCE:
            action = dice.choice(state.actions())
        else:
            action = data.draw(st.sampled_from(legal_actions(game.betting, state.betting)))
        yield state, action
        state = state.child(action)
    yield state, -1


@settings(max_examples=150, deadline=None)
@given(text=games, data=st.data())
def test_hands_are_legal_and_zero_sum(text, data):
    game = load_game(text)
    assert load_game(game.name) == game
    rules = game.betting
    for state, action in play(game, data):
        betting = state.betting
        assert rules.stack is None or max(betting.spent) <= rules.stack
        cards = [card for hand in state.hands for card in game.hands[hand]] + list(state.board)
        assert len(set(cards)) == len(cards)
        if state.player >= 0:
            assert len(state.board) == game.board_size(betting.round)
            assert (FOLD in state.actions()) == (betting.spent[0] != betting.spent[1])
            after = state.child(action).betting
            assert after.spent[1 - state.player] == betting.spent[1 - state.player]
            assert (action == CALL) <= (after.spent[0] == after.spent[1])
            assert (action >= RAISE) == (after.spent[state.player] > max(betting.spent))
    check_payoff(state)


def check_payoff(state):
    """The winner gets exactly what the other has spent."""
    game, payoff = state.game, state.payoff()
    if state.betting.folded >= 0:
        assert payoff == (-state.betting.spent[0] if state.betting.folded == 0 else state.betting.spent[1])
        return
    assert state.betting.spent[0] == state.betting.spent[1]
    assert len(state.board) == game.board_size(len(game.board_cards) - 1)
    ranks = [best_five((*game.hands[hand], *state.board)) for hand in state.hands]
    assert payoff == state.betting.spent[0] * ((ranks[0] > ranks[1]) - (ranks[0] < ranks[1]))


@settings(max_examples=200)
@given(stack=st.integers(100, 3000), data=st.data())
def test_every_raise_of_an_abstraction_is_a_raise_of_the_full_game(stack, data):
    some = load_game(f"nolimit_holdem(stack={stack},actions={data.draw(actions)})").betting
    full = load_game(f"nolimit_holdem(stack={stack},actions=full)").betting
    state = some.start()
    while not state.finished:
        totals, legal = raise_totals(some, state), raise_totals(full, state)
        assert bool(totals) == bool(legal)
        assert not totals or legal[0] <= totals[0] <= totals[-1] <= legal[-1]
        state = apply_action(some, state, data.draw(st.sampled_from(legal_actions(some, state))))


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 2000), st.booleans())
def test_pot_sizes_are_fractions_of_the_pot_after_a_call(highest, min_raise, more, all_in):
    stack = highest + more
    smallest = min(highest + min_raise, stack)
    totals = PotSizes(fractions=(Fraction(1, 2), Fraction(1)), all_in=all_in).totals(highest, smallest, stack)
    wished = {min(max(total, smallest), stack) for total in (2 * highest, 3 * highest)}
    assert totals == sorted(wished | ({stack} if all_in else set()))
