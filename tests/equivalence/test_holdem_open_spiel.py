"""Hold'em beside OpenSpiel's `universal_poker`, move by move on random hands: the ACPC's own rules are inside it."""

import re

import pyspiel
import pytest

from equipoise.games import CHANCE, TERMINAL, load_game
from equipoise.games.betting import RAISE, raise_totals
from equipoise.games.sizes import betting_size
from tests.hands import random_hand

DECK = "blind=50 100,numSuits=4,numRanks=13,numHoleCards=2"
FLOP = f"numPlayers=2,numRounds=2,numBoardCards=0 3,firstPlayer=1 2,{DECK}"
RIVER = f"numPlayers=2,numRounds=4,numBoardCards=0 3 1 1,firstPlayer=1 2 2 2,{DECK}"
LIMIT = "betting=limit,bettingAbstraction=fcpa,stack=20000 20000"
PAIRS = {
    "flop_holdem": f"universal_poker({LIMIT},{FLOP},raiseSize=100 100,maxRaises=3 4)",
    "limit_holdem(caps=3-3-4-4)": f"universal_poker({LIMIT},{RIVER},raiseSize=100 100 200 200,maxRaises=3 3 4 4)",
    "limit_holdem": f"universal_poker({LIMIT},{RIVER},raiseSize=100 100 200 200,maxRaises=3 4 4 4)",
    "nolimit_holdem": f"universal_poker(betting=nolimit,bettingAbstraction=fcpa,{RIVER},stack=20000 20000)",
    "nolimit_holdem(stack=2000)": f"universal_poker(betting=nolimit,bettingAbstraction=fcpa,{RIVER},stack=2000 2000)",
    "nolimit_holdem(stack=777,actions=full)": (
        f"universal_poker(betting=nolimit,bettingAbstraction=fullgame,{RIVER},stack=777 777)"
    ),
    "nolimit_holdem(stack=20000,actions=full)": (
        f"universal_poker(betting=nolimit,bettingAbstraction=fullgame,{RIVER},stack=20000 20000)"
    ),
}


def their_betting_and_spent(theirs):
    text = str(theirs)
    spent = re.search(r"Spent: \[P0: (\d+)\s+P1: (\d+)", text)
    return re.search(r"ACPC State: STATE:0:([^:]*):", text)[1], (int(spent[1]), int(spent[2]))


def deal(theirs, deck, cards):
    for card in cards:
        assert theirs.is_chance_node()
        assert theirs.action_to_string(-1, card).endswith(deck.text((card,)))
        theirs.apply_action(card)


def dealt_by(state, action):
    """Return the cards of a chance action."""
    if len(state.hands) < 2:
        return state.game.hands[action]
    after = state.child(action)
    return after.board[len(state.board) :]


@pytest.mark.parametrize("text", PAIRS)
def test_random_hands_go_the_same_way(text):
    game, spiel = load_game(text), pyspiel.load_game(PAIRS[text])
    full = "fullgame" in PAIRS[text]
    met = {"ends": set(), "raises": 0}
    for seed in range(30 if full else 60):
        theirs = spiel.new_initial_state()
        for state, action in random_hand(game, seed):
            if state.player == TERMINAL:
                assert theirs.is_terminal()
                assert theirs.returns() == [state.payoff(), -state.payoff()]
                met["ends"].add((state.betting.round, state.betting.folded))
                continue
            if state.player == CHANCE:
                deal(theirs, game.deck, dealt_by(state, action))
                continue
            assert theirs.current_player() == state.player
            betting, spent = their_betting_and_spent(theirs)
            assert (betting, spent) == (state.betting.text, state.betting.spent)
            totals = raise_totals(game.betting, state.betting)
            actions = theirs.legal_actions()
            assert len(actions) == len(state.actions())
            if full:
                assert actions == [*range(1 if state.betting.to_call() == 0 else 0, 2), *totals]
            met["raises"] += action >= RAISE
            theirs.apply_action(actions[list(state.actions()).index(action)])
    rounds = len(game.betting.rounds)
    assert met["raises"] > 30 and len(met["ends"]) >= rounds  # folds and showdowns, early and late


def play(theirs, state):
    """Deal and yield, in both games, every public history of one deal; cards are the lowest that are left."""
    if state.player == CHANCE:
        action = state.actions()[0]
        theirs = theirs.clone()
        deal(theirs, state.game.deck, dealt_by(state, action))
        yield from play(theirs, state.child(action))
        return
    yield theirs, state
    if state.player != TERMINAL:
        for theirs_next, ours_next in zip(theirs.legal_actions(), state.actions(), strict=True):
            yield from play(theirs.child(theirs_next), state.child(ours_next))


@pytest.mark.parametrize("text", ["flop_holdem", "nolimit_holdem(stack=2000)"])
def test_every_betting_sequence_is_the_same_and_they_are_as_many_as_are_counted(text):
    counted = {"decisions": 0, "ends": 0}
    for theirs, state in play(pyspiel.load_game(PAIRS[text]).new_initial_state(), load_game(text).root()):
        counted["ends" if state.player == TERMINAL else "decisions"] += 1
        betting, spent = their_betting_and_spent(theirs)
        assert (betting.rstrip("/"), spent) == (state.betting.text.rstrip("/"), state.betting.spent)
        if state.player == TERMINAL:
            assert theirs.returns()[0] == state.payoff()
        else:
            assert theirs.current_player() == state.player
    size = betting_size(load_game(text).betting)
    assert counted == {"decisions": sum(size.decisions), "ends": sum(size.ends)}
