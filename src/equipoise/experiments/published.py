"""Whose recipe the runs of a claim follow: their settings, one by one, against the preset that is the paper."""

from collections.abc import Iterable
from functools import cache

from equipoise.experiments.claim import Published, Recipe
from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.representations import choose

MOST_SHOWN = 8
# What a reader wants to know first; the rest are details of a fit.
FIRST = (
    *("network", "width", "cards", "k", "batch", "rule", "updates", "averaging", "epsilon", "traversals"),
    *("regrets", "scale", "anchor", "strategy_kind", "shared", "fitting", "steps", "fresh_steps", "minibatch"),
)


def recipe_of(published: Published, settings: Iterable[Setting]) -> Recipe:
    """Return whose settings the runs have, and in which they differ from the paper's."""
    if published.preset is None:
        return Recipe(published.recipe, published.how)
    by_text: dict[str, list[str]] = {}
    as_published: list[str] = []
    for setting in settings:
        apart = differences(setting, published.preset)
        if apart is None:  # the paper gives no settings of this method
            continue
        left = {name: pair for name, pair in apart.items() if name not in published.varied}
        if left:
            by_text.setdefault(_told(left), []).append(setting.label)
        else:
            as_published.append(setting.label)
    parts = [f"{', '.join(labels)}: {text}" for text, labels in by_text.items()]
    if not parts:
        return Recipe("as published", published.how)
    if as_published:
        parts.append(f"as published: {', '.join(as_published)}")
    return Recipe("ours", "; ".join([*parts, *([published.how] if published.how else [])]))


def differences(setting: Setting, preset: str) -> dict[str, tuple[object, object]] | None:
    """Return the settings in which a run differs from a paper's preset, as (ours, the paper's); None: it has none."""
    recipe = find_recipe(setting.algorithm or "")
    if preset not in recipe.presets:
        return None
    kind = _kind(setting.game, recipe.name)
    ours = recipe.resolve(setting.parameters, setting.preset, game=kind)
    theirs = recipe.resolve({}, preset, game=kind)
    names = [name for name in recipe.presets[preset].values(kind) if ours.get(name) != theirs.get(name)]
    shown = {knob.name: knob.shown for knob in recipe.knobs}
    return {
        name: tuple(shown[name](values[name]) if name in values else "none" for values in (ours, theirs))  # type: ignore[misc]
        for name in sorted(names, key=_rank)
    }


def _told(apart: dict[str, tuple[object, object]]) -> str:
    shown = [f"{name} {ours} (paper: {theirs})" for name, (ours, theirs) in list(apart.items())[:MOST_SHOWN]]
    more = len(apart) - len(shown)
    return ", ".join(shown) + (f" and {more} more settings" if more > 0 else "")


def _rank(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


@cache
def _kind(game: str, algorithm: str) -> str:
    return choose(load_game(game), "auto", find_recipe(algorithm)).settings
