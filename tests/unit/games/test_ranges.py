"""Ranges as players write them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError
from equipoise.games.poker import HOLDEM_DECK, Deck, sets_of_cards
from equipoise.games.ranges import Range, class_name, hand_classes, read_range, write_range

HANDS = sets_of_cards(52, 2)


def hands(text):
    """Return the hands that a text names, with their weights."""
    found = read_range(text)
    return {HOLDEM_DECK.text(HANDS[k][::-1]): w for k, w in enumerate(found.weights) if w > 0}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("all", 1326),
        ("AA", 6),
        ("66+", 9 * 6),
        ("QQ-22", 11 * 6),
        ("22-QQ", 11 * 6),
        ("AKs", 4),
        ("AKo", 12),
        ("AK", 16),
        ("KA", 16),
        ("A8s+", 6 * 4),
        ("96s+", 3 * 4),
        ("QTs+", 2 * 4),
        ("A5s-A4s", 2 * 4),
        ("A4s-A5s", 2 * 4),
        ("KhQh", 1),
        ("qHkh", 1),
        ("AA,KK|QQ  JJ", 24),
        ("66+,A8s+,A5s-A4s,AJo+,K9s+,KQo,QTs+,JTs,96s+,85s+,75s+,65s,54s", 0),
    ],
)
def test_counts(text, count):
    if text.startswith("66+,A8s+"):  # counted class by class
        classes = [*"6789TJQKA"]
        count = 6 * len(classes) + 4 * (6 + 2 + 4 + 2 + 1 + 3 + 3 + 2 + 1 + 1) + 12 * (3 + 1)
    assert len(hands(text)) == count


def test_a_hand_with_a_plus_goes_up_to_below_its_first_card():
    assert {name[0] + name[2] for name in hands("96s+")} == {"96", "97", "98"}
    assert {name[0] + name[2] for name in hands("QQ+")} == {"QQ", "KK", "AA"}


def test_weights_and_later_parts():
    found = hands("AJo:0.5,AhJd:.25,AcJd:0,KK")
    assert found["AhJd"] == 0.25
    assert found["AsJd"] == 0.5
    assert "AcJd" not in found
    assert found["KsKh"] == 1.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" , ", "empty"),
        ("AX", "'AX'"),
        ("AKx", "'AKx'"),
        ("66s", "neither suited nor offsuit"),
        ("AK:2", "from 0 to 1"),
        ("AK:-1", "from 0 to 1"),
        ("AK:nan", "from 0 to 1"),
        ("AK:", "from 0 to 1"),
        ("AhAh", "twice"),
        ("A5s-K4s", "share the first card"),
        ("A5s-A4o", "share the first card"),
        ("QQ-A2s", "share the first card"),
        ("AhK", "'AhK'"),
        ("KhQh+", "'KhQh+'"),
    ],
)
def test_errors_say_what_is_wrong(text, says):
    with pytest.raises(EquipoiseError, match=r".") as error:
        read_range(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["all", "AA", "66+", "QQ-22,AKs", "A8s+,AJo:0.5,KhQh", "AK:0.25,72o", "AhKh:0.125"])
def test_written_and_read_again(text):
    found = read_range(text)
    assert read_range(write_range(found)) == found
    assert read_range(write_range(found, "|")) == found


def test_written_shortly():
    assert write_range(read_range("AA,KK,QQ,AKs,AQs,A5s,A4s,KhQh,AJo:0.5")) == "QQ+,AQs+,A5s-A4s,AJo:0.5,KhQh"


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(0, 1325), st.sampled_from([0.1, 0.25, 1 / 3, 1.0]), min_size=1, max_size=300))
def test_any_range_is_written_and_read_again(weights):
    array = np.zeros(1326)
    for place, weight in weights.items():
        array[place] = weight
    assert read_range(write_range(Range(array))) == Range(array)


def test_grid():
    grid = read_range("AA,AKs:0.5,72o,KhQh").grid()
    assert grid[0, 0] == 1.0
    assert grid[0, 1] == 0.5  # suited above the diagonal
    assert grid[1, 0] == 0.0
    assert grid[12, 7] == 1.0
    assert grid[7, 12] == 0.0
    assert grid[1, 2] == 0.25


def test_classes():
    classes = hand_classes()
    assert len(classes) == 169
    assert sum(map(len, classes.values())) == 1326
    assert all(class_name(HOLDEM_DECK, HANDS[place]) == name for name, places in classes.items() for place in places)


def test_a_range_without_some_cards():
    board = [HOLDEM_DECK.ranks.index("A") * 4]
    assert (read_range("AA,KK").without(board).weights > 0).sum() == 3 + 6


def test_smaller_decks():
    deck = Deck(ranks=("2", "3", "4"), suits=("c", "d"))
    assert (read_range("all", deck).weights > 0).sum() == 15
    assert (read_range("43s+,22", deck).weights > 0).sum() == 2 + 1
