"""Recipes: the algorithms by the names people know, and how to make each from its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from equipoise.errors import EquipoiseError, nearest
from equipoise.games import Game
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus, Rule
from equipoise.sampling.large import LargeForm
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust, Scheme
from equipoise.sampling.tree import compile_for_sampling
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.solvers.sampled import SampledCFR
from equipoise.trees.compile import Engine, compile_game
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float


class Solver(Protocol):
    """What every algorithm offers: run, give the strategy found so far, save and restore."""

    iteration: int
    threads: int  # in use: never more than pay

    @property
    def form(self) -> SequenceForm | LargeForm:
        """Return the compiled game."""

    def run(self, iterations: int) -> None:
        """Run some iterations; where a run is cut into calls makes no difference to its result."""

    def average_strategy(self) -> tuple[Float, Float]:
        """Return the strategy found so far, one array a player, as the form's evaluator takes it."""

    def state(self) -> dict[str, Float]:
        """Return all that the next iterations depend on."""

    def restore(self, iteration: int, state: dict[str, Float]) -> None:
        """Continue from a saved state, bit for bit."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a solver is made from, besides the parameters of its recipe."""

    game: Game
    engine: Engine = "auto"
    seed: int = 0
    threads: int = 1


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A named algorithm."""

    name: str
    about: str
    paper: str
    parameters: dict[str, object]
    make: Callable[[Setup, dict[str, Any]], Solver]

    def resolve(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return all parameters with the given ones in place of defaults, or say which one is wrong."""
        resolved = dict(self.parameters)
        for name, value in given.items():
            if name not in resolved:
                has = f"; it has {', '.join(resolved)}" if resolved else "; it has none"
                raise EquipoiseError(f"{self.name} has no parameter '{name}'{nearest(name, resolved) or has}")
            resolved[name] = _converted(self.name, name, value, resolved[name])
        return resolved


SAMPLED_RULES: dict[str, Rule] = {
    "cfr": CFR(),
    "cfr_plus": CFRPlus(),
    "cfr_plus_plain": CFRPlus(power=0.0),  # as Double Neural CFR averages: all iterations count the same
    "linear": LinearCFR(),
    "discounted": DiscountedCFR(),
}
_CHOICES = {
    "updates": ("alternating", "simultaneous"),
    "averaging": ("stochastic", "own_reach"),
    "rule": tuple(SAMPLED_RULES),
    "probe": ("yes", "no"),
}


def _converted(recipe: str, name: str, value: object, default: object) -> object:
    """Return a value given as text or number in the type of the parameter's default."""
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give {' or '.join(_CHOICES[name])}")
        return value
    if name == "k" and value == "max":
        return 0  # all actions
    try:
        converted = type(default)(value)  # type: ignore[call-arg]
    except (TypeError, ValueError):
        raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give a number like {default}") from None
    if name in ("batch", "k") and int(str(converted)) < 1:
        raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give a number of at least 1")
    return converted


def _full_width(name: str, rule: type[Rule], about: str) -> Recipe:
    defaults: dict[str, object] = {field.name: field.default for field in fields(rule)}  # type: ignore[arg-type]

    def make(setup: Setup, parameters: dict[str, Any]) -> Solver:
        chosen = rule(**{key: parameters[key] for key in defaults})
        form = compile_game(setup.game, setup.engine)
        return FullWidthCFR(form, chosen, updates=parameters["updates"], threads=threads_that_pay(form, setup.threads))

    parameters = {**defaults, "updates": "alternating"}
    return Recipe(name=name, about=about, paper=rule.paper, parameters=parameters, make=make)


SEQUENCES_WORTH_THREADS = 100_000  # below this, sharing out a full-width iteration costs more than it saves


def threads_that_pay(form: SequenceForm, threads: int) -> int:
    """Return how many threads to use for full-width work on a game."""
    return threads if form.num_sequences >= SEQUENCES_WORTH_THREADS else 1


def _sampled(
    name: str,
    scheme: type[External] | type[Outcome] | type[Robust] | type[Inclusion],
    about: str,
    *,
    paper: str | None = None,
    batch: int = 1,
    updates: str = "alternating",
    rule: str = "cfr",
    probe: str = "no",
    **scheme_defaults: object,
) -> Recipe:
    own: dict[str, object] = {
        field.name: scheme_defaults.get(field.name, field.default)
        for field in fields(scheme)
        if field.name not in ("probe", "from_strategy")
    }
    parameters = {**own, "batch": batch, "rule": rule, "averaging": "stochastic", "updates": updates, "probe": probe}

    def make(setup: Setup, parameters: dict[str, Any]) -> Solver:
        made: Scheme = scheme(probe=parameters["probe"] == "yes", **{key: parameters[key] for key in own})
        buffered = parameters["batch"] > 1 or parameters["updates"] != "alternating"
        form, sampled = compile_for_sampling(setup.game, setup.engine, buffered=buffered)
        return SampledCFR(
            form if form is not None else LargeForm(setup.game, sampled),
            sampled,
            made,
            SAMPLED_RULES[parameters["rule"]],
            batch=parameters["batch"],
            updates=parameters["updates"],
            averaging=parameters["averaging"],
            seed=setup.seed,
            threads=setup.threads,
        )

    return Recipe(name=name, about=about, paper=paper or scheme.paper, parameters=parameters, make=make)


def _fictitious_play(setup: Setup, parameters: dict[str, Any]) -> Solver:
    del parameters
    form = compile_game(setup.game, setup.engine)
    return FictitiousPlay(form, threads=threads_that_pay(form, setup.threads))


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _full_width("cfr", CFR, "counterfactual regret minimisation, uniform averaging"),
        _full_width("cfr+", CFRPlus, "regrets never below zero, linear averaging; the default"),
        _full_width("lcfr", LinearCFR, "iteration t counts t times"),
        _full_width("dcfr", DiscountedCFR, "old regrets and averages fade (alpha, beta, gamma)"),
        _full_width("pcfr+", PredictiveCFRPlus, "CFR+ that predicts the next regret, quadratic averaging"),
        Recipe(
            name="xfp",
            about="extensive-form fictitious play: best responses to averages",
            paper="Heinrich et al. 2015",
            parameters={},
            make=_fictitious_play,
        ),
        _sampled("es-mccfr", External, "external sampling: all own actions, all else sampled"),
        _sampled("os-mccfr", Outcome, "outcome sampling: one history a traversal"),
        _sampled(
            "rs-mccfr",
            Robust,
            "robust sampling: k own actions, uniformly, in mini-batches",
            batch=5000,
            updates="simultaneous",
            k=3,
        ),
        _sampled(
            "rs-mccfr+",
            Robust,
            "the same with regrets clipped once per batch, linear averaging",
            batch=5000,
            updates="simultaneous",
            rule="cfr_plus",
            k=3,
        ),
        _sampled("is-mccfr", Inclusion, "each own action with its own probability, left-out ones count zero"),
        _sampled("probing", Inclusion, "the same, with left-out actions probed by a roll-out", probe="yes"),
    )
}


def find_recipe(name: str) -> Recipe:
    """Return the recipe of an algorithm's name, or suggest the nearest."""
    if name not in RECIPES:
        hint = nearest(name, RECIPES) or "; `equipoise algorithms` lists them"
        raise EquipoiseError(f"unknown algorithm '{name}'{hint}")
    return RECIPES[name]
