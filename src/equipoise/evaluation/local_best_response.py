"""Local best response: a lower bound on the exploitability of a poker policy, where an exact one is out of reach.

Lisy and Bowling 2017. Whoever responds knows the policy, and so what range of hands comes to every point. At each
decision it looks one action ahead, and values what follows as if both players checked and called to the end: a fold is
worth nothing, a call its equity in the pot, a raise what the opponent's folds win and, where it does not fold, the
equity against what is left. The best of these is played. Such play is a strategy like any other, so what it wins on
average is at most what a best response wins. All hands of the opponent are weighed at the end of each hand, not only
the one that was dealt, which takes out luck without bias.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from equipoise.compiled import kernel
from equipoise.errors import NotSupported, require_seed, require_whole
from equipoise.evaluation.match import Estimate, estimate_from
from equipoise.evaluation.players import Player, seated
from equipoise.games import Game
from equipoise.games.betting import CALL, FOLD, RAISE, BettingState, apply_action, legal_actions, raise_choices
from equipoise.games.hand_ranks import deck_bits, hand_rank
from equipoise.games.poker import Cards, PokerGame, best_five_cards
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.situations import Situations
from equipoise.trees.treeplex import Float

# fold and call; these, the raise nearest to the pot and all-in; every action of the game
Menu = Literal["fc", "fcpa", "all"]
ROLLOUTS = 60  # boards that equities are means over, where there are more

# What the policy plays with every hand at a public state: [hands, legal actions].
Asked = Callable[[BettingState, Cards], Float]


@kernel
def _shares(
    bits: npt.NDArray[np.uint64],
    own: npt.NDArray[np.int64],
    hands: npt.NDArray[np.int64],
    boards: npt.NDArray[np.int64],
    wins: Float,
    counts: Float,
) -> None:
    """Add up what the own hand wins against each other hand on some boards, and on how many both are possible."""
    cards = own.size + boards.shape[1]
    for board in range(boards.shape[0]):
        common = np.uint64(0)
        for place in range(boards.shape[1]):
            common |= bits[boards[board, place]]
        mine = common
        for card in own:
            mine |= bits[card]
        rank = hand_rank(mine, cards)
        for hand in range(hands.shape[0]):
            theirs = np.uint64(0)
            for card in hands[hand]:
                theirs |= bits[card]
            if theirs & mine:
                continue
            other = hand_rank(theirs | common, cards)
            counts[hand] += 1.0
            if rank > other:
                wins[hand] += 1.0
            elif rank == other:
                wins[hand] += 0.5


@dataclass(frozen=True, kw_only=True)
class LocalBestResponse:
    """What local best response wins a hand, in the game's units: at most the policy's exploitability."""

    game: str
    menu: Menu
    hands: int
    estimate: Estimate
    seats: tuple[float, float]
    big_blind: int

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        per_mbb = 1000.0 / self.big_blind
        low, high = self.estimate.interval
        return {
            "game": self.game,
            "menu": self.menu,
            "hands": self.hands,
            "exploitability_at_least": self.estimate.mean,
            "interval": [low, high],
            "mbb_per_game": self.estimate.mean * per_mbb,
            "mbb_interval": [low * per_mbb, high * per_mbb],
            "mean_in_seat": list(self.seats),
        }


def local_best_response(
    player: Player,
    game: Game,
    *,
    hands: int = 1000,
    menu: Menu = "all",
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda hands: None,
) -> LocalBestResponse:
    """Let local best response play ``hands`` hands against a player, half of them from each seat."""
    if not isinstance(game, PokerGame):
        raise NotSupported(f"local best response is for poker; {game.name} is not poker")
    require_whole("hands", hands, low=4)
    require_seed(seed)
    responder = Responder(player, game, menu)
    random = np.random.default_rng(seed)
    pairs = (hands + 1) // 2
    won = np.zeros((pairs, 2))
    for pair in range(pairs):
        deal = random.permutation(game.deck.size)
        for seat in range(2):
            won[pair, seat] = responder.play(deal, seat, random)
        on_progress(2 * (pair + 1))
    means = won.mean(axis=1)
    estimate = estimate_from(float(means.mean()), variance=float(means.var(ddof=1)), samples=pairs, hands=2 * pairs)
    return LocalBestResponse(
        game=game.address,
        menu=menu,
        hands=2 * pairs,
        estimate=estimate,
        seats=(float(won[:, 0].mean()), float(won[:, 1].mean())),
        big_blind=game.big_blind,
    )


class Responder:
    """Local best response to one player."""

    def __init__(self, player: Player, game: PokerGame, menu: Menu = "all") -> None:
        self.game = game
        self._menu = menu
        self._asked = _asker(player, game)
        self._hands = np.array(game.hands, np.int64).reshape(len(game.hands), game.hole_cards)
        self._best_five = game.strength is best_five_cards
        self._bits = deck_bits(len(game.deck.ranks), len(game.deck.suits)) if self._best_five else None
        self._whole_board = sum(game.board_cards)

    def play(self, deal: npt.NDArray[np.integer[Any]], seat: int, random: np.random.Generator) -> float:
        """Play one hand from a seat with a shuffled deck; return what is won, on average over the opponent's hands."""
        hole = self.game.hole_cards
        own, theirs = (tuple(sorted(int(c) for c in deal[k * hole : (k + 1) * hole])) for k in range(2))
        board = tuple(int(card) for card in deal[2 * hole : 2 * hole + self._whole_board])
        place = self.game.hands.index(theirs)
        weights, state = self._without(own, np.ones(len(self._hands))), self.game.betting.start()
        equity, known = np.zeros(0), -1
        while not state.finished:
            seen = self._seen(board, state.round)
            weights = self._without(seen, weights)
            if state.player != seat:
                played = self._asked(state, seen)
                chosen = _draw(played[place], random)
                weights = weights * played[:, chosen]
                state = apply_action(self.game.betting, state, legal_actions(self.game.betting, state)[chosen])
                continue
            if known != len(seen):
                equity, known = self._equity(own, seen, random), len(seen)
            state = apply_action(self.game.betting, state, self.choose(state, seen, weights, equity))
        return self._won(state, seat, own, board, weights)

    def value(self, seat: int) -> float:
        """Return what is won on average from a seat, exactly: all hands and boards are gone through (small games)."""
        deals = math.comb(self.game.deck.size, self.game.hole_cards)
        others = math.comb(self.game.deck.size - self.game.hole_cards, self.game.hole_cards)
        total = sum(
            self._below(self.game.betting.start(), seat, own, (), self._without(own, np.ones(len(self._hands))))
            for own in self.game.hands
        )
        return total / (deals * others)

    def _below(self, state: BettingState, seat: int, own: Cards, board: Cards, weights: Float) -> float:
        wanted = self._whole_board if state.finished and state.folded < 0 else self.game.board_size(state.round)
        if len(board) < wanted:
            left = [card for card in range(self.game.deck.size) if card not in (*own, *board)]
            hidden = len(left) - self.game.hole_cards  # one of these is dealt, whatever the opponent holds
            return sum(
                self._below(state, seat, own, (*board, card), self._without((card,), weights)) for card in left
            ) / hidden  # fmt: skip
        if state.finished:
            return self._won(state, seat, own, board, weights) * float(weights.sum())
        actions = legal_actions(self.game.betting, state)
        if state.player == seat:
            equity = self._equity(own, board, np.random.default_rng(0))
            action = self.choose(state, board, weights, equity)
            return self._below(apply_action(self.game.betting, state, action), seat, own, board, weights)
        played = self._asked(state, board)
        return sum(
            self._below(apply_action(self.game.betting, state, action), seat, own, board, weights * played[:, number])
            for number, action in enumerate(actions)
            if (weights * played[:, number]).any()
        )

    def choose(self, state: BettingState, board: Cards, weights: Float, equity: Float) -> int:
        """Return the action that wins most if nobody bets after it."""
        if not weights.sum() > 0.0:  # the policy never plays this
            return CALL
        rules, pot, asked = self.game.betting, sum(state.spent), state.to_call()
        share = float(weights @ equity / weights.sum())
        best, action = share * pot - (1.0 - share) * asked, CALL
        if asked and best < 0.0:
            best, action = 0.0, FOLD
        for raised in self._raises(state):
            after = apply_action(rules, state, raised)
            added = after.spent[state.player] - max(state.spent)
            played = self._asked(after, board)
            folds = played[:, 0] if FOLD in legal_actions(rules, after) else np.zeros(len(weights))
            left = weights * (1.0 - folds)
            folded = 1.0 - float(left.sum() / weights.sum())
            against = float(left @ equity / left.sum()) if left.sum() > 0.0 else 0.0
            stays = against * (pot + added) - (1.0 - against) * (asked + added)
            value = folded * pot + (1.0 - folded) * stays
            if value > best:
                best, action = value, raised
        return action

    def _raises(self, state: BettingState) -> Sequence[int]:
        totals = list(raise_choices(self.game.betting, state)) if self._menu != "fc" else []
        if self._menu == "fcpa" and len(totals) > 2:
            pot = 3 * max(state.spent)  # a call, and as much as the pot is then
            near = min(range(len(totals)), key=lambda number: abs(totals[number] - pot))
            return sorted({RAISE + near, RAISE + len(totals) - 1})
        return range(RAISE, RAISE + len(totals))

    def _seen(self, board: Cards, betting_round: int) -> Cards:
        """Return the open cards of a board, in the order of infoset keys within each deal."""
        seen: list[int] = []
        for number in range(betting_round + 1):
            seen += sorted(board[len(seen) : len(seen) + self.game.board_cards[number]])
        return tuple(seen)

    def _without(self, cards: Cards, weights: Float) -> Float:
        """Return weights of hands without those that hold one of the cards."""
        return np.where(np.isin(self._hands, cards).any(axis=1), 0.0, weights)

    def _equity(self, own: Cards, board: Cards, random: np.random.Generator) -> Float:
        """Return the own share of the pot against each hand if both check to the end."""
        missing = self._whole_board - len(board)
        left = np.array([card for card in range(self.game.deck.size) if card not in (*own, *board)])
        if missing == 0:
            boards = np.array([board], np.int64).reshape(1, len(board))
        elif missing == 1:
            boards = np.array([(*board, card) for card in left], np.int64)
        else:
            drawn = [(*board, *random.choice(left, missing, replace=False)) for _ in range(ROLLOUTS)]
            boards = np.array(drawn, np.int64)
        wins, counts = np.zeros(len(self._hands)), np.zeros(len(self._hands))
        if self._bits is not None:
            _shares(self._bits, np.array(own, np.int64), self._hands, boards, wins, counts)
        else:
            self._count_slowly(own, boards, wins, counts)
        return np.where(counts > 0.0, wins / np.maximum(counts, 1.0), 0.5)

    def _count_slowly(self, own: Cards, boards: npt.NDArray[np.int64], wins: Float, counts: Float) -> None:
        for row in boards.tolist():
            board = tuple(sorted(row))
            mine = self.game.strength_of(own, board)
            for number, hand in enumerate(self.game.hands):
                if not {*hand} & {*own, *board}:
                    other = self.game.strength_of(hand, board)
                    counts[number] += 1.0
                    wins[number] += float(mine > other) + 0.5 * float(mine == other)

    def _won(self, state: BettingState, seat: int, own: Cards, board: Cards, weights: Float) -> float:
        """Return what a finished hand wins on average over the opponent's range."""
        amount = float(min(state.spent))
        if state.folded >= 0:
            return amount if state.folded != seat else -amount
        weights = self._without(board, weights)
        if not weights.sum() > 0.0:
            return 0.0
        shares = self._equity(own, board, np.random.default_rng(0))
        return amount * (2.0 * float(weights @ shares / weights.sum()) - 1.0)


