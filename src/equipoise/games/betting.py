"""The rules of betting between two players: one state machine for limit and no-limit, antes and blinds.

It knows nothing of cards. Amounts are whole chips. "Spent" is what a player has put into the pot since the hand began,
antes and blinds included, and a raise is named by the total that its player has then spent, as in the ACPC notation
``r200``. How large raises may be is data of the rules: one size (limit), any whole number of chips (no-limit), or
fractions of the pot (no-limit with an action abstraction).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from equipoise.errors import InvalidGame

FOLD = 0
CALL = 1  # also a check
RAISE = 2  # RAISE + k is the k-th of `raise_totals`; a limit game has one


@dataclass(frozen=True, kw_only=True)
class PotSizes:
    """Raises by fractions of the pot, as it is after a call, and all-in: an action abstraction of a no-limit game."""

    fractions: tuple[Fraction, ...]
    all_in: bool

    def totals(self, highest: int, smallest: int, stack: int, dead: int = 0) -> list[int]:
        """Return the totals after each raise of a bet that stands at ``highest``, from ``smallest`` up to all-in.

        What falls short of the smallest legal raise, or beyond the stack, becomes that raise or all-in.
        """
        pot = dead + 2 * highest
        wished = [highest + (2 * fraction * pot + 1) // 2 for fraction in self.fractions]  # rounded half up
        return sorted({min(max(total, smallest), stack) for total in wished} | ({stack} if self.all_in else set()))


@dataclass(frozen=True, kw_only=True)
class BettingRound:
    """One round: who opens it, how many bets and raises it may hold, and their size: one number in a limit game.

    Without a ``bet_size`` the round is no-limit: by fractions of the pot, or any whole number where there are none.
    ``raise_sizes`` are those of a raise, where they are not those of a bet.
    """

    first_player: int = 0
    max_raises: int | None = None
    bet_size: int | None = None
    pot_sizes: PotSizes | None = None
    raise_sizes: PotSizes | None = None


@dataclass(frozen=True, kw_only=True)
class BettingRules:
    """Antes or blinds, the stacks they come out of, and the rounds. A game is no-limit where bets have no size.

    A hand that begins in the middle has ``dead`` chips in the pot from before: part of the pot, and of nobody's stack
    or bets.
    """

    blinds: tuple[int, int]
    rounds: tuple[BettingRound, ...]
    stack: int | None = None
    dead: int = 0

    def __post_init__(self) -> None:
        if min(self.blinds) < 0 or max(self.blinds) + self.dead < 1:
            raise InvalidGame(f"blinds {self.blinds} must not be negative, and one must be at least 1 chip")
        if self.stack is not None and self.stack < max(self.blinds):
            raise InvalidGame(f"a stack of {self.stack} chips is less than the blind or ante of {max(self.blinds)}")
        opener = self.rounds[0].first_player
        if self.blinds[opener] > self.blinds[1 - opener]:
            raise InvalidGame(f"player {opener} acts first, and so must have the smaller of the blinds {self.blinds}")
        if self.stack is None and any(betting.bet_size is None for betting in self.rounds):
            raise InvalidGame("a no-limit game needs a stack; give stack=N")

    @property
    def smallest_bet(self) -> int:
        """Return the least that a no-limit bet may be."""
        return max(1, *self.blinds)

    def start(self) -> "BettingState":
        """Return the state before the first action."""
        return BettingState(
            round=0,
            player=self.rounds[0].first_player,
            spent=self.blinds,
            actions_in_round=0,
            raises_in_round=0,
            min_raise=self.smallest_bet,
            folded=-1,
            finished=False,
            text="",
        )


class BettingState(NamedTuple):
    """All that the betting has come to. ``finished`` with ``folded == -1`` is a showdown."""

    round: int
    player: int
    spent: tuple[int, int]
    actions_in_round: int
    raises_in_round: int
    min_raise: int
    folded: int
    finished: bool
    text: str

    def to_call(self) -> int:
        """Return how many chips the acting player must add to stay in."""
        return max(self.spent) - self.spent[self.player]

    def pot_share_at_risk(self) -> int:
        """Return what the loser of the hand pays: the smaller of the two amounts spent."""
        return min(self.spent)


def legal_actions(rules: BettingRules, state: BettingState) -> list[int]:
    """Return FOLD (only when facing a bet), CALL, then the raises from smallest to largest."""
    actions = [FOLD, CALL] if state.to_call() > 0 else [CALL]
    actions.extend(range(RAISE, RAISE + len(raise_choices(rules, state))))
    return actions


def raise_totals(rules: BettingRules, state: BettingState) -> list[int]:
    """Return the totals that the acting player may raise to, smallest first."""
    return list(raise_choices(rules, state))


def raise_choices(rules: BettingRules, state: BettingState) -> Sequence[int]:
    """Return the same totals, as a range where every amount is legal: there may be thousands, and one is looked up."""
    betting = rules.rounds[state.round]
    if betting.max_raises is not None and state.raises_in_round >= betting.max_raises:
        return []
    highest = max(state.spent)
    if betting.bet_size is not None:
        total = highest + betting.bet_size
        if rules.stack is None or total <= rules.stack:
            return [total]
        return [rules.stack] if highest < rules.stack else []
    assert rules.stack is not None
    if highest >= rules.stack:
        return []
    # A raise adds at least as much as the last one did; an all-in for less is always allowed.
    smallest = min(highest + state.min_raise, rules.stack)
    sizes = betting.raise_sizes if betting.raise_sizes is not None and state.to_call() > 0 else betting.pot_sizes
    if sizes is not None:
        return sizes.totals(highest, smallest, rules.stack, rules.dead)
    return range(smallest, rules.stack + 1)


def apply_action(rules: BettingRules, state: BettingState, action: int) -> BettingState:
    """Return the state after a legal ``action``."""
    player = state.player
    opponent = 1 - player
    if action == FOLD:
        return state._replace(folded=player, finished=True, text=state.text + action_text(rules, state, action))
    highest = max(state.spent)
    if action == CALL:
        spent = (highest, highest)
        text = state.text + action_text(rules, state, action)
        all_in = rules.stack is not None and highest >= rules.stack
        # The opening check leaves the opponent an action; any later call or check closes the round.
        if state.actions_in_round == 0 and not all_in:
            return state._replace(player=opponent, spent=spent, actions_in_round=1, text=text)
        last_round = state.round + 1 == len(rules.rounds)
        if all_in or last_round:
            return state._replace(spent=spent, finished=True, round=len(rules.rounds) - 1, text=text)
        return state._replace(
            round=state.round + 1,
            player=rules.rounds[state.round + 1].first_player,
            spent=spent,
            actions_in_round=0,
            raises_in_round=0,
            min_raise=rules.smallest_bet,
            text=text + "/",
        )
    total = raise_choices(rules, state)[action - RAISE]
    return state._replace(
        player=opponent,
        spent=(total, state.spent[1]) if player == 0 else (state.spent[0], total),
        actions_in_round=state.actions_in_round + 1,
        raises_in_round=state.raises_in_round + 1,
        min_raise=max(state.min_raise, total - highest),
        text=state.text + action_text(rules, state, action),
    )


def action_text(rules: BettingRules, state: BettingState, action: int) -> str:
    """Return the action as the ACPC writes it: ``f``, ``c``, ``r`` in a limit game, or ``r400``."""
    if action < RAISE:
        return "f" if action == FOLD else "c"
    limit = rules.rounds[state.round].bet_size is not None
    return "r" if limit else f"r{raise_choices(rules, state)[action - RAISE]}"


def action_name(rules: BettingRules, state: BettingState, action: int) -> str:
    """Return the action in a poker player's words; amounts are totals spent, as in ``raise to 4``."""
    facing = state.to_call() > 0
    if action == FOLD:
        return "fold"
    if action == CALL:
        return "call" if facing else "check"
    blind = state.round == 0 and rules.blinds[0] != rules.blinds[1]  # a blind is a bet that can be raised
    word = "raise" if facing or blind else "bet"
    if rules.rounds[state.round].bet_size is not None:
        return word
    return f"{word} to {raise_choices(rules, state)[action - RAISE]}"
