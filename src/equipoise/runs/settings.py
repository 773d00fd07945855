"""A run's configuration as its solver needs it: read from config.json, and checked before anything is done with it."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.runs.directory import RunDirectory


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_text_or_nothing(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_limits(value: object) -> bool:
    known = {"iterations", "until", "seconds", "core_seconds"}
    if not isinstance(value, dict) or not value.keys() <= known:
        return False
    given = {name: limit for name, limit in value.items() if limit is not None}
    return bool(given) and all(_is_number(limit) and limit > 0 for limit in given.values())


def _are_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _is_layout(value: object) -> bool:
    # Earlier versions kept the order of tables there, too, which a run's representation says now.
    return _are_texts(value) and {"hash"} <= value.keys() <= {"order", "hash"}  # type: ignore


_NEEDED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "parameters": (lambda value: isinstance(value, dict), "a list of parameters"),
    "engine": (lambda value: value in ("auto", "sequence", "vector", "boards"), "an engine"),
    "seed": (lambda value: _is_whole(value, 0), "a whole number of 0 or more"),
    "threads": (lambda value: _is_whole(value, 1), "a whole number of 1 or more"),
    "stop": (_are_limits, "a list of limits"),
    "checkpoint_seconds": (lambda value: _is_number(value) and value >= 0, "a number of 0 or more"),
    "evaluation_growth": (lambda value: _is_number(value) and value > 1, "a number above 1"),
    "first_evaluation": (lambda value: _is_whole(value, 1), "a whole number of 1 or more"),
    "created": (lambda value: isinstance(value, str), "a time"),
    "versions": (lambda value: isinstance(value, dict), "a list of versions"),
}
_OPTIONAL: Mapping[str, tuple[Callable[[Any], bool], str]] = {  # not in runs of earlier versions
    "preset": (_is_text_or_nothing, "a text"),
    "init_from": (_is_text_or_nothing, "a text"),
    "device": (lambda value: isinstance(value, str), "a text"),
    "tensorboard": (lambda value: isinstance(value, bool), "true or false"),
    "versus": (_is_text_or_nothing, "a text"),
    "versus_hands": (lambda value: value is None or _is_whole(value, 4), "a whole number of 4 or more"),
    "revision": (lambda value: _is_whole(value, 1), "a whole number of 1 or more"),
    "layout": (_is_layout, "a layout"),
    "representation": (lambda value: isinstance(value, str), "a text"),
    "fingerprint": (_is_text_or_nothing, "a text"),
}


def fault_in(config: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a configuration as far as it goes; None: nothing is."""
    for name, (is_good, wanted) in {**_NEEDED, **_OPTIONAL}.items():
        if name in config and not is_good(config[name]):
            return f"'{name}' is not {wanted}"
    return None


def settings_of(directory: "RunDirectory") -> dict[str, Any]:
    """Return the configuration of a solver's run, or say which part of it is missing."""
    for name in _NEEDED:
        if name not in directory.config:
            raise directory.damaged(f"it has no '{name}'")
    return dict(directory.config)
