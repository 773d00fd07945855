"""Continual re-solving (Moravcik et al. 2017): nothing is kept of a strategy but two vectors, the own range and the
opponent's values, and each decision is solved anew from them.

- At the beginning the look-ahead from the root is solved for both players.
- The own action: the range is multiplied with what was just solved, and the opponent's values become those of the node
  after the action.
- The opponent's action: nothing changes. Its values bound what any of its actions may be worth.
- A deal: the opponent's values become those on that board, by the last solve.

Values are means over iterations of the values at that iteration. With ``unsafe`` the opponent's range by the last solve
is kept in place of its values: that is simpler, and exploitable.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from equipoise.errors import InvalidParameter, NotSupported, require_whole
from equipoise.games import CHANCE, TERMINAL, Game, State
from equipoise.games.poker import PokerGame
from equipoise.regret.rules import DiscountedCFR, Rule
from equipoise.solvers.gadgets import GADGETS, Gadget
from equipoise.solvers.leaf_values import ValuesOf
from equipoise.solvers.lookahead_cfr import LookaheadCFR
from equipoise.trees.compile import build_public_tree
from equipoise.trees.lookahead import Lookahead, PublicState, deal_after, is_settled, lookahead
from equipoise.trees.public_tree import PublicTree, sequence_vectors
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float
from equipoise.work import Report, silent

DEFAULT_ITERATIONS = 1000


class Situation(NamedTuple):
    """What the agent knows at a decision: where it is, its range, and the opponent's values and range."""

    state: PublicState
    own: Float  # [hands] the agent's reach
    values: Float  # [hands] what the opponent's hands are worth at most
    theirs: Float  # [hands] the opponent's reach, by the last solves; ``unsafe`` only


@dataclass(frozen=True)
class Solved:
    """A look-ahead that was solved."""

    cfr: LookaheadCFR

    @property
    def look(self) -> Lookahead:
        """Return the look-ahead."""
        return self.cfr.look

    def strategy(self, state: PublicState) -> Float:
        """Return the average strategy at a decision, [actions, hands]."""
        return self.cfr.average_at(self.look.decision[state])


