"""Two players, many hands: who wins, by how much, and how sure that is.

Every deal is played twice with the seats swapped, and the mean of the two hands is one sample (duplicate). Beside it
stands what the same hands say without that (plain), and after AIVAT has taken out luck (see ``aivat``). On games that
can be listed hands are played in compiled code; on poker games too large for that (hold'em) in lockstep, many at a
time; and players who can be asked only for one state after another are taken through the rules, hand by hand.
:func:`exact_match` says what an endless match would come to, where all infosets can be gone through: on listed games,
and on flop hold'em board by board.

AIVAT's value function is that of *self-play*: what an infoset of the observer's is worth when the known player meets
itself there. It knows nothing of how the two at the table fare against each other.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from equipoise.errors import (
    EquipoiseError,
    GameChanged,
    InvalidParameter,
    NotFound,
    NotMeasurable,
    NotSupported,
    TooLarge,
    require_seed,
    require_whole,
)
from equipoise.evaluation.aivat import LuckCorrector, paying_one
from equipoise.evaluation.board_aivat import BoardLuck
from equipoise.evaluation.hands import Hand, recorded_hands
from equipoise.evaluation.lockstep_play import lockstep_hands, pair_sums, play_in_lockstep
from equipoise.evaluation.players import BASELINES, Player, Seat, SpotPlayer, both, player_of, seated
from equipoise.evaluation.rules_play import play_hand_by_rules
from equipoise.evaluation.simulation import SAMPLES, SUMS, A, B, FloatTable, MatchTable, play_pairs
from equipoise.evaluation.spot_action_values import Seated
from equipoise.games import Game, as_game
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import betting_size, too_large_to_list
from equipoise.games.spots import VALUES, Spot
from equipoise.memory import require
from equipoise.policies import AnyPolicy
from equipoise.sampling.tree import SampledGame, compile_listed
from equipoise.threads import require_threads, set_threads
from equipoise.trees.best_response import Evaluator, Strategies
from equipoise.trees.betting_tree import betting_tree
from equipoise.trees.board_evaluator import BoardEvaluator, OnBoards, silent
from equipoise.trees.board_form import board_form, has_board_form
from equipoise.trees.board_places import board_places
from equipoise.trees.codes import Int8
from equipoise.trees.compile import compile_game, listed_as, too_large_for_plans
from equipoise.trees.fingerprint import described, require_same_game
from equipoise.trees.sequence_form import SequenceForm
from equipoise.trees.spot_evaluator import SpotEvaluator, SpotValues
from equipoise.trees.tables import TableMap
from equipoise.trees.treeplex import Float, Int32
from equipoise.workers import Workers

Known = Literal["both", "a", "b", "none"]
Through = Literal["tree", "lockstep", "rules"]
Players = tuple[Seat, Seat]
Entrant = Player | AnyPolicy | str  # a string names a baseline

OnHands = Callable[[int], None]
OnStanding = Callable[["Standing"], None]

MOST_BETTING_NODES = 2_000_000  # more would take minutes to list
SECONDS_BETWEEN_STANDINGS, GROWTH_BETWEEN_STANDINGS = 0.1, 1.5  # a standing is told when either has passed
KEPT_BYTES_A_PAIR = 160  # while AIVAT goes through the boards: cards and ends, and where they stand


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A's mean payoff a hand, with its 95% interval; the standard deviation is that of one hand."""

    mean: float
    standard_error: float
    standard_deviation: float
    interval: tuple[float, float]

    def scaled(self, factor: float) -> "Estimate":
        """Return the estimate in another unit."""
        low, high = self.interval
        return Estimate(
            mean=self.mean * factor,
            standard_error=self.standard_error * factor,
            standard_deviation=self.standard_deviation * factor,
            interval=(low * factor, high * factor),
        )


