"""How a run sees its game: chosen once, from nothing but the game, the engine and the algorithm, and then recorded.

A representation says which settings an algorithm has, what the game is compiled to, who evaluates that exactly, what a
strategy is as a policy, and when a run is evaluated. :data:`REPRESENTATIONS` is the one table of them. A run keeps the
name of its representation in ``config.json``; where another one would be chosen now, it is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.abstraction.buckets import has_deck
from equipoise.errors import EquipoiseError, NotSupported, TooLarge
from equipoise.games import Game
from equipoise.games.sizes import too_large_to_list
from equipoise.games.spots import Spot
from equipoise.policies import AnyPolicy
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import policy_from_strategies
from equipoise.policies.spot_policy import SpotPolicy
from equipoise.sampling.large import LargeEvaluator
from equipoise.sampling.tree import compile_nodes
from equipoise.trees.best_response import BestResponses, Evaluator
from equipoise.trees.board_evaluator import BoardEvaluator
from equipoise.trees.board_form import UnmeasuredForm, board_form, has_board_form
from equipoise.trees.compile import Engine, compile_game, listed_as, too_large_for_plans
from equipoise.trees.fingerprint import described
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.spot_evaluator import SpotEvaluator, SpotValues
from equipoise.trees.spot_form import spot_form
from equipoise.work import Report

Work = Literal["full width", "boards", "samples", "stores", "responses"]
Origin = Mapping[str, Any]
Bool = npt.NDArray[np.bool_]
Schedule = tuple[float, int]  # by what factor iterations grow between evaluations, and which is the first


class Method(Protocol):
    """What a representation depends on of an algorithm."""

    @property
    def name(self) -> str:
        """Return what people call it."""

    @property
    def works_by(self) -> Work:
        """Return what it goes through: every history, boards, samples into tables or stores, best responses."""

    @property
    def evaluation_growth(self) -> float:
        """Return by what factor iterations grow between evaluations of a listed game."""

    @property
    def unlisted_evaluation(self) -> int:
        """Return the first iteration that is evaluated in a game too large to list."""


class FormEvaluator(Protocol):
    """Who evaluates strategies on a form exactly."""

    def best_responses(self, strategy: Any) -> BestResponses | SpotValues:
        """Return the value of a strategy and of best responses to it."""


def _described(form: Any) -> str:
    return described(form.game)


def _hashed(form: Any) -> str:
    return str(form.fingerprint)


@dataclass(frozen=True, kw_only=True)
class Representation:
    """One way to see a game."""

    name: str
    settings: str  # which settings an algorithm has there: one of settings.GAMES
    listed: bool = False  # whether its strategies are listed by infoset, and so written at the end of a run
    form: Callable[[Any], Any]  # the game as evaluation sees it
    evaluator: Callable[[Any, int, Report], FormEvaluator] | None  # of a form, with threads; None: there is none
    policy: Callable[[Any, Any, Origin, Bool | None], AnyPolicy]  # of a form, a strategy, its origin, what it reached
    schedule: Callable[[Any, Method], Schedule]  # of a game and an algorithm
    fingerprint: Callable[[Any], str] = _described  # of a form

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)


SEQUENCES_WORTH_THREADS = 100_000  # below this, sharing out a full-width iteration costs more than it saves


def threads_that_pay(form: SequenceForm, threads: int) -> int:
    """Return how many threads to use for full-width work on a game."""
    return threads if form.num_sequences >= SEQUENCES_WORTH_THREADS else 1


def _evaluates_list(form: Any, threads: int, report: Report) -> FormEvaluator:
    return Evaluator(form, threads=threads_that_pay(form, threads))


def _evaluates_nodes(form: Any, threads: int, report: Report) -> FormEvaluator:
    return LargeEvaluator(form)


def _evaluates_boards(form: Any, threads: int, report: Report) -> FormEvaluator:
    return BoardEvaluator(form, threads=threads, on_boards=_told(report))


def _evaluates_spot(form: Any, threads: int, report: Report) -> FormEvaluator:
    return SpotEvaluator(form, threads=threads, on_boards=_told(report))


def _told(report: Report) -> Callable[[int, int], None]:
    return lambda done, boards: report("exact evaluation", done / boards)


def _of_poker(form: Any, strategy: Any, origin: Origin, reached: Bool | None) -> AnyPolicy:
    return HoldemPolicy(rules=form.game, strategy=strategy, origin=origin)


def _of_spot(form: Any, strategy: Any, origin: Origin, reached: Bool | None) -> AnyPolicy:
    return SpotPolicy(form=form, strategy=strategy, origin=origin)


def _of_nodes(form: Any, strategy: Any, origin: Origin, reached: Bool | None) -> NoReturn:
    raise TooLarge(f"{form.game.name} has too many infosets to list its policy; its run can be resumed, not shown")


def _of_list(game: Game, method: Method) -> Schedule:
    return method.evaluation_growth, 1


def _by_rounds(game: Spot, method: Method) -> Schedule:
    return (1.1 if game.rounds == 1 else 1.15), 20


def _of_codes(game: Game, method: Method) -> Schedule:
    return 2.0, method.unlisted_evaluation


def _always(growth: float, first: int) -> Callable[[Game, Method], Schedule]:
    return lambda game, method: (growth, first)


_LISTED: dict[str, Any] = {
    "settings": "listed",
    "listed": True,
    "evaluator": _evaluates_list,
    "policy": policy_from_strategies,
    "schedule": _of_list,
    "fingerprint": _hashed,
}
_OVER_BOARDS: dict[str, Any] = {"form": board_form, "evaluator": _evaluates_boards, "policy": _of_poker}
_UNMEASURED: dict[str, Any] = {"form": UnmeasuredForm, "evaluator": None, "policy": _of_poker}
_IN_BUCKETS: dict[str, Any] = {"settings": "holdem", "schedule": _always(2.0, 100_000)}
_BY_CODES: dict[str, Any] = {"settings": "codes", "schedule": _of_codes}

REPRESENTATIONS: dict[str, Representation] = {
    each.name: each
    for each in (
        Representation(name="sequence", form=lambda game: compile_game(game, "sequence"), **_LISTED),
        Representation(name="vector", form=lambda game: compile_game(game, "vector"), **_LISTED),
        Representation(
            name="nodes",  # of a public tree too large for treeplexes
            settings="listed",
            form=lambda game: compile_nodes(game, buffered=False)[0].form,
            evaluator=_evaluates_nodes,
            policy=_of_nodes,
            schedule=_always(2.0, 10_000),
            fingerprint=_hashed,
        ),
        Representation(name="boards", settings="boards", schedule=_always(1.25, 10), **_OVER_BOARDS),
        Representation(
            name="spots",
            settings="spots",
            form=spot_form,
            evaluator=_evaluates_spot,
            policy=_of_spot,
            schedule=_by_rounds,
        ),
        Representation(name="buckets over boards", **_IN_BUCKETS, **_OVER_BOARDS),
        Representation(name="buckets", **_IN_BUCKETS, **_UNMEASURED),
        Representation(name="codes over boards", **_BY_CODES, **_OVER_BOARDS),
        Representation(name="codes", **_BY_CODES, **_UNMEASURED),
    )
}


def _named(name: str) -> Representation:
    return REPRESENTATIONS[name]


SOLVE_SPOTS = ("cfr", "cfr+", "lcfr", "dcfr")


def not_measured(game: Any) -> str:
    """Return why a game without an evaluator has none."""
    return UnmeasuredForm(game).why


def choose(game: Game, engine: Engine, method: Method) -> Representation:
    """Return how an algorithm sees a game; refuse a game or an engine that it cannot work with."""
    return REPRESENTATIONS[_chosen(game, engine, method)]


def _chosen(game: Game, engine: Engine, method: Method) -> str:
    works_by = method.works_by
    if isinstance(game, Spot):
        if method.name not in SOLVE_SPOTS:
            raise NotSupported(f"{method.name} does not solve spots; these do: {', '.join(SOLVE_SPOTS)}")
        if engine != "auto":
            raise NotSupported(f"spots have an engine of their own: leave out --engine {engine}")
        return "spots"
    over_boards = engine == "boards" or (engine == "auto" and has_board_form(game))
    if works_by == "boards" and not over_boards:
        raise EquipoiseError(f"{method.name} draws boards: it is for games such as flop_holdem, not for {game.name}")
    if works_by in ("full width", "boards") and over_boards:
        return "boards"
    if works_by == "samples" and has_deck(game):
        if engine != "auto":
            raise NotSupported(
                f"{method.name} samples hands of {game.name} card by card, without an engine: leave out --engine"
            )
        return "buckets over boards" if has_board_form(game) else "buckets"
    if works_by == "stores" and engine == "auto" and too_large_to_list(game):
        return "codes over boards" if has_board_form(game) else "codes"
    listed = listed_as(game, engine)
    if listed == "vector" and works_by in ("samples", "stores") and too_large_for_plans(game):
        if works_by == "stores":
            raise TooLarge(f"{game.name} is too large to list its infosets, which neural solvers here need")
        return "nodes"
    return listed