class ContinualResolving:
    """An agent for both seats that re-solves every public state at which it acts."""

    def __init__(
        self,
        game: Game,
        values: ValuesOf,
        *,
        gadget: Gadget = "cfrd",
        iterations: int = DEFAULT_ITERATIONS,
        rule: Rule | None = None,
        name: str | None = None,
    ) -> None:
        require_whole("iterations", iterations, low=1)
        if gadget not in GADGETS:
            raise InvalidParameter(f"gadget={gadget} is not one of {', '.join(GADGETS)}")
        if isinstance(game, PokerGame) and game.hole_cards > 1:
            raise NotSupported(f"re-solving lists every public state with all hands, and {game.name} has too many")
        self.game = game
        self.gadget = gadget
        self.iterations = iterations
        self.rule = DiscountedCFR() if rule is None else rule
        self.name = f"resolving:{gadget}" if name is None else name
        self.tree = build_public_tree(game)
        self.solves = 0
        self._values = values
        self._path: dict[tuple[int, PublicState], tuple[Situation, Solved]] = {}

    def _solve(self, state: PublicState, prepare: Callable[[LookaheadCFR], None]) -> Solved:
        look = lookahead(self.tree, [state])
        cfr = LookaheadCFR(look, self.rule, self._values(look, self.rule) if look.closings else None)
        prepare(cfr)
        cfr.run(self.iterations)
        self.solves += 1
        return Solved(cfr)

    @cached_property
    def start(self) -> Solved:
        """Return the look-ahead from the beginning of the game, solved for both players."""
        first, second = (np.ones(self.tree.stages[0].width(p)) for p in range(2))
        return self._solve(PublicState(0), lambda cfr: cfr.enter((first, second)))

    def solve(self, seat: int, at: Situation) -> Solved:
        """Solve a situation anew."""
        if at.state == PublicState(0):
            return self.start
        reach = (at.own, at.theirs) if seat == 0 else (at.theirs, at.own)
        return self._solve(at.state, lambda cfr: cfr.enter_by(self.gadget, seat, reach, at.values))

    def first_situations(self, seat: int) -> Iterator[Situation]:
        """Return the situations of the seat's first decisions."""
        own, theirs = (np.ones(self.tree.stages[0].width(p)) for p in (seat, 1 - seat))
        values = self.start.cfr.root_values(1 - seat)[0]
        yield from self._below(seat, self.start, Situation(PublicState(0), own, values, theirs))

    def next_situations(self, seat: int, at: Situation, solved: Solved) -> Iterator[Situation]:
        """Return the situations of the decisions that may come next, after each own action that is ever played."""
        tree, strategy = self.tree, solved.strategy(at.state)
        for action, child in enumerate(_children(tree, at.state)):
            own = at.own * strategy[action]
            if not own.any():
                continue
            after = at._replace(state=child, own=own)
            if child in solved.look.decision:
                after = after._replace(values=solved.cfr.values_at(solved.look.decision[child]))
            yield from self._below(seat, solved, after)

    def _below(self, seat: int, solved: Solved, at: Situation) -> Iterator[Situation]:
        """Return the seat's next decisions from a state on."""
        tree, node = self.tree, at.state.node
        if tree.player[node] == seat:
            yield at
        elif tree.player[node] == CHANCE:
            if not is_settled(tree, node):
                for after in self._dealt(seat, solved, at):
                    yield from self._after_deal(seat, after)
        elif tree.player[node] != TERMINAL:
            played = solved.strategy(at.state)
            for action, child in enumerate(_children(tree, at.state)):
                yield from self._below(seat, solved, at._replace(state=child, theirs=_met(at.theirs, played[action])))

    def _dealt(self, seat: int, solved: Solved, at: Situation) -> Iterator[Situation]:
        """Return the states after a deal."""
        stage, opponent = int(self.tree.stage[at.state.node]), 1 - seat
        deal, node = deal_after(self.tree, stage), int(self.tree.first_child[at.state.node])
        hands = deal.source[opponent].shape[1]
        values = solved.cfr.dealt_values(opponent)[solved.look.closing[at.state]].reshape(-1, hands)
        for group in deal.groups[at.state.group]:
            own, theirs = at.own[deal.source[seat][group]], at.theirs[deal.source[opponent][group]]
            yield Situation(PublicState(node, group), own, values[group], theirs)

    def _after_deal(self, seat: int, at: Situation) -> Iterator[Situation]:
        """Return the seat's first decisions of a round. Where the opponent acts first, its range is solved for."""
        if self.tree.player[at.state.node] == seat:
            yield at
            return
        played = None
        if self.gadget == "unsafe" and at.theirs.any():
            reach = (at.own, at.theirs) if seat == 0 else (at.theirs, at.own)
            played = self._solve(at.state, lambda cfr: cfr.enter(reach)).strategy(at.state)
        for action, child in enumerate(_children(self.tree, at.state)):
            if self.tree.player[child.node] == seat:
                yield at._replace(state=child, theirs=at.theirs if played is None else _met(at.theirs, played[action]))

    def strategies(self, form: SequenceForm, report: Report = silent) -> tuple[Float, Float]:
        """Return what the agent plays in both seats, wherever it may come; elsewhere, all actions alike."""
        if form.engine != "vector":
            raise NotSupported(f"{self.name} is listed over the public tree; use the vector engine")
        found: list[Float] = []
        for seat, plex in enumerate(form.treeplexes):
            strategy, first = plex.uniform_strategy(), sequence_vectors(self.tree, seat, plex)
            begun = list(self.first_situations(seat))
            waiting = [(situation, 1.0 / len(begun)) for situation in reversed(begun)]
            done = 0.0
            while waiting:  # depth first
                at, share = waiting.pop()
                report("re-solving", (seat + done) / 2)
                solved = self.solve(seat, at)
                played = solved.strategy(at.state)
                hands = played.shape[1]
                for action, child in enumerate(_children(self.tree, at.state)):
                    place = int(first[child.node]) + at.state.group * hands
                    strategy[place : place + hands] = played[action]
                after = list(self.next_situations(seat, at, solved))
                waiting += [(situation, share / len(after)) for situation in reversed(after)]
                done += 0.0 if after else share
            found.append(strategy)
        return found[0], found[1]

    @cached_property
    def _place_of(self) -> dict[str, tuple[PublicState, int]]:
        """Return the public state and the hand of each infoset."""
        tree, found = self.tree, {}
        for node in np.flatnonzero(tree.player >= 0).tolist():
            player, stage = int(tree.player[node]), tree.stages[tree.stage[node]]
            hands = stage.probability.shape[1 + player]
            for place, label in enumerate(stage.labels[player]):
                found[tree.infoset_text(node, label)] = PublicState(node, place // hands), place % hands
        return found

    def action_probabilities(self, state: State) -> Sequence[float]:
        """Return the probability of each action at a history, re-solving what leads there unless it was done before."""
        where, hand = self._place_of[state.infoset_key()]
        solved = self._at(int(self.tree.player[where.node]), where)
        if solved is None:  # the own range is empty here: it does not matter what is played
            count = len(state.actions())
            return [1.0 / count] * count
        played: list[float] = solved.strategy(where)[:, hand].tolist()
        return played

    def _at(self, seat: int, where: PublicState) -> Solved | None:
        """Return the solved look-ahead of a state, if the agent ever comes there."""
        if (seat, where) not in self._path:
            before = self._own_before(seat, where)
            if before is None:
                situations = self.first_situations(seat)
            else:
                solved = self._at(seat, before)
                if solved is None:
                    return None
                situations = self.next_situations(seat, self._path[seat, before][0], solved)
            at = next((each for each in situations if each.state == where), None)
            if at is None:
                return None
            self._path[seat, where] = at, self.solve(seat, at)
        return self._path[seat, where][1]

    def _own_before(self, seat: int, where: PublicState) -> PublicState | None:
        """Return the seat's last decision before a state."""
        node, group = int(self.tree.parent[where.node]), where.group
        while node >= 0:
            if self.tree.player[node] == CHANCE:
                stage = int(self.tree.stage[node])
                groups = deal_after(self.tree, stage).groups
                group = next(before for before, after in enumerate(groups) if group in after)
            elif self.tree.player[node] == seat:
                return PublicState(node, group)
            node = int(self.tree.parent[node])
        return None

    def check(self, game: Game) -> None:
        """Refuse another game."""
        if game.name != self.game.name:
            raise NotSupported(f"{self.name} plays {self.game.name}, not {game.name}")


def _children(tree: PublicTree, state: PublicState) -> list[PublicState]:
    first = int(tree.first_child[state.node])
    return [PublicState(first + action, state.group) for action in range(int(tree.num_children[state.node]))]


def _met(reach: Float, played: Float) -> Float:
    """Return a range after an action; where the action is never played, the range before it."""
    after = reach * played
    return after if after.sum() > 1e-9 * reach.sum() else reach