def estimate_from(mean: float, *, variance: float, samples: int, hands: int) -> Estimate:
    """Return the estimate that some independent samples make, of ``hands`` hands in all."""
    from scipy.special import stdtrit  # slow to load

    error = math.sqrt(variance / samples)
    reach = float(stdtrit(samples - 1, 0.975)) * error  # Student's t: few deals say little about their own spread
    return Estimate(
        mean=mean,
        standard_error=error,
        standard_deviation=error * math.sqrt(hands),
        interval=(mean - reach, mean + reach),
    )


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a match stands after so many hands: the estimate with the least luck in it that there is so far."""

    hands: int
    best: Estimate
    aivat: bool  # whether AIVAT has taken out luck
    big_blind: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, under the names that they have in the result."""
        return {"hands": self.hands, **_numbers(self.best, self.big_blind), "aivat": self.aivat}


@dataclass(frozen=True, kw_only=True)
class MatchResult:
    """What a match came to, in the game's units; every number is A's."""

    game: str
    players: tuple[str, str]
    hands: int
    seats: tuple[float, float]  # mean payoffs of A's hands in seat 0 and in seat 1
    plain: Estimate
    duplicate: Estimate
    aivat: Estimate | None
    known: Known
    seed: int
    threads: int
    seconds: float
    through: Through  # how hands were played
    rules: Game = field(repr=False, compare=False)

    @property
    def best(self) -> Estimate:
        """Return the estimate with the least luck in it."""
        return self.duplicate if self.aivat is None else self.aivat

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, each under its name; the mean and interval in front are those of the best estimate."""
        game = self.rules
        named = {"plain": self.plain, "duplicate": self.duplicate, "aivat": self.aivat}
        return {
            "game": self.game,
            "a": self.players[0],
            "b": self.players[1],
            "hands": self.hands,
            "unit": f"{game.chip_unit()} a hand to A",
            **_numbers(self.best, big_blind_of(game)),
            "known": self.known,
            "estimates": {name: _numbers(e, big_blind_of(game)) for name, e in named.items() if e is not None},
            "mean_in_seat": list(self.seats),
            "big_blind": big_blind_of(game),
            "seed": self.seed,
            "threads": self.threads,
            "through": self.through,
            "seconds": self.seconds,
            "hands_per_second": self.hands / max(self.seconds, 1e-9),
        }


@dataclass(frozen=True, kw_only=True)
class ExactResult:
    """What an endless match comes to: A's expected payoffs, in the game's units."""

    game: str
    players: tuple[str, str]
    seats: tuple[float, float]
    rules: Game = field(repr=False, compare=False)

    @property
    def mean(self) -> float:
        """Return A's expected payoff a hand when the seats are swapped after each."""
        return (self.seats[0] + self.seats[1]) / 2

    def to_json(self) -> dict[str, Any]:
        """Return the numbers, each under its name."""
        game, big_blind = self.rules, big_blind_of(self.rules)
        return {
            "game": self.game,
            "a": self.players[0],
            "b": self.players[1],
            "exact": True,
            "unit": f"{game.chip_unit()} a hand to A",
            "mean": self.mean,
            **({} if big_blind is None else {"mean_mbb": 1000 * self.mean / big_blind}),
            "mean_in_seat": list(self.seats),
            "big_blind": big_blind,
        }


def _numbers(estimate: Estimate, big_blind: int | None) -> dict[str, Any]:
    """Return an estimate's numbers, in the game's unit and in mbb/g where there is a big blind."""
    numbers: dict[str, Any] = {
        "mean": estimate.mean,
        "interval_95": list(estimate.interval),
        "standard_error": estimate.standard_error,
        "standard_deviation": estimate.standard_deviation,
    }
    if big_blind is not None:
        in_mbb = estimate.scaled(1000 / big_blind)
        numbers |= {"mean_mbb": in_mbb.mean, "interval_95_mbb": list(in_mbb.interval)}
    return numbers


def big_blind_of(game: Game) -> int | None:
    """Return a poker game's big blind or ante, of which a thousandth is a mbb; None where there is no such thing."""
    return game.big_blind if isinstance(game, PokerGame) else None


class _Hands(NamedTuple):
    """What was played: sums over pairs, of payoffs and of AIVAT's corrections, and its estimates before a hand."""

    sums: Float
    starts: tuple[float, float]
    threads: int


