"""What networks see: rows that tell infosets apart where the game does, and outputs that belong to actions."""

import itertools
import re
from functools import cache

import numpy as np
import pytest
import torch

from equipoise.games import load_game
from equipoise.games.betting import BettingRound, BettingRules
from equipoise.games.efg import write_efg
from equipoise.games.poker import Deck, PokerGame
from equipoise.networks.infosets import infosets_of
from equipoise.networks.modules import Recurrent
from equipoise.networks.network import make_network, num_parameters
from equipoise.trees.compile import compile_game


@pytest.fixture(scope="module")
def efg_file(tmp_path_factory):
    """Kuhn poker as a Gambit file: a game that is known by nothing but texts."""
    path = tmp_path_factory.mktemp("efg") / "kuhn.efg"
    write_efg(load_game("kuhn_poker"), path)
    return f"efg:{path}"


@pytest.fixture(scope="module")
def infosets(compiled, efg_file):
    """Return the form and the rows of a game by its text."""

    @cache
    def made(text, cards="ranks"):
        form = compiled(efg_file if text == "efg" else text)
        return form, infosets_of(form, cards)

    return made


every_game = pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("kuhn_poker", "ranks"),
        ("leduc_poker", "ranks"),
        ("leduc_poker", "cards"),
        ("nl_leduc(stack=5)", "ranks"),
        ("nl_leduc(stack=5)", "cards"),
        ("bluff(dice=1x1)", "ranks"),
        ("goofspiel(cards=4)", "ranks"),
        ("one_card_poker(cards=5)", "ranks"),
        ("one_card_poker(cards=20)", "ranks"),  # whose ranks are numbers: 1. ends 11. as well
        ("open_spiel:kuhn_poker", "ranks"),
        ("open_spiel:leduc_poker", "ranks"),
        ("efg", "ranks"),
    ],
)


def test_no_limit_leduc_is_as_large_as_published(infosets):
    form, rows = infosets("nl_leduc(stack=5)", "cards")
    assert len(rows.row_keys) == form.num_infosets == 3_648
    assert rows.num_columns == 6
    assert rows.trie.cells.shape[1] == 21  # DN19 Appendix C, and who acts


@pytest.mark.parametrize(("width", "parameters"), [(8, 1_048), (16, 2_608)])
def test_published_networks_have_the_published_number_of_parameters(infosets, width, parameters):
    architecture = Recurrent(cell="lstm", width=width, attention="relu", hidden=False)
    _, rows = infosets("nl_leduc(stack=5)", "cards")
    network = make_network(rows, architecture, torch.Generator().manual_seed(0), head=1.0)
    assert num_parameters(network) == parameters == 4 * width**2 + 99 * width


@pytest.mark.parametrize(
    ("text", "cards", "rows"),
    [("leduc_poker", "ranks", 288), ("leduc_poker", "cards", 936), ("nl_leduc(stack=5)", "ranks", 1_128)],
)
def test_rows_that_ranks_leave(infosets, text, cards, rows):
    assert len(infosets(text, cards)[1].row_keys) == rows


def suits_swapped(key, swapped):
    """Return a key of Leduc with the two suits of some ranks in each other's place."""
    other = {"s": "h", "h": "s"}
    cards, bar, betting = key.partition("|")
    text = re.sub(r"([JQK])([sh])", lambda card: card[1] + (other[card[2]] if card[1] in swapped else card[2]), cards)
    return text + bar + betting


@pytest.mark.parametrize("text", ["leduc_poker", "nl_leduc(stack=5)"])
def test_two_infosets_share_a_row_exactly_if_suits_are_all_that_differs(infosets, text):
    form, rows = infosets(text)
    symmetries = ["".join(chosen) for size in range(4) for chosen in itertools.combinations("JQK", size)]
    for player in range(2):
        keys = form.keys(player)
        orbit = {key: min(suits_swapped(key, symmetry) for symmetry in symmetries) for key in keys}
        row = dict(zip(keys, row_of_infosets(form, rows, player), strict=True))
        # As many pairs (orbit, row) as orbits and as rows: a one-to-one match.
        pairs = {(orbit[key], row[key]) for key in keys}
        assert len(pairs) == len(set(orbit.values())) == len(set(row.values())) == rows.num_rows[player]
        assert len(pairs) < len(keys)


def row_of_infosets(form, rows, player):
    """Return the row of each infoset of a player."""
    firsts = np.cumsum([0, *form.treeplexes[player].num_actions()])[:-1]
    return rows.entry_row[rows.entries_of(player)][firsts]


def suit_breaks_ties(deck, hand, board):
    """Return a strength that is no matter of ranks alone."""
    paired = any(deck.rank(card) == deck.rank(hand[0]) for card in board)
    return hand[0] + (deck.size if paired else 0)


