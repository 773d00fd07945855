"""Algorithms as people look them up: a table of all, or everything about one."""

from collections.abc import Iterable, Sequence
from typing import Any

from equipoise.settings import Choice
from equipoise.solvers.papers import TITLES
from equipoise.solvers.recipes import RECIPES, Recipe, find_recipe
from equipoise.views.tables import print_rows


def described(recipe: Recipe) -> dict[str, Any]:
    """Return all that is known of an algorithm, as JSON has it."""
    return {
        "algorithm": recipe.name,
        "about": recipe.about,
        "paper": recipe.paper,
        "title": TITLES.get(recipe.paper, ""),
        "parameters": {knob.name: knob.default for knob in recipe.knobs},
        "meanings": {knob.name: knob.meaning for knob in recipe.knobs},
        "values": {knob.name: knob.kind.wanted for knob in recipe.knobs},
        "choices": {knob.name: list(knob.kind.words) for knob in recipe.knobs if isinstance(knob.kind, Choice)},
        "only_with": {knob.name: knob.where for knob in recipe.knobs if knob.when},
        "published_as": {knob.name: knob.published for knob in recipe.knobs if knob.published},
        "presets": {name: preset.values() for name, preset in recipe.presets.items()},
        "large_games": {knob.name: knob.unlisted for knob in recipe.knobs if knob.unlisted != knob.default},
    }


def list_algorithms(name: str | None = None) -> dict[str, Any]:
    """Return all algorithms, or the one of this name, as JSON has them."""
    return {"algorithms": [described(each) for each in (RECIPES.values() if name is None else [find_recipe(name)])]}


def print_algorithms(recipes: Iterable[Recipe]) -> None:
    """Print a line about each algorithm."""
    rows = [
        (r.name, r.about, " ".join([*r.shown(r.parameters), *(f"--preset {preset}" for preset in r.presets)]), r.paper)
        for r in recipes
    ]
    print_rows(rows, columns=("algorithm", "what it does", "parameters (--set)", "paper"))


def print_algorithm(recipe: Recipe) -> None:
    """Print what an algorithm does, its paper, its parameters and its presets."""
    lines = [f"{recipe.name}: {recipe.about}", f"paper: {_cited(recipe.paper)}", ""]
    print("\n".join(lines))  # noqa: T201
    if not recipe.knobs:
        print("It has no parameters.")  # noqa: T201
        return
    large = any(knob.unlisted != knob.default for knob in recipe.knobs)
    rows: list[Sequence[str]] = []
    for knob in recipe.knobs:
        there = knob.shown(knob.unlisted) if knob.unlisted != knob.default else ""
        only = f" (only {knob.where})" if knob.when else ""
        default = (knob.shown(knob.default), there) if large else (knob.shown(knob.default),)
        rows.append((knob.name, *default, knob.meaning + only, knob.kind.wanted))
    columns = ("--set", "default", *(("in games too large to list",) if large else ()), "meaning", "values")
    print_rows(rows, columns=columns)
    for name, preset in recipe.presets.items():
        print(f"\n--preset {name}: {preset.about}\n  {' '.join(recipe.shown(preset.values()))}")  # noqa: T201
    example = recipe.shown(recipe.parameters)[0]
    print(f"\nexample: equipoise solve leduc_poker --algorithm {recipe.name} --set {example}")  # noqa: T201


def _cited(paper: str) -> str:
    """Return a paper with its title, if it is one of the papers that equipoise knows."""
    return f"{paper}, {TITLES[paper]}" if paper in TITLES else paper
