"""Sampling schemes as data: which of the traverser's actions are walked, and with what inclusion probability.

Chance and the opponent are always sampled on-policy. Any scheme that leaves actions out may probe them (Gibson et al.
2012, Algorithm 1): a left-out action then gets one on-policy roll-out in place of the value zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from equipoise.errors import EquipoiseError, nearest
from equipoise.games import Game
from equipoise.games.bluff import FACES, Bluff, rolls
from equipoise.games.goofspiel import Goofspiel
from equipoise.settings import Number, Text, Whole, YesNo, check, knob
from equipoise.trees.treeplex import Float

PROBE = "value left-out actions by one roll-out each, instead of zero"
ALL, ONE, SUBSET, EACH = 0, 1, 2, 3  # every action; one from a mixture; k different ones; each by itself


class SchemePlan(NamedTuple):
    """A scheme as kernels take it."""

    kind: int
    epsilon: float  # ONE: the weight of uniform play in the mixture
    size: int  # SUBSET: how many actions
    probe: bool
    table: Float  # EACH: [stage and player, private entry, action label] inclusion probability


NO_TABLE = np.ones((1, 1, 1))


class Scheme(Protocol):
    """A scheme: it needs the game only to know which actions its probabilities are about."""

    def plan(self, labelled: "LabelledActions") -> SchemePlan:
        """Return the scheme for a game's labelled actions."""


class LabelledActions(NamedTuple):
    """What an inclusion scheme asks of a tree: the number of stages and private entries, and labels to fill in.

    ``label_by_names(classify)`` labels the action that leads to each node by ``classify(action names of the
    infoset)``, one small number per action.
    """

    game: Game
    stages: int
    entries: tuple[tuple[int, int], ...]  # per stage: private entries of the two players
    label_by_names: Callable[[Callable[[Sequence[str]], Sequence[int]]], None]


@dataclass(frozen=True, kw_only=True)
class External:
    """All of the traverser's actions (Lanctot et al. 2009)."""

    paper: ClassVar[str] = "Lanctot et al. 2009"
    probe: bool = False

    def plan(self, labelled: LabelledActions) -> SchemePlan:
        return SchemePlan(ALL, 0.0, 0, self.probe, NO_TABLE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One action, drawn from the current strategy mixed with ``epsilon`` of uniform play (Lanctot et al. 2009)."""

    paper: ClassVar[str] = "Lanctot et al. 2009"
    epsilon: float = knob(0.6, Number(low=0.0, high=1.0), "share of uniform play when an own action is drawn")
    probe: bool = knob("no", YesNo(), PROBE)

    def __post_init__(self) -> None:
        check(self)

    def plan(self, labelled: LabelledActions) -> SchemePlan:
        return SchemePlan(ONE, self.epsilon, 1, self.probe, NO_TABLE)


@dataclass(frozen=True, kw_only=True)
class Robust:
    """``k`` different actions, uniformly (DN19 Eq. 11; DN20 section 4.1). ``k=0`` stands for max: all of them."""

    paper: ClassVar[str] = "Li et al. 2019, 2020"
    k: int = knob(1, Whole(1, word="max"), "own actions walked at an infoset, chosen uniformly", published="k")
    probe: bool = knob("no", YesNo(), PROBE)
    from_strategy: bool = False  # k = 1 only: draw the action from the strategy (DN19 Lemma 4)

    def __post_init__(self) -> None:
        check(self)
        if self.from_strategy and self.k != 1:
            raise EquipoiseError("drawing actions from the strategy is defined for k=1 only (DN19 Lemma 4)")

    def plan(self, labelled: LabelledActions) -> SchemePlan:
        if self.from_strategy:
            return SchemePlan(ONE, 0.0, 1, self.probe, NO_TABLE)
        return SchemePlan(SUBSET, 0.0, self.k or 2**30, self.probe, NO_TABLE)


@dataclass(frozen=True, kw_only=True)
class Inclusion:
    """Each action by itself: those in ``always`` certainly, others with probability ``p`` (Gibson et al. 2012).

    ``always`` is a list of action names joined by '|', 'ends' (the first and last action: Goofspiel's lowest and
    highest bid), 'bluff' (the scheme of Gibson et al. for Bluff) or 'auto', which picks the paper's scheme for the
    game. Where an infoset has no action that is always walked, all of them are.
    """

    paper: ClassVar[str] = "Gibson et al. 2012"
    always: str = knob(
        "auto",
        Text("names of actions joined by |, ends, bluff or auto"),
        "own actions that are always walked: names joined by |, ends (first and last), bluff, or auto (as published)",
    )
    p: float = knob(0.5, Number(above=0.0, high=1.0), "probability that another own action is walked")
    probe: bool = knob("no", YesNo(), PROBE)

    def __post_init__(self) -> None:
        check(self)

    def plan(self, labelled: LabelledActions) -> SchemePlan:
        always = self.always
        if always == "auto":
            always = _papers_choice(labelled.game)
        if always == "bluff":
            table = _bluff_table(labelled, self.p)
        else:
            names = set(always.split("|"))
            met: set[str] = set()

            def classify(actions: Sequence[str]) -> list[int]:
                last = len(actions) - 1
                if always == "ends":
                    return [int(index not in (0, last)) for index in range(last + 1)]
                met.update(name for action in actions for name in (action, action.split(" ")[0]))
                labels = [int(action.split(" ")[0] not in names and action not in names) for action in actions]
                return labels if 0 in labels else [0] * len(actions)

            labelled.label_by_names(classify)
            if self.always not in ("auto", "ends") and not names & met:
                raise EquipoiseError(f"always={always}: {labelled.game.name} has no such action{nearest(always, met)}")
            widest = max(max(pair) for pair in labelled.entries)
            table = np.empty((2 * labelled.stages, widest, 2))
            table[:, :, 0], table[:, :, 1] = 1.0, self.p
        return SchemePlan(EACH, 0.0, 0, self.probe, table)


def _papers_choice(game: Game) -> str:
    if isinstance(game, Goofspiel):
        return "ends"
    if isinstance(game, Bluff):
        return "bluff"
    return "fold|raise|bet"  # Gibson et al. on hold'em: call (and check) is the cheap action to leave out


def _bluff_table(labelled: LabelledActions, p: float) -> Float:
    """Return inclusion probabilities by roll and bid: the call, bids on 5 and 6 of quantity 1 and 2, and own faces."""
    if not isinstance(labelled.game, Bluff):
        raise EquipoiseError(f"always=bluff is for Bluff; {labelled.game.name} has other actions")
    rounds = labelled.game.rounds()
    if labelled.stages != len(rounds) or labelled.entries[-1][0] != len(rolls(rounds[-1].dice[0])):
        raise EquipoiseError("always=bluff needs Bluff's public tree: use the vector engine, or name actions")
    bids = max(current.bids for current in rounds)
    widest = max(max(pair) for pair in labelled.entries)
    table = np.full((2 * len(rounds), widest, bids + 1), p)
    for stage, current in enumerate(rounds):
        for player in range(2):
            for entry, roll in enumerate(rolls(current.dice[player])):
                row = table[2 * stage + player, entry]
                for bid in range(current.bids):
                    quantity, face = bid // FACES + 1, bid % FACES
                    if (face in (FACES - 2, FACES - 1) and quantity <= 2) or face in roll:
                        row[bid] = 1.0
                row[current.bids] = 1.0  # the call
    return table
