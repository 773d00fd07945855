"""A map from (private hand, board) to a bucket, round by round, as flat arrays that kernels read in one place.

A hand on a raw board is looked up on the board's canonical twin, where it has a *code*. Either the code is the
bucket, or buckets of earlier rounds are remembered: then the *cuts* of the bucket so far divide codes into new buckets.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.compiled import inlined
from equipoise.games.hand_ranks import deck_bits
from equipoise.games.suits import (
    HOLE_CARDS,
    CanonicalBoards,
    Int16,
    Int32,
    Int64,
    canonical_boards,
    choose_table,
    hand_images,
    suit_isomorphism,
)

UInt8 = npt.NDArray[np.uint8]
UInt16 = npt.NDArray[np.uint16]
UInt64 = npt.NDArray[np.uint64]

HIGHEST_CODE = np.iinfo(np.uint16).max
NO_CUT = HIGHEST_CODE + 1  # a cut that no code reaches: its bucket is empty


class BucketTables(NamedTuple):
    """All rounds of an abstraction."""

    board_cards: Int64  # [rounds] open cards
    first_raw: Int64  # [rounds] where the round's raw boards begin
    board_of: Int32  # [raw boards of all rounds] the canonical board, numbered through all rounds
    renaming_of: UInt8  # [raw boards of all rounds] the renaming of suits that leads there
    base: Int32  # [canonical boards of all rounds] what is added to codes
    code: UInt16  # [canonical boards of all rounds x raw hands], flat
    cuts: Int64  # [rounds] cuts for each earlier bucket; 0: the code is the bucket
    first_cut: Int64  # [rounds]
    cut: Int32  # lowest codes of the second, third, ... bucket
    image: Int16  # [renamings x raw hands], flat: what a hand becomes
    choose: Int64  # [cards + 1, 8] numbers of sets
    bits: UInt64  # [cards] as hand_rank takes them


class RoundBoards(NamedTuple):
    """The boards of all rounds of a deck, up to suits."""

    ranks: int
    suits: int
    rounds: tuple[CanonicalBoards, ...]

    @property
    def deck_size(self) -> int:
        """Return the number of cards."""
        return self.ranks * self.suits

    @property
    def sizes(self) -> list[int]:
        """Return the open cards of each round."""
        return [boards.boards.shape[1] for boards in self.rounds]


def round_boards(ranks: int, suits: int, board_sizes: Sequence[int]) -> RoundBoards:
    """Return the boards of each round; ``board_sizes`` are the cards that lie open."""
    return RoundBoards(ranks, suits, tuple(canonical_boards(ranks, suits, size) for size in board_sizes))


def empty_tables(boards: RoundBoards, cuts: Sequence[int] | None = None) -> BucketTables:
    """Return tables with room for all rounds: codes are 0, no cut is reached.

    ``cuts`` are the cuts for each earlier bucket, by round, where buckets are remembered.
    """
    cuts = cuts or [0] * len(boards.rounds)
    hands = hand_images(boards.ranks, boards.suits)
    first_board = np.cumsum([0, *(len(each.boards) for each in boards.rounds)])
    first_raw = np.cumsum([0, *(len(each.board_of) for each in boards.rounds)])
    cut_counts, buckets = [], 1
    for count in cuts:
        cut_counts.append(buckets * count)
        buckets *= count + 1
    return BucketTables(
        board_cards=np.array(boards.sizes),
        first_raw=first_raw[:-1],
        board_of=np.concatenate(
            [each.board_of + first for each, first in zip(boards.rounds, first_board[:-1], strict=True)]
        ).astype(np.int32),
        renaming_of=np.concatenate([each.renaming_of for each in boards.rounds]).astype(np.uint8),
        base=np.zeros(first_board[-1], np.int32),
        code=np.zeros(int(first_board[-1]) * hands.shape[1], np.uint16),
        cuts=np.array(cuts),
        first_cut=np.cumsum([0, *cut_counts])[:-1],
        cut=np.full(sum(cut_counts), NO_CUT, np.int32),
        image=hands.ravel(),
        choose=choose_table(boards.deck_size),
        bits=deck_bits(boards.ranks, boards.suits),
    )


def bucket_codes(tables: BucketTables, boards: RoundBoards, betting_round: int) -> UInt16:
    """Return the codes of one round, ``[canonical boards, raw hands]``, as a view."""
    hands = len(hand_images(boards.ranks, boards.suits)[0])
    first = sum(len(each.boards) for each in boards.rounds[:betting_round])
    count = len(boards.rounds[betting_round].boards)
    return tables.code[first * hands : (first + count) * hands].reshape(count, hands)


def table_bytes(deck_size: int, canonical: int, raw: int) -> int:
    """Return the memory of tables with so many canonical and raw boards."""
    return canonical * (deck_size * (deck_size - 1) // HOLE_CARDS * 2 + 4) + raw * 5


@inlined
def bucket_of(
    tables: BucketTables, betting_round: int, before: int, board: int | np.int64, hand: int | np.int64
) -> int:
    """Return the bucket of a hand, renamed as the canonical board is, given its bucket of the round before."""
    hands = tables.choose[tables.bits.size, 2]
    code = tables.base[board] + np.int32(tables.code[board * hands + hand])
    cuts = tables.cuts[betting_round]
    if cuts == 0:
        return int(code)
    first = tables.first_cut[betting_round] + before * cuts
    bucket = before * (cuts + 1)
    for k in range(first, first + cuts):
        bucket += code >= tables.cut[k]
    return int(bucket)


def lossless_tables(boards: RoundBoards) -> BucketTables:
    """Return the tables in which every (hand, board) up to suits is a bucket of its own."""
    tables = empty_tables(boards)
    cards = suit_isomorphism(boards.ranks, boards.suits, boards.sizes[1])
    bucket_codes(tables, boards, 0)[0] = cards.start_class
    bucket_codes(tables, boards, 1)[:] = np.maximum(cards.hand_class, 0)
    tables.base[1:] = cards.first_pair[:-1]
    return tables
