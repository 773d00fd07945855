"""Play a game by continual re-solving, and measure that exactly: one call.

found = equipoise.resolve("nl_leduc(stack=5)", gadget="cfrd", values="exact", iterations=1000)
found.exploitability, found.policy.action_probabilities("Qs|r2")

``resolve_spot`` keeps the strategy of a solved spot up to a round, and solves every board of that round anew.
``resolve_flops`` does so for flop hold'em, whatever its strategy is kept in: tables, buckets or networks.
"""

import time
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from equipoise.errors import NotFound, NotSupported, nearest
from equipoise.games import Game, as_game
from equipoise.policies import AnyPolicy
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.opening import policy_of
from equipoise.policies.policy import Policy, policy_from_strategies
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.runs.phases import EVALUATION, PREPARING, SOLVING, OnProgress, Phases, unseen
from equipoise.solvers import board_resolving
from equipoise.solvers.gadgets import Gadget
from equipoise.solvers.leaf_values import LEAF_VALUES, ValuesOf
from equipoise.solvers.public_values import PublicNetworkValues
from equipoise.solvers.resolving import DEFAULT_ITERATIONS, ContinualResolving
from equipoise.solvers.spot_resolving import resolve_boards, round_to_resolve
from equipoise.trees.best_response import BestResponses, Evaluator
from equipoise.trees.board_form import has_board_form
from equipoise.trees.public_tree import vector_form
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.spot_evaluator import SpotEvaluator, SpotValues
from equipoise.trees.treeplex import Float
from equipoise.trees.value_network import load_network

