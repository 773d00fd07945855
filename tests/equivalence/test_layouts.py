"""Numbers in a checkpoint belong to infosets by their places: a run goes on with the places it had, or not at all."""

import json

import numpy as np
import pytest

import equipoise
from equipoise.errors import NotSupported
from equipoise.games import load_game
from equipoise.memory import GIB
from equipoise.sampling.tree import compile_listed, compile_nodes
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.representations import choose
from equipoise.solvers.setup import Setup

BLUFF = "bluff(dice=1x1)"


def config_of(run):
    return json.loads((run / "config.json").read_text())


@pytest.mark.parametrize("free", [1, 64 * GIB])
def test_free_memory_does_not_choose_how_a_game_is_seen(monkeypatch, free):
    """A table's order once depended on it, and a resume on another day read the wrong entries."""
    monkeypatch.setattr("equipoise.memory.available_bytes", lambda: free)
    for game, name in ((BLUFF, "vector"), ("bluff(dice=2x2)", "nodes")):
        assert choose(load_game(game), "auto", find_recipe("es-mccfr")).name == name


def test_the_two_orders_of_bluff_are_told_apart():
    game = load_game(BLUFF)
    listed, by_nodes = compile_listed(game, "vector", buffered=False)[1], compile_nodes(game, buffered=False)[1]
    assert listed.layout != by_nodes.layout


@pytest.mark.parametrize(
    ("game", "algorithm", "engine", "name"),
    [
        ("leduc_poker", "cfr+", "auto", "vector"),
        ("leduc_poker", "es-mccfr", "sequence", "sequence"),
        ("goofspiel(cards=3)", "xfp", "auto", "sequence"),
        ("flop_holdem", "dcfr", "auto", "boards"),
        ("flop_holdem", "es-mccfr", "auto", "buckets over boards"),
        ("limit_holdem", "es-mccfr", "auto", "buckets"),
        ("flop_holdem", "deep-cfr", "auto", "codes over boards"),
        ("limit_holdem", "deep-cfr", "auto", "codes"),
        ("bluff(dice=2x2)", "probing", "auto", "nodes"),
        ("spot(board=AcKcQc,pot=10,stack=20)", "cfr", "auto", "spots"),
    ],
)
def test_one_table_says_how_a_game_is_seen(game, algorithm, engine, name):
    assert choose(load_game(game), engine, find_recipe(algorithm)).name == name


def test_a_run_records_how_it_sees_its_game_and_another_way_is_refused(tmp_path):
    run = tmp_path / "run"
    equipoise.solve("kuhn_poker", iterations=20, out=run)
    assert config_of(run)["representation"] == "vector"
    edit(run, representation="sequence")
    for go_on in (equipoise.resume, lambda run, iterations: unfinished(run)):
        with pytest.raises(NotSupported, match="sees kuhn_poker as 'sequence', and this version sees it as 'vector'"):
            go_on(run, iterations=40)


def unfinished(run):
    """Open the policy in a run's checkpoint."""
    (run / "policy.npz").unlink()
    return equipoise.load_policy(run)


def test_runs_that_record_the_order_of_their_tables_only_are_read_or_refused(tmp_path):
    for order, algorithm in (("treeplex", "es-mccfr"), ("treeplex", "cfr+")):
        run = tmp_path / algorithm
        equipoise.solve(BLUFF, algorithm, iterations=20, out=run)
        as_made_earlier(run, layout={"order": order, **config_of(run)["layout"]})
        assert equipoise.resume(run, iterations=40).iterations == 40
    as_made_earlier(tmp_path / "es-mccfr", layout={**config_of(tmp_path / "es-mccfr")["layout"], "order": "nodes"})
    with pytest.raises(NotSupported, match="as 'nodes', and this version sees it as 'vector'"):
        equipoise.resume(tmp_path / "es-mccfr", iterations=60)


@pytest.mark.parametrize("algorithm", ["es-mccfr", "dncfr"])
def test_an_engine_that_an_algorithm_has_not_is_refused(algorithm):
    with pytest.raises(NotSupported, match="cannot solve leduc_poker board by board"):
        equipoise.solve("leduc_poker", algorithm, iterations=1, engine="boards")


def edit(run, **changes):
    file = run / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({name: value for name, value in {**config, **changes}.items() if value is not ...}))


def test_another_order_is_refused(tmp_path, monkeypatch):
    """As when a new version lays tables out in another way; the checkpoint stays as it is."""
    for algorithm, game in (("es-mccfr", BLUFF), ("cfr+", "kuhn_poker")):
        run = tmp_path / algorithm
        equipoise.solve(game, algorithm, iterations=20, out=run)
        with monkeypatch.context() as other:
            other.setattr("equipoise.sampling.tree.digest", lambda *parts: "other")
            other.setattr("equipoise.trees.sequence_form.digest", lambda *parts: "other")
            with pytest.raises(NotSupported, match="are in a different order"):
                equipoise.resume(run, iterations=40)
        assert equipoise.resume(run, iterations=40).iterations == 40


def test_a_run_of_an_earlier_version_is_read_where_its_order_is_certain(tmp_path):
    for game, algorithm in ((BLUFF, "es-mccfr"), ("leduc_poker", "es-mccfr"), (BLUFF, "cfr+")):
        run = tmp_path / f"{game} {algorithm}"
        equipoise.solve(game, algorithm, iterations=20, out=run)
        as_made_earlier(run, layout=...)
        if (game, algorithm) == (BLUFF, "es-mccfr"):
            with pytest.raises(NotSupported, match="does not say in which order its tables are"):
                equipoise.resume(run, iterations=40)
        else:
            assert equipoise.resume(run, iterations=40).iterations == 40


def as_made_earlier(run, layout):
    """Make a run what an earlier version would have made: with another layout, or without one."""
    edit(run, representation=..., layout=layout)
    for file in (run / "checkpoints").iterdir():
        with np.load(file) as arrays:
            content = {name: arrays[name] for name in arrays.files}
        header = json.loads(content["header"].tobytes())
        del header["run"]["layout"]
        if layout is not ...:
            header["run"]["layout"] = layout
        content["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        np.savez(file, **content)


@pytest.mark.parametrize("game", ["leduc_poker", "bluff(dice=1x1)", "goofspiel(cards=4)"])
@pytest.mark.parametrize("algorithm", ["cfr+", "xfp", "es-mccfr", "deep-cfr", "dncfr", "nfsp"])
def test_a_layout_is_the_same_each_time_and_another_for_another_game(game, algorithm):
    recipe = find_recipe(algorithm)

    def layout(text, engine="auto"):
        setup = Setup(game=load_game(text), engine=engine)
        return recipe.make(setup, recipe.resolve({})).layout

    assert layout(game) == layout(game) != layout("kuhn_poker")
    if game != "goofspiel(cards=4)":
        assert layout(game) != layout(game, "sequence")
