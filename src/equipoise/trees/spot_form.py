"""A spot as arrays: betting trees by round, boards up to suits, and the hands that each player can hold on each.

Rounds follow each other as in the rules: the spot's own board, then all turns or rivers that can be told apart. On each
board a player has one vector over the hands of its range that the board leaves, padded to whole vectors (lanes.py); on
full boards, hands are in the order of their strength. A player's *rows* in a round are its reach of each root (what
leads into the round), then one row for each action of its decision nodes: a plan has one vector a row, and so has a
table of sums, without the roots::

    place of (board b, player p, row r, hand j) in a table = table_start[b, p] + (r - roots) * width[b, p] + j

Called all-ins are roots of the next round without betting: nothing else makes them special. Boards that differ by a
renaming of suits that neither the spot's board nor the ranges can tell apart are one board with several *images*: its
hands, renamed, are those of each of them.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.games.betting import BettingState
from equipoise.games.hand_ranks import deck_bits, hand_rank
from equipoise.games.spots import VALUES, Spot
from equipoise.lanes import LANES
from equipoise.trees.betting_tree import Betting, Leaf, all_bets, round_rows
from equipoise.trees.digest import digest
from equipoise.trees.spot_leaves import BoardHands, NetworkValues
from equipoise.trees.treeplex import Float, Int64, UInt64
from equipoise.trees.value_network import groups_of, hand_strengths, load_network, require_round

Int32 = npt.NDArray[np.int32]
UInt16 = npt.NDArray[np.uint16]
UInt32 = npt.NDArray[np.uint32]

Permutation = tuple[int, ...]  # of suits


class Ends(NamedTuple):
    """What the leaves of a round pay to each player, from the opponent's plan; the first axis is the player.

    The opponent's rows that end in a leaf are *columns*, those that end in a showdown first, sixteen a tile. A player's
    row ends in at most one showdown and one fold, by the opponent's next action or by its own. It is worth::

        showdown_amount * (won - lost) + drawn_amount * beside + fold_amount * beside

    where the numbers are those of its showdown's column, the same, and its fold's column; *beside* is the opponent's
    reach with hands that share no card with the own one. The second amount is 0 unless there is rake.
    """

    showdown_tiles: int
    tiles: int
    raked: bool
    column_row: Int64  # [2, columns] the opponent's row; its last row + 1, which is zero, for padding
    showdown_column: Int64  # [2, own rows]
    showdown_amount: Float  # [2, own rows]
    drawn_amount: Float  # [2, own rows]
    fold_column: Int64  # [2, own rows]
    fold_amount: Float  # [2, own rows]


class Boards(NamedTuple):
    """The boards of one round, as arrays that kernels can take; the last axis of the first four is the player."""

    live: Int64  # [boards, 2] how many hands the board leaves
    width: Int64  # [boards, 2] the same, padded
    start: Int64  # [boards, 2] where the hands begin in the arrays of hands
    table_start: Int64  # [boards, 2]
    first_card: UInt16  # [hands] where the sums of the lower card begin: sixteen a card
    second_card: UInt16  # [hands]
    same: UInt32  # [hands] the opponent's place of the same hand, or its width if it has none
    alike: UInt32  # [hands] the first hand that only a renaming of suits tells from this one
    has_alike: npt.NDArray[np.bool_]  # [boards, 2] whether there are any
    images: Int64  # [boards] how many boards this one stands for
    image_start: Int64  # [boards, 2] where the images' hands begin
    image_place: UInt32  # [images x hands] the place of a hand, renamed, among the hands of the round before
    group_start: Int64  # [boards + 1] full boards: groups of hands that tie
    group_ends: Int64  # [groups x 2] where the group's hands end


class Locked(NamedTuple):
    """The hands of a round that are bound to a strategy (games/locks.py), board by board, the last nodes first."""

    start: Int64  # [boards x 2 + 1] where those of a board and player begin
    node: Int32  # [locked]
    hand: Int32  # [locked]
    mix: Int32  # [locked] which strategy
    shares: Float  # [strategies, actions]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of a spot."""

    betting: Betting
    ends: Ends
    states: tuple[BettingState, ...]  # of the decision nodes
    roots: tuple[BettingState, ...]
    closings: Int64  # [2, roots] each player's row of the round before that leads to the root
    boards: Boards
    cards: tuple[tuple[int, ...], ...]  # each board's cards
    renamings: tuple[tuple[Permutation, ...], ...]  # each board's images: renamings of suits that lead there
    parent: Int64  # [boards] the board of the round before
    first_child: Int64  # [boards + 1] the boards of the next round that follow
    hands: tuple[tuple[Int64, ...], tuple[Int64, ...]]  # by player and board: places in the game's list of hands
    deal: float  # the chance of each board, given the one before and both hands
    locked: Locked

    @property
    def num_boards(self) -> int:
        """Return the number of boards, up to suits."""
        return len(self.cards)

    @property
    def entries(self) -> tuple[int, int]:
        """Return each player's number of rows in tables."""
        first, second = self.betting.rows - self.betting.roots
        return int(first), int(second)

    @property
    def size(self) -> int:
        """Return the length of a table."""
        return int((self.boards.width @ np.array(self.entries)).sum())

    @cached_property
    def node_of(self) -> dict[str, int]:
        """Return the decision node after some betting."""
        return {state.text: node for node, state in enumerate(self.states)}


