"""How many infosets and states games have: decisions of the betting tree x hands, buckets or deals."""

import time
from collections.abc import Iterator
from math import comb
from typing import Any

from equipoise.abstraction.buckets import deck_of, kind_from_text
from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import betting_size, hands_by_round, num_infosets


def count_infosets(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, per betting round, the decisions, the buckets and the infosets up to and including that round."""
    started = time.perf_counter()
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
            "seconds": round(time.perf_counter() - started, 3),
        }


def count_sizes(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Yield, per betting round, what there is up to and including it.

    *Infosets* are decisions x the hands and boards that a player can see there. *With ends*: ends of the betting are
    counted in the same way. *States* are decisions and ends x what all players and the board hold. ``closings`` are
    the histories that end a round and go on, with the hands and boards of the next: the leaves of a game that ends
    there.
    """
    game = load_game(setting.game)
    assert isinstance(game, PokerGame)
    size, hands = betting_size(game.betting), hands_by_round(game)
    others = [
        comb(game.deck.size - game.board_size(betting_round) - game.hole_cards, game.hole_cards)
        for betting_round in range(len(hands))
    ]
    infosets = with_ends = states = 0
    for number, (seen, unseen) in enumerate(zip(hands, others, strict=True)):
        infosets += size.decisions[number] * seen
        with_ends += (size.decisions[number] + size.ends[number]) * seen
        states += (size.decisions[number] + size.ends[number]) * seen * unseen
        on = number + 1 < len(hands)
        closings = size.deals[number + 1] if on else 0
        yield {
            "iteration": number + 1,
            "infosets": infosets,
            "with_ends": with_ends,
            "states": states,
            "closings": closings,
            "closing_infosets": closings * hands[number + 1] if on else 0,
            "closing_states": closings * hands[number + 1] * others[number + 1] if on else 0,
        }
