"""Play a game against a policy: an engine without input and output, which the terminal and the page share.

A :class:`Record` is all that a game in progress is: which game, who plays whom, from which seat, the seed, and the
actions so far. It is small, and can be written as JSON at any time. A :class:`Session` is a record at a :class:`Table`,
where the opponent sits and, if wanted, a judge who knows the solution: it says what the solution does, and what a
choice has cost. Deals and the opponent's choices are drawn from streams of the seed, the hand and the step, so a
session that is opened again goes on as if it had never stopped.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from equipoise.errors import (
    DamagedFile,
    EquipoiseError,
    InvalidParameter,
    NotFound,
    NotMeasurable,
    NotSupported,
    require_seed,
)
from equipoise.evaluation.appraisal import Appraiser, InfosetValues, LineAppraiser, known
from equipoise.evaluation.appraisers import appraiser
from equipoise.evaluation.hand_logs import hand_history, log_line
from equipoise.evaluation.hands import Hand
from equipoise.evaluation.listed_values import ListedAppraiser
from equipoise.evaluation.players import Player
from equipoise.evaluation.showdowns import all_in_payoff
from equipoise.exploring.poker_nodes import PokerPlace, read_place
from equipoise.exploring.tree_nodes import infoset_of, read_path
from equipoise.files import write_atomically
from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.games.betting import legal_actions
from equipoise.games.game import pick
from equipoise.games.notation import read_action, read_cards
from equipoise.games.poker import Cards, PokerGame, PokerState
from equipoise.games.referee import BrokenRules, Referee
from equipoise.games.spots import Spot, SpotState
from equipoise.trees.board_evaluator import OnBoards, silent

FORMAT, VERSION = "equipoise-session", 1
MOST_HANDS = 100_000  # of a session
PATIENCE = 20.0  # seconds that exact values may take once; if they took longer, estimates take their place
YOU = "you"
Seat = Literal["0", "1", "turns"]
SEATS: tuple[Seat, ...] = ("0", "1", "turns")
STARTS = frozenset({"line", "board", "path", "infoset"})


@dataclass
class PlayedHand:
    """A hand: the seat of the one who plays it, and all actions so far, those of chance and the opponent included."""

    seat: int
    actions: list[int]
    given: int = 0  # actions that were there when the hand began: practice starts in the middle


@dataclass
class Record:
    """A game in progress, or over."""

    game: str
    opponent: str
    solution: str | None = None
    seat: Seat = "turns"
    seed: int = 0
    hints: bool = False  # what the solution does is shown before a choice
    costs: bool = False  # what a choice has cost is shown after it
    practice: dict[str, str] | None = None  # where hands begin: a line and a board, a path or an infoset
    hands: list[PlayedHand] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        said = {name: value for name, value in vars(self).items() if name != "hands"}
        return {"format": FORMAT, "version": VERSION, **said, "hands": [vars(hand) for hand in self.hands]}

    def save(self, path: str | Path) -> None:
        """Write the record to a file, all of it or nothing."""
        with write_atomically(path, "w") as file:
            json.dump(self.to_json(), file)


def read_record(path: str | Path) -> Record:
    """Return the record in a file, or say what is wrong with it."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{path}: there is no such game in progress") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} is not a game in progress ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != VERSION:
        raise DamagedFile(f"{path} is not a game in progress that this version of equipoise knows")
    return record_from(content, str(path))


def record_from(content: Mapping[str, Any], where: str) -> Record:
    """Return the record of plain data, every part of which is checked."""
    kinds = {"game": str, "opponent": str, "solution": str | None, "seed": int, "hints": bool, "costs": bool}
    hands, practice = content.get("hands"), content.get("practice")
    right = all(isinstance(content.get(name), kind) for name, kind in kinds.items())
    right = right and content.get("seat") in SEATS and isinstance(hands, list) and len(hands) <= MOST_HANDS
    right = right and (practice is None or _are_texts(practice, STARTS))
    if not right or not all(map(_is_hand, hands or [])):
        raise DamagedFile(f"{where} is damaged: its parts make no sense")
    named = {name: content[name] for name in (*kinds, "seat", "practice")}
    return Record(**named, hands=[PlayedHand(**hand) for hand in hands or []])


