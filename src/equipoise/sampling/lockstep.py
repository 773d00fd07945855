"""Traversals of games too large to list, in lockstep: thousands of histories advance together, level by level.

A strategy here is what regret matching makes of scores, and scores come from outside, for codes of infosets (see
`trees.codes`): a network is asked once a level and player, for all infosets of the level at once.

1. *Deal*: each traversal draws both hands and the board from its own random stream. What a player sees in each round,
   as part of a code, and who wins a showdown are worked out once a deal.
2. *Forward*, a level of the betting tree at a time: the codes of all histories, each once; their scores; then at each
   history the traverser's actions (all, or k different ones) or one of the opponent's, drawn on-policy, make the next
   level.
3. *Backward*: values return level by level. At the traverser's decisions they become regrets.

Findings are in the order of traversals, so that it does not matter how a batch is cut into parts. Within a traversal
the order of nodes, and so of draws, is that of `traversal.walk`, with which this shares the formulas; on the same deals
it finds the same.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined, kernel, uncounted
from equipoise.errors import EquipoiseError
from equipoise.games import TERMINAL
from equipoise.games.hand_ranks import deck_bits, showdown
from equipoise.games.poker import PokerGame, best_five_cards, high_card_or_pair
from equipoise.regret.matching import match_infoset, match_rows, normalise, positive_parts
from equipoise.sampling.dice import NO_TAPE, choose_weighted, deal_cards, start_stream
from equipoise.sampling.rows import REGRET, STRATEGY, FloatTable, Rows, ScoresAt
from equipoise.sampling.schemes import ALL, SUBSET, External, LabelledActions, Robust
from equipoise.sampling.traversal import OPPONENT, OWN, child_weight, in_subset, subset_inclusion, take_regrets
from equipoise.threads import map_parts
from equipoise.trees.betting_tree import BettingNodes, BettingTree
from equipoise.trees.codes import NODE_SHIFT, CardLayout, cards_code, nodes_of
from equipoise.trees.distinct import EMPTY, find_slot, table_size
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64
from equipoise.workers import Workers

Int8 = npt.NDArray[np.int8]
UInt64Table = npt.NDArray[np.uint64]

Shared = TypeVar("Shared")
Result = TypeVar("Result")

U = np.uint64
NOTHING = np.zeros(0)
TRAVERSALS_A_PART = 2048  # fixed: a network's last bits may depend on how many rows it is asked for at once


class Deals(NamedTuple):
    """What chance has brought to some traversals."""

    dice: UInt64Table  # [traversals, 2] random streams
    codes: npt.NDArray[np.int64]  # [traversals, players, rounds] what each player sees, as part of a code
    sign: Int8  # [traversals] 1: player 0 wins a showdown; 0: nobody


class Level(NamedTuple):
    """Histories at one depth of the betting tree, at each of which a player acts."""

    node: Int32
    traversal: Int32
    parent: Int32  # place in the level before; -1 at the start
    slot: Int64  # place in the buffer of the level before, where the traverser acts there; else -1
    role: Int8  # OWN or OPPONENT
    weight: Float
    sample_reach: Float
    own_reach: Float
    value: Float
    code: Int64
    place: Int64  # of the code among those whose scores were asked for
    buffer: Float  # two numbers an action and history: strategies; the traverser's followed by values, then regrets


def _empty_level(size: int, actions: int) -> Level:
    return Level(
        node=np.empty(size, np.int32),
        traversal=np.empty(size, np.int32),
        parent=np.empty(size, np.int32),
        slot=np.empty(size, np.int64),
        role=np.empty(size, np.int8),
        weight=np.empty(size),
        sample_reach=np.empty(size),
        own_reach=np.empty(size),
        value=np.empty(size),
        code=np.empty(size, np.int64),
        place=np.empty(size, np.int64),
        buffer=np.empty(2 * actions * size),
    )


@kernel
def draw_deals(
    layout: CardLayout,
    deck: int,
    bits: UInt64,
    seed: int,
    iteration: int,
    player: int,
    first: int,
    deals: Deals,
    tape: Float,
) -> None:
    """Start the streams of traversals from number ``first`` on, and deal: hand, hand, board, card by card."""
    hole, last = layout.deal_start[1], layout.deal_start[layout.deal_start.size - 1]
    dealt = hole + last  # both hands and the board
    cards = np.empty(deck, np.int8)
    suit_key = np.zeros(2 * layout.suits, np.uint64)
    for traversal in range(deals.sign.size):
        dice = deals.dice[traversal]
        start_stream(dice, seed, iteration, player, first + traversal)
        deal_cards(dice, tape, cards, dealt)
        write_deal(layout, bits, cards, traversal, deals, suit_key)


@uncounted
def write_deal(layout: CardLayout, bits: UInt64, cards: Int8, traversal: int, deals: Deals, suit_key: UInt64) -> None:
    """Write what players see of cards (player 0's hand, player 1's, the board), and who wins a showdown."""
    hole, last = layout.deal_start[1], layout.deal_start[layout.deal_start.size - 1]
    for who in range(2):
        for betting_round in range(layout.visible.size):
            code = cards_code(layout, cards, who * hole, 2 * hole, betting_round, suit_key)
            deals.codes[traversal, who, betting_round] = code
    if bits.size:
        deals.sign[traversal] = showdown(bits, cards, 0, hole, last - hole)
    else:
        first = _pair_or_card(layout.suits, cards, 0, last - hole)
        second = _pair_or_card(layout.suits, cards, 1, last - hole)
        deals.sign[traversal] = int(first > second) - int(first < second)


@uncounted
def _pair_or_card(suits: int, cards: Int8, who: int, open_cards: int) -> int:
    """Return how strong a single card is on the board, as games.poker.high_card_or_pair."""
    rank = int(cards[who] // suits)
    for place in range(2, 2 + open_cards):
        if cards[place] // suits == rank:
            return rank + 128
    return rank


@inlined
def code_at(nodes: BettingNodes, deal_codes: npt.NDArray[np.int64], hand: int, node: int) -> int:
    """Return the code of the infoset of the player who acts at a node, in some hand."""
    cards = deal_codes[hand, nodes.player[node], nodes.round[node]]
    return cards | (np.int64(node) << NODE_SHIFT)  # type: ignore[no-any-return]  # a whole number inside kernels


@inlined
def place_among(code: int, who: int, keys: Int64, places: Int64, asked: npt.NDArray[np.int64], counts: Int64) -> int:
    """Return the place of a code among those that are asked for player ``who``; if it is new, it is put there."""
    slot = find_slot(keys, places, code)
    if places[slot] == EMPTY:
        keys[slot], places[slot] = code, counts[who]
        asked[who, counts[who]] = code
        counts[who] += 1
    return int(places[slot])


@inlined
def payoff_at_end(nodes: BettingNodes, sign: int, end: int) -> float:
    """Return what player 0 wins at an end; ``sign`` says who wins a showdown."""
    return float(nodes.amount[end] * (sign if nodes.showdown[end] else 1))


@uncounted
def list_codes(
    nodes: BettingNodes,
    deal_codes: npt.NDArray[np.int64],
    level: Level,
    keys: Int64,
    places: Int64,
    asked: npt.NDArray[np.int64],
    counts: Int64,
) -> None:
    """Write the codes of a level's histories, and list each player's different ones in ``asked[player]``."""
    counts[0] = counts[1] = 0
    for at in range(level.node.size):
        node = level.node[at]
        who = nodes.player[node]
        code = code_at(nodes, deal_codes, level.traversal[at], node)
        level.code[at], level.place[at] = code, place_among(code, who, keys, places, asked, counts)


@uncounted
def advance(
    nodes: BettingNodes,
    kind_of_scheme: int,
    subset_size: int,
    traverser: int,
    fallback: int,
    scores: Float,
    offset: Int64,
    deals: Deals,
    tape: Float,
    actions: int,
    level: Level,
    after: Level,
    counts: Int64,
) -> None:
    """Choose actions at all histories of a level, and write the next level; ``counts``: its size, nodes touched."""
    sign = 1.0 if traverser == 0 else -1.0
    end, touched = 0, level.node.size
    buffer = level.buffer
    for at in range(level.node.size):
        node, traversal = level.node[at], level.traversal[at]
        who, count, first = nodes.player[node], U(nodes.num_children[node]), nodes.first_child[node]
        dice = deals.dice[traversal]
        row = level.place[at] + offset[who]
        start = U(2 * actions * at)
        for action in range(count):  # scores lie where values will: together, in the order of actions
            buffer[start + count + action] = scores[row, nodes.column[first + action]]
        if who != traverser:
            level.role[at] = OPPONENT
            total = positive_parts(buffer, start + count, count, fallback, buffer, start)
            child = first + int(choose_weighted(dice, tape, buffer, start, count, total))
            normalise(buffer, start, count, total)
            touched += nodes.deals[child]
            if nodes.player[child] == TERMINAL:
                level.value[at] = sign * payoff_at_end(nodes, deals.sign[traversal], child)
                touched += 1
            else:
                after.node[end], after.traversal[end], after.parent[end], after.slot[end] = child, traversal, at, -1
                after.weight[end] = 1.0
                after.sample_reach[end], after.own_reach[end] = level.sample_reach[at], level.own_reach[at]
                end += 1
        else:
            level.role[at] = OWN
            match_infoset(buffer, start + count, count, fallback, buffer, start)
            missing, left = min(subset_size, int(count)), int(count)
            for action in range(count):
                child, slot = first + action, start + count + action
                inclusion, walked = 1.0, True
                if kind_of_scheme == SUBSET:
                    inclusion = subset_inclusion(subset_size, count)
                    walked = in_subset(dice, tape, missing, left)
                    missing -= int(walked)
                    left -= 1
                buffer[slot] = 0.0
                if walked:
                    weight = child_weight(inclusion, False)
                    touched += nodes.deals[child]
                    if nodes.player[child] == TERMINAL:
                        buffer[slot] = weight * sign * payoff_at_end(nodes, deals.sign[traversal], child)
                        touched += 1
                    else:
                        after.node[end], after.traversal[end], after.parent[end] = child, traversal, at
                        after.slot[end], after.weight[end] = slot, weight
                        after.sample_reach[end] = level.sample_reach[at] * inclusion
                        after.own_reach[end] = level.own_reach[at] * buffer[start + action]
                        end += 1
    counts[0] = end
    counts[1] += touched


@uncounted
def return_values(nodes: BettingNodes, actions: int, level: Level, above: Level) -> None:
    """Hand the values of a level's histories, whose descendants have had their turn, to the level before."""
    for at in range(level.node.size):
        value = level.value[at]
        if level.role[at] == OWN:
            count = U(nodes.num_children[level.node[at]])
            value = take_regrets(level.buffer, U(2 * actions * at), count, level.sample_reach[at])
        if level.slot[at] >= 0:
            above.buffer[level.slot[at]] = level.weight[at] * value
        elif level.parent[at] >= 0:
            above.value[level.parent[at]] = value


