"""How many infosets an abstract game has, round by round: decisions of the betting tree x buckets."""

import time
from pathlib import Path

from equipoise.abstraction.buckets import deck_of, kind_from_text
from equipoise.experiments.sweep import Setting
from equipoise.games import load_game
from equipoise.games.poker import PokerGame
from equipoise.games.sizes import betting_size, num_infosets
from equipoise.runs.directory import RunDirectory


def count_infosets(setting: Setting, seed: int, path: Path) -> None:
    """Log, per betting round, the decisions, the buckets and the infosets up to and including that round."""
    started = time.perf_counter()
    game = load_game(setting.game)
    assert isinstance(game, PokerGame)
    buckets = kind_from_text(str(setting.parameters["buckets"])).buckets(deck_of(game))
    decisions = betting_size(game.betting).decisions
    if (path / "config.json").exists():
        directory = RunDirectory.open_to_write(path)
        directory.cut_log(0)
    else:
        directory = RunDirectory.create(path, {"game": game.name, "algorithm": setting.algorithm, "seed": seed})
    record: dict[str, float] = {}
    for betting_round, (nodes, count) in enumerate(zip(decisions, buckets, strict=True)):
        so_far = [*buckets[: betting_round + 1], *[0] * (len(buckets) - betting_round - 1)]
        record = {
            "iteration": betting_round + 1,
            "decisions": nodes,
            "buckets": count,
            "infosets": num_infosets(game, so_far),
            "seconds": round(time.perf_counter() - started, 3),
        }
        directory.append_log(record)
    directory.save_result(record)