BOARD_ITERATIONS = 300
UNSAFE_BOARDS = (
    "unsafe re-solving takes both ranges as the strategy has them, and nothing bounds what it loses: here "
    "exploitability went from {before:.4g} to {after:.4g} {unit}; the gadgets cfrd and maxmargin bound it"
)
UNSAFE = (
    "unsafe re-solving keeps ranges only, and the opponent need not play what they were worked out from: here the "
    "agent's exploitability is {exploitability:.4g} {unit}; the gadgets cfrd and maxmargin bound it"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Resolved:
    """An agent that re-solves every public state, with its strategy listed and evaluated exactly."""

    agent: ContinualResolving
    form: SequenceForm
    strategies: tuple[Float, Float]
    responses: BestResponses
    values: str
    seconds: float

    @property
    def exploitability(self) -> float:
        """Return the mean of what the two players could gain against the agent."""
        return self.responses.exploitability

    @property
    def warning(self) -> str | None:
        """Return what is to be said of the way the agent re-solves, if anything."""
        if self.agent.gadget != "unsafe":
            return None
        return UNSAFE.format(exploitability=self.exploitability, unit=self.form.game.chip_unit())

    def summary(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        return {
            "game": self.form.game.address,
            "gadget": self.agent.gadget,
            "values": self.values,
            "iterations": self.agent.iterations,
            "solves": self.agent.solves,
            "value": self.responses.value,
            "nash_conv": self.responses.nash_conv,
            "exploitability": self.exploitability,
            "seconds": self.seconds,
        }

    @cached_property
    def policy(self) -> Policy:
        """Return what the agent plays, everywhere."""
        told = self.summary()
        origin = {"algorithm": "continual re-solving", **{name: told[name] for name in told if name != "game"}}
        return policy_from_strategies(self.form, self.strategies, origin)

    def __repr__(self) -> str:
        return (
            f"<{self.agent.name} on {self.form.game.name}: {self.agent.solves:,} solves, {self.agent.iterations:,} "
            f"iterations each, exploitability {self.exploitability:.4g}>"
        )


def agent_of(
    game: Game | str,
    *,
    gadget: Gadget = "cfrd",
    values: str | Path = "exact",
    iterations: int = DEFAULT_ITERATIONS,
) -> ContinualResolving:
    """Return the agent: a player for matches, which re-solves where it comes."""
    game = as_game(game)
    return ContinualResolving(game, values_named(values, game), gadget=gadget, iterations=iterations)


def values_named(values: str | Path, game: Game) -> ValuesOf:
    """Return the values at closings that a name or a file stands for."""
    if str(values) in LEAF_VALUES:
        return LEAF_VALUES[str(values)]
    if Path(values).is_file():
        network = load_network(values)
        if network.round != game.name:
            raise NotSupported(f"{values} is a value network of {network.round}, not of {game.name}")
        return partial(PublicNetworkValues, network)
    listed = ", ".join(LEAF_VALUES)
    raise NotFound(f"values '{values}' are neither a file nor one of {listed}{nearest(str(values), LEAF_VALUES)}")


def resolve(
    game: Game | str,
    *,
    gadget: Gadget = "cfrd",
    values: str | Path = "exact",
    iterations: int = DEFAULT_ITERATIONS,
    on_progress: OnProgress = unseen,
) -> Resolved:
    """Let an agent re-solve every public state at which it may act, in both seats, and evaluate it exactly.

    ``gadget`` is what bounds the opponent: ``cfrd``, ``maxmargin``, or ``unsafe`` for nothing. ``values`` is what the
    deal of board cards is worth: ``exact`` solves on, ``check-down`` is the equity, ``zero`` nothing;
    or it is a network's file.
    """
    begun = time.perf_counter()
    phases = Phases(on_progress)
    with phases.noticing_compilation():
        with phases.doing(PREPARING):
            agent = agent_of(game, gadget=gadget, values=values, iterations=iterations)
            form = vector_form(agent.tree)
        with phases.doing(SOLVING, "re-solving"):
            strategies = agent.strategies(form, phases.report)
        with phases.doing(EVALUATION):
            responses = Evaluator(form).best_responses(strategies)
    return Resolved(
        agent=agent,
        form=form,
        strategies=strategies,
        responses=responses,
        values=str(values),
        seconds=time.perf_counter() - begun,
    )


_P = TypeVar("_P", SpotPolicy, HoldemPolicy)
_V = TypeVar("_V", SpotValues, BestResponses)


@dataclass(frozen=True, kw_only=True, repr=False)
class _BoardsAnew(Generic[_P, _V]):
    """A strategy whose boards were solved anew, evaluated exactly before and after."""

    policy: _P
    gadget: Gadget
    iterations: int
    before: _V
    responses: _V
    seconds: float

    @property
    def exploitability(self) -> float:
        """Return the mean of what the two players could gain against the new strategy."""
        return self.responses.exploitability

    @property
    def warning(self) -> str | None:
        """Return what is to be said of the way it was re-solved, if anything."""
        if self.gadget != "unsafe":
            return None
        unit = self.policy.rules.chip_unit()
        return UNSAFE_BOARDS.format(before=self.before.exploitability, after=self.exploitability, unit=unit)


@dataclass(frozen=True, kw_only=True, repr=False)
class ResolvedSpot(_BoardsAnew[SpotPolicy, SpotValues]):
    """A spot's strategy whose later rounds were solved anew, evaluated exactly before and after."""

    boards: int

    def summary(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        pot = self.policy.rules.pot
        return {
            "game": self.policy.game,
            "gadget": self.gadget,
            "iterations": self.iterations,
            "boards": self.boards,
            "ev_first": self.responses.value + pot / 2,
            "exploitability_before": self.before.exploitability,
            "exploitability_pot_before": 100 * self.before.exploitability / pot,
            "exploitability": self.exploitability,
            "exploitability_pot": 100 * self.exploitability / pot,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return f"<{self.policy!r}, {self.boards:,} boards re-solved, exploitability {self.exploitability:.4g}>"


def resolve_spot(
    policy: AnyPolicy,
    *,
    gadget: Gadget = "cfrd",
    from_round: str | None = None,
    iterations: int = BOARD_ITERATIONS,
    on_progress: OnProgress = unseen,
) -> ResolvedSpot:
    """Keep a spot's strategy up to a round, solve every board of that round anew, and evaluate both exactly.

    ``gadget`` bounds the opponent by what it could win against the strategy at most: ``cfrd`` or ``maxmargin``;
    ``unsafe`` solves for both ranges as they are. ``from_round`` is ``turn`` or ``river``; by default the next deal.
    """
    policy = policy_of(SpotPolicy, policy, "resolve_spot is for solved spots")
    begun, phases, form = time.perf_counter(), Phases(on_progress), policy.form
    number = round_to_resolve(form, from_round)
    with phases.noticing_compilation():
        with phases.doing(EVALUATION):
            before = SpotEvaluator(form).best_responses(policy.strategy)
        with phases.doing(SOLVING, "re-solving"):
            strategy = resolve_boards(
                form, policy.strategy, number=number, gadget=gadget, iterations=iterations, report=phases.report
            )
        with phases.doing(EVALUATION):
            responses = SpotEvaluator(form).best_responses(strategy)
    origin = {**policy.origin, "resolved": {"gadget": gadget, "round": number, "iterations": iterations}}
    return ResolvedSpot(
        policy=SpotPolicy(form=form, strategy=strategy, origin=origin),
        gadget=gadget,
        iterations=iterations,
        boards=form.rounds[number].num_boards,
        before=before,
        responses=responses,
        seconds=time.perf_counter() - begun,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class ResolvedFlops(_BoardsAnew[HoldemPolicy, BestResponses]):
    """A strategy of flop hold'em that was solved anew on every flop, evaluated exactly before and after."""

    def summary(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        per_chip = self.policy.rules.mbb_per_chip()
        in_mbb = {"nash_conv_mbb_before": self.before.nash_conv, "nash_conv_mbb": self.responses.nash_conv}
        return {
            "game": self.policy.game,
            "gadget": self.gadget,
            "iterations": self.iterations,
            "boards": self.policy.form.num_boards,
            "value": self.responses.value,
            "exploitability_before": self.before.exploitability,
            "exploitability": self.exploitability,
            **({} if per_chip is None else {name: per_chip * worth for name, worth in in_mbb.items()}),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return f"<{self.policy!r}, re-solved on all flops, exploitability {self.exploitability:.4g}>"


def resolve_flops(
    policy: AnyPolicy,
    *,
    gadget: Gadget = "cfrd",
    iterations: int = BOARD_ITERATIONS,
    threads: int = 1,
    on_progress: OnProgress = unseen,
) -> ResolvedFlops:
    """Keep a strategy of flop hold'em before the flop, solve every flop anew, and evaluate both exactly.

    ``gadget`` bounds the opponent by what it could win against the strategy at most: ``cfrd`` or ``maxmargin``;
    ``unsafe`` solves for both ranges as they are. The strategy may be kept in tables, buckets or networks.
    """
    policy = policy_of(
        HoldemPolicy,
        policy,
        "solved spots and flop hold'em are re-solved from their solution, other games from their name",
    )
    if not has_board_form(policy.rules):
        raise NotSupported(f"{policy.game} has rounds after the flop: nothing here evaluates it exactly")
    begun, phases, form = time.perf_counter(), Phases(on_progress), policy.form
    with phases.noticing_compilation():
        given = policy.strategy.over(form)
        with phases.doing(EVALUATION):
            before = policy.best_responses(policy.rules, threads=threads, on_boards=partial(_boards_done, phases))
        with phases.doing(SOLVING, "re-solving"):
            strategy = board_resolving.resolve_flops(
                form, given, gadget=gadget, iterations=iterations, threads=threads, report=phases.report
            )
        origin = {**policy.origin, "resolved": {"gadget": gadget, "round": 1, "iterations": iterations}}
        new = HoldemPolicy(rules=policy.rules, strategy=strategy, origin=origin)
        with phases.doing(EVALUATION):
            responses = new.best_responses(new.rules, threads=threads, on_boards=partial(_boards_done, phases))
    return ResolvedFlops(
        policy=new,
        gadget=gadget,
        iterations=iterations,
        before=before,
        responses=responses,
        seconds=time.perf_counter() - begun,
    )


def _boards_done(phases: Phases, done: int, boards: int) -> None:
    phases.report("exact evaluation", done / boards)
