"""How many infosets and states games have: decisions of the betting tree x hands, buckets or deals."""

from collections.abc import Iterator
from math import comb
from typing import Any

from equipoise.abstraction.buckets import deck_of, kind_from_text
from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.games.betting import BettingRules, apply_action, legal_actions
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import betting_size, hands_by_round, num_infosets


def count_infosets(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, per betting round, the decisions, the buckets and the infosets up to and including that round."""
    game = load_game(setting.game)
    assert isinstance(game, PokerGame)
    buckets = kind_from_text(str(setting.parameters["buckets"])).buckets(deck_of(game))
    decisions = betting_size(game.betting).decisions
    for betting_round, (nodes, count) in enumerate(zip(decisions, buckets, strict=True)):
        so_far = [*buckets[: betting_round + 1], *[0] * (len(buckets) - betting_round - 1)]
        yield {
            "iteration": betting_round + 1,
            "decisions": nodes,
            "buckets": count,
            "infosets": num_infosets(game, so_far),
        }


def count_sizes(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, per betting round, what there is up to and including it; and what there would be if the first were all.

    *Infosets* are decisions x the hands and boards that a player can see there. *With ends*: ends of the betting are
    counted in the same way. *States* are decisions and ends x what all players and the board hold. *Leaves* of the
    first round are histories after which players go on to act in the next, x its hands and boards.
    """
    game = load_game(setting.game)
    assert isinstance(game, PokerGame)
    size, hands = betting_size(game.betting), hands_by_round(game)
    others = [
        comb(game.deck.size - game.board_size(betting_round) - game.hole_cards, game.hole_cards)
        for betting_round in range(len(hands))
    ]
    leaves = _closings(game.betting) * hands[1]
    infosets = with_ends = states = 0
    for number, (seen, unseen) in enumerate(zip(hands, others, strict=True)):
        infosets += size.decisions[number] * seen
        with_ends += (size.decisions[number] + size.ends[number]) * seen
        states += (size.decisions[number] + size.ends[number]) * seen * unseen
        yield {
            "iteration": number + 1,
            "infosets": infosets,
            "with_ends": with_ends,
            "states": states,
            "leaf_infosets": leaves,
            "leaf_states": leaves * others[1],
        }


def _closings(rules: BettingRules) -> int:
    """Return how many histories of the first round are followed by a decision in the second."""
    stack, count = [rules.start()], 0
    while stack:
        state = stack.pop()
        for child in (apply_action(rules, state, action) for action in legal_actions(rules, state)):
            if not child.finished and child.round == 0:
                stack.append(child)
            count += not child.finished and child.round == 1
    return count