def play_match(
    a: Entrant,
    b: Entrant,
    *,
    hands: int,
    game: Game | str | None = None,
    known: Known | None = None,
    seed: int = 0,
    threads: int = 1,
    workers: Workers | None = None,
    on_progress: OnHands = lambda hands: None,
    on_boards: OnBoards = silent,
    on_hand: Callable[[Hand], None] | None = None,
    on_standing: OnStanding | None = None,
) -> MatchResult:
    """Let two players play ``hands`` hands (an odd number is rounded up) and return what came of it.

    ``known`` says whose strategy AIVAT may use: ``both``, that of ``a`` or of ``b`` alone, or ``none`` (no AIVAT). If
    not given, it is both where the game can be listed, and none elsewhere: on flop hold'em AIVAT goes through all
    boards, which takes as long as an exact evaluation (``on_boards`` follows it), and beyond it there is none.
    ``game`` is needed only where no policy names it. ``on_hand`` is called with every hand, and costs time;
    ``on_standing`` is told now and then how the match stands. The result depends on the players, the number of hands
    and the seed, not on ``threads``. The ``workers`` of a cluster (``equipoise.open_cluster``) may share hands of
    hold'em, and the boards that AIVAT goes through, with the same result.
    """
    require_whole("hands", hands, low=4)  # an interval needs two deals, each played twice
    require_seed(seed)
    require_threads(threads)
    played, players = seat_players(a, b, game)
    through = _way_to_play(played, players)
    pairs = (hands + 1) // 2
    known = known or ("both" if through == "tree" else "none")
    _require_values(played, players, through, known)
    started = time.perf_counter()
    watched = _Watchers(on_progress, on_boards, on_hand, on_standing, big_blind_of(played))
    ways = {"tree": _on_tree, "lockstep": _in_lockstep, "rules": _by_rules}
    if workers is not None and through != "lockstep":
        raise NotSupported(
            f"hands of {played.name} are not shared out: leave out --cluster"
            + (", or give --threads" if through == "tree" else "")
        )
    found = ways[through](played, players, pairs, known, seed, threads, workers, watched)
    plain, duplicate, seats = _estimates(found.sums[:SAMPLES], pairs, (0.0, 0.0))
    aivat = None if known == "none" else _estimates(found.sums[SAMPLES:], pairs, found.starts)[1]
    return MatchResult(
        game=played.address,
        rules=played,
        players=(players[0].name, players[1].name),
        hands=2 * pairs,
        seats=seats,
        plain=plain,
        duplicate=duplicate,
        aivat=aivat,
        known=known,
        seed=seed,
        threads=found.threads,
        seconds=time.perf_counter() - started,
        through=through,
    )


@dataclass
class _Watchers:
    on_progress: OnHands
    on_boards: OnBoards
    on_hand: Callable[[Hand], None] | None
    on_standing: OnStanding | None
    big_blind: int | None
    last_standing: tuple[float, int] = (0.0, 0)  # when, and after how many pairs

    def told(self, sums: Float, pairs: int, starts: tuple[float, float] | None = None) -> None:
        """Tell how many pairs are played, and how the match stands; ``starts`` if AIVAT's sums are there, too."""
        self.on_progress(2 * pairs)
        now = time.monotonic()
        before, told = self.last_standing
        soon = now - before < SECONDS_BETWEEN_STANDINGS and pairs < GROWTH_BETWEEN_STANDINGS * told
        if self.on_standing is None or pairs < 2 or soon:
            return
        self.last_standing = now, pairs
        found = (sums[:SAMPLES], (0.0, 0.0)) if starts is None else (sums[SAMPLES:], starts)
        _, best, _ = _estimates(found[0], pairs, found[1])
        self.on_standing(Standing(hands=2 * pairs, best=best, aivat=starts is not None, big_blind=self.big_blind))