def _is_hand(hand: Any) -> bool:
    return (
        isinstance(hand, dict)
        and hand.keys() == {"seat", "actions", "given"}
        and hand["seat"] in (0, 1)
        and isinstance(hand["given"], int)
        and isinstance(hand["actions"], list)
        and all(type(action) is int for action in hand["actions"])
        and 0 <= hand["given"] <= len(hand["actions"])
    )


def _are_texts(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.keys() <= names and all(isinstance(text, str) for text in value.values())


@dataclass(frozen=True, kw_only=True)
class Table:
    """Who is met, and who judges. Neither is part of a record: both are opened from what it names."""

    game: Game
    opponent: Player
    judge: Appraiser | None = None  # of the solution, which meets itself
    luck: Appraiser | None = None  # of the opponent, which meets itself: what takes luck out of results

    @property
    def luck_method(self) -> str | None:
        """Return how luck is taken out of results; None where it is not."""
        if self.luck is not None:
            return "AIVAT (exact values, the opponent's strategy known)"
        return "all-in equity" if isinstance(self.game, PokerGame | Spot) else None


def make_table(
    game: Game,
    opponent: Player,
    solution: Player | None = None,
    *,
    known_appraiser: Callable[[Player], Appraiser] | None = None,
    on_boards: OnBoards = silent,
) -> Table:
    """Return a table with an opponent, and with a judge if there is a solution.

    ``known_appraiser`` gives appraisers of policies that are open already.
    """

    def appraised(player: Player) -> Appraiser:
        if known_appraiser is not None:
            return known_appraiser(player)
        return appraiser(player, game=game, patience=PATIENCE, on_boards=on_boards)

    judge = None if solution is None else appraised(solution)
    luck: Appraiser | None = None
    if judge is not None and solution is not None and solution.name == opponent.name:
        luck = judge
    else:
        with suppress(NotMeasurable):
            luck = appraised(opponent)
    return Table(game=game, opponent=opponent, judge=judge, luck=luck if luck is not None and luck.exact else None)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A choice that was made, and what the solution says of it."""

    hand: int
    knows: str
    actions: tuple[str, ...]
    chosen: int
    judged: InfosetValues | None

    @property
    def cost(self) -> float | None:
        """Return what the choice lost against the solution; None where nobody knows."""
        return None if self.judged is None else known(self.judged.cost(self.chosen))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        said: dict[str, Any] = {"hand": self.hand, "knows": self.knows, "did": self.actions[self.chosen]}
        if self.judged is not None:
            said |= {"cost": self.cost, "solution": self.judged.to_json()}
        return said


class Session:
    """A record at a table."""

    def __init__(self, record: Record, table: Table) -> None:
        require_seed(record.seed)
        self.record, self.table = record, table
        self._referee = Referee(table.game)
        self._judged: dict[str, InfosetValues | None] = {}
        self._fair: dict[int, float | None] = {}  # by hand that is over: what it won without luck
        self._made: dict[tuple[int, int, bool], list[Decision]] = {}
        self._states: tuple[tuple[int, int], State] | None = None
        if record.hands:
            self._replayed()  # refuses actions that the rules do not have

    # ---- where the hand stands

    @property
    def hand(self) -> PlayedHand | None:
        """Return the hand that is played, or was played last."""
        return self.record.hands[-1] if self.record.hands else None

    @property
    def state(self) -> State | None:
        """Return the state of the rules; None before the first hand."""
        if self.hand is None:
            return None
        now = len(self.record.hands), len(self.hand.actions)
        if self._states is None or self._states[0] != now:
            self._states = now, self._replayed()
        return self._states[1]

    def _replayed(self) -> State:
        assert self.hand is not None
        return self._follow(self.hand.actions)

    def _follow(self, actions: Sequence[int]) -> State:
        """Return the state after some actions, each of which must be one of the rules'."""
        state = self._referee.root()
        for step, action in enumerate(actions):
            if action not in self._referee.position(state)[1]:
                raise DamagedFile(f"the game in progress has an action ({action}) at step {step} that the rules lack")
            state = self._referee.child(state, action)
        return state

    @property
    def is_over(self) -> bool:
        """Return whether there is no hand to be played on."""
        return self.state is None or self.state.player == TERMINAL

    # ---- what happens

    def deal(self) -> None:
        """Begin the next hand, and let it come to the first choice."""
        if not self.is_over:
            raise InvalidParameter("this hand is not over yet")
        if len(self.record.hands) >= MOST_HANDS:
            raise NotSupported(f"a session has at most {MOST_HANDS:,} hands; begin another")
        number = len(self.record.hands)
        seat = number % 2 if self.record.seat == "turns" else int(self.record.seat)
        hand = PlayedHand(seat, [])
        if self.record.practice is not None:
            hand.seat, hand.actions = self._practice(self.record.practice, self._random(number, 0))
            hand.given = len(hand.actions)
        self.record.hands.append(hand)
        self._advance()

    def act(self, place: int) -> Decision:
        """Make a choice, by its place among the actions; then chance and the opponent go on."""
        state, hand = self.state, self.hand
        if state is None or hand is None or self.is_over:
            raise InvalidParameter("no hand is being played; deal one")
        _, actions, _, _ = self._referee.position(state)
        if not 0 <= place < len(actions):
            raise InvalidParameter(f"there are {len(actions)} actions, numbered from 0; {place} is not one of them")
        hand.actions.append(actions[place])
        self._advance()
        return next(each for each in reversed(self.decisions(len(self.record.hands) - 1)))

    def _advance(self) -> None:
        """Let chance and the opponent act until there is a choice to make, or the hand is over."""
        hand, number = self.hand, len(self.record.hands) - 1
        assert hand is not None
        state = self._replayed()
        try:
            while state.player not in (TERMINAL, hand.seat):
                if len(hand.actions) >= self.table.game.max_depth:
                    raise self._referee.too_deep()
                random = self._random(number, len(hand.actions) + 1)
                if state.player == CHANCE:
                    action = self._referee.drawn(state, random.random)
                else:
                    action = self._referee.position(state)[1][self._opponents_choice(state, random.random())]
                hand.actions.append(action)
                state = self._referee.child(state, action)
            self._referee.position(state)
        except BrokenRules as fault:
            names = [before.action_name(action) for before, action in self._events(number)]
            raise self._referee.refusal(names, fault) from fault.__cause__

    def _opponents_choice(self, state: State, draw: float) -> int:
        probabilities = self.table.opponent.action_probabilities(state)
        if len(probabilities) != len(state.actions()) or not abs(sum(probabilities) - 1.0) <= 1e-6:
            raise NotSupported(
                f"{self.table.opponent.name} does not give probabilities for '{self._referee.key(state)}'"
            )
        return pick(probabilities, draw)

    def _random(self, hand: int, step: int) -> np.random.Generator:
        return np.random.default_rng([self.record.seed, hand, step])

    # ---- practice

    def _practice(self, start: Mapping[str, str], random: np.random.Generator) -> tuple[int, list[int]]:
        """Return the seat and the actions of a hand that begins in the middle; what is hidden is drawn as believed."""
        game, judge = self.table.game, self.table.judge
        if isinstance(game, PokerGame | Spot):
            if not isinstance(judge, LineAppraiser):
                raise NotSupported("practice needs a solution, which says how often hands come there")
            key = start.get("infoset") or self._drawn_infoset(judge, start, random)
            return self._deal_poker(game, judge, key, random)
        if "path" in start:
            place = read_path(game, start["path"])
            actor = place.position[0]
            if actor < 0:
                raise InvalidParameter("practice begins where a player acts")
            if not isinstance(judge, ListedAppraiser) or judge.likeliest_history(place.state.infoset_key()) is None:
                return actor, self._actions_on(place.path)
            start = {"infoset": infoset_of(judge, place.state).key}
        if not isinstance(judge, ListedAppraiser):
            raise NotSupported("practice from an infoset needs a solution")
        found = judge.drawn_history(start.get("infoset", ""), random.random())
        if found is None:
            raise NotSupported(f"practice in {game.name} begins at a path, not at an infoset")
        return judge.at(start["infoset"]).player, self._actions_on(found)

    def _actions_on(self, path: Sequence[int]) -> list[int]:
        state, actions = self._referee.root(), list[int]()
        for place in path:
            actions.append(self._referee.position(state)[1][place])
            state = self._referee.child(state, actions[-1])
        return actions

    def _drawn_infoset(self, judge: LineAppraiser, start: Mapping[str, str], random: np.random.Generator) -> str:
        """Return an infoset of a line, drawn as often as it comes there."""
        game = self.table.game
        assert isinstance(game, PokerGame | Spot)
        place = read_place(game, start.get("line", ""), start.get("board", ""))
        if place.state != "decision":
            raise InvalidParameter(f"practice begins where a player acts; here: {place.title()}")
        found = judge.line(place.betting.text, game.deck.text(place.board))
        for weights in (found.reach, found.own_reach, found.others_reach):
            if weights.sum() > 0.0:
                return found.keys[pick((weights / weights.sum()).tolist(), random.random())]
        return found.keys[int(random.integers(len(found.keys)))]

    def _deal_poker(
        self, game: PokerGame | Spot, judge: LineAppraiser, key: str, random: np.random.Generator
    ) -> tuple[int, list[int]]:
        cards, _, line = key.partition("|")
        hand_text, _, board_text = cards.partition("/")
        place, held = read_place(game, line, board_text), tuple(sorted(read_cards(game.deck, hand_text)))
        player, belief = place.betting.player, judge.at(key).belief
        if belief.probabilities.sum() > 0.0:
            name = belief.names[pick(belief.probabilities.tolist(), random.random())]
            other = tuple(sorted(read_cards(game.deck, name)))
        else:  # the opponent never comes here: any hand
            free = [hand for hand in game.hands if not set(hand) & {*held, *place.board}]
            other = free[int(random.integers(len(free)))]
        hands = (held, other) if player == 0 else (other, held)
        return player, _poker_actions(game, hands, place)

    # ---- what happened

    def _events(self, number: int) -> Iterator[tuple[State, int]]:
        state = self._referee.root()
        for action in self.record.hands[number].actions:
            yield state, action
            state = self._referee.child(state, action)

    def decisions(self, number: int) -> list[Decision]:
        """Return the choices of a hand, and what the solution says of each."""
        hand, found = self.record.hands[number], list[Decision]()
        known_as = number, len(hand.actions), self.record.costs
        if known_as in self._made:
            return self._made[known_as]
        for step, (state, action) in enumerate(self._events(number)):
            if state.player == hand.seat and step >= hand.given:
                actions = self._referee.position(state)[1]
                found.append(
                    Decision(
                        hand=number,
                        knows=self._referee.key(state),
                        actions=self._referee.action_names(state, actions),
                        chosen=list(actions).index(action),
                        judged=self._judge(state) if self.record.costs else None,
                    )
                )
        self._made[known_as] = found
        return found

    def _judge(self, state: State) -> InfosetValues | None:
        if self.table.judge is None:
            return None
        key = f"{state.player} {state.infoset_key()}"
        if key not in self._judged:
            try:
                self._judged[key] = infoset_of(self.table.judge, state)
            except EquipoiseError:  # the solution does not know the place: a spot's hand outside its range
                self._judged[key] = None
        return self._judged[key]

    def played(self, number: int) -> Hand:
        """Return a hand that is over, as hands are logged."""
        hand = self.record.hands[number]
        end = self._follow(hand.actions)
        if end.player != TERMINAL:
            raise InvalidParameter(f"hand {number} is not over yet")
        game = self.table.game
        return Hand(game=game, number=number, seat_of_a=hand.seat, actions=tuple(hand.actions), end=end)

    def history(self, form: Literal["acpc", "phh"]) -> str:
        """Return all hands that are over: in poker as ACPC lines or PHH, elsewhere as lines of our own."""
        write = log_line if form == "acpc" else hand_history
        names = YOU, _plain_name(self.table.opponent.name)
        return "".join(f"{write(self.played(number), names)}\n" for number in self._over())

    def _over(self) -> range:
        return range(len(self.record.hands) - (not self.is_over))

    def payoff(self, number: int) -> float:
        """Return what a hand won."""
        return self.played(number).payoff_to_a()

    def without_luck(self, number: int) -> float | None:
        """Return what a hand won with luck taken out; None where nobody knows."""
        if number not in self._fair:
            self._fair[number] = self._found_without_luck(number)
        return self._fair[number]

    def _found_without_luck(self, number: int) -> float | None:
        hand, luck = self.record.hands[number], self.table.luck
        end = self._follow(hand.actions)
        sign = 1.0 if hand.seat == 0 else -1.0
        if luck is None:
            return sign * all_in_payoff(end) if isinstance(end, PokerState | SpotState) else None
        total = luck.start_value(hand.seat) if not hand.given else None
        for step, (state, action) in enumerate(self._events(number)):
            if state.player == hand.seat and step >= hand.given:
                at = infoset_of(luck, state)
                total = at.value if total is None else total
                total += float(at.values[list(state.actions()).index(action)]) - at.value
        return None if total is None else known(total)

    def score(self) -> dict[str, Any]:
        """Return what all hands that are over came to, plain and with luck taken out."""
        plain = [self.payoff(number) for number in self._over()]
        method = self.table.luck_method
        fair = [] if method is None else [self.without_luck(number) for number in self._over()]
        said: dict[str, Any] = {"hands": len(plain), "plain": sum(plain), "unit": self.table.game.chip_unit()}
        if method is not None and all(each is not None for each in fair):
            said |= {"without_luck": sum(each for each in fair if each is not None), "luck_method": method}
        if self.record.costs and self.table.judge is not None:
            costs = [each.cost for number in range(len(self.record.hands)) for each in self.decisions(number)]
            said["cost"] = sum(cost for cost in costs if cost is not None)
            said["decisions"] = len(costs)
        per_chip = self.table.game.mbb_per_chip()
        if per_chip is not None and plain:
            for name in ("plain", "without_luck", "cost"):
                if name in said:
                    said[f"{name}_mbb"] = said[name] * per_chip / len(plain)
        return said

    def worst(self, most: int = 10) -> list[dict[str, Any]]:
        """Return the choices that cost most, each with where to practise it."""
        found = [each for number in range(len(self.record.hands)) for each in self.decisions(number)]
        costly = sorted((each for each in found if (each.cost or 0.0) > 0.0), key=lambda each: -(each.cost or 0.0))
        return [{**each.to_json(), "practice": {"infoset": _key_of(each)}} for each in costly[:most]]

    # ---- what is shown

    def view(self) -> dict[str, Any]:
        """Return what the one who plays may see, as plain data."""
        said: dict[str, Any] = {
            "game": self.record.game,
            "unit": self.table.game.chip_unit(),
            "mbb_per_chip": self.table.game.mbb_per_chip(),
            "opponent": self.table.opponent.name,
            "solution": self.record.solution,
            "seat": self.hand.seat if self.hand else None,
            "seats": self.record.seat,
            "hints": self.record.hints,
            "costs": self.record.costs,
            "practice": self.record.practice,
            "hand": len(self.record.hands),
            "state": "start" if self.state is None else "over" if self.is_over else "decision",
            "actions": [],
            "score": self.score(),
        }
        state, hand = self.state, self.hand
        if state is None or hand is None:
            return said
        number = len(self.record.hands) - 1
        said["choices"] = [each.to_json() for each in self.decisions(number)]
        if isinstance(state, PokerState | SpotState):
            said["table"] = _poker_table(state, hand.seat, shown=self.is_over and state.betting.folded < 0)
        if self.is_over:
            said["result"] = {
                "payoff": self.payoff(number),
                "without_luck": self.without_luck(number) if self.table.luck_method else None,
                "events": [self._event(before, action) for before, action in self._events(number)],
            }
            return said
        said["knows"] = self._referee.key(state)
        names = self._referee.action_names(state, self._referee.position(state)[1])
        said["actions"] = [{"place": place, "name": name} for place, name in enumerate(names)]
        if self.record.hints and (judged := self._judge(state)) is not None:
            said["hint"] = judged.to_json()
        return said

    def _event(self, state: State, action: int) -> dict[str, Any]:
        assert self.hand is not None
        who = "chance" if state.player == CHANCE else YOU if state.player == self.hand.seat else "opponent"
        return {"who": who, "did": state.action_name(action)}


def _poker_table(state: PokerState | SpotState, seat: int, *, shown: bool) -> dict[str, Any]:
    """Return a table of poker as one seat sees it; ``shown``: the other hand lies open, too."""
    game = state.game
    place = PokerPlace(game, state.betting, state.board)
    hands: list[list[str] | None] = []
    for player in range(2):
        cards: Cards = game.hands[state.hands[player]]
        seen = player == seat or shown
        hands.append([game.deck.text((card,)) for card in sorted(cards, reverse=True)] if seen else None)
    return {
        "seats": [game.seat_name(player) for player in range(2)],
        "board": [game.deck.text((card,)) for card in place.board],
        "hands": hands,
        "hole_cards": len(game.hands[0]),
        "pot": place.pot,
        "spent": list(state.betting.spent),
        "stacks": place.stacks,
        "to_call": place.betting.to_call() if place.state == "decision" else 0,
        "round": place.round_name(),
        "folded": state.betting.folded if state.betting.folded >= 0 else None,
        "line": state.betting.text,
        "history": [{"name": step["name"], "player": step["player"]} for step in place.crumbs()[1:]],
    }


def _poker_actions(game: PokerGame | Spot, hands: tuple[Cards, Cards], place: PokerPlace) -> list[int]:
    """Return the rules' actions that lead to a line with some cards."""
    state: Any = game.root()
    number_of = {hand: number for number, hand in enumerate(game.hands)}
    betting, actions = iter(_betting_words(place.betting.text)), list[int]()
    while state.player != TERMINAL and (
        len(state.hands) < 2 or state.betting.text != place.betting.text or _waits(state, place)
    ):
        if len(state.hands) < 2:
            action = number_of[hands[len(state.hands)]]
        elif _is_dealing(state):
            dealt = PokerPlace(game, state.betting, state.board)
            cards = place.board[len(state.board) : len(state.board) + dealt.next_deal]
            action = cards[0] if isinstance(game, Spot) else game.deals(_round_of(game, state.board)).index(cards)
        else:
            action = read_action(game.betting, state.betting, next(betting))
            assert action in legal_actions(game.betting, state.betting)
        actions.append(action)
        state = state.child(action)
    return actions


def _waits(state: Any, place: PokerPlace) -> bool:
    return len(state.board) < len(place.board)


def _is_dealing(state: Any) -> bool:
    return PokerPlace(state.game, state.betting, state.board).missing > 0


def _round_of(game: PokerGame, board: Cards) -> int:
    return next(number for number in range(len(game.board_cards)) if game.board_size(number) > len(board))


def _betting_words(text: str) -> list[str]:
    return re.findall(r"r\d*|c|f", text)


def _key_of(decision: Decision) -> str:
    return decision.judged.key if decision.judged is not None else decision.knows


def _plain_name(name: str) -> str:
    """Return a player's name as logs can have it."""
    plain = "".join(c if c.isalnum() or c in "-_.+" else "-" for c in Path(name).name)
    return plain.strip("-") or "opponent"
