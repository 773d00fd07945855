"""Goofspiel's tree in compiled code: level by level, with infosets numbered as they are first reached.

A player's infoset is its own bids with the outcomes it saw, so the next infoset follows from (infoset, bid, outcome):
the kernel keeps, per round and player, a table of these triples, and never looks at text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import perm

import numpy as np

from equipoise.compiled import kernel
from equipoise.games import TERMINAL
from equipoise.games.goofspiel import LOSS, TIE, WIN, Goofspiel
from equipoise.trees.game_tree import GameTree, Int8
from equipoise.trees.treeplex import Float, Int32


def count_histories(game: Goofspiel) -> int:
    """Return the number of histories: bids are drawn without replacement, so each level is a falling factorial."""
    n = game.cards
    return sum(
        perm(n, done) ** 2 * (1 + (n - done if done < game.decision_rounds else 0))
        for done in range(game.decision_rounds + 1)
    )


@dataclass(frozen=True)
class GoofspielLabels:
    """Keys built from each infoset's parent: the parent's key with one more bid and its outcome."""

    game: Goofspiel
    player: Int8
    parent: Int32
    bid: Int32
    outcome: Int32

    @cached_property
    def _keys(self) -> list[str]:
        keys: list[str] = []
        for player, parent, bid, outcome in zip(self.player, self.parent, self.bid, self.outcome, strict=True):
            if parent < 0:
                keys.append(f"P{player}|")
            else:
                before = keys[parent]
                keys.append(f"{before}{'' if before.endswith('|') else ' '}{bid + 1}{'wlt'[outcome]}")
        return keys

    def keys(self) -> Sequence[str]:
        """Return every infoset's key."""
        return self._keys

    def action_names(self, infoset: int) -> tuple[str, ...]:
        """Return the names of an infoset's actions."""
        used, current = set(), infoset
        while self.parent[current] >= 0:
            used.add(self.bid[current])
            current = self.parent[current]
        return tuple(f"bid {card + 1}" for card in range(self.game.cards) if card not in used)


@kernel
def _build(
    cards: int,
    rounds: int,
    player: Int8,
    parent: Int32,
    first_child: Int32,
    num_children: Int32,
    infoset: Int32,
    payoff: Float,
    infoset_player: Int8,
    infoset_parent: Int32,
    infoset_bid: Int32,
    infoset_outcome: Int32,
    following: Int32,
    used: Int32,
    points: Int8,
    own_infosets: Int32,
) -> int:
    """Write every history; return the number of infosets.

    ``used[p, node]`` is the bit set of player p's bids, ``own_infosets[p, node]`` p's infoset in the current round,
    ``points`` the lead of player 0, ``following[infoset, bid, outcome]`` the next infoset: all scratch space.
    """
    player[0], parent[0] = 0, -1
    used[0, 0] = used[1, 0] = points[0] = 0
    num_infosets = 2
    for p in range(2):
        infoset_player[p], infoset_parent[p], infoset_bid[p], infoset_outcome[p] = p, -1, -1, -1
        own_infosets[p, 0] = p
    written, node = 1, 0
    while node < written:
        first_child[node], payoff[node], infoset[node], num_children[node] = written, 0.0, -1, 0
        acting = player[node]
        if acting == TERMINAL:
            lead = points[node]
            for round_left in range(rounds, cards):  # the forced last bids: one card each
                mine, theirs = 0, 0
                for card in range(cards):
                    if not (used[0, node] >> card) & 1:
                        mine = card
                    if not (used[1, node] >> card) & 1:
                        theirs = card
                lead += (cards - round_left) * ((mine > theirs) - (mine < theirs))
            payoff[node] = 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0
        else:
            infoset[node] = own_infosets[acting, node]
            done = 0  # rounds completed
            for card in range(cards):
                done += (used[1, node] >> card) & 1
            for card in range(cards):
                if (used[acting, node] >> card) & 1:
                    continue
                child = written
                written += 1
                parent[child] = node
                points[child] = points[node]
                for p in range(2):
                    used[p, child], own_infosets[p, child] = used[p, node], own_infosets[p, node]
                used[acting, child] |= 1 << card
                if acting == 0:
                    player[child] = 1
                    continue
                bid0 = 0
                difference = used[0, child] & ~used[0, parent[node]]
                while not (difference >> bid0) & 1:
                    bid0 += 1
                points[child] += (cards - done) * ((bid0 > card) - (bid0 < card))
                if done + 1 == rounds:
                    player[child] = TERMINAL
                    continue
                player[child] = 0
                for p in range(2):
                    bid, other = (bid0, card) if p == 0 else (card, bid0)
                    outcome = WIN if bid > other else LOSS if bid < other else TIE
                    before = own_infosets[p, node]
                    if following[before, bid, outcome] < 0:
                        following[before, bid, outcome] = num_infosets
                        infoset_player[num_infosets], infoset_parent[num_infosets] = p, before
                        infoset_bid[num_infosets], infoset_outcome[num_infosets] = bid, outcome
                        num_infosets += 1
                    own_infosets[p, child] = following[before, bid, outcome]
            num_children[node] = written - first_child[node]
        node += 1
    return num_infosets


def goofspiel_tree(game: Goofspiel) -> GameTree:
    """Return every history of Goofspiel."""
    total, cards = count_histories(game), game.cards
    # A round multiplies a player's infosets by at most (cards left) x 3 outcomes.
    bound, level = 2, 2
    for done in range(game.decision_rounds - 1):
        level *= 3 * (cards - done)
        bound += level
    bound = min(bound, total)
    player, points = np.empty(total, np.int8), np.empty(total, np.int8)
    parent, first_child, num_children, infoset = (np.empty(total, np.int32) for _ in range(4))
    payoff = np.empty(total)
    infoset_player = np.empty(bound, np.int8)
    infoset_parent, infoset_bid, infoset_outcome = (np.empty(bound, np.int32) for _ in range(3))
    infosets = _build(
        cards,
        game.decision_rounds,
        player,
        parent,
        first_child,
        num_children,
        infoset,
        payoff,
        infoset_player,
        infoset_parent,
        infoset_bid,
        infoset_outcome,
        np.full((bound, cards, 3), -1, np.int32),
        np.empty((2, total), np.int32),
        points,
        np.empty((2, total), np.int32),
    )
    actions = np.empty(infosets, np.int32)
    actions[infoset[infoset >= 0]] = num_children[infoset >= 0]
    return GameTree(
        game=game,
        player=player,
        parent=parent,
        first_child=first_child,
        num_children=num_children,
        infoset=infoset,
        probability=np.ones(total),
        payoff=payoff,
        infoset_player=infoset_player[:infosets].copy(),
        infoset_actions=actions,
        labels=GoofspielLabels(
            game,
            infoset_player[:infosets].copy(),
            infoset_parent[:infosets].copy(),
            infoset_bid[:infosets].copy(),
            infoset_outcome[:infosets].copy(),
        ),
    )
