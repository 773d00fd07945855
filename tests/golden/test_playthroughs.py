"""Playthroughs of every built-in game, kept as text: a change of rules, keys or action names shows up as a difference.

Make them again, after a change that is meant, with: python -m tests.golden.test_playthroughs
"""

import random
from pathlib import Path

import pytest

from equipoise.games import CHANCE, TERMINAL, load_game
from tests.hands import random_action

GAMES = [
    "kuhn_poker",
    "one_card_poker(cards=5)",
    "leduc_poker",
    "nl_leduc(stack=5)",
    "flop_holdem",
    "limit_holdem",
    "nolimit_holdem",
    "nolimit_holdem(stack=2000,actions=0.5-1-2-allin)",
    "goofspiel(cards=4)",
    "goofspiel(cards=4,last_round=played)",
    "bluff(dice=1x1)",
    "bluff(dice=2x1)",
]
FOLDER = Path(__file__).parent
MOST_NAMES = 40  # deals of hold'em are counted instead


def playthrough(text, seed):
    lines, state, dice = [], load_game(text).root(), random.Random(seed)
    while state.player != TERMINAL:
        actions = list(state.actions())
        names = [state.action_name(action) for action in actions]
        action = random_action(state, dice) if "holdem" in text else dice.choice(actions)  # or most hands are folded
        who = "chance" if state.player == CHANCE else f"player {state.player} at '{state.infoset_key()}'"
        chances = f" {[round(p, 4) for p in state.chance_probabilities()]}" if state.player == CHANCE else ""
        listed = f"{names}{chances}" if len(names) <= MOST_NAMES else f"{len(names)}, {names[0]} to {names[-1]}"
        lines.append(f"{who}: {names[actions.index(action)]} of {listed}")
        state = state.child(action)
    return [*lines, f"payoff to player 0: {state.payoff():+g}", ""]


def transcript(text):
    return "\n".join(line for seed in range(3) for line in playthrough(text, seed))


def file_of(text):
    return FOLDER / ("".join(c if c.isalnum() else "_" for c in text).strip("_") + ".txt")


@pytest.mark.parametrize("text", GAMES)
def test_games_play_as_they_did(text):
    assert transcript(text) == file_of(text).read_text()


if __name__ == "__main__":
    for name in GAMES:
        file_of(name).write_text(transcript(name))
