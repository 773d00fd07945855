"""What claims measure without runs: variances against enumeration, regrets against rules, counts against lists."""

import numpy as np
import pytest

from equipoise import load_game
from equipoise.experiments.counts import count_sizes
from equipoise.experiments.kept import measure_kept
from equipoise.experiments.measurements import MEASUREMENTS, measure
from equipoise.experiments.moments import each_by_itself, every_action, one_action, some_actions, variances
from equipoise.experiments.regret import measure_regret
from equipoise.experiments.schemes_variance import measure_schemes
from equipoise.experiments.sweep import Setting
from equipoise.runs.directory import RunDirectory
from equipoise.sampling.estimates import RootEstimates
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust
from equipoise.trees.compile import count_infosets
from tests.naive.values import best_response_value, expected_value, uniform_policy
from tests.samples import every_sample, prepared

nojit = pytest.mark.nojit
GIBSON = each_by_itself(("fold", "bet"), 0.3)
every_scheme = pytest.mark.parametrize(
    ("scheme", "walked"),
    [
        (External(), every_action),
        (Outcome(epsilon=0.6), one_action(0.6)),
        (Outcome(epsilon=0.0), one_action(0.0)),
        (Robust(k=1), some_actions(1)),
        (Robust(k=2), some_actions(2)),
        (Robust(k=1, probe=True), some_actions(1)),
        (Inclusion(always="fold|bet", p=0.3), GIBSON),
        (Inclusion(always="fold|bet", p=0.3, probe=True), GIBSON),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),  # names that every worker has
)


def setting(game, algorithm="cfr", iterations=1, **parameters):
    return Setting(label="a", game=game, algorithm=algorithm, iterations=iterations, parameters=parameters)


@nojit
@every_scheme
@pytest.mark.parametrize("text", ["kuhn_poker", "no_limit_kuhn"])
@pytest.mark.parametrize("traverser", [0, 1])
def test_variances_are_those_of_all_samples_listed(text, scheme, walked, traverser):
    game = prepared(text, "histories")
    regrets = game.random_regrets(3, full_support=True)
    mean, square = np.zeros(len(regrets)), np.zeros(len(regrets))
    for probability, rows, _ in every_sample(game, scheme, regrets, traverser):
        for row in rows:
            if row.own:
                place = slice(row.entry, row.entry + len(row.regrets))
                mean[place] += probability * row.regrets
                square[place] += probability * row.regrets**2
    probe = getattr(scheme, "probe", False)
    found = variances(game.game, game.matched(regrets), traverser, walked, probe=probe)
    expected = game.policy(square - mean**2)
    assert found.of_all_regrets > 0.1
    for (key, action), number in found.regrets.items():
        assert number == pytest.approx(expected[key][action], abs=1e-9), key


@every_scheme
def test_the_variance_of_the_value_is_that_of_many_samples(scheme, walked):
    game = prepared("leduc_poker", "histories")
    regrets = game.random_regrets(4, full_support=True)
    if walked is GIBSON:  # Leduc's actions are not Kuhn's
        scheme = Inclusion(always="fold|raise", p=0.3, probe=scheme.probe)
        walked = each_by_itself(("fold", "raise"), 0.3)
    found = variances(game.game, game.matched(regrets), 0, walked, probe=getattr(scheme, "probe", False)).root
    samples = RootEstimates(game.sampled, scheme).sample(regrets, player=0, count=200_000, seed=1, iteration=1)
    fourth = np.mean((samples - samples.mean()) ** 4)
    error = np.sqrt((fourth - samples.var() ** 2) / len(samples))
    assert abs(samples.var() - found) < 5 * error
    assert error < 0.1 * found


def test_average_regret_of_cfr_is_what_the_average_can_be_exploited_by():
    """In a zero-sum game the two regrets add up to nash_conv of the averages, whatever was played."""
    for algorithm, iterations in (("cfr", 200), ("es-mccfr", 500), ("os-mccfr", 300), ("probing", 300)):
        *_, last = measure_regret(setting("kuhn_poker", algorithm, iterations), 0)
        assert last["iteration"] == iterations
        assert 0.0 < last["gain"] / 2 <= last["average_regret"] * (1 + 1e-9)
        assert 0.3 < last["of_infosets"] <= 1.0 + 1e-9
        assert last["of_bound"] < 0.2
    first, *_ = measure_regret(setting("kuhn_poker", "cfr", 1), 0)
    game = load_game("kuhn_poker")
    policy = uniform_policy(game)  # what the first iteration plays
    value = expected_value(game.root(), policy)
    best = [best_response_value(game, policy, player) for player in range(2)]
    assert first["average_regret"] == pytest.approx(max(best[0] - value, best[1] + value))


def test_sizes_are_those_of_listed_games():
    for text, infosets, decisions, ends in (
        ("leduc_poker", 936, 3780, 5520),
        ("nl_leduc(stack=5)", 3648, 14760, 24360),
    ):
        *_, last = count_sizes(setting(text), 0)
        assert last["infosets"] == infosets == count_infosets(load_game(text))
        assert last["states"] == decisions + ends
    first, *_ = count_sizes(setting("nolimit_holdem(stack=20000,actions=fcpa)"), 0)
    assert first["leaf_infosets"] == 9 * 25_989_600


def test_a_small_k_keeps_fewer_infosets():
    def kept(actions):
        records = measure_kept(setting("leduc_poker", iterations=20, actions=actions, batch=30), 0)
        return [record["kept"] for record in records]

    few, more, all_of_them = kept("1"), kept("2"), kept("external")
    assert len(few) == 3  # iterations 1, 10 and 20
    assert all(a < b < c for a, b, c in zip(few, more, all_of_them, strict=True))
    *_, last = measure_kept(setting("kuhn_poker", iterations=1, actions="external", batch=5000), 0)
    assert last["kept"] == 12 and last["share"] == 1.0


def test_schemes_are_measured_at_averages_that_play_everything():
    records = list(measure_schemes(setting("kuhn_poker", iterations=10), 0))
    assert [record["iteration"] for record in records] == [1, 3, 10]
    assert records[0]["variance_robust_1"] == pytest.approx(records[0]["variance_outcome"])  # at uniform play
    assert records[-1]["variance_robust_1"] < records[-1]["variance_outcome"]


def test_measurements_are_kept_as_runs_are(tmp_path):
    made = Setting(label="a", game="kuhn_poker", algorithm="cfr", iterations=3, measure="regret")
    for _ in range(2):  # the second time from the start
        measure(made, 1, tmp_path / "run")
        log = RunDirectory.open(tmp_path / "run").read_log()
        assert [record["iteration"] for record in log] == [1, 2, 3]
        assert all("core_seconds" in record for record in log)
    assert made.differs_from(tmp_path / "run", 1) is None
    assert made.differs_from(tmp_path / "run", 2) is not None
    assert set(MEASUREMENTS) >= {"regret", "schemes", "kept", "sizes", "variance", "count"}