@dataclass(frozen=True, kw_only=True)
class SpotForm:
    """A compiled spot."""

    game: Spot
    rounds: tuple[Round, ...]
    hands: tuple[Int64, Int64]  # each player's hands before the spot's board, as places in the game's list
    weights: tuple[Float, Float]  # [roots x hands] of the first round; one root, unless it is a part of a spot
    leaves: NetworkValues | None = None  # what closings are worth over checking down, in spots that end early

    @property
    def num_entries(self) -> int:
        """Return the size of a table: (hand, action) pairs of all decisions."""
        return sum(each.size for each in self.rounds)

    @property
    def num_infosets(self) -> int:
        """Return how many decisions there are, hand by hand, up to suits."""
        total = 0
        for each in self.rounds:
            for player in range(2):
                nodes = int((each.betting.node_player == player).sum())
                total += nodes * int(each.boards.live[:, player].sum())
        return total

    @cached_property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of a table belongs to."""
        return digest(*((each.betting, each.closings, each.boards[:4], *each.hands) for each in self.rounds))


def spot_form(game: Spot) -> SpotForm:
    """Return a spot's form."""
    network = load_network(game.values) if game.until is not None and game.values not in VALUES else None
    if network is not None:
        require_round(network, str(game.until))
    hands = [np.flatnonzero((w > 0.0) & (c > 0.0)) for w, c in zip(game.weights, game.compatible, strict=True)]
    weights = [game.weights[player][hands[player]] for player in range(2)]
    symmetries = _symmetries(game)
    rounds: list[Round] = []
    ending: list[Leaf] = []  # the closings where the spot ends
    bets = all_bets(game.betting)
    roots, closings = [0], np.zeros((2, 1), np.int64)
    deck = game.deck.size
    for number in range(game.rounds):
        betting, _, states, leaves = round_rows(bets, roots, number)
        last = number + 1 == game.rounds
        ended = [leaf for leaf in leaves if last or leaf.state.folded >= 0]
        going_on = [leaf for leaf in leaves if not last and leaf.state.folded < 0]
        places = _places(game, symmetries) if number == 0 else _next_places(game, symmetries, rounds[-1])
        before = [hands[0]] if number == 0 else rounds[-1].hands[0], [hands[1]] if number == 0 else rounds[-1].hands[1]
        boards, kept = _boards(game, symmetries, places, before, betting, full=last)
        rounds.append(
            Round(
                betting=betting,
                ends=_ends(game, betting, ended),
                states=states,
                roots=tuple(bets.states[node] for node in roots),
                closings=closings,
                boards=boards,
                cards=tuple(place.cards for place in places),
                renamings=tuple(place.renamings for place in places),
                parent=np.array([place.parent for place in places]),
                first_child=np.zeros(len(places) + 1, np.int64),
                hands=kept,
                deal=1.0 if number == 0 else 1.0 / (deck - game.board_size(number - 1) - 4),
                locked=_locked(game, states, places, kept),
            )
        )
        if number > 0:
            children = np.bincount(rounds[-1].parent, minlength=rounds[-2].num_boards)
            rounds[-2].first_child[1:] = np.cumsum(children)
        if number + 1 == game.betting_rounds:
            ending = going_on
        roots = [leaf.node for leaf in going_on]
        closings = np.array([[leaf.rows[player] for leaf in going_on] for player in range(2)], np.int64)
    return SpotForm(
        game=game,
        rounds=tuple(rounds),
        hands=(hands[0], hands[1]),
        weights=(weights[0], weights[1]),
        leaves=None if network is None else NetworkValues(game, network, ending, *_valued_hands(game, rounds)),
    )