def _draw(probabilities: Float, random: np.random.Generator) -> int:
    edges = np.cumsum(probabilities)
    return min(int(np.searchsorted(edges, random.random() * edges[-1], side="right")), len(edges) - 1)


def _asker(player: Player, game: PokerGame) -> Asked:
    """Return who answers for all hands at once: a strategy of situations, or a listed policy by its keys."""
    seat = seated(player)
    if seat.lockstep is not None:
        tree = betting_tree(game)
        strategy, hole = seat.lockstep.strategy_on(tree), game.hole_cards

        def by_situation(state: BettingState, board: Cards) -> Float:
            node = tree.node_of_text[state.text]
            cards = np.zeros((len(game.hands), hole + sum(game.board_cards)), np.int8)
            cards[:, :hole] = game.hands
            cards[:, hole : hole + len(board)] = board
            free = ~np.isin(cards[:, :hole], board).any(axis=1)
            legal = tree.legal[node]
            rows = np.full((len(game.hands), int(legal.sum())), 1.0 / int(legal.sum()))
            asked = Situations(np.full(int(free.sum()), node), cards[free])
            rows[free] = strategy.probabilities_at(asked)[:, legal]
            return rows

        return by_situation
    if seat.policy is None:
        raise NotSupported(f"{player.name} cannot be asked for all hands at once, which local best response needs")
    policy = seat.policy

    def by_key(state: BettingState, board: Cards) -> Float:
        count = len(legal_actions(game.betting, state))
        rows = np.full((len(game.hands), count), 1.0 / count)
        for number, hand in enumerate(game.hands):
            if not {*hand} & {*board}:
                rows[number] = list(policy.action_probabilities(game.infoset_text(hand, board, state.text)).values())
        return rows

    return by_key
