"""Numbers in a checkpoint belong to infosets by their places: a run goes on with the places it had, or not at all."""

import json

import numpy as np
import pytest

import equipoise
from equipoise.errors import EquipoiseError, NotSupported
from equipoise.games import load_game
from equipoise.memory import GIB
from equipoise.runs.directory import RunDirectory
from equipoise.sampling.tree import compile_for_sampling
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.setup import Setup

BLUFF = "bluff(dice=1x1)"


def set_free_memory(monkeypatch, free):
    """Let the machine have so much free memory, as the decision of Bluff's table order sees it."""
    monkeypatch.setattr("equipoise.sampling.tree.available_bytes", lambda: free)


@pytest.mark.parametrize(("first", "then"), [(1, 64 * GIB), (64 * GIB, 1)])
def test_a_sampled_bluff_goes_on_in_the_order_it_had(tmp_path, monkeypatch, first, then):
    """Free memory decides the order of a new run, and must not decide that of an old one."""
    set_free_memory(monkeypatch, first)
    equipoise.solve(BLUFF, "es-mccfr", iterations=200, out=tmp_path / "run")
    order = json.loads((tmp_path / "run" / "config.json").read_text())["layout"]["order"]
    assert order == ("nodes" if first == 1 else "treeplex")
    equipoise.solve(BLUFF, "es-mccfr", iterations=400, out=tmp_path / "whole")
    set_free_memory(monkeypatch, then)
    equipoise.resume(tmp_path / "run", iterations=400)
    ours, whole = (RunDirectory.open(tmp_path / name).load_checkpoint()[0].state for name in ("run", "whole"))
    for name in ("regret_sum", "strategy_sum"):
        np.testing.assert_array_equal(ours[name], whole[name])


def test_the_two_orders_of_bluff_are_told_apart():
    game = load_game(BLUFF)
    layouts = {compile_for_sampling(game, "auto", buffered=False, order=o)[1].layout for o in ("treeplex", "nodes")}
    assert len(layouts) == 2


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
            with pytest.raises(NotSupported, match="has its tables in another order"):
                equipoise.resume(run, iterations=40)
        assert equipoise.resume(run, iterations=40).iterations == 40


def test_an_order_that_was_changed_by_hand_is_refused(tmp_path):
    equipoise.solve(BLUFF, "es-mccfr", iterations=20, out=tmp_path / "run")
    recorded = json.loads((tmp_path / "run" / "config.json").read_text())["layout"]
    other = {"order": "nodes" if recorded["order"] == "treeplex" else "treeplex", "hash": recorded["hash"]}
    edit(tmp_path / "run", layout=other)
    with pytest.raises(EquipoiseError, match="belongs to another run"):
        equipoise.resume(tmp_path / "run", iterations=40)


def test_a_run_of_an_earlier_version_is_read_where_its_order_is_certain(tmp_path):
    for game, algorithm in ((BLUFF, "es-mccfr"), ("leduc_poker", "es-mccfr"), (BLUFF, "cfr+")):
        run = tmp_path / f"{game} {algorithm}"
        equipoise.solve(game, algorithm, iterations=20, out=run)
        without_layout(run)
        if (game, algorithm) == (BLUFF, "es-mccfr"):
            with pytest.raises(NotSupported, match="does not say in which order its tables are"):
                equipoise.resume(run, iterations=40)
        else:
            assert equipoise.resume(run, iterations=40).iterations == 40


def without_layout(run):
    """Make a run what an earlier version would have made."""
    edit(run, layout=...)
    for file in (run / "checkpoints").iterdir():
        with np.load(file) as arrays:
            content = {name: arrays[name] for name in arrays.files}
        header = json.loads(content["header"].tobytes())
        del header["run"]["layout"]
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