def part_of(form: SpotForm, number: int, board: int, weights: tuple[Float, Float]) -> SpotForm:
    """Return one board of a later round, with all roots and all that follows it, as a form of its own.

    ``weights`` are both players' reach of the roots, [roots x width of the board]. Tables lie as in the whole form.
    """
    rounds: list[Round] = []
    first, end = board, board + 1
    for each in form.rounds[number:]:
        boards, own = each.boards, slice(first, end)
        children = each.first_child[first : end + 1]
        rounds.append(
            replace(
                each,
                boards=boards._replace(
                    live=boards.live[own],
                    width=boards.width[own],
                    start=boards.start[own],
                    table_start=boards.table_start[own] - boards.table_start[first, 0],
                    has_alike=boards.has_alike[own],
                    images=boards.images[own],
                    image_start=boards.image_start[own],
                    group_start=boards.group_start[first : end + 1],
                ),
                cards=each.cards[own],
                renamings=each.renamings[own],
                parent=each.parent[own] - each.parent[first],
                first_child=children - children[0],
                hands=(each.hands[0][own], each.hands[1][own]),
                locked=each.locked._replace(start=each.locked.start[2 * first : 2 * end + 1]),
            )
        )
        first, end = int(children[0]), int(children[-1])
    rounds[0] = _entered_as_it_is(rounds[0])
    first_hands, second_hands = (rounds[0].hands[player][0] for player in range(2))
    return SpotForm(game=form.game, rounds=tuple(rounds), hands=(first_hands, second_hands), weights=weights)


def _entered_as_it_is(each: Round) -> Round:
    """Return a round of one board whose roots are entered with vectors over the board's own hands."""
    width = each.boards.width[0]
    own = np.concatenate([np.arange(size) for size in width]).astype(np.uint32)
    return replace(
        each,
        boards=each.boards._replace(
            images=np.ones(1, np.int64), image_start=np.array([[0, width[0]]]), image_place=own
        ),
        closings=np.tile(np.arange(each.betting.roots), (2, 1)),
        deal=1.0,
    )


def _valued_hands(game: Spot, rounds: Sequence[Round]) -> tuple[BoardHands, float]:
    """Return the hands of the round that a network values, and the chance of each of its boards."""
    each, cards = rounds[game.betting_rounds], np.array(game.hands, np.int64)
    boards = each.boards
    total = int(boards.start[-1, 1] + boards.width[-1, 1])
    group, same, card = np.zeros(total, np.int64), np.full(total, -1, np.int64), np.zeros((total, 2), np.int64)
    counts = []
    for board, dealt in enumerate(each.cards):
        mine = [each.hands[player][board] for player in range(2)]
        found, count = groups_of([hand_strengths(dealt, cards[own], game.deck) for own in mine])
        counts.append(count)
        for player in range(2):
            first, live = int(boards.start[board, player]), len(mine[player])
            group[first : first + live] = found[player]
            card[first : first + live] = cards[mine[player]]
            places = boards.same[first : first + live].astype(np.int64)
            same[first : first + live] = np.where(places < boards.width[board, 1 - player], places, -1)
    hands = BoardHands(
        live=boards.live,
        start=boards.start,
        card=card,
        group=group,
        groups=np.array(counts),
        same=same,
        images=boards.images,
        image_start=boards.image_start,
        width=boards.width,
        image_place=boards.image_place,
    )
    return hands, each.deal


