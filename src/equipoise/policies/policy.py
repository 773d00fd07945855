"""A policy: for each infoset key the probabilities of its actions, by name. It stands on its own, without a tree.

Its arrays in a file (see `files` and docs/formats.md):

- ``keys``: all infoset keys, UTF-8, joined by NUL; ``players``: int8 per infoset;
- ``action_names``: the distinct lists of action names, as UTF-8 JSON; ``action_list``: int32 per infoset, which list;
- ``first_action``: int64 per infoset and one more; ``probabilities``: float64, infoset i has
  ``probabilities[first_action[i]:first_action[i + 1]]``;
- ``reached``: bool per infoset: whether the average strategy has any weight there. Where it has none, the probabilities
  are uniform for want of anything else. Policies without the array (networks, older files) do not say.
"""

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.errors import DamagedFile, EquipoiseWarning, NotSupported, UnknownInfoset, nearest
from equipoise.games import Game, State, StoredText, load_game
from equipoise.html import table
from equipoise.policies.files import LISTED, Parts, policy_header, text_array, write_parts
from equipoise.trees.best_response import BestResponses, Evaluator
from equipoise.trees.board_evaluator import OnBoards
from equipoise.trees.compile import compile_game
from equipoise.trees.fingerprint import differ, require_same_game
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.treeplex import Float, Int64

ROUNDING = 1e-4  # of a probability; networks compute with 24 bits
SHOWN = 12  # infosets of a policy in a notebook
NEVER_REACHED = "never reached in the average; uniform"


