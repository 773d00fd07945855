"""Small spots for tests, and the way from a spot's tables to infoset keys."""

import numpy as np

from equipoise.games.betting import apply_action, legal_actions
from equipoise.games.notation import read_betting
from equipoise.games.poker import Deck
from equipoise.games.spots import spot

SMALL_DECK = Deck(ranks=tuple("23456"), suits=("c", "d"))
THREE_SUITS = Deck(ranks=tuple("2345"), suits=("c", "d", "h"))

# Every suit differs from every other by the board or by a range, or clubs and diamonds can be told apart by nothing.
_SMALL = {
    "river": ("2c3d4c5c6d", 10, 40, "all", "43,5d2d:0.5,62", "0.5-allin", None, SMALL_DECK),
    "turn": ("2c3c4d6d", 10, 25, "all", "53,62,4c2d:0.25", "1", None, SMALL_DECK),
    "flop": ("2c3c4d", 10, 12, "65s,52:0.5,4c3d", "66,5d2d,6c3d", "1", "none", SMALL_DECK),
    "turn, two suits alike": ("2c2d5c5d", 7, 20, "all", "66,43:0.5,64s", "1-allin", None, SMALL_DECK),
    "flop, two suits alike": (
        *("2h3h4h", 10, 12, "5c2c,5d2d,5c5d", "5h4c,5h4d,3c2d,3d2c", "1", "none"),
        THREE_SUITS,
    ),
}


def small_spot(name, **more):
    """Return one of the small spots."""
    board, pot, stack, first, second, bets, raises, deck = _SMALL[name]
    return spot(board, pot, stack, first, second, bets, raises, deck=deck, **more)


def _blocks(form, number, board):
    """List the infosets of a board: their keys, player and deal, and where their actions are in a table."""
    game, each = form.game, form.rounds[number]
    for node, state in enumerate(each.states):
        player = state.player
        width = int(each.boards.width[board, player])
        first = each.boards.table_start[board, player]
        first += (each.betting.node_row[node] - each.betting.roots) * width
        for j, hand in enumerate(each.hands[player][board]):
            key = game.infoset_text(game.hands[hand], each.cards[board], state.text)
            yield key, player, hand, first + np.arange(each.betting.node_actions[node]) * width + j


def by_infoset(form, tables):
    """Return what tables say of each infoset, by its key; on boards that stand for others, of the first."""
    found = {}
    for number, each in enumerate(form.rounds):
        out = np.zeros(each.size)
        tables.write(number, 0, each.num_boards, out)
        for board in range(each.num_boards):
            found |= {key: out[places] for key, _, _, places in _blocks(form, number, board)}
    return found


def scales(form):
    """Return how many times a textbook's counterfactual values of each infoset are those of a solver.

    A textbook has chance's deals in them, the own hand included, and means; a solver has weights and sums. What a
    player is bound to, chance plays in a textbook.
    """
    found, deals = {}, 1.0
    for number, each in enumerate(form.rounds):
        deals *= each.deal
        for board in range(each.num_boards):
            for key, player, hand, _ in _blocks(form, number, board):
                found[key] = form.game.pairs / form.game.weights[player][hand] / deals
                if form.game.locks:
                    found[key] /= max(_bound_share(form.game, hand, each.cards[board], key, player), 1e-300)
    return found


def _bound_share(game, hand, board, key, player):
    """Return with what probability a locked player's own hand comes to an infoset, by what it is bound to."""
    line = read_betting(game.betting, key.partition("|")[2]).text
    state, share = game.betting.start(), 1.0
    while state.text != line:
        bound = game.shares_at(hand, board[: game.board_size(state.round)], state.text)
        for place, action in enumerate(legal_actions(game.betting, state)):
            after = apply_action(game.betting, state, action)
            goes_on = line.startswith(after.text)
            if goes_on and not (after.text[-1].isdigit() and line[len(after.text) :][:1].isdigit()):
                share *= bound[place] if bound and state.player == player else 1.0
                state = after
                break
    return share


def set_infosets(form, tables, numbers):
    """Write the numbers of each infoset into tables."""
    for number, each in enumerate(form.rounds):
        table = tables.early[number] if number < len(tables.early) else tables.last.stored
        for board in range(each.num_boards):
            for key, _, _, places in _blocks(form, number, board):
                table[places] = numbers.get(key, 0.0)


def renamed(game, key):
    """Return an infoset's key with clubs and diamonds exchanged; the spot's own board is the same either way."""
    hand, _, rest = key.partition("/")
    board, _, betting = rest.partition("|")
    exchanged = str.maketrans("cd", "dc")

    def cards(text):
        return [text[place : place + 2].translate(exchanged) for place in range(0, len(text), 2)]

    dealt = "".join(cards(board)[len(game.board) :])
    own = sorted(cards(hand), key=lambda card: (card[0], "cdh".index(card[1])), reverse=True)
    return f"{''.join(own)}/{game.deck.text(game.board)}{dealt}|{betting}"