class _Place(NamedTuple):
    """A board of a round."""

    cards: tuple[int, ...]
    parent: int
    renamings: tuple[Permutation, ...]  # one an image: takes the image to this board


def _renamed(cards: Sequence[int], renaming: Permutation) -> tuple[int, ...]:
    suits = len(renaming)
    return tuple(card // suits * suits + renaming[card % suits] for card in cards)


def _renamed_hands(game: Spot, renaming: Permutation) -> Int64:
    """Return the place of each hand, renamed, in the game's list of hands."""
    deck = game.deck.size
    cards = np.array(game.hands)
    suits = len(renaming)
    moved = np.sort(cards // suits * suits + np.array(renaming)[cards % suits], axis=1)
    first, second = moved[:, 0], moved[:, 1]
    places: Int64 = first * (2 * deck - first - 1) // 2 + second - first - 1
    return places


def _symmetries(game: Spot) -> tuple[Permutation, ...]:
    """Return the renamings of suits that leave the spot's board, ranges and locks as they are; the identity first."""
    found = []
    for renaming in itertools.permutations(range(len(game.deck.suits))):
        if sorted(_renamed(game.board, renaming)) == sorted(game.board):
            moved = _renamed_hands(game, renaming)
            kept = [*game.weights, *(lock.hands.weights for lock in game.locks)]
            named = [card for lock in game.locks for card in lock.board]
            if all((weights[moved] == weights).all() for weights in kept) and _fixing([renaming], named):
                found.append(renaming)
    return tuple(found)


def _locked(
    game: Spot,
    states: Sequence[BettingState],
    places: Sequence["_Place"],
    hands: tuple[Sequence[Int64], Sequence[Int64]],
) -> Locked:
    """Return the hands of a round that are bound to a strategy."""
    node_of = {state.text: node for node, state in enumerate(states)}
    mine = [(node_of[lock.line.text], number) for number, lock in enumerate(game.locks) if lock.line.text in node_of]
    starts, found = [0], []
    for board, place in enumerate(places):
        for player in range(2):
            count, own = starts[-1], hands[player][board]
            for node in sorted({node for node, _ in mine if states[node].player == player}, reverse=True):
                mix = np.full(len(own), -1)
                for number in (number for at, number in mine if at == node):
                    lock = game.locks[number]
                    if not lock.board or lock.board == place.cards[len(game.board) :]:
                        mix[lock.hands.weights[own] > 0.0] = number
                bound = np.flatnonzero(mix >= 0)
                found.append(np.stack([np.full(len(bound), node), bound, mix[bound]]).astype(np.int32))
                count += len(bound)
            starts.append(count)
    shares = np.zeros((len(game.locks), max((len(lock.shares) for lock in game.locks), default=0)))
    for number, lock in enumerate(game.locks):
        shares[number, : len(lock.shares)] = np.array(lock.shares) / sum(lock.shares)
    node, hand, mix = np.concatenate(found, axis=1) if found else np.zeros((3, 0), np.int32)
    return Locked(np.array(starts), node.copy(), hand.copy(), mix.copy(), shares)


def _fixing(symmetries: Sequence[Permutation], cards: Sequence[int]) -> list[Permutation]:
    """Return the renamings that leave each of some cards as it is."""
    return [renaming for renaming in symmetries if _renamed(cards, renaming) == tuple(cards)]


def _places(game: Spot, symmetries: Sequence[Permutation]) -> list[_Place]:
    return [_Place(game.board, 0, (symmetries[0],))]


def _next_places(game: Spot, symmetries: Sequence[Permutation], before: Round) -> list[_Place]:
    """Return the boards with one card more: the lowest card of each orbit, with a renaming from every other."""
    places = []
    for parent, cards in enumerate(before.cards):
        kept = _fixing(symmetries, cards[len(game.board) :])
        renamings: dict[int, list[Permutation]] = {}
        for card in range(game.deck.size):
            if card not in cards:
                lowest = min(_renamed((card,), renaming)[0] for renaming in kept)
                leading = next(renaming for renaming in kept if _renamed((card,), renaming)[0] == lowest)
                renamings.setdefault(lowest, []).append(leading)
        places += [_Place((*cards, card), parent, tuple(images)) for card, images in renamings.items()]
    return places


@kernel
def _strengths(board: UInt64, hands: Int64, bits: UInt64, count: int, out: Int64) -> None:
    for hand in range(hands.shape[0]):
        out[hand] = hand_rank(board[0] | bits[hands[hand, 0]] | bits[hands[hand, 1]], count)


def _boards(
    game: Spot,
    symmetries: Sequence[Permutation],
    places: Sequence[_Place],
    before: tuple[Sequence[Int64], Sequence[Int64]],
    betting: Betting,
    *,
    full: bool,
) -> tuple[Boards, tuple[tuple[Int64, ...], tuple[Int64, ...]]]:
    """Return the boards of a round as arrays, and each player's hands on each."""
    cards = np.array(game.hands)
    deck, bits = game.deck.size, deck_bits(len(game.deck.ranks), len(game.deck.suits))
    moved = {renaming: _renamed_hands(game, renaming) for renaming in symmetries}
    entries = betting.rows - betting.roots
    counts, widths, starts, table_starts, image_starts = ([] for _ in range(5))
    first_card, second_card, same, alike, image_place, ends = ([] for _ in range(6))
    has_alike, group_start = [], [0]
    kept: tuple[list[Int64], list[Int64]] = ([], [])
    start = table_start = image_start = 0
    for place in places:
        live = np.isin(cards, place.cards).sum(axis=1) == 0
        held = [before[player][place.parent][live[before[player][place.parent]]] for player in range(2)]
        if full:
            strengths = []
            open_bits = np.array([int(np.bitwise_or.reduce(bits[list(place.cards)]))], np.uint64)
            for player in range(2):
                found = np.empty(len(held[player]), np.int64)
                _strengths(open_bits, cards[held[player]], bits, len(place.cards) + 2, found)
                order = np.argsort(found, kind="stable")
                held[player] = held[player][order]
                strengths.append(found[order])
            levels = np.unique(np.concatenate(strengths))
            ends.append(np.stack([np.searchsorted(each, levels, side="right") for each in strengths], axis=1))
            group_start.append(group_start[-1] + len(levels))
        stays = [] if full else _fixing(symmetries, place.cards[len(game.board) :])
        counts.append([len(each) for each in held])
        padded = [-(-len(each) // LANES) * LANES for each in held]
        widths.append(padded)
        starts.append([start, start + padded[0]])
        table_starts.append([table_start, table_start + int(entries[0]) * padded[0]])
        image_starts.append([image_start, image_start + len(place.renamings) * padded[0]])
        where = [np.full(len(cards), -1, np.int64) for _ in range(2)]
        for player in range(2):
            where[player][held[player]] = np.arange(len(held[player]))
        likeness = []
        for player in range(2):
            mine, width = held[player], padded[player]
            first_card.append(_filled(cards[mine, 0], width, deck))
            second_card.append(_filled(cards[mine, 1], width, deck))
            theirs = where[1 - player][mine]
            same.append(_filled(np.where(theirs < 0, padded[1 - player], theirs), width, padded[1 - player]))
            first = np.arange(len(mine))
            for renaming in stays:
                first = np.minimum(first, where[player][moved[renaming][mine]])
            alike.append(_filled(first, width, 0))
            likeness.append(bool((first != np.arange(len(mine))).any()))
            among = np.full(len(cards), -1, np.int64)
            among[before[player][place.parent]] = np.arange(len(before[player][place.parent]))
            for renaming in place.renamings:
                back = np.empty(len(cards), np.int64)
                back[moved[renaming]] = np.arange(len(cards))
                image_place.append(_filled(among[back[mine]], width, 0))
            kept[player].append(mine)
        has_alike.append(likeness)
        start += sum(padded)
        table_start += int(entries @ np.array(padded))
        image_start += len(place.renamings) * sum(padded)
    boards = Boards(
        live=np.array(counts),
        width=np.array(widths),
        start=np.array(starts),
        table_start=np.array(table_starts),
        first_card=(np.concatenate(first_card) * LANES).astype(np.uint16),
        second_card=(np.concatenate(second_card) * LANES).astype(np.uint16),
        same=np.concatenate(same).astype(np.uint32),
        alike=np.concatenate(alike).astype(np.uint32),
        has_alike=np.array(has_alike),
        images=np.array([len(place.renamings) for place in places]),
        image_start=np.array(image_starts),
        image_place=np.concatenate(image_place).astype(np.uint32),
        group_start=np.array(group_start),
        group_ends=(np.concatenate(ends) if full else np.zeros((0, 2), np.int64)).ravel().astype(np.int64),
    )
    return boards, (tuple(kept[0]), tuple(kept[1]))


def _filled(numbers: npt.NDArray[np.integer], width: int, padding: int) -> Int64:
    out = np.full(width, padding, np.int64)
    out[: len(numbers)] = numbers
    return out


def _ends(game: Spot, betting: Betting, leaves: Sequence[Leaf]) -> Ends:
    """Return what leaves pay."""
    showdowns = [leaf for leaf in leaves if leaf.state.folded < 0]
    folds = [leaf for leaf in leaves if leaf.state.folded >= 0]
    rows = int(betting.rows.max())
    column = {name: np.zeros((2, rows), np.int64) for name in ("showdown", "fold")}
    amount = {name: np.zeros((2, rows)) for name in ("showdown", "drawn", "fold")}
    showdown_tiles = -(-len(showdowns) // LANES)
    listed: list[list[int]] = []
    for player in range(2):
        opponent = 1 - player
        own = [leaf.rows[opponent] for leaf in showdowns]
        place = {row: number for number, row in enumerate(own)}
        for leaf in showdowns:
            row = leaf.rows[player]
            won, lost = game.winnings(leaf.state)
            column["showdown"][player, row] = place[leaf.rows[opponent]]
            amount["showdown"][player, row] = (won + lost) / 2
            amount["drawn"][player, row] = (won - lost) / 2
        for leaf in folds:
            if leaf.rows[opponent] not in place:
                place[leaf.rows[opponent]] = len(own)
                own.append(leaf.rows[opponent])
            row = leaf.rows[player]
            won, lost = game.winnings(leaf.state)
            column["fold"][player, row] = place[leaf.rows[opponent]]
            amount["fold"][player, row] = won if leaf.state.folded == opponent else -lost
        listed.append(own)
    tiles = -(-max(map(len, listed)) // LANES)
    padded = [own + [int(betting.rows[1 - p])] * (tiles * LANES - len(own)) for p, own in enumerate(listed)]
    return Ends(
        showdown_tiles=showdown_tiles,
        tiles=tiles,
        raked=bool(amount["drawn"].any()),
        column_row=np.array(padded, np.int64),
        showdown_column=column["showdown"],
        showdown_amount=amount["showdown"],
        drawn_amount=amount["drawn"],
        fold_column=column["fold"],
        fold_amount=amount["fold"],
    )