@uncounted
def count_findings(level: Level, places: npt.NDArray[np.int64]) -> None:
    """Count, by role and traversal, what a level has found."""
    for at in range(level.node.size):
        places[level.role[at] - OWN, level.traversal[at] + 1] += 1


@uncounted
def write_findings(
    nodes: BettingNodes,
    actions: int,
    level: Level,
    places: npt.NDArray[np.int64],
    role: int,
    code: Int64,
    values: FloatTable,
    sample_reach: Float,
    own_reach: Float,
) -> None:
    """Write a level's findings of one role where they belong in the order of traversals."""
    for at in range(level.node.size):
        if level.role[at] == role:
            node, traversal = level.node[at], level.traversal[at]
            place = places[role - OWN, traversal]
            places[role - OWN, traversal] += 1
            code[place] = level.code[at]
            sample_reach[place], own_reach[place] = level.sample_reach[at], level.own_reach[at]
            count, first = nodes.num_children[node], nodes.first_child[node]
            start = 2 * actions * at + (count if role == OWN else 0)  # regrets come after the strategy
            for column in range(values.shape[1]):
                values[place, column] = 0.0
            for action in range(count):
                values[place, nodes.column[first + action]] = level.buffer[start + action]


class Findings(NamedTuple):
    """What traversals met at the decisions of one player."""

    code: Int64
    values: FloatTable  # [findings, columns] regrets at the traverser's decisions, strategies at the opponent's
    sample_reach: Float
    own_reach: Float  # of the traverser