def _way_to_play(game: Game, players: Players) -> Through:
    if isinstance(game, PokerGame) and not betting_can_be_listed(game):
        return "rules"
    asked_at_once = isinstance(game, PokerGame) and all(player.lockstep is not None for player in players)
    if asked_at_once and has_board_form(game):  # even where few cards could be listed, it is no gain
        return "lockstep"
    if all(player.listed is not None for player in players) and not too_large_to_list(game):
        return "tree"
    return "lockstep" if asked_at_once else "rules"


def betting_can_be_listed(game: PokerGame) -> bool:
    """Return whether a game has so few betting nodes that they can be listed."""
    try:
        return betting_size(game.betting).nodes <= MOST_BETTING_NODES
    except EquipoiseError:  # too many even to be counted
        return False


def _require_values(game: Game, players: Players, through: Through, known: Known) -> None:
    """Refuse AIVAT where nothing can value the game."""
    if known == "none" or through == "tree":
        return
    over_boards = all(player.over_boards is not None for player in players) and has_board_form(game)
    if through == "rules" or not over_boards:
        raise NotMeasurable(f"AIVAT needs exact values, which {game.name} lacks in this match; use --aivat none")


def _on_tree(
    game: Game,
    players: Players,
    pairs: int,
    known: Known,
    seed: int,
    threads: int,
    workers: Workers | None,
    watched: _Watchers,
) -> _Hands:
    listed = both(players[0].listed, players[1].listed)
    assert listed is not None
    granted = set_threads(threads) if threads > 1 else 1
    form, sampled = _listed(game)
    table, starts = correction_table(form, sampled, (listed[0].strategies(form), listed[1].strategies(form)), known)
    chunks: list[FloatTable] = []
    done, recorded, so_far = 0, watched.on_hand is not None, np.zeros(SUMS)
    for batch in play_pairs(sampled, table, pairs=pairs, seed=seed, threads=granted, recorded=recorded):
        chunks.append(batch.sums)
        if watched.on_hand is not None:
            for hand in recorded_hands(sampled, batch.records, 2 * done):
                watched.on_hand(hand)
        done += batch.pairs
        so_far += batch.sums.sum(axis=0)
        watched.told(so_far, done, None if known == "none" else starts)
    return _Hands(np.concatenate(chunks).sum(axis=0), starts, granted)


def _in_lockstep(
    game: Game,
    players: Players,
    pairs: int,
    known: Known,
    seed: int,
    threads: int,
    workers: Workers | None,
    watched: _Watchers,
) -> _Hands:
    at_once = both(players[0].lockstep, players[1].lockstep)
    assert isinstance(game, PokerGame) and at_once is not None
    tree = betting_tree(game)
    names = players[0].name, players[1].name
    strategies = at_once[0].strategy_on(tree), at_once[1].strategy_on(tree)
    if known != "none":
        require(pairs * KEPT_BYTES_A_PAIR, what=f"AIVAT of {2 * pairs:,} hands", instead="play fewer, or leave it out")
    sums = np.zeros(SUMS)
    kept: list[tuple[Int8, Int32]] = []
    for part in play_in_lockstep(tree, strategies, names=names, pairs=pairs, seed=seed, workers=workers):
        sums[:SAMPLES] += pair_sums(part.won)
        if known != "none":
            kept.append((part.cards, part.ends))
        if watched.on_hand is not None:
            for hand in lockstep_hands(tree, part):
                watched.on_hand(hand)
        watched.told(sums, part.first_pair + len(part.cards))
    if known == "none":
        return _Hands(sums, (0.0, 0.0), 1)
    granted = set_threads(threads)
    form = board_form(game)
    by_boards = [each.over_boards.strategy_over(form) for each in players if each.over_boards is not None]
    observer = A if known == "b" else B
    own = by_boards[observer] if known == "both" else None
    luck = BoardLuck(form, by_boards[1 - observer], own, threads=granted, workers=workers)
    # By the observer's seat: A sits where the observer does, or in the other seat.
    by_seat = slice(None) if observer == A else slice(None, None, -1)
    cards, ends = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
    found = luck.correct(board_places(form), cards, ends[:, by_seat], watched.on_boards)
    sign = 1.0 if observer == A else -1.0
    sums[SAMPLES:] = pair_sums(sign * found.corrections[:, by_seat])
    before_a_hand = found.starts if observer == A else found.starts[::-1]
    return _Hands(sums, (sign * before_a_hand[0], sign * before_a_hand[1]), granted)


