"""Deals drawn card by card, for games whose deals are too many to list: hold'em.

Both hands and the whole board are drawn at the start of a traversal; then each player's bucket in each round and the
winner of a showdown are worked out, once, and stand where a listed deal would stand.
"""

import numpy as np

from equipoise.abstraction.bucket_tables import BucketTables, bucket_of
from equipoise.compiled import inlined, uncounted
from equipoise.games.hand_ranks import showdown
from equipoise.games.suits import HOLE_CARDS, place_of_set
from equipoise.sampling.dice import choose_index
from equipoise.trees.treeplex import Float, Int32, Int64, UInt64

# No deck: the deals of a game are listed.
NO_CARDS = BucketTables(
    board_cards=np.zeros(0, np.int64),
    first_raw=np.zeros(0, np.int64),
    board_of=np.zeros(0, np.int32),
    renaming_of=np.zeros(0, np.uint8),
    base=np.zeros(0, np.int32),
    code=np.zeros(0, np.uint16),
    cuts=np.zeros(0, np.int64),
    first_cut=np.zeros(0, np.int64),
    cut=np.zeros(0, np.int32),
    image=np.zeros(0, np.int16),
    choose=np.zeros((0, 8), np.int64),
    bits=np.zeros(0, np.uint64),
)
LOST, TIED, WON = 0, 1, 2  # player 0's showdown: places in SHOWDOWN
SHOWDOWN = (-1.0, 0.0, 1.0)
NO_SHOWDOWN = (1.0, 1.0, 1.0)
MOST_CARDS = 9  # two hands and five on the board
SCRATCH = 3 * MOST_CARDS  # numbers needed besides the deal itself


@inlined
def _insert(cards: Int32, start: int, count: int, card: int) -> None:
    """Put a card into a sorted list."""
    place = start + count
    while place > start and cards[place - 1] > card:
        cards[place] = cards[place - 1]
        place -= 1
    cards[place] = card


@inlined
def _draw_cards(deck_size: int, count: int, cards: Int32, start: int, dice: UInt64, tape: Float) -> None:
    """Write ``count`` different cards in the order in which they are drawn; the same, sorted, follow them."""
    taken = start + MOST_CARDS
    for number in range(count):
        card = choose_index(dice, tape, deck_size - number)  # of those that are left
        for k in range(number):
            card += card >= cards[taken + k]
        cards[start + number] = card
        _insert(cards, taken, number, card)


@inlined
def _hand_number(cards: Int32, start: int, choose: Int64) -> int:
    low, high = min(cards[start], cards[start + 1]), max(cards[start], cards[start + 1])
    deck = choose.shape[0] - 1
    return int(choose[deck, 2] - 1 - choose[deck - 1 - low, 2] - choose[deck - 1 - high, 1])


@uncounted
def deal_into_buckets(tables: BucketTables, numbers: Int32, start: int, row: int, dice: UInt64, tape: Float) -> None:
    """Deal, and write to ``numbers[row:]``, per round: player 0's bucket, player 1's, player 0's showdown.

    ``numbers[start:start + SCRATCH]`` is scratch space.
    """
    deck, rounds = tables.bits.size, tables.board_cards.size
    open_cards = tables.board_cards[rounds - 1]
    _draw_cards(deck, 2 * HOLE_CARDS + open_cards, numbers, start, dice, tape)
    hands = tables.choose[deck, HOLE_CARDS]
    first_hand = _hand_number(numbers, start, tables.choose)
    second_hand = _hand_number(numbers, start + HOLE_CARDS, tables.choose)
    drawn, board = start + 2 * HOLE_CARDS, start + 2 * MOST_CARDS  # the board as drawn, and sorted
    winner = TIED + showdown(tables.bits, numbers, start, HOLE_CARDS, open_cards)
    shown, first, second = 0, 0, 0
    for betting_round in range(rounds):
        while shown < tables.board_cards[betting_round]:
            _insert(numbers, board, shown, numbers[drawn + shown])
            shown += 1
        raw = tables.first_raw[betting_round] + place_of_set(numbers[board : board + shown], tables.choose)
        canonical, image = np.int64(tables.board_of[raw]), np.int64(tables.renaming_of[raw]) * hands
        first = bucket_of(tables, betting_round, first, canonical, np.int64(tables.image[image + first_hand]))
        second = bucket_of(tables, betting_round, second, canonical, np.int64(tables.image[image + second_hand]))
        here = row + 3 * betting_round
        numbers[here], numbers[here + 1], numbers[here + 2] = first, second, winner
