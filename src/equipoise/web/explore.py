"""The room Explore: nodes of games with what policies do there, tables of infosets, and where two policies differ.

Answers are those of ``equipoise explore --json``.
"""

import threading
from collections import OrderedDict, defaultdict
from typing import Any

from equipoise.evaluation.appraisal import Appraiser
from equipoise.evaluation.appraisers import appraiser
from equipoise.evaluation.players import BASELINES, Player, player_of
from equipoise.exploring import Explorer, differences
from equipoise.exploring.play import PATIENCE
from equipoise.games import Game
from equipoise.web.answers import Answer, Answers, Asked
from equipoise.web.site import OpenPolicies, Site

MOST_KEPT = 3  # appraisers with a policy, and with simple players
AT_WORK = threading.RLock()  # appraisers share their working space between questions: one is answered at a time
_SORTS = ("reach", "gain", "value", "infoset")
_of_simple_players: dict[str, OrderedDict[Any, Any]] = defaultdict(OrderedDict)


def player_named(site: Site, text: str) -> Player:
    """Return the player that a text names: a simple one, or a policy."""
    return BASELINES[text] if text in BASELINES else player_of(text, site.policy(text))


def kept_for(player: Player, kind: str) -> OrderedDict[Any, Any]:
    """Return where things of one kind are kept for a player: as long as its policy is open."""
    policy = getattr(player, "policy", None)
    return _of_simple_players[kind] if policy is None else OpenPolicies.with_policy(policy, kind)


def explorer_of(player: Player, opponent: Player | None, game: Game | None) -> Explorer:
    """Return what explores a player's game; the last ones stay open."""
    kept = kept_for(player, "explorers")
    met = getattr(opponent, "policy", opponent)
    key = player.name, id(met), None if game is None else game.address
    if key not in kept:
        while len(kept) >= MOST_KEPT:
            kept.popitem(last=False)
        kept[key] = met, Explorer(appraiser(player, opponent, game=game, patience=PATIENCE))
    kept.move_to_end(key)
    explorer: Explorer = kept[key][1]
    return explorer


def appraiser_of(player: Player, game: Game) -> Appraiser:
    """Return what appraises a player that meets itself."""
    own = None if hasattr(player, "policy") else game
    return explorer_of(player, None, own).appraiser


def _explorer(site: Site, asked: Asked, name: str = "policy") -> Explorer:
    text, against, game = asked.text(name), asked.text("against", ""), asked.text("game", "")
    opponent = player_named(site, against) if against and against != text else None
    return explorer_of(player_named(site, text), opponent, site.game(game) if game else None)


def node(site: Site, asked: Asked) -> Answer:
    """Return a node: by line and board, by path or by infoset; the start by default."""
    with AT_WORK:
        explorer = _explorer(site, asked)
        line, board, path, infoset = (asked.text(name, "") or None for name in ("line", "board", "path", "infoset"))
        return explorer.node(
            line=line,
            board=board,
            path=path,
            infoset=infoset,
            hands=asked.text("hands", ""),
            offset=asked.whole("offset", 0),
            limit=asked.whole("limit", 200, high=1400),
        )


def hand(site: Site, asked: Asked) -> Answer:
    """Return everything that is known of one hand at a line of poker."""
    with AT_WORK:
        return _explorer(site, asked).hand(asked.text("line", ""), asked.text("board", ""), asked.text("hand"))


def infosets(site: Site, asked: Asked) -> Answer:
    """Return rows of the table of infosets."""
    with AT_WORK:
        return _explorer(site, asked).infosets(
            player=asked.whole("player", high=1) if "player" in asked else None,
            contains=asked.text("contains", ""),
            sort=asked.one_of("sort", _SORTS, "reach"),  # type: ignore[arg-type]
            descending=not asked.flag("ascending"),
            offset=asked.whole("offset", 0),
            limit=asked.whole("limit", 50, high=500),
        )


def compare(site: Site, asked: Asked) -> Answer:
    """Return where two policies differ most."""
    with AT_WORK:
        first = _explorer(site, asked)
        other = asked.text("other")
        second = explorer_of(player_named(site, other), None, first.game if other in BASELINES else None)
        return differences(
            first,
            second,
            line=asked.text("line", ""),
            board=asked.text("board", ""),
            limit=asked.whole("limit", 30, high=500),
        )


ANSWERS: Answers = {
    "GET /api/explore/node": node,
    "GET /api/explore/hand": hand,
    "GET /api/explore/infosets": infosets,
    "GET /api/explore/compare": compare,
}
