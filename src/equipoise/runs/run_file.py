"""Runs as files that people write and read: TOML with what `equipoise solve` takes, settings in ``[parameters]``."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from equipoise.errors import DamagedFile, InvalidParameter, nearest
from equipoise.files import read_text

LIMITS = ("iterations", "until", "seconds", "core_seconds")
# What a file may hold, with the types of each; a whole number stands for a number, too.
KEYS: Mapping[str, tuple[type, ...]] = {
    "game": (str,),
    "algorithm": (str,),
    "preset": (str,),
    "init_from": (str,),
    "engine": (str,),
    "seed": (int,),
    "threads": (int,),
    "device": (str,),
    "tensorboard": (bool,),
    "versus": (str,),
    "versus_hands": (int,),
    "iterations": (int,),
    "until": (float, int),
    "until_mbb": (float, int),
    "until_pot": (float, int),
    "seconds": (float, int),
    "core_seconds": (float, int),
    "checkpoint_seconds": (float, int),
    "first_evaluation": (int,),
    "evaluation_growth": (float, int),
    "parameters": (dict,),
}


def read_run_file(path: Path) -> dict[str, Any]:
    """Return what a file says, under the names that :func:`equipoise.solve` has for it."""
    try:
        found = tomllib.loads(read_text(path, expected="TOML"))
    except tomllib.TOMLDecodeError as error:
        raise DamagedFile(f"{path} is not TOML: {error}") from None
    for name, value in found.items():
        if name not in KEYS:
            raise InvalidParameter(f"{path}: '{name}' is not known{nearest(name, KEYS)}")
        check_value(path, name, value)
    for name, value in found.get("parameters", {}).items():
        if not isinstance(value, str | int | float):
            raise InvalidParameter(f"{path}: parameters.{name} is not valid; give a text or a number")
    return found


def check_value(path: Path, name: str, value: object) -> None:
    """Refuse a value of another type than an option has."""
    types = KEYS[name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table"}
        raise InvalidParameter(f"{path}: {name} = {value} is not valid; give {wanted[types[0]]}")


def run_file(config: Mapping[str, Any]) -> str:
    """Return a run's configuration as a file that makes the same run again: every setting, none left to defaults."""
    limits = config["stop"]
    wanted = {**config, **{name: limits.get(name) for name in LIMITS}, "preset": None}
    lines = [f"# a preset gave some of these: {config['preset']}"] if config.get("preset") else []
    lines += [f"{name} = {_value(wanted[name])}" for name in KEYS if _is_told(name, wanted.get(name))]
    lines += ["", "[parameters]"]
    lines += [f"{name} = {_value(value)}" for name, value in config["parameters"].items()]
    return "\n".join(lines) + "\n"


def _is_told(name: str, value: object) -> bool:
    return name != "parameters" and value is not None and value is not False


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # a basic string of TOML is escaped as JSON's
    return repr(value)
