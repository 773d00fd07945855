"""Neural runs that were cut, killed or resumed end with the bits of runs that were not."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import equipoise
from equipoise.runs.directory import RunDirectory

GAME = "kuhn_poker"
DOUBLE = {"batch": 50, "steps": 5, "cards": "ranks"}
DEEP = {"traversals": 50, "capacity": 20_000, "steps": 5, "fresh_steps": 10, "minibatch": 64, "width": 16}
RECIPES = {
    "dncfr": {**DOUBLE, "strategy_steps": 10, "strategy_every": 5},
    "rs-mccfr+-rsn": DOUBLE,
    "rs-mccfr+-asn": {"batch": 50, "strategy_steps": 10, "strategy_every": 5},
    "deep-cfr": {**DEEP, "policy_steps": 20},
    "sd-cfr": DEEP,
}
VARIANTS = [
    *((name, {}) for name in RECIPES),
    # As published, and other ways to keep and fit: each has a state of its own to save.
    ("dncfr", {"network": "lstm+attention", "width": 4, "strategy_width": 4, "shared": "yes", "scale": "sqrt"}),
    ("dncfr", {"network": "gru", "width": 4, "strategy_width": 4, "strategy_kind": "sum", "anchor_memory": 2}),
    ("dncfr", {"averaging": "stochastic", "fitting": "algorithm2", "steps": 3, "rule": "linear"}),
    ("dncfr", {"averaging": "own_reach", "updates": "simultaneous", "rule": "cfr"}),
    ("deep-cfr", {"fit": "scratch", "memory": "window", "capacity": 300, "steps": None}),
    ("deep-cfr", {"capacity": 300, "fit": "fine_tune", "weighted": "no"}),
    ("deep-cfr", {"targets": "aggregated", "capacity": None, "minibatch": None}),
    ("deep-cfr", {"policy_networks": "one", "policy_loss": "squared", "policy_schedule": "constant"}),
    ("deep-cfr", {"sampling": "outcome", "schedule": "constant"}),
    ("sd-cfr", {"capacity": 300, "fresh_every": 4, "clip_norm": 0.5}),
]


def contents(directory):
    """Return all that a finished run found, without its times."""
    with np.load(directory / "policy.npz") as arrays:
        policy = {name: arrays[name] for name in arrays.files if name != "header"}
    run = RunDirectory.open(directory)
    checkpoint, complaints = run.load_checkpoint()
    assert complaints == []
    return policy, checkpoint, log_of(directory, "value", "nash_conv", "exploitability", "nodes_touched")


def log_of(directory, *names):
    """Return some numbers of a run's evaluations, by iteration."""
    records = RunDirectory.open(directory).read_log()
    return {record["iteration"]: [record.get(name) for name in names] for record in records}


def assert_same(first, second):
    """Compare two runs; one that was made longer was evaluated where it first ended, too."""
    (policy, checkpoint, log), (other_policy, other_checkpoint, other_log) = contents(first), contents(second)
    for ours, theirs in ((policy, other_policy), (checkpoint.state, other_checkpoint.state)):
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    assert checkpoint.iteration == other_checkpoint.iteration
    common = log.keys() & other_log.keys()
    assert len(common) > 3
    assert [log[iteration] for iteration in sorted(common)] == [other_log[iteration] for iteration in sorted(common)]


@pytest.mark.parametrize(("algorithm", "changes"), VARIANTS, ids=lambda each: str(each))
def test_a_run_that_is_made_longer_ends_as_one_that_was_not_cut(algorithm, changes, tmp_path):
    parameters = {name: value for name, value in {**RECIPES[algorithm], **changes}.items() if value is not None}
    options = {"parameters": parameters, "seed": 5, "evaluation_growth": 1.3}
    equipoise.solve(GAME, algorithm, iterations=6, out=tmp_path / "cut", **options)
    resumed = equipoise.resume(tmp_path / "cut", iterations=12)
    whole = equipoise.solve(GAME, algorithm, iterations=12, out=tmp_path / "whole", **options)
    assert_same(tmp_path / "cut", tmp_path / "whole")
    np.testing.assert_array_equal(resumed.policy.probabilities, whole.policy.probabilities)
    assert resumed.exploitability == whole.exploitability
    if not changes:
        other = equipoise.solve(GAME, algorithm, iterations=12, **{**options, "seed": 6})
        assert np.any(other.policy.probabilities != whole.policy.probabilities)


@pytest.mark.parametrize("algorithm", list(RECIPES))
def test_a_resumed_run_says_of_its_last_fits_what_one_that_was_not_cut_says(algorithm, tmp_path):
    options = {"parameters": RECIPES[algorithm], "evaluation_growth": 1.01}
    equipoise.solve(GAME, algorithm, iterations=7, out=tmp_path / "cut", **options)
    equipoise.resume(tmp_path / "cut", iterations=9)
    equipoise.solve(GAME, algorithm, iterations=9, out=tmp_path / "whole", **options)
    names = ("regret_loss", "regret_drift", "observed_share", "strategy_loss", "strategy_drift", "snapshots")
    cut, whole = log_of(tmp_path / "cut", *names), log_of(tmp_path / "whole", *names)
    assert any(number is not None for number in whole[8])
    assert cut == whole


@pytest.mark.parametrize("algorithm", list(RECIPES))
def test_how_often_a_run_is_evaluated_changes_nothing(algorithm):
    found = [
        equipoise.solve(GAME, algorithm, iterations=9, parameters=RECIPES[algorithm], evaluation_growth=growth)
        for growth in (1.01, 100.0)
    ]
    assert len(found[0].history) > len(found[1].history)
    np.testing.assert_array_equal(found[0].policy.probabilities, found[1].policy.probabilities)


# argv: directory, algorithm, iterations
START = f"""
import sys, equipoise
parameters = {RECIPES!r}[sys.argv[2]]
options = dict(parameters=parameters, checkpoint_seconds=0.0, evaluation_growth=1.5)
equipoise.solve({GAME!r}, sys.argv[2], iterations=int(sys.argv[3]), out=sys.argv[1], **options)
"""
LONG = {"dncfr": 400, "deep-cfr": 400}


def newest(directory):
    return max((file.name for file in (directory / "checkpoints").glob("*.npz")), default="")


@pytest.mark.processes
@pytest.mark.parametrize("algorithm", list(LONG))
def test_a_run_that_is_killed_goes_on_as_if_it_had_not_been(algorithm, tmp_path):
    killed, whole, iterations = tmp_path / "killed", tmp_path / "whole", LONG[algorithm]
    process = subprocess.Popen([sys.executable, "-c", START, str(killed), algorithm, str(iterations)])
    deadline = time.monotonic() + 300
    while newest(killed) < "000000000007.npz":
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (killed / "result.json").exists()
    assert 7 <= int(newest(killed).removesuffix(".npz")) < iterations
    stop = int(newest(killed).removesuffix(".npz")) + 10  # and not to the end, to save time
    equipoise.resume(killed, iterations=stop)
    equipoise.solve(GAME, algorithm, iterations=stop, out=whole, parameters=RECIPES[algorithm], evaluation_growth=1.5)
    assert_same(killed, whole)