def _by_rules(
    game: Game,
    players: Players,
    pairs: int,
    known: Known,
    seed: int,
    threads: int,
    workers: Workers | None,
    watched: _Watchers,
) -> _Hands:
    """Play through the rules, on one thread and without AIVAT."""
    for player in players:
        policy = player.policy
        if policy is not None and policy.fingerprint is not None:
            listed = policy.fingerprint.startswith(("tree:", "public:"))
            now = compile_game(game).fingerprint if listed else described(game)
            require_same_game(policy.fingerprint, now, what=player.name, of=policy.game, game=game.address)
    sums, at_table = np.zeros(SUMS), (players[0].player, players[1].player)
    for pair in range(pairs):
        won = np.zeros((1, 2))
        for seat in range(2):
            hand = play_hand_by_rules(game, at_table, seat_of_a=seat, seed=seed, pair=pair)
            won[0, seat] = hand.payoff_to_a()
            if watched.on_hand is not None:
                watched.on_hand(hand)
        sums[:SAMPLES] += pair_sums(won)
        watched.told(sums, pair + 1)
    return _Hands(sums, (0.0, 0.0), 1)


def exact_match(
    a: Entrant,
    b: Entrant,
    *,
    game: Game | str | None = None,
    threads: int = 1,
    on_boards: OnBoards = silent,
) -> ExactResult:
    """Return A's exact expected payoff against B from both seats: on listed games, games over boards, and spots."""
    played, (first, second) = seat_players(a, b, game)
    names, granted = (first.name, second.name), set_threads(threads) if threads > 1 else 1
    over_boards, listed = both(first.over_boards, second.over_boards), both(first.listed, second.listed)
    in_spots = both(first.in_spots, second.in_spots)
    if over_boards is not None and has_board_form(played):
        boards = board_form(played)
        strategies = over_boards[0].strategy_over(boards), over_boards[1].strategy_over(boards)
        won, lost = BoardEvaluator(boards, threads=granted, on_boards=on_boards).match_values(*strategies)
    elif in_spots is not None and isinstance(played, Spot):
        spot_values = _spot_values(played, in_spots, granted)
        won, lost = spot_values[0].values[0], -spot_values[1].values[1]
    elif listed is not None and not too_large_to_list(played):
        form, _ = _listed(played)
        evaluator = Evaluator(form, threads=granted)
        mine, theirs = listed[0].strategies(form), listed[1].strategies(form)
        won, lost = evaluator.value((mine[0], theirs[1])), evaluator.value((theirs[0], mine[1]))
    else:
        raise NotMeasurable(
            f"{played.name} has too many infosets for an exact match; leave out --exact to play hands instead"
        )
    return ExactResult(game=played.address, rules=played, players=names, seats=(won, 0.0 - lost))  # not -0.0


def _spot_values(game: Spot, players: tuple[SpotPlayer, SpotPlayer], threads: int) -> tuple[SpotValues, SpotValues]:
    """Return what a spot is worth with its players in their seats, and in each other's."""
    if game.until is not None and game.values not in VALUES:
        raise NotMeasurable("what a network says of a whole range pays no single hand: leave out values to play")
    form = players[0].spot_form(game)
    first, second = (player.strategy_in(form) for player in players)
    evaluator = SpotEvaluator(form, threads)
    here, there = (evaluator.best_responses(Seated(form, pair)) for pair in ((first, second), (second, first)))
    return here, there


def _listed(game: Game) -> tuple[SequenceForm, SampledGame]:
    if too_large_for_plans(game):
        raise TooLarge(f"{game.name} has too many infosets for a match")
    tables, sampled = compile_listed(game, listed_as(game, "auto"), buffered=False)
    return tables.form, sampled


