"""Policies from JSON and CSV: what :mod:`equipoise.policies.export` writes, or anybody who writes the same.

Actions may come in any order; they are put in the game's own order by their names.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.errors import DamagedFile, InvalidParameter, NotSupported
from equipoise.files import read_text
from equipoise.games import StoredText
from equipoise.policies.policy import ROUNDING, Policy
from equipoise.trees.sequence_form import SequenceForm

ENDINGS = (".json", ".csv")
_COLUMNS = ["player", "infoset", "action", "probability"]

Infosets = dict[str, tuple[int, dict[str, float], bool]]  # by key: player, probabilities by action, reached


def read_exported(path: str | Path, game: str | None = None) -> Policy:
    """Return the policy in a JSON or CSV file; a CSV file does not say what it is of, so ``game`` must."""
    text = read_text(path, expected="a text")
    told: dict[str, Any] = {}
    try:
        if Path(path).suffix == ".json":
            told = json.loads(text)
            infosets = _from_json(told)
        else:
            infosets = _from_csv(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFile(f"{path} is not a policy as equipoise exports it ({error})") from None
    name = game if game is not None else told.get("game")
    if not isinstance(name, str):
        raise InvalidParameter(f"{path} does not say which game it is for; give --game, such as --game leduc_poker")
    for key, (_, actions, _) in infosets.items():
        total = sum(actions.values())
        if not (abs(total - 1.0) <= ROUNDING and min(actions.values()) >= 0.0):
            raise DamagedFile(f"{path}: the probabilities at '{key}' add up to {total:g}, not to 1")
    origin, fingerprint = told.get("origin"), told.get("fingerprint")
    return Policy(
        game=name if game is not None else StoredText(name),
        fingerprint=fingerprint if isinstance(fingerprint, str) else None,
        keys=list(infosets),
        players=[player for player, _, _ in infosets.values()],
        action_names=[tuple(actions) for _, actions, _ in infosets.values()],
        first_action=_starts([len(actions) for _, actions, _ in infosets.values()]),
        probabilities=np.array([p for _, actions, _ in infosets.values() for p in actions.values()], np.float64),
        origin=origin if isinstance(origin, dict) else {},
        reached=np.array([reached for _, _, reached in infosets.values()], np.bool_),
    )


def _starts(counts: Sequence[int]) -> Any:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _from_json(told: dict[str, Any]) -> Infosets:
    return {
        str(key): (
            _player(each["player"]),
            {str(name): float(share) for name, share in each["actions"].items()},
            each.get("reached", True) is True,
        )
        for key, each in told["infosets"].items()
        if each["actions"]
    }


def _from_csv(text: str) -> Infosets:
    rows = csv.reader(text.splitlines())
    heading = next(rows, [])
    if heading[:4] != _COLUMNS:
        raise ValueError(f"its first line is not {','.join(_COLUMNS)}")
    infosets: Infosets = {}
    for row in rows:
        player, key, action, probability, *reached = row
        found = infosets.setdefault(key, (_player(player), {}, reached[:1] != ["0"]))
        if action in found[1]:
            raise ValueError(f"'{key}' has {action} twice")
        found[1][action] = float(probability)
    return infosets


def _player(value: object) -> int:
    if value not in (0, 1, "0", "1") or isinstance(value, bool):
        raise ValueError(f"there is no player {value}")
    return int(str(value))


def arranged(policy: Policy, form: SequenceForm) -> Policy:
    """Return a policy with infosets and actions in a game's own order, or say what does not fit."""
    keys: list[str] = []
    players: list[int] = []
    names: list[tuple[str, ...]] = []
    shares: list[float] = []
    reached: list[bool] = []
    for player in range(2):
        for key, actions in zip(form.keys(player), form.action_names(player), strict=True):
            if key not in policy:
                raise NotSupported(f"this policy does not fit {form.game.name}: it has no infoset '{key}'")
            found = policy[key]
            if set(found) != set(actions):
                raise NotSupported(
                    f"this policy does not fit {form.game.name}: at '{key}' it has the actions {', '.join(found)}, and "
                    f"the game has {', '.join(actions)}"
                )
            keys.append(key)
            players.append(player)
            names.append(tuple(actions))
            shares += [found[name] for name in actions]
            reached.append(found.reached)
    return Policy(
        game=policy.game,
        fingerprint=policy.fingerprint or form.fingerprint,
        loaded=form.game,
        keys=keys,
        players=players,
        action_names=names,
        first_action=_starts([len(each) for each in names]),
        probabilities=np.array(shares),
        origin=policy.origin,
        reached=np.array(reached, np.bool_),
    )
