"""What stores play in a game too large to list: asked for by infoset, or (flop hold'em) written board by board.

A store plays a mixture: strategies that are asked for by code, each with a weight (one, if it is an average already).
The behaviour of a mixture is the sum of weight x own reach x strategy, normalised; own reach needs a strategy's earlier
decisions, so these are read, too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from equipoise.errors import NotSupported
from equipoise.networks.network import Architecture
from equipoise.networks.poker_rows import PokerRows, poker_rows
from equipoise.stores.answers import Arrays, mixture_parts, open_mixtures
from equipoise.stores.sums import FloatTable, Mixture, StrategyAt, on_grid
from equipoise.trees.betting_tree import BettingTree
from equipoise.trees.board_form import BoardForm, first_entries_by_node
from equipoise.trees.codes import Grid, Int8, codes_of
from equipoise.trees.distinct import distinct
from equipoise.trees.situations import Bool, Situations, has_weight, normalised_rows
from equipoise.trees.treeplex import Float, Int64


class MixturePlay:
    """What two players' mixtures play, in any poker game; asked for by infoset."""

    def __init__(self, rows: PokerRows, mixtures: tuple[Mixture, Mixture]) -> None:
        self._rows = rows
        self._mixtures = mixtures

    def over(self, form: BoardForm) -> "BoardAverage":
        """Return the same as the evaluator of a game over boards takes it."""
        return BoardAverage(form, self._rows, self._mixtures)

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return what the strategy can be opened from."""
        header, arrays = mixture_parts(self._mixtures)
        cards = "ranks" if self._rows.layout.renamed else "cards"
        strength = {} if self._rows.strength is None else {"strength": True}
        return {"kind": "networks", "cards": cards, **strength, "layout": self._rows.digest, **header}, arrays

    def probabilities_at(self, asked: Situations) -> FloatTable:
        """Return the probabilities of actions at some infosets, by column."""
        tree = self._rows.tree
        out = np.empty((len(asked.node), tree.num_columns))
        rounds = tree.nodes.round[asked.node].astype(np.int64)
        codes = codes_of(self._rows.layout, asked.cards, rounds, asked.node)
        acting = tree.nodes.player[asked.node]
        for player, mixture in enumerate(self._mixtures):
            own = np.flatnonzero(acting == player)
            if len(mixture) == 1 or asked.lot is None:
                out[own] = self._behaviour(mixture, codes[own])
                continue
            shares = np.cumsum([weight for weight, _ in mixture])
            chosen = np.searchsorted(shares, asked.lot[own] * shares[-1], side="right")
            for number in np.unique(chosen):
                some = own[chosen == number]
                out[some] = self._behaviour([mixture[number]], codes[some])
        return out

    def reached_at(self, asked: Situations) -> Bool:
        """Return where the mixtures have any weight; a single network answers everywhere."""
        tree, reached = self._rows.tree, np.ones(len(asked.node), np.bool_)
        codes = codes_of(self._rows.layout, asked.cards, tree.nodes.round[asked.node].astype(np.int64), asked.node)
        for player, mixture in enumerate(self._mixtures):
            if len(mixture) > 1:
                own = np.flatnonzero(tree.nodes.player[asked.node] == player)
                reached[own] = has_weight(self._sums(mixture, codes[own]))
        return reached

    def _behaviour(self, mixture: Mixture, codes: Int64) -> FloatTable:
        """Return what a mixture plays on average."""
        found, which = distinct(codes)
        if len(mixture) == 1:
            return mixture[0][1](found)[which]
        return normalised_rows(self._sums(mixture, found), self._rows.legal_at(found))[which]

    def _sums(self, mixture: Mixture, codes: Int64) -> FloatTable:
        sums = np.zeros((len(codes), self._rows.num_columns))
        for weight, strategy_at in mixture:
            sums += weight * self._rows.own_reach_at(codes, strategy_at)[:, None] * strategy_at(codes)
        return sums


class BoardAverage(MixturePlay):
    """The behaviour of two players' mixtures, in the order of a form's tables."""

    concurrent = True

    def __init__(self, form: BoardForm, rows: PokerRows, mixtures: tuple[Mixture, Mixture]) -> None:
        super().__init__(rows, mixtures)
        self._form = form

    def write_start(self, out: Float) -> None:
        """Write the probabilities of the first round."""
        form = self._form
        hands = form.cards.hands[form.cards.start_hand].astype(np.int8)
        self._write(0, hands, out.reshape(-1, len(hands)))

    def write_boards(self, first: int, last: int, out: Float) -> None:
        """Write the probabilities on the boards from ``first`` to ``last`` (exclusive), board after board."""
        form = self._form
        entries, start = int(form.first_entries[2]), int(form.pairs.first_pair[first])
        for board in range(first, last):
            own = slice(*form.pairs.first_pair[board : board + 2].tolist())
            hands = form.cards.hands[form.cards.pair_hand[own]]
            cards = np.concatenate([hands, np.tile(form.cards.boards[board], (len(hands), 1))], axis=1)
            table = out[entries * (own.start - start) : entries * (own.stop - start)].reshape(entries, len(hands))
            self._write(1, cards.astype(np.int8), table)

    def _write(self, betting_round: int, cards: Int8, table: FloatTable) -> None:
        """Write the probabilities of a round for some hands; ``table[entry, hand]``."""
        betting, listed = self._form.betting[betting_round], self._form.nodes[betting_round]
        tree, first_entry = self._rows.tree, first_entries_by_node(betting)
        for player in range(2):
            own = np.flatnonzero(betting.node_player == player)
            nodes = listed[own].astype(np.int64)
            played = self._played(player, cards, nodes)
            for place, (number, node) in enumerate(zip(own, nodes, strict=True)):
                entry = int(first_entry[number])
                columns = np.flatnonzero(tree.legal[node])
                table[entry : entry + len(columns)] = played[:, place, columns].T

    def _played(self, player: int, cards: Int8, nodes: Int64) -> FloatTable:
        """Return the behaviour of a player's mixture at some nodes; [hands, nodes, columns]."""
        tree, mixture = self._rows.tree, self._mixtures[player]
        if len(mixture) == 1:
            return self._strategies(mixture[0][1], cards, nodes)
        every = tree.decisions(player).astype(np.int64)
        every = every[tree.nodes.round[every] <= tree.nodes.round[nodes].max()]
        place = {int(node): number for number, node in enumerate(every)}
        sums = np.zeros((len(cards), len(nodes), tree.num_columns))
        for weight, strategy_at in mixture:
            strategies = self._strategies(strategy_at, cards, every)
            reach = np.ones((tree.num_nodes, len(cards)))
            for node in range(1, int(nodes.max()) + 1):  # parents come before their children
                above = int(tree.parent[node])
                reach[node] = reach[above]
                if above in place:
                    reach[node] *= strategies[:, place[above], tree.nodes.column[node]]
            own = [place[int(node)] for node in nodes]
            sums += weight * reach[nodes].T[:, :, None] * strategies[:, own]
        legal = np.tile(tree.legal[nodes], (len(cards), 1))
        return normalised_rows(sums.reshape(len(legal), -1), legal).reshape(sums.shape)

    def _strategies(self, strategy_at: StrategyAt, cards: Int8, nodes: Int64) -> FloatTable:
        """Return a strategy at some nodes; [hands, nodes, columns]."""
        rows = self._rows
        rounds = rows.tree.nodes.round[nodes].astype(np.int64)
        out = np.empty((len(cards), len(nodes), rows.num_columns))
        for betting_round in np.unique(rounds):  # a grid is of one round: hands that differ later may be one before
            own = np.flatnonzero(rounds == betting_round)
            same = np.full(len(cards), betting_round), np.zeros(len(cards), np.int64)
            held, which = distinct(codes_of(rows.layout, cards, *same))
            played = on_grid(strategy_at, Grid(held, nodes[own]))
            out[:, own] = played.reshape(len(held), len(own), -1)[which]
        return out


def open_play(
    tree: BettingTree,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    device: torch.device,
    own: Architecture | None = None,
) -> MixturePlay:
    """Return what networks play from its parts; raise ValueError or KeyError for parts that do not fit together."""
    if header["cards"] not in ("ranks", "cards"):
        raise ValueError("it does not say what its networks see of cards")
    rows = poker_rows(tree, header["cards"], strength=header.get("strength") is True)
    if header["layout"] != rows.digest:
        raise NotSupported("its networks see infosets differently from those of this version of equipoise")
    return MixturePlay(rows, open_mixtures(rows, header, arrays, device, own))
