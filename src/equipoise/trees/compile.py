"""From a game to the arrays that solvers see, by the best builder there is for the game, within the memory there is."""

from typing import Literal

from equipoise.errors import InvalidParameter, NotSupported, TooLarge
from equipoise.games import Game
from equipoise.games.bluff import Bluff, rolls
from equipoise.games.goofspiel import Goofspiel
from equipoise.games.poker import PokerGame, best_five_cards
from equipoise.games.sizes import betting_size, num_deals, num_infosets
from equipoise.memory import require
from equipoise.trees import build_goofspiel
from equipoise.trees.board_form import has_board_form
from equipoise.trees.build_bluff import bluff_public_tree, count_public_nodes
from equipoise.trees.build_goofspiel import goofspiel_tree
from equipoise.trees.build_poker import poker_public_tree
from equipoise.trees.game_tree import BYTES_PER_HISTORY, GameTree, tree_from_rules
from equipoise.trees.public_tree import PublicTree, count_histories, histories, vector_form
from equipoise.trees.sequence_form import SequenceForm, sequence_form

Engine = Literal["auto", "sequence", "vector", "boards"]

BUILDER_BYTES_PER_HISTORY = 2 * BYTES_PER_HISTORY  # a compiled builder's scratch space included
SEQUENCE_BYTES_PER_HISTORY = 56  # last sequences and reach, and the payoffs while they are sorted
PUBLIC_NODE_BYTES = 120  # a public tree's arrays, while it is built
DEAL_BYTES = 8  # the probability of a deal, in the matrices of a public tree
BYTES_PER_SEQUENCE = 80  # a form's own arrays, and a full-width solver's with an evaluator's
MOST_PLANNED = 100_000_000  # sequences of a game that is sampled on its treeplexes


def build_public_tree(game: Game, *, bytes_per_sequence: int = BYTES_PER_SEQUENCE) -> PublicTree:
    """Return a game's public tree (poker and Bluff have one) if what will be done with it fits in memory."""
    if isinstance(game, PokerGame):
        _require_deals(game)
    if isinstance(game, PokerGame) and has_public_tree(game):
        nodes = betting_size(game.betting).nodes
        widest = max(game.vector_width(betting_round) for betting_round in range(len(game.betting.rounds)))
        require(nodes * widest * bytes_per_sequence, what=f"solving {game.name} ({nodes:,} public nodes)")
        return poker_public_tree(game)
    if isinstance(game, Bluff):
        nodes = count_public_nodes(game)
        hands = _most_rolls(game)
        require(
            nodes * (hands * bytes_per_sequence + PUBLIC_NODE_BYTES),
            what=f"solving {game.name} ({nodes:,} public nodes, {hands} rolls)",
            instead="sampled algorithms (es-mccfr, probing, ...) need least",
        )
        return bluff_public_tree(game)
    raise NotSupported(f"{game.name} cannot be solved with --engine vector; use --engine sequence")


def build_game_tree(game: Game) -> GameTree:
    """Return every history of a game, in compiled code for the built-in games."""
    if isinstance(game, Goofspiel):
        total = build_goofspiel.count_histories(game)
        _require_histories(game, total)
        return goofspiel_tree(game)
    if isinstance(game, Bluff) and sum(game.dice) > 2:
        # Every history of the first round is followed by every history of the next.
        total = 1
        for current in game.rounds():
            total *= 2 ** (current.bids + 1) * len(rolls(current.dice[0])) * len(rolls(current.dice[1]))
        _require_histories(game, total)
    if isinstance(game, PokerGame):
        _require_deals(game)
    if has_public_tree(game):
        public = build_public_tree(game)
        _require_histories(game, count_histories(public))
        return histories(public)
    return tree_from_rules(game)


def _require_deals(game: PokerGame) -> None:
    deals = num_deals(game)
    if has_board_form(game):
        instead = "solve it board by board: --algorithm dcfr, cfr+, lcfr, cfr or pcs, without --engine"
    elif game.strength is best_five_cards:
        instead = "solve it in buckets: --algorithm es-mccfr --set buckets=ehs2:10 --seconds 600"
    else:
        instead = "take a smaller game, such as leduc_poker or nl_leduc(stack=15)"
    what = f"listing the deals of {game.name} ({deals:.2g} of two hands and a board)"
    require(deals * DEAL_BYTES, what=what, instead=instead)


def _require_histories(game: Game, total: int) -> None:
    require(total * BUILDER_BYTES_PER_HISTORY, what=f"the tree of {game.name} ({total:.3g} histories)")
    if total >= 2**31:
        raise TooLarge(f"the tree of {game.name} has {total:.3g} histories; at most 2.1e9 can be listed")


def has_public_tree(game: Game) -> bool:
    """Return whether a game is public states x private hands; in poker, board cards come before the last round only."""
    return isinstance(game, Bluff) or (isinstance(game, PokerGame) and not any(game.board_cards[:-1]))


def count_infosets(game: Game) -> int:
    """Return the number of infosets of both players; games of poker are counted without being listed."""
    return num_infosets(game) if isinstance(game, PokerGame) else build_game_tree(game).num_infosets


def listed_as(game: Game, engine: Engine) -> Literal["sequence", "vector"]:
    """Return which form a listed game gets. ``auto`` takes the vector engine where the game has a public tree."""
    if engine == "vector" or (engine == "auto" and has_public_tree(game)):
        return "vector"
    if engine in ("auto", "sequence"):
        return "sequence"
    if engine == "boards":
        raise NotSupported(
            f"this algorithm cannot solve {game.name} board by board; choose cfr+, dcfr, lcfr, cfr or pcs"
        )
    raise InvalidParameter(f"unknown engine '{engine}'; choose auto, sequence, vector or boards")


def too_large_for_plans(game: Game) -> bool:
    """Return whether a public tree is too large for more than tables of sums, whatever the machine."""
    return isinstance(game, Bluff) and count_public_nodes(game) * _most_rolls(game) > MOST_PLANNED


def compile_game(game: Game, engine: Engine = "auto") -> SequenceForm:
    """Return the form that solvers see."""
    if listed_as(game, engine) == "vector":
        return vector_form(build_public_tree(game))
    tree = build_game_tree(game)
    require(tree.num_nodes * SEQUENCE_BYTES_PER_HISTORY, what=f"the sequence form of {game.name}")
    return sequence_form(tree)


def _most_rolls(game: Bluff) -> int:
    return max(len(rolls(dice)) for dice in game.dice)
