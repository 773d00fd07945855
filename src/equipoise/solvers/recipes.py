"""Recipes: the algorithms by the names people know, and how to make each from its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

from equipoise.errors import EquipoiseError, nearest
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus, Rule
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float


class Solver(Protocol):
    """What every algorithm offers: run, give the strategy found so far, save and restore."""

    form: SequenceForm
    iteration: int

    def run(self, iterations: int) -> None:
        """Run some iterations; where a run is cut into calls makes no difference to its result."""

    def average_strategy(self) -> tuple[Float, Float]:
        """Return the strategy found so far, one array a player."""

    def state(self) -> dict[str, Float]:
        """Return all that the next iterations depend on."""

    def restore(self, iteration: int, state: dict[str, Float]) -> None:
        """Continue from a saved state, bit for bit."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A named algorithm."""

    name: str
    about: str
    paper: str
    parameters: dict[str, object]
    make: Callable[[SequenceForm, dict[str, Any], int], Solver]

    def resolve(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return all parameters with the given ones in place of defaults, or say which one is wrong."""
        resolved = dict(self.parameters)
        for name, value in given.items():
            if name not in resolved:
                has = f"; it has {', '.join(resolved)}" if resolved else "; it has none"
                raise EquipoiseError(f"{self.name} has no parameter '{name}'{nearest(name, resolved) or has}")
            resolved[name] = _converted(self.name, name, value, resolved[name])
        return resolved


_CHOICES = {"updates": ("alternating", "simultaneous")}


def _converted(recipe: str, name: str, value: object, default: object) -> object:
    """Return a value given as text or number in the type of the parameter's default."""
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give {' or '.join(_CHOICES[name])}")
        return value
    try:
        return type(default)(value)  # type: ignore[call-arg]
    except (TypeError, ValueError):
        raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give a number like {default}") from None


def _cfr(name: str, rule: type[Rule], about: str) -> Recipe:
    defaults: dict[str, object] = {field.name: field.default for field in fields(rule)}  # type: ignore[arg-type]

    def make(form: SequenceForm, parameters: dict[str, Any], threads: int) -> Solver:
        updates: Literal["alternating", "simultaneous"] = parameters["updates"]
        chosen = rule(**{key: parameters[key] for key in defaults})
        return FullWidthCFR(form, chosen, updates=updates, threads=threads)

    parameters = {**defaults, "updates": "alternating"}
    return Recipe(name=name, about=about, paper=rule.paper, parameters=parameters, make=make)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _cfr("cfr", CFR, "counterfactual regret minimisation, uniform averaging"),
        _cfr("cfr+", CFRPlus, "regrets never below zero, linear averaging; the default"),
        _cfr("lcfr", LinearCFR, "iteration t counts t times"),
        _cfr("dcfr", DiscountedCFR, "old regrets and averages fade (alpha, beta, gamma)"),
        _cfr("pcfr+", PredictiveCFRPlus, "CFR+ that predicts the next regret, quadratic averaging"),
        Recipe(
            name="xfp",
            about="extensive-form fictitious play: best responses to averages",
            paper="Heinrich et al. 2015",
            parameters={},
            make=lambda form, parameters, threads: FictitiousPlay(form, threads=threads),
        ),
    )
}


def find_recipe(name: str) -> Recipe:
    """Return the recipe of an algorithm's name, or suggest the nearest."""
    if name not in RECIPES:
        raise EquipoiseError(
            f"unknown algorithm '{name}'{nearest(name, RECIPES) or '; `equipoise algorithms` lists them'}"
        )
    return RECIPES[name]
