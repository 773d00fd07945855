"""Algorithms as people look them up: a table of all, or everything about one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from equipoise.solvers.papers import TITLES
from equipoise.solvers.recipes import CHOICES, Recipe
from equipoise.views.tables import print_rows


def described(recipe: Recipe) -> dict[str, Any]:
    """Return all that is known of an algorithm, as JSON has it."""
    return {
        "algorithm": recipe.name,
        "about": recipe.about,
        "paper": recipe.paper,
        "title": TITLES[recipe.paper],
        "parameters": recipe.parameters,
        "choices": {name: list(CHOICES[name]) for name in recipe.parameters if name in CHOICES},
        "presets": {name: dict(values) for name, values in recipe.presets.items()},
        "large_games": dict(recipe.unlisted),
    }


def print_algorithms(recipes: Iterable[Recipe]) -> None:
    """Print a line about each algorithm."""
    rows = [
        (r.name, r.about, " ".join([*_given(r.parameters), *(f"--preset {preset}" for preset in r.presets)]), r.paper)
        for r in recipes
    ]
    print_rows(rows, columns=("algorithm", "what it does", "parameters (--set)", "paper"))


def print_algorithm(recipe: Recipe) -> None:
    """Print what an algorithm does, its paper, its parameters and its presets."""
    lines = [f"{recipe.name}: {recipe.about}", f"paper: {recipe.paper}, {TITLES[recipe.paper]}", ""]
    print("\n".join(lines))  # noqa: T201
    if not recipe.parameters:
        print("It has no parameters.")  # noqa: T201
        return
    rows: list[Sequence[str]] = []
    for name, default in recipe.parameters.items():
        large = _shown(name, recipe.unlisted[name]) if recipe.unlisted.get(name, default) != default else ""
        rows.append((name, _shown(name, default), large, " or ".join(CHOICES.get(name, ())) or _kind(name, default)))
    columns = ["--set", "default", "in games too large to list", "values"]
    if not recipe.unlisted:
        rows, columns = [(*row[:2], row[3]) for row in rows], [*columns[:2], columns[3]]
    print_rows(rows, columns=columns)
    for preset, values in recipe.presets.items():
        print(f"\n--preset {preset}: {' '.join(_given(values))}")  # noqa: T201
    example = next(iter(_given(recipe.parameters)))
    print(f"\nexample: equipoise solve leduc_poker --algorithm {recipe.name} --set {example}")  # noqa: T201


def _given(parameters: Mapping[str, object]) -> list[str]:
    """Return parameters as one would give them."""
    return [f"{name}={_shown(name, value)}" for name, value in parameters.items()]


def _shown(name: str, value: object) -> str:
    return "max" if name == "k" and value == 0 else str(value)  # k = 0 inside is k=max


def _kind(name: str, default: object) -> str:
    if isinstance(default, int):
        return "a whole number" + (", or max" if name == "k" else "")
    return "a number" if isinstance(default, float) else "a text"
