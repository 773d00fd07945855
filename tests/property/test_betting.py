"""Betting under random rules: chips are conserved, raises are legal, and every hand comes to an end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError
from equipoise.games.betting import (
    CALL,
    FOLD,
    RAISE,
    BettingRound,
    BettingRules,
    apply_action,
    legal_actions,
    raise_totals,
)


@st.composite
def betting_rules(draw):
    """Draw limit or no-limit rules. Where blinds differ, the smaller one's player opens, as at the table."""
    small, big = sorted(draw(st.tuples(st.integers(0, 5), st.integers(1, 5))))
    no_limit = draw(st.booleans())
    opener = draw(st.sampled_from([0, 1]))
    rounds = tuple(
        BettingRound(
            first_player=opener if number == 0 else draw(st.sampled_from([0, 1])),
            max_raises=draw(st.one_of(st.none(), st.integers(0, 4))) if no_limit else draw(st.integers(0, 4)),
            bet_size=None if no_limit else draw(st.integers(1, 6)),
        )
        for number in range(draw(st.integers(1, 3)))
    )
    stack = draw(st.one_of(st.integers(big, 40), *([] if no_limit else [st.none()])))
    return BettingRules(blinds=(small, big) if opener == 0 else (big, small), rounds=rounds, stack=stack)


def play(rules, data):
    """Play one hand with drawn actions; yield (state, action, state after it)."""
    state = rules.start()
    while not state.finished:
        action = data.draw(st.sampled_from(legal_actions(rules, state)))
        following = apply_action(rules, state, action)
        yield state, action, following
        state = following


@settings(max_examples=400)
@given(rules=betting_rules(), data=st.data())
def test_chips_are_conserved(rules, data):
    for state, action, following in play(rules, data):
        actor, opponent = state.player, 1 - state.player
        added = following.spent[actor] - state.spent[actor]
        assert following.spent[opponent] == state.spent[opponent]  # nobody acts for the other
        assert added == {FOLD: 0, CALL: state.to_call()}.get(action, added)
        assert added > state.to_call() or action < RAISE
        assert rules.stack is None or max(following.spent) <= rules.stack
        assert following.pot_share_at_risk() == min(following.spent)
    assert following.folded >= 0 or following.spent[0] == following.spent[1]


@settings(max_examples=400)
@given(rules=betting_rules(), data=st.data())
def test_legal_actions_are_those_of_the_rules(rules, data):
    last_raise = max(rules.blinds)  # at least the big blind, then at least the last bet or raise of the round
    current = 0
    for state, action, following in play(rules, data):
        if state.round > current:
            current, last_raise = state.round, max(rules.blinds)
        betting, highest = rules.rounds[state.round], max(state.spent)
        actions, totals = legal_actions(rules, state), raise_totals(rules, state)
        assert actions == [*([FOLD] if state.to_call() else []), CALL, *range(RAISE, RAISE + len(totals))]
        capped = betting.max_raises is not None and state.raises_in_round >= betting.max_raises
        if capped or highest == rules.stack:
            assert totals == []
        elif betting.bet_size is not None:
            assert totals == [min(highest + betting.bet_size, rules.stack or 10**9)]
        else:
            assert totals == list(range(min(highest + last_raise, rules.stack), rules.stack + 1))
        if action >= RAISE:
            last_raise = max(last_raise, max(following.spent) - highest)
            assert following.player == 1 - state.player
            assert following.raises_in_round == state.raises_in_round + 1


@settings(max_examples=400)
@given(rules=betting_rules(), data=st.data())
def test_a_hand_ends_by_a_fold_a_showdown_or_all_in(rules, data):
    acted = {}
    for state, action, following in play(rules, data):
        acted.setdefault(state.round, []).append(state.player)
        assert state.player == rules.rounds[state.round].first_player or len(acted[state.round]) > 1
        assert len(acted) <= len(rules.rounds)
        if following.round > state.round:
            assert action == CALL
            if not following.finished:
                assert following.player == rules.rounds[following.round].first_player
                assert len(acted[state.round]) >= 2  # both have had a say
    assert (following.folded >= 0) == (action == FOLD)
    all_in = rules.stack is not None and min(following.spent) == rules.stack
    if action == CALL:
        assert all_in or state.round == len(rules.rounds) - 1
        assert following.round == len(rules.rounds) - 1  # so that all board cards are dealt


@settings(max_examples=200)
@given(stack=st.integers(1, 12), data=st.data())
def test_every_raise_of_no_limit_leduc_is_named_by_the_total_spent(stack, data):
    rules = BettingRules(blinds=(1, 1), rounds=(BettingRound(), BettingRound()), stack=stack)
    for state, action, following in play(rules, data):
        if action >= RAISE:
            assert following.text == f"{state.text}r{following.spent[state.player]}"
    assert following.text.count("/") <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"blinds": (-1, 1)}, "blinds"),
        ({"blinds": (0, 0)}, "at least 1 chip"),
        ({"blinds": (1, 2), "stack": 1}, "less than the blind"),
        ({"blinds": (1, 1)}, "needs a stack"),
    ],
)
def test_impossible_rules_are_refused(arguments, message):
    with pytest.raises(EquipoiseError, match=message):
        BettingRules(rounds=(BettingRound(),), **arguments)


def test_a_big_blind_that_opens_is_refused_or_does_not_act_for_the_small_blind():
    try:
        rules = BettingRules(blinds=(2, 1), rounds=(BettingRound(first_player=0),), stack=10)
    except EquipoiseError:
        return
    after_check = apply_action(rules, rules.start(), CALL)
    assert (after_check.spent, after_check.to_call()) == ((2, 1), 1)
