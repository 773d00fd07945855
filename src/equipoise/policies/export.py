"""Policies as JSON and CSV, for other programs."""

import csv
import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from equipoise.files import write_atomically
from equipoise.policies.policy import Policy


def write_json(policy: Policy, path: str | Path) -> None:
    """Write ``{"game": ..., "origin": ..., "infosets": {key: {"player": p, "actions": {name: probability}}}}``.

    Infosets that the average never reached have ``"reached": false``, too: uniform play fills the gap.
    """
    infosets = {
        key: {
            "player": int(policy.players[index]),
            "actions": dict(zip(policy.action_names[index], policy.probabilities_at(index).tolist(), strict=True)),
            **({} if policy.is_reached(index) else {"reached": False}),
        }
        for index, key in enumerate(policy.keys)
    }
    with write_atomically(path, "w") as file:
        header = {"game": policy.game, "fingerprint": policy.fingerprint, "origin": dict(policy.origin)}
        json.dump({**header, "infosets": infosets}, file, indent=1)
        file.write("\n")


def write_csv(policy: Policy, path: str | Path) -> None:
    """Write one row per action: player, infoset, action, probability, and 0 where the average never reached it."""
    with write_atomically(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["player", "infoset", "action", "probability", "reached"])
        for index, key in enumerate(policy.keys):
            for name, probability in zip(policy.action_names[index], policy.probabilities_at(index), strict=True):
                reached = int(policy.is_reached(index))
                writer.writerow([policy.players[index], key, name, repr(float(probability)), reached])


def write_rows(rows: Iterable[Mapping[str, Any]], to: Literal["csv", "json"], path: str | Path) -> None:
    """Write rows of named values: as CSV with a heading, or as one JSON object a line."""
    with write_atomically(path, "w", newline="") as file:
        writer: Any = None
        for row in rows:
            if to == "json":
                file.write(json.dumps(row) + "\n")
                continue
            if writer is None:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
            writer.writerow(row)


def write_open_spiel(policy: Policy, path: str | Path) -> None:
    """Write an OpenSpiel ``TabularPolicy`` as a pickle, the way OpenSpiel's own programs keep policies."""
    tabular = policy.to_open_spiel()
    with write_atomically(path) as file:
        pickle.dump(tabular, file)
