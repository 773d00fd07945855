"""Policies from their parts: of a file, or of a run. Neither solver nor samples are needed for it.

``parts()`` of any policy gives a header (JSON) and arrays; :func:`open_strategy` makes the policy again. Nothing that a
header says runs code, and parts that do not fit together are refused.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy.typing as npt

from equipoise.errors import DamagedFile, EquipoiseError, MissingPackage, NotSupported, damage
from equipoise.games import Game, as_game, stored_game
from equipoise.games.poker import PokerGame
from equipoise.games.spots import Spot
from equipoise.policies.files import HOLDEM, LISTED, SPOT, read_parts
from equipoise.policies.holdem_policy import HoldemPolicy
from equipoise.policies.policy import Policy, open_listed
from equipoise.policies.spot_policy import STRATEGY, SpotPolicy
from equipoise.sampling.bucketed import open_buckets
from equipoise.stores.board_tables import strategy_from
from equipoise.stores.spot_tables import tables_from
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_form import board_form
from equipoise.trees.fingerprint import described, require_same_game
from equipoise.trees.situations import KeptStrategy
from equipoise.trees.spot_form import spot_form
from equipoise.work import Report, silent

if TYPE_CHECKING:
    from equipoise.networks.network import Architecture

AnyPolicy = Policy | HoldemPolicy | SpotPolicy
NETWORKS = "networks"


Kind = TypeVar("Kind", Policy, HoldemPolicy, SpotPolicy)


def policy_of(kind: type[Kind], policy: AnyPolicy, wanted: str) -> Kind:
    """Return a policy that must be of some kind, or say ``wanted`` and that it is not one."""
    if not isinstance(policy, kind):
        raise NotSupported(f"{wanted}, and {policy.game} is not one")
    return policy


def open_strategy(
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    game: Game | str | None = None,
    trust_game: bool = False,
    device: str = "auto",
    network: "Architecture | None" = None,
    name: str = "the policy",
    report: Report = silent,
) -> AnyPolicy:
    """Return the policy that parts describe, or say what is wrong with them; ``name`` is what errors call it.

    Networks are opened on ``device``; ``network`` is needed for networks of a kind that is not the package's.
    """
    try:
        if header["format"] == LISTED:
            return _with_rules(open_listed(header, arrays), game, trust_game)
        played = stored_game(header["game"], game, trust_game=trust_game)
        told = {"what": name, "of": header["game"], "game": played.address}
        if header["format"] == SPOT:
            if not isinstance(played, Spot):
                raise NotSupported(f"{name} is a policy of {header['game']}, not of {played.address}")
            require_same_game(header["fingerprint"], described(played), **told)
            return _open_spot(header, arrays, played, name)
        if header["format"] == HOLDEM:
            if not isinstance(played, PokerGame):
                raise NotSupported(f"{name} is a policy of {header['game']}, not of {played.address}")
            require_same_game(header["fingerprint"], described(played), **told)
            strategy = _open_holdem(header["strategy"], arrays, played, device, network, name, report)
            return HoldemPolicy(rules=played, strategy=strategy, origin=header["origin"])
        raise NotSupported(f"{name} is of a kind that this version of equipoise does not know: {header['format']!r}")
    except EquipoiseError:
        raise
    except (KeyError, ValueError, IndexError, TypeError, RuntimeError, OverflowError, AttributeError) as error:
        raise DamagedFile(f"{name} is damaged: {damage(error)}") from None


def read_policy(path: str | Path, **options: Any) -> AnyPolicy:
    """Read a policy file, or say what is wrong with it; options are those of :func:`open_strategy`."""
    return open_strategy(*read_parts(path), name=str(path), **options)


def is_of_networks(header: Mapping[str, Any]) -> bool:
    """Return whether the policy with a header is in networks, which are on a device."""
    strategy = header.get("strategy")
    return isinstance(strategy, dict) and strategy.get("kind") == NETWORKS


def _with_rules(policy: Policy, game: Game | str | None, trust_game: bool) -> Policy:
    """Return a policy that knows its game, if one was given, or may load it."""
    if game is not None:
        return replace(policy, loaded=as_game(game))
    return replace(policy, game=str(policy.game)) if trust_game else policy


def _open_spot(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], game: Spot, name: str) -> SpotPolicy:
    form = spot_form(game)
    _require_order(header, form.layout, name)
    return SpotPolicy(form=form, strategy=tables_from(form, STRATEGY, dict(arrays)), origin=header["origin"])


def _require_order(header: Mapping[str, Any], layout: str, name: str) -> None:
    if header["layout"] != layout:
        raise NotSupported(f"{name} has its tables in a different order from this version of equipoise: solve it again")


def _open_holdem(
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    game: PokerGame,
    device: str,
    network: "Architecture | None",
    name: str,
    report: Report,
) -> KeptStrategy:
    kind = header["kind"]
    if kind == NETWORKS:
        try:
            from equipoise.networks.devices import find_device
            from equipoise.stores.board_average import open_play
        except ImportError:
            raise MissingPackage("this policy needs PyTorch; install it by: pip install 'equipoise[neural]'") from None
        return open_play(betting_tree(game), header, arrays, find_device(device), network)
    if kind == "buckets":
        return open_buckets(betting_tree(game), header, arrays, report)
    if kind == "boards":
        form = board_form(game)
        _require_order(header, form.layout, name)
        return strategy_from(form, arrays["start"], arrays["sums"], arrays["scale"])
    raise ValueError(f"this version of equipoise has no strategies of the kind '{kind}'")