def test_suits_stay_where_they_decide():
    rules = BettingRules(blinds=(1, 1), rounds=(BettingRound(max_raises=1, bet_size=1),) * 2)
    deck = Deck(ranks=("J", "Q", "K"), suits=("s", "h"))
    plain, suited = (
        PokerGame("suits", deck, rules, (0, 1), **strength) for strength in ({}, {"strength": suit_breaks_ties})
    )
    counts = {}
    for name, game in (("plain", plain), ("suited", suited)):
        form = compile_game(game)
        counts[name] = len(infosets_of(form, "ranks").row_keys), form.num_infosets
    assert counts["suited"][0] == counts["suited"][1]
    assert counts["plain"][0] < counts["plain"][1] == counts["suited"][1]


@every_game
def test_no_two_rows_of_a_player_look_alike(infosets, text, cards):
    _, rows = infosets(text, cards)
    for player in range(2):
        own = rows.flat[rows.rows_of(player)]
        assert len({row.tobytes() for row in own}) == len(own) == rows.num_rows[player] > 1


@every_game
def test_no_two_rows_of_a_player_have_the_same_cells(infosets, text, cards):
    """Two steps that differ might still be written as the same numbers: what counts is what a network is given."""
    _, rows = infosets(text, cards)
    for player in range(2):
        seen = {path(rows.trie, last) for last in rows.trie.last[rows.rows_of(player)]}
        assert len(seen) == rows.num_rows[player]


def path(trie, prefix):
    """Return all cells from the start to a prefix of a trie, as bytes."""
    cells = []
    for level in range(int(np.searchsorted(trie.level_start, prefix, side="right")) - 1, -1, -1):
        cells.append(trie.cells[prefix].tobytes())
        if level:
            prefix = trie.level_start[level - 1] + trie.parent[prefix]
    return b"".join(reversed(cells))


@every_game
def test_every_entry_has_the_column_of_its_action(infosets, text, cards):
    form, rows = infosets(text, cards)
    entry = 0
    for player, plex in enumerate(form.treeplexes):
        names, counts = form.action_names(player), plex.num_actions()
        for key, own_names, count in zip(form.keys(player), names, counts, strict=True):
            mine = slice(entry, entry + count)
            row = rows.entry_row[entry]
            assert rows.row_keys[row] == rows.grammar.row_key(key)
            assert rows.rows_of(player).start <= row < rows.rows_of(player).stop
            assert np.all(rows.entry_row[mine] == row)
            assert [rows.actions[column] for column in rows.entry_column[mine]] == [
                rows.grammar.action(name) for name in own_names
            ]
            assert rows.legal[row].sum() == count == len(set(rows.entry_column[mine]))
            entry += count
    assert entry == len(rows.entry_row) == sum(rows.table_sizes)


@pytest.mark.parametrize("text", ["nl_leduc(stack=5)", "goofspiel(cards=4)"])
def test_a_table_that_goes_to_rows_comes_back_as_it_was(infosets, text):
    _, rows = infosets(text, "cards")
    table = np.random.default_rng(0).normal(size=len(rows.entry_row))
    there = np.concatenate([rows.to_rows(table, (player,)) for player in range(2)])
    np.testing.assert_array_equal(there, rows.to_rows(table, (0, 1)))
    np.testing.assert_array_equal(there[rows.entry_row, rows.entry_column], table)
    assert np.all(there[~rows.legal] == 0.0)
    assert np.all(rows.members == 1.0)


def test_merged_rows_hold_the_sums_of_their_members(infosets):
    form, rows = infosets("leduc_poker")
    table = np.random.default_rng(0).normal(size=len(rows.entry_row))
    expected, members = np.zeros(rows.legal.shape), np.zeros(len(rows.row_keys))
    for entry, (row, column) in enumerate(zip(rows.entry_row, rows.entry_column, strict=True)):
        expected[row, column] += table[entry]
    for player in range(2):
        np.add.at(members, row_of_infosets(form, rows, player), 1)
    np.testing.assert_allclose(rows.to_rows(table, (0, 1)), expected, atol=1e-12)
    np.testing.assert_array_equal(rows.members, members)
    assert sorted(set(members)) == [2.0, 4.0]  # pairs have two suitings, all else has two or four


def test_raises_are_sorted_by_amount_and_not_by_letters(infosets):
    _, rows = infosets("nl_leduc(stack=10)")
    raises = [action for action in rows.actions if action.startswith("raise")]
    assert raises == [f"raise to {amount}" for amount in range(2, 11)]
    assert rows.actions.index("raise to 10") > rows.actions.index("raise to 4")


def test_checks_and_calls_share_a_column(infosets):
    form, rows = infosets("leduc_poker")
    names = {name for player in range(2) for each in form.action_names(player) for name in each}
    assert {"check", "call"} <= names
    assert rows.actions == ("call", "fold", "raise")
