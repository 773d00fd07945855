"""One traversal of a poker game through its own rules, history by history, with the draws that lockstep makes."""

from dataclasses import dataclass, field

from equipoise.games import CHANCE, TERMINAL
from equipoise.games.poker import PokerGame, PokerState

MASK = 2**64 - 1
STEP, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _mixed(z):
    z = ((z ^ (z >> 30)) * MIX_1) & MASK
    z = ((z ^ (z >> 27)) * MIX_2) & MASK
    return z ^ (z >> 31)


class Stream:
    """SplitMix64, started from the name of a traversal."""

    def __init__(self, seed, iteration, player, traversal):
        state = _mixed((seed + STEP) & MASK)
        state = _mixed(state ^ (((2 * iteration + player) * STEP) & MASK))
        self._state = _mixed((state + (traversal + 1) * MIX_1) & MASK)

    def draw(self):
        self._state = (self._state + STEP) & MASK
        return (_mixed(self._state) >> 11) * 2.0**-53

    def index(self, count):
        return min(int(self.draw() * count), count - 1)

    def weighted(self, weights):
        u, total = self.draw() * sum(weights), 0.0
        for index, weight in enumerate(weights):
            total += weight
            if total > u:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0.0)


def deal(game: PokerGame, stream: Stream):
    """Return two hands and a board, card by card from the top of what is left of the deck."""
    deck = list(range(game.deck.size))
    count = 2 * game.hole_cards + sum(game.board_cards)
    for place in range(count):
        chosen = place + stream.index(len(deck) - place)
        deck[place], deck[chosen] = deck[chosen], deck[place]
    hole = game.hole_cards
    return tuple(sorted(deck[:hole])), tuple(sorted(deck[hole : 2 * hole])), deck[2 * hole : count]


def dealt(game: PokerGame, stream: Stream):
    """Return the state after both hands are dealt, and the cards of the board."""
    first, second, board = deal(game, stream)
    hands = game.hands.index(first), game.hands.index(second)
    return PokerState(game, hands, (), game.betting.start()), board


def after_deals(state: PokerState, board: list[int]):
    """Turn up the board as far as it is due; return how many deals that took."""
    game, deals, start = state.game, 0, len(state.board)
    while state.player == CHANCE:
        betting_round = next(r for r in range(state.betting.round + 1) if game.board_size(r) > len(state.board))
        size = game.board_cards[betting_round]
        cards = tuple(sorted(board[start : start + size]))
        state = state.child(game.deals(betting_round).index(cards))
        start, deals = start + size, deals + 1
    return state, deals


@dataclass
class Visit:
    state: PokerState
    above: "Visit | None"
    action: int  # place of the action that led here, among those of the one above
    reach: float
    weight: float
    value: float = 0.0
    strategy: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def traverse(game: PokerGame, strategy_of, traverser, k, stream):
    """Return regrets by key at the traverser's decisions, strategies by key at the opponent's, and nodes touched."""
    root, board = dealt(game, stream)
    visits, touched = [Visit(root, None, -1, 1.0, 1.0)], 0
    for visit in visits:  # grows while it is walked
        touched += 1
        state = visit.state
        actions = list(state.actions())
        visit.strategy = strategy_of(state)
        visit.values = [0.0] * len(actions)
        if state.player == traverser:
            missing, walked = min(k, len(actions)), []
            for place in range(len(actions)):
                left = len(actions) - place
                chance = missing / left
                if missing > 0 and (chance >= 1.0 or stream.draw() < chance):
                    walked.append(place)
                    missing -= 1
            inclusion = min(1.0, k / len(actions))
        else:
            walked, inclusion = [stream.weighted(visit.strategy)], 1.0
        for place in walked:
            child, deals = after_deals(state.child(actions[place]), board)
            touched += deals
            if child.player == TERMINAL:
                payoff = child.payoff() * (1.0 if traverser == 0 else -1.0)
                touched += 1
                if state.player == traverser:
                    visit.values[place] = payoff / inclusion
                else:
                    visit.value = payoff
            else:
                visits.append(Visit(child, visit, place, visit.reach * inclusion, 1.0 / inclusion))
    own, opponent = [], []
    for visit in visits[::-1]:
        if visit.state.player == traverser:
            visit.value = sum(p * v for p, v in zip(visit.strategy, visit.values, strict=True))
            own.append((visit.state.infoset_key(), [(v - visit.value) / visit.reach for v in visit.values]))
        else:
            opponent.append((visit.state.infoset_key(), visit.strategy))
        if visit.above is not None:
            if visit.above.state.player == traverser:
                visit.above.values[visit.action] = visit.weight * visit.value
            else:
                visit.above.value = visit.value
    return own[::-1], opponent[::-1], touched