class ActionProbabilities(dict[str, float]):
    """The probability of each action at an infoset; ``reached`` is false where uniform play fills a gap."""

    def __init__(self, actions: Iterable[str], probabilities: Float, *, reached: bool) -> None:
        super().__init__(zip(actions, probabilities.tolist(), strict=True))
        self.reached = reached

    def __repr__(self) -> str:
        return super().__repr__() if self.reached else f"{super().__repr__()}  # {NEVER_REACHED}"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Policy:
    """Action probabilities by infoset key: ``policy["Qs|cr"]`` is ``{"fold": ..., "call": ..., "raise": ...}``.

    Two policies are equal if they play the same game in the same way, wherever they come from.
    """

    game: str
    keys: Sequence[str]
    players: Sequence[int]
    action_names: Sequence[tuple[str, ...]]  # per infoset
    first_action: Int64
    probabilities: Float
    origin: Mapping[str, Any] = field(default_factory=dict)  # algorithm, iterations, seed, exploitability, ...
    fingerprint: str | None = None  # of the game's rules; None: not known
    loaded: Game | None = field(default=None, compare=False)  # the game itself, where it is at hand
    reached: npt.NDArray[np.bool_] | None = None  # per infoset: whether the average has weight there; None: not known

    @cached_property
    def rules(self) -> Game:
        """Return the game; one that only a file names is loaded if no code has to run for it."""
        return load_game(self.game) if self.loaded is None else self.loaded

    @cached_property
    def _index(self) -> dict[str, int]:
        return {key: index for index, key in enumerate(self.keys)}

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        return key in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def __getitem__(self, infoset_key: str) -> ActionProbabilities:
        return self.action_probabilities(infoset_key)

    def items(self) -> Iterator[tuple[str, ActionProbabilities]]:
        """Return each infoset's key with the probability of each of its actions."""
        return ((key, self[key]) for key in self.keys)

    def __repr__(self) -> str:
        return f"<Policy of {self.game}, {len(self):,} infosets{came_from(self.origin)}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            (key, self.players[index], ", ".join(f"{name} {share:.3f}" for name, share in self[key].items()))
            for index, key in enumerate(self.keys[:SHOWN])
        ]
        if len(self) > SHOWN:
            rows.append((f"... {len(self) - SHOWN:,} more", "", ""))
        return table(rows, ("infoset", "player", "probabilities"), repr(self).strip("<>"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        texts = (self.game, list(self.keys), list(self.players), list(map(tuple, self.action_names)))
        others = (other.game, list(other.keys), list(other.players), list(map(tuple, other.action_names)))
        return (
            texts == others
            and not differ(self.fingerprint, other.fingerprint)
            and np.array_equal(self.probabilities, other.probabilities)
            and all(self.is_reached(index) == other.is_reached(index) for index in range(len(self)))
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("_index", "rules")}
        if self.game.startswith("python:"):  # its classes are in a file that nobody can import
            state["loaded"] = None
        return state

    def action_probabilities(self, infoset_key: str) -> ActionProbabilities:
        """Return the probability of each action at an infoset; its ``reached`` tells gaps in the average."""
        index = self._index.get(infoset_key)
        if index is None:
            hint = nearest(infoset_key, self.keys) if len(self.keys) <= 20_000 else ""
            raise UnknownInfoset(f"{self.game} has no infoset '{infoset_key}'{hint}")
        reached = self.is_reached(index)
        return ActionProbabilities(self.action_names[index], self.probabilities_at(index), reached=reached)

    def at(self, state: State) -> ActionProbabilities:
        """Return the probability of each action at a history of the game."""
        key = state.infoset_key()
        own = f"P{state.player}|{key}"  # so listed where both players have keys of one text
        return self[key if key in self or own not in self else own]

    def is_reached(self, index: int) -> bool:
        """Return whether the average has weight at the infoset with a number; true where nothing is known of it."""
        return self.reached is None or bool(self.reached[index])

    def probabilities_at(self, index: int) -> Float:
        """Return the probabilities at the infoset with a number."""
        return self.probabilities[self.first_action[index] : self.first_action[index + 1]]

    def parts(self) -> Parts:
        """Return what the policy can be opened from."""
        lists: dict[tuple[str, ...], int] = {}
        numbers = [lists.setdefault(names, len(lists)) for names in self.action_names]
        arrays: dict[str, npt.NDArray[Any]] = {
            "keys": text_array("\0".join(self.keys)),
            "players": np.array(self.players, np.int8),
            "action_names": text_array(json.dumps(list(lists))),
            "action_list": np.array(numbers, np.int32),
            "first_action": np.asarray(self.first_action, np.int64),
            "probabilities": self.probabilities,
        }
        if self.reached is not None:
            arrays["reached"] = self.reached
        return Parts(policy_header(LISTED, self.game, self.fingerprint, self.origin), arrays)

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, all of it or nothing."""
        write_parts(path, self.parts(), compressed=True)

    def best_responses(self, game: Game, *, threads: int, on_boards: OnBoards) -> BestResponses:
        """Return the policy's value and both best responses to it."""
        form = compile_game(game)
        return Evaluator(form, threads=threads).best_responses(strategies_from_policy(form, self))

    def to_open_spiel(self) -> Any:
        """Return the same policy as an OpenSpiel ``TabularPolicy`` (needs the extra 'spiel')."""
        from equipoise.policies.open_spiel import to_open_spiel

        return to_open_spiel(self)


def came_from(origin: Mapping[str, Any]) -> str:
    """Return what is known of a policy's origin, as the end of a sentence."""
    told = [f", by {origin['algorithm']}"] if "algorithm" in origin else []
    told += [f", {origin['iterations']:,} iterations"] if "iterations" in origin else []
    return "".join(told) + (f", exploitability {origin['exploitability']:.4g}" if "exploitability" in origin else "")


def open_listed(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Policy:
    """Return a policy from its parts; raise ValueError, KeyError or the like for parts that do not fit together."""
    lists = [tuple(names) for names in json.loads(arrays["action_names"].tobytes())]
    if not all(isinstance(name, str) for names in lists for name in names):
        raise ValueError("its actions are not named by texts")
    keys = arrays["keys"].tobytes().decode()
    policy = Policy(
        game=StoredText(header["game"]),
        fingerprint=header.get("fingerprint"),
        keys=keys.split("\0") if len(arrays["players"]) else [],
        players=arrays["players"].tolist(),
        action_names=[lists[number] for number in arrays["action_list"]],
        first_action=arrays["first_action"],
        probabilities=arrays["probabilities"],
        origin=header["origin"],
        reached=arrays["reached"].astype(np.bool_) if "reached" in arrays else None,
    )
    counts = [len(names) for names in policy.action_names]
    numbered = all(isinstance(player, int) and 0 <= player <= 1 for player in policy.players)
    flat = policy.first_action.ndim == policy.probabilities.ndim == 1
    parts_fit = (
        flat and numbered and len(policy.keys) == len(policy.players) == len(counts) == len(policy.first_action) - 1
    )
    parts_fit &= policy.reached is None or policy.reached.shape == (len(counts),)
    parts_fit &= policy.first_action.dtype.kind in "iu" and policy.probabilities.dtype.kind == "f"
    parts_fit = parts_fit and policy.first_action[0] == 0
    if not parts_fit or np.diff(policy.first_action).tolist() != counts or sum(counts) != len(policy.probabilities):
        raise ValueError("its parts do not fit together")
    if not np.all((policy.probabilities >= 0.0) & (policy.probabilities <= 1.0 + ROUNDING)):
        raise ValueError("its probabilities are not numbers from 0 to 1")
    return policy


def policy_from_strategies(
    form: SequenceForm,
    strategies: tuple[Float, Float],
    origin: Mapping[str, Any] | None = None,
    reached: npt.NDArray[np.bool_] | None = None,
) -> Policy:
    """Return the policy of a pair of strategies on a compiled game; ``reached`` by infoset, player 0's first."""
    keys: list[str] = []
    players: list[int] = []
    names: list[tuple[str, ...]] = []
    counts, probabilities = [], []
    for player, plex in enumerate(form.treeplexes):
        sequences, _ = plex.sequence_table()
        keys += form.keys(player)
        players += [player] * plex.num_infosets
        names += form.action_names(player)
        counts.append(plex.num_actions())
        probabilities.append(strategies[player][sequences])
    return Policy(
        game=form.game.address,
        fingerprint=form.fingerprint,
        loaded=form.game,
        keys=keys,
        players=players,
        action_names=names,
        first_action=np.concatenate([[0], np.cumsum(np.concatenate(counts))]),
        probabilities=np.concatenate(probabilities),
        origin=origin or {},
        reached=reached,
    )


def strategies_from_policy(form: SequenceForm, policy: Policy) -> tuple[Float, Float]:
    """Return a policy's strategies on a compiled game; every infoset of the game must be in the policy."""
    address = form.game.address
    same_text = policy.game == address  # else what does not fit is told by its key first
    if same_text:
        require_same_game(policy.fingerprint, form.fingerprint, what="the policy", of=address, game=address)
    if policy.fingerprint is None:
        said = f"the policy does not say what its rules were: it is not known whether {address} has changed since"
        warnings.warn(said, EquipoiseWarning, stacklevel=2)
    result = []
    for player, plex in enumerate(form.treeplexes):
        sequences, first_action = plex.sequence_table()
        keys, counts = form.keys(player), np.diff(first_action)
        places = np.array([policy._index.get(key, -1) for key in keys], np.int64)
        known = np.where(places >= 0, policy.first_action[places + 1] - policy.first_action[places], 0)
        if (wrong := np.flatnonzero((places < 0) | (known != counts))).size:
            raise NotSupported(
                f"this policy of {policy.game} does not fit {form.game.name}: "
                f"it has no infoset '{keys[wrong[0]]}' with {counts[wrong[0]]} actions"
            )
        strategy = np.ones(plex.num_sequences)
        if len(keys):
            entries = np.arange(first_action[-1]) + np.repeat(policy.first_action[places] - first_action[:-1], counts)
            probabilities = policy.probabilities[entries]
            sums = np.add.reduceat(probabilities, first_action[:-1])
            good = (np.abs(sums - 1.0) <= 1e-6) & (np.minimum.reduceat(probabilities, first_action[:-1]) >= 0.0)
            if (wrong := np.flatnonzero(~good)).size:
                said = probabilities[first_action[wrong[0]] : first_action[wrong[0] + 1]]
                raise DamagedFile(f"the policy's probabilities at '{keys[wrong[0]]}' do not add up to 1: {said}")
            strategy[sequences] = probabilities
        result.append(strategy)
    if not same_text:
        require_same_game(policy.fingerprint, form.fingerprint, what="the policy", of=policy.game, game=address)
    return result[0], result[1]