class Walked(NamedTuple):
    """What a part of a batch has found."""

    own: Findings
    opponent: Findings | None
    touched: int


def showdown_bits(game: PokerGame) -> UInt64:
    """Return the bits of the deck where hands are ranked by best five cards; none where by a pair or a high card."""
    if game.strength is best_five_cards:
        return deck_bits(len(game.deck.ranks), len(game.deck.suits))
    if game.strength is high_card_or_pair and game.hole_cards == 1:
        return np.empty(0, np.uint64)
    raise EquipoiseError(f"{game.name} ranks hands by a rule of its own, which traversals in lockstep do not know")


class SomeHands(NamedTuple):
    """A part of a batch."""

    player: int
    iteration: int
    first: int
    size: int


class HandsInLockstep:
    """A batch of hands that advance together, in parts, so that memory stays bounded."""

    def __init__(
        self,
        tree: BettingTree,
        layout: CardLayout,
        *,
        batch: int,
        seed: int,
        threads: int,
        part: int,
        workers: Workers | None = None,
    ) -> None:
        self._tree, self._layout = tree, layout
        self._bits = showdown_bits(tree.game)
        self._batch, self._seed, self._part = batch, seed, part
        self.threads = min(threads, -(-batch // part))
        self.nodes_touched = 0
        self._workers = workers
        if workers is not None:
            workers.once(tree)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs: it has no workers itself."""
        return {**self.__dict__, "_workers": None}

    def share_out(
        self, function: Callable[[Shared, int, "SomeHands"], Result], parts: "Iterable[SomeHands]", shared: Shared
    ) -> Iterator[Result]:
        """Yield what parts bring, in their order, from threads or workers."""
        return map_parts(function, parts, shared, threads=self.threads, workers=self._workers)

    def parts(self, player: int, iteration: int) -> Iterator[SomeHands]:
        """Yield the parts of the batch."""
        for first in range(0, self._batch, self._part):
            yield SomeHands(player, iteration, first, min(self._part, self._batch - first))

    def deal(self, player: int, iteration: int, first: int, count: int) -> Deals:
        """Return the deals of some hands."""
        deals = Deals(
            dice=np.zeros((count, 2), np.uint64),
            codes=np.empty((count, 2, len(self._layout.visible)), np.int64),
            sign=np.empty(count, np.int8),
        )
        deck = self._tree.game.deck.size
        draw_deals(self._layout, deck, self._bits, self._seed, iteration, player, first, deals, NO_TAPE)
        return deals


class Lockstep(HandsInLockstep):
    """Traversals of a poker game by a scheme, in lockstep. Findings come in parts.

    With ``mean``, rows count one over the batch, so that sums are means over its traversals (DN19 Eq. 12). Strategies
    are the opponent's, and count one over the traverser's sample reach besides: in expectation, the opponent's own
    reach x chance's. With ``own_reach`` they are the traverser's, and count its own reach, once per infoset however
    often it was met (DN19 Algorithm 3).
    """

    def __init__(
        self,
        tree: BettingTree,
        layout: CardLayout,
        scheme: External | Robust,
        *,
        batch: int,
        fallback: int,
        seed: int,
        mean: bool = False,
        own_reach: bool = False,
        threads: int = 1,
        part: int = TRAVERSALS_A_PART,
        workers: Workers | None = None,
    ) -> None:
        plan = scheme.plan(LabelledActions(tree.game, 1, ((1, 1),), lambda classify: None))
        if plan.kind not in (ALL, SUBSET) or plan.probe:
            raise EquipoiseError("traversals in lockstep walk all own actions, or k of them, without probing")
        super().__init__(tree, layout, batch=batch, seed=seed, threads=threads, part=part, workers=workers)
        self._plan, self._fallback = plan, fallback
        self._counts = 1.0 / batch if mean else 1.0
        self._own_reach = own_reach

    def rows(self, scores_at: ScoresAt, players: tuple[int, ...], iteration: int) -> Iterator[Rows]:
        """Run traversals of some players; yield the traverser's regrets and the opponent's strategies, in parts."""
        for player in players:
            met: list[tuple[Int64, Float]] = []
            parts = self.parts(player, iteration)
            for part in self.share_out(Lockstep._walk_some, parts, (self, scores_at)):
                self.nodes_touched += part.touched
                own, other = part.own, part.opponent
                weight = np.full(len(own.code), self._counts)
                yield Rows(player, REGRET, iteration, own.code, own.values, weight)
                if self._own_reach:
                    met.append((own.code, own.own_reach))
                elif other is not None:
                    weight = self._counts / other.sample_reach
                    yield Rows(1 - player, STRATEGY, iteration, other.code, other.values, weight)
            if self._own_reach:
                codes, first = np.unique(np.concatenate([code for code, _ in met]), return_index=True)
                reach = np.concatenate([reach for _, reach in met])[first]
                legal = self._tree.legal[nodes_of(codes)]
                strategies = match_rows(scores_at(player, codes), legal, self._fallback)
                yield Rows(player, STRATEGY, iteration, codes, strategies, reach)

    @staticmethod
    def _walk_some(shared: "tuple[Lockstep, ScoresAt]", lane: int, some: SomeHands) -> Walked:
        del lane
        lockstep, scores_at = shared
        found = lockstep._walk(scores_at, some.player, lockstep.deal(*some))
        # What is not asked for need not travel.
        if lockstep._own_reach:
            return found._replace(own=found.own._replace(sample_reach=NOTHING), opponent=None)
        other = found.opponent
        assert other is not None
        own = found.own._replace(sample_reach=NOTHING, own_reach=NOTHING)
        return found._replace(own=own, opponent=other._replace(own_reach=NOTHING))

    def _walk(self, scores_at: ScoresAt, player: int, deals: Deals) -> Walked:
        tree, actions, columns = self._tree, self._tree.most_actions, self._tree.num_columns
        level = _empty_level(len(deals.sign), actions)
        level.node[:], level.traversal[:] = 0, np.arange(len(deals.sign))
        level.parent[:], level.slot[:] = -1, -1
        level.weight[:] = level.sample_reach[:] = level.own_reach[:] = 1.0
        levels = []
        counts = np.zeros(2, np.int64)
        while len(level.node):
            levels.append(level)
            scores, offset = self._scores(scores_at, level, deals)
            widths = tree.nodes.num_children[level.node]
            room = int(np.where(tree.nodes.player[level.node] == player, widths, 1).sum())
            after = _empty_level(room, actions)
            advance(
                tree.nodes,
                self._plan.kind,
                self._plan.size,
                player,
                self._fallback,
                scores,
                offset,
                deals,
                NO_TAPE,
                actions,
                level,
                after,
                counts,
            )
            size = int(counts[0])
            level = Level._make([*(array[:size] for array in after[:-1]), after.buffer[: 2 * actions * size]])
        for depth in range(len(levels) - 1, -1, -1):
            return_values(tree.nodes, actions, levels[depth], levels[max(depth - 1, 0)])
        places = np.zeros((2, len(deals.sign) + 1), np.int64)
        for level in levels:
            count_findings(level, places)
        np.cumsum(places, axis=1, out=places)
        found = []
        for role in (OWN, OPPONENT):
            total = int(places[role - OWN, -1])
            made = Findings(np.empty(total, np.int64), np.empty((total, columns)), np.empty(total), np.empty(total))
            for level in levels:
                write_findings(tree.nodes, actions, level, places, role, *made)
            found.append(made)
        return Walked(found[0], found[1], int(counts[1]))

    def _scores(self, scores_at: ScoresAt, level: Level, deals: Deals) -> tuple[FloatTable, Int64]:
        """Ask for the scores of a level's infosets; return them, and where each player's begin."""
        size = table_size(len(level.node))
        asked, counts = np.empty((2, len(level.node)), np.int64), np.zeros(2, np.int64)
        keys, places = np.empty(size, np.int64), np.full(size, EMPTY)
        list_codes(self._tree.nodes, deals.codes, level, keys, places, asked, counts)
        scores = [scores_at(who, asked[who, : counts[who]]) for who in range(2) if counts[who]]
        return np.ascontiguousarray(np.concatenate(scores), np.float64), np.array([0, counts[0]])
