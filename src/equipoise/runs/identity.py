"""What makes a run the run that it is, and what sets runs apart: for sweeps that reuse runs, and for labels.

Two runs with the same identity are the same run: the same game by the same rules, the same algorithm at the same
revision with the same settings, the same seed and the same limits. Where it was made, when, and on how many threads
does not count: results do not depend on threads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.trees.fingerprint import differ

Config = Mapping[str, Any]

SETTINGS = ("game", "algorithm", "parameters", "engine", "init_from", "stop", "evaluation_growth", "first_evaluation")
FIRST_REVISION = 1  # of an algorithm, and of runs that do not say theirs


def difference(found: Config, wanted: Config) -> str | None:
    """Return in words what makes a run different from the one that is wanted; None: it is the same.

    What ``wanted`` leaves open (None, or nothing) may be anything.
    """
    if differ(found.get("fingerprint"), wanted.get("fingerprint")):
        return f"the rules of {wanted['game']} have changed since"
    revisions = [config.get("revision") or FIRST_REVISION for config in (found, wanted)]
    if revisions[0] != revisions[1]:
        return f"it was made by revision {revisions[0]} of {found['algorithm']}, which is at {revisions[1]} now"
    for name in (*SETTINGS, "seed"):
        theirs, ours = found.get(name), wanted.get(name)
        if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
            for part in [*ours, *(key for key in theirs if key not in ours)]:
                if theirs.get(part) != ours.get(part):
                    return f"{part} is {theirs.get(part)} there, and {ours.get(part)} here"
        elif ours is not None and theirs != ours:
            return f"{name} is {theirs} there, and {ours} here"
    return None


def labels(configs: Sequence[Config]) -> list[str]:
    """Return a name for each run by what sets it apart from the others; runs that differ in seeds only share one."""
    several_games = len({config["game"] for config in configs}) > 1
    named: list[str] = []
    for config in configs:
        alike = [other for other in configs if other["algorithm"] == config["algorithm"]]
        parts = [str(config["algorithm"])]
        for group in ("parameters", "stop"):
            own = config.get(group) or {}
            for name, value in own.items():
                if value is not None and any((other.get(group) or {}).get(name) != value for other in alike):
                    parts.append(f"{name}={_short(value)}")
        for name in ("engine", "init_from"):
            if config.get(name) and any(other.get(name) != config[name] for other in alike):
                parts.append(f"{name}={config[name]}")
        if several_games:
            parts[0] = f"{config['game']}, {parts[0]}"
        named.append(" ".join(parts))
    return named


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