def seat_players(a: Entrant, b: Entrant, game: Game | str | None) -> tuple[Game, Players]:
    """Return the game and the two players, or say why these two cannot play each other."""
    players = seated(_player(a, "A")), seated(_player(b, "B"))
    found = [(player.name, player.policy) for player in players if player.policy is not None]
    if len(found) == 2 and found[0][1].game != found[1][1].game:
        prints = [policy.fingerprint for _, policy in found]
        if prints[0] is None or prints[0] != prints[1]:
            listed = " and ".join(f"{name} plays {policy.game}" for name, policy in found)
            raise NotSupported(f"{listed}; a match needs one game")
    if game is not None:
        played = as_game(game)
    elif found:
        played = found[0][1].rules
    else:
        raise InvalidParameter("neither player says which game to play; give one, as in --game leduc_poker")
    for name, policy in found:
        _require_game(name, policy, played)
    for player in players:
        if (baseline := BASELINES.get(player.name)) is player.player and baseline is not None:
            baseline.check(played)
    return played, players


def _require_game(name: str, policy: AnyPolicy, played: Game) -> None:
    """Refuse a game that is not the policy's; what is listed later is compared with its fingerprint there."""
    known, its_game = policy.fingerprint, policy.game
    if known is not None and known.startswith("poker:"):
        fits = known == described(played)
    elif its_game == played.address:
        fits = True
    else:  # the same rules may lie somewhere else now
        fits = known is not None and known.startswith("tree:") and known == compile_game(played).fingerprint
    if not fits and its_game == played.address:
        raise GameChanged(f"{name} was made with other rules: {its_game} has changed since")
    if not fits:
        raise NotSupported(f"{name} plays {its_game}, not {played.address}")


def _player(entrant: Entrant, letter: str) -> Player:
    if isinstance(entrant, AnyPolicy):
        return player_of(letter, entrant)
    if isinstance(entrant, str):
        if entrant not in BASELINES:
            raise NotFound(f"there is no player '{entrant}'; without a policy there are {', '.join(BASELINES)}")
        return BASELINES[entrant]
    return entrant


def correction_table(
    form: SequenceForm, sampled: SampledGame, strategies: tuple[Strategies, Strategies], known: Known
) -> tuple[MatchTable, tuple[float, float]]:
    """Return what the simulation reads, and AIVAT's estimates of A's payoff before a hand, from seat 0 and seat 1."""
    to_table = TableMap(form)
    flat = np.concatenate([to_table.from_form(pair) for pair in strategies])
    if known == "none":
        return MatchTable(flat, np.zeros(to_table.size), -1), (0.0, 0.0)
    observer = A if known == "b" else B
    sign = 1.0 if observer == A else -1.0
    met, observing = strategies[1 - observer], strategies[observer]
    corrector = LuckCorrector(form, paying_one(sampled))
    by_action: list[Float] = []
    starts = [0.0, 0.0]
    for seat in range(2):  # the observer's
        values = corrector.values(seat, met[1 - seat], assumed=met[seat])
        own = observing[seat] if known == "both" else None
        found = corrector.corrections(seat, met[1 - seat], values, own)
        by_action.append(sign * found.by_action)
        starts[seat if observer == A else 1 - seat] = sign * found.start
    return MatchTable(flat, to_table.from_form((by_action[0], by_action[1])), observer), (starts[0], starts[1])


def _estimates(sums: Float, pairs: int, starts: tuple[float, float]) -> tuple[Estimate, Estimate, tuple[float, float]]:
    """Return the plain and the duplicate estimate, and the means by seat, from sums of samples and of their squares."""
    means = sums[:3] / pairs
    variances = np.maximum(0.0, sums[3:] - pairs * means**2) / (pairs - 1)
    means += [starts[0], starts[1], (starts[0] + starts[1]) / 2]
    mean = float(means[2])
    # Plain: as if each hand had a deal of its own, half of them in each seat.
    single = float(variances[0] + variances[1]) / 2
    return (
        estimate_from(mean, variance=single, samples=2 * pairs, hands=2 * pairs),
        estimate_from(mean, variance=float(variances[2]), samples=pairs, hands=2 * pairs),
        (float(means[0]), float(means[1])),
    )
