"""The ledger: sweeps that are interrupted and resumed, judgements that can fail, the page."""

import json
import math

import numpy as np
import pytest
import scipy.stats

from equipoise import EquipoiseError, load_game
from equipoise.abstraction.buckets import deck_of, kind_from_text
from equipoise.experiments.claim import (
    Finding,
    Published,
    is_at_most,
    is_below,
    is_within,
    outcome,
    ratio_interval,
    scale_of,
)
from equipoise.experiments.claims import CLAIMS, NOT_ATTEMPTED, ORDER
from equipoise.experiments.ledger import _cost, _thinned, rejudged, reproduce, shown_cost, summary_of, write_page
from equipoise.experiments.published import recipe_of
from equipoise.experiments.sweep import Setting, Sweep
from equipoise.experiments.tabular_claims import start_up
from equipoise.solvers.recipes import find_recipe
from equipoise.solvers.representations import choose


def history(*levels, **more):
    return [
        {
            "iteration": n + 1,
            "solving_seconds": n + 1.0,
            "seconds": n + 1.0,
            "exploitability": level,
            "nodes_touched": 9,
            **more,
        }
        for n, level in enumerate(levels)
    ]


def holds(claim, results):
    return [finding.holds for finding in CLAIMS[claim].judge(results) if finding.counts]


def seeds(*levels, count=3, spread=0.01, **more):
    """Return runs of several seeds around some levels."""
    return [history(*(level * (1 + spread * (seed - 1)) for level in levels), **more) for seed in range(count)]


def test_every_claim_of_the_papers_is_declared():
    wanted = {f"G{n}" for n in range(1, 6)} | {f"D{n}" for n in range(1, 21)} | {f"C{n}" for n in range(1, 13)}
    wanted |= {"S1", "T1", "V1"}
    assert len(wanted) == 40
    assert wanted <= set(ORDER) and set(ORDER) == set(CLAIMS) | set(NOT_ATTEMPTED)
    for claim in CLAIMS.values():
        assert claim.quick.settings and claim.full.settings and claim.figures
        slugs = [setting.slug for setting in claim.full.settings]
        assert len(set(slugs)) == len(slugs)
    for claim in NOT_ATTEMPTED.values():
        assert claim.cost and claim.why


def test_the_noise_of_seeds_decides_comparisons():
    assert is_below([1.0, 1.1, 0.9], [2.0, 2.1, 1.9]) == "yes"
    assert is_below([2.0, 2.1, 1.9], [1.0, 1.1, 0.9]) == "no"
    assert is_below([1.0, 2.0, 3.0], [1.1, 2.2, 3.3]) == "within noise"
    assert is_below([1.0], [2.0]) == is_below([1.0, 1.0], [2.0]) == "one seed"
    assert is_within([1.0, 1.0], [1.0, 1.0], 1.0) == "yes"
    assert is_within([1.3, 1.31, 1.29], [1.0, 1.01, 0.99], 1.5) == "yes"
    assert is_within([1.8, 1.81, 1.79], [1.0, 1.01, 0.99], 1.5) == "no"
    assert is_at_most([0.1, 0.2], 0.2) == "yes"
    assert is_at_most([0.1, 0.3], 0.2) == "within noise"
    assert is_at_most([0.1], 0.2) == "one seed"
    assert is_at_most([0.3], 0.2) == "no"


def test_the_interval_of_a_ratio_is_welchs():
    ours, theirs = np.log([1.0, 1.3, 0.8, 1.1]), np.log([2.0, 2.6, 2.1])
    interval = scipy.stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    low, high = ratio_interval(np.exp(ours).tolist(), np.exp(theirs).tolist())
    assert (low, high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))


def test_a_verdict_needs_every_answer_that_counts():
    def found(*answers, beside=()):
        counted = [Finding(what="", paper="", ours="", holds=answer) for answer in answers]
        return outcome([*counted, *(Finding(what="", paper="", ours="", holds=a, counts=False) for a in beside)])

    assert found("yes", "yes") == "reproduced"
    assert found("yes", "one seed") == found("yes", "no") == "partly reproduced"
    assert found("no", "within noise") == "not reproduced"
    assert found("one seed", "not tested") == "undecided"
    assert found("no", beside=("yes",)) == "not reproduced"
    assert found("yes", beside=("no",)) == "reproduced"


def test_scale_is_measured_in_the_data():
    published = Published(iterations=4)
    assert scale_of(published, {"a": seeds(3, 2, 1)}, quick=False) == ("scaled down", "3 of 4 iterations; 3 seeds")
    assert scale_of(published, {"a": seeds(4, 3, 2, 1, count=1)}, quick=False) == (
        "the paper's",
        "4 of 4 iterations; 1 seed",
    )
    assert scale_of(published, {"a": seeds(5, 4, 3, 2, 1)}, quick=False).kind == "larger"
    by_label = Published(iterations={"a": 1})
    assert scale_of(by_label, {"a": seeds(1), "b": seeds(3, 2)}, quick=False).kind == "the paper's"
    assert scale_of(Published(scale="the paper's"), {"a": seeds(1)}, quick=True).kind == "scaled down"


def test_recipe_is_compared_with_the_papers_preset():
    def setting(**parameters):
        return Setting(label="a", game="nl_leduc(stack=5)", algorithm="rs-mccfr+", preset="dn19", parameters=parameters)

    published = Published(preset="dn19", varied=("batch",))
    assert recipe_of(published, [setting()]).kind == "as published"
    assert recipe_of(published, [setting(batch=7)]).kind == "as published"
    ours = recipe_of(published, [setting(k="max")])
    assert ours == ("ours", "a: k max (paper: 3)")
    xfp = Setting(label="x", game="nl_leduc(stack=5)", algorithm="xfp")
    assert recipe_of(published, [xfp]).kind == "as published"  # the paper gives it no settings
    assert recipe_of(Published(recipe="ours", how="so"), [xfp]) == ("ours", "so")


def test_g1_needs_the_printed_variances_and_their_order():
    def results(plain, probed, count=2):
        return {
            "Goofspiel": [[{"variance_mccfr": plain + n / 1000, "variance_probing": probed}] * 3 for n in range(count)]
        }

    assert holds("G1", results(0.295, 0.133)) == ["yes"] * 4
    assert holds("G1", results(0.09, 0.06)) == ["no", "no", "yes", "no"]
    assert holds("G1", results(0.295, 0.4)) == ["yes", "no", "no", "no"]
    assert holds("G1", results(0.295, 0.133, count=1)) == ["one seed"] * 4
    beside = {**results(0.295, 0.133), "alternating updates": results(0.09, 0.05)["Goofspiel"]}
    assert holds("G1", beside) == ["yes"] * 4  # the paper's is vanilla CFR


def test_g4_is_counted_by_the_program(tmp_path):
    found = reproduce("G4", quick=True, folder=tmp_path, report=lambda text: None)
    assert found["verdict"]["outcome"] == "reproduced"
    (finding,) = found["findings"]
    assert finding["ours"] == "57,337,080" and "5,670 x 10,000" in finding["what"]
    assert (tmp_path / "G4-quick.png").exists()
    assert holds("G4", {"ten buckets a round": [[{"decisions": 1, "buckets": 1, "infosets": 5e7}]]}) == ["no"]


def test_s1_compares_printed_digits_and_orders():
    def sizes(**changes):
        told = {"infosets": 2 * 10**9, "states": 2 * 10**12, "with_ends": 0, "leaf_infosets": 0, "leaf_states": 0}
        return {"flop hold'em": [[{**told, **changes}]]}

    assert holds("S1", sizes()) == ["yes", "yes"]
    assert holds("S1", sizes(infosets=9 * 10**8)) == ["no", "yes"]
    assert holds("S1", sizes(states=2 * 10**14)) == ["yes", "no"]

    def leduc(count):
        return {"NLLH(5)": [[{"infosets": count, "with_ends": 9678}]]}

    assert holds("S1", leduc(11083)) == ["yes"]
    assert holds("S1", leduc(3648)) == ["no"]


def test_d20_needs_fewer_infosets_than_external_sampling():
    def kept(ours, external, count=3):
        def runs(level):
            return [[{"iteration": 1, "kept": level + seed, "share": 0.1}] for seed in range(count)]

        return {"k = 1, b = 100": runs(ours), "external sampling, b = 100": runs(external)}

    assert holds("D20", kept(100, 200)) == ["yes"]
    assert holds("D20", kept(200, 100)) == ["no"]
    assert holds("D20", kept(100, 200, count=1)) == ["one seed"]


def test_v1_needs_every_strategy_to_agree():
    names = ("robust_1", "outcome", "outcome_exploring", "zeros", "probing", "robust_1_probing")

    def results(robust, probing):
        levels = dict.fromkeys(names, 1.0) | {"robust_1": robust, "probing": probing}
        later = {f"{kind}_{name}": level for kind in ("variance", "value") for name, level in levels.items()}
        even = dict.fromkeys(later, 1.0)  # at uniform play k = 1 is outcome sampling: not looked at
        return {"Kuhn": [[{"iteration": 1, **even}, {"iteration": 3, **later}, {"iteration": 10, **later}]]}

    assert holds("V1", results(0.5, 0.5)) == ["yes", "yes", "yes"]
    assert holds("V1", results(2.0, 0.5)) == ["no", "yes", "yes"]
    assert holds("V1", results(0.5, 1.0)) == ["yes", "no", "no"]


def test_t1_looks_at_the_largest_share_of_each_bound():
    def results(*shares, count=2):
        run = [{"iteration": n + 1, "of_infosets": share, "of_bound": 0.1} for n, share in enumerate(shares)]
        return {"Kuhn: external": [run] * count}

    assert holds("T1", results(0.5, 1.0, 0.2)) == ["yes", "yes"]
    assert holds("T1", results(0.5, 1.1, 0.2)) == ["no", "yes"]
    one_of_two = {"Kuhn: external": [results(0.5)["Kuhn: external"][0], results(1.2)["Kuhn: external"][0]]}
    assert holds("T1", one_of_two) == ["within noise", "yes"]


def test_a_cost_is_told_in_core_seconds_or_not_at_all():
    assert _cost([[{"core_seconds": 1.0}, {"core_seconds": 2.4}], [{"core_seconds": 3.0}]]) == 5
    assert _cost([[{"core_seconds": 2.0}], [{"seconds": 3.0}]]) is None
    assert shown_cost({"core_seconds": None}) == "not measured"
    assert shown_cost({"core_seconds": 1234}) == "1,234 core-s"


def test_g2_and_g3_compare_at_equal_time():
    plain, fast = seeds(0.4, 0.3, 0.2, 0.1), seeds(0.3, 0.09, 0.05, 0.04)
    assert holds("G2", {"Goofspiel: MCCFR": plain, "Goofspiel: probing": fast}) == ["yes"]
    assert holds("G3", {"Goofspiel: MCCFR": plain, "Goofspiel: probing": fast}) == ["yes"]
    assert holds("G2", {"Goofspiel: MCCFR": plain, "Goofspiel: probing": plain}) == ["no"]
    slow = seeds(0.5, 0.45, 0.4, 0.35)
    assert holds("G3", {"Goofspiel: MCCFR": plain, "Goofspiel: probing": slow}) == ["no"]
    one = {"Goofspiel: MCCFR": plain[:1], "Goofspiel: probing": fast[:1]}
    assert holds("G2", one) == holds("G3", one) == ["one seed"]


def test_start_up_is_not_solving():
    late = [{"iteration": t, "solving_seconds": 10.0 + 0.5 * t} for t in (8, 16, 64)]
    assert start_up(late) == pytest.approx(10.0)
    assert start_up(late[:1]) == 0.0


def test_d1_needs_larger_batches_to_be_better_and_the_last_two_to_be_close():
    def results(*levels, **more):
        return {f"b = {n}": seeds(level, **more) for n, level in enumerate(levels)}

    assert holds("D1", results(0.9, 0.1, 0.03, 0.029)) == ["yes"] * 3
    assert holds("D1", results(0.1, 0.9, 0.03, 0.01)) == ["no", "yes", "no"]
    assert holds("D1", results(0.9, 0.03, 0.029, 0.029, spread=0.1)) == ["yes", "within noise", "yes"]
    assert holds("D1", results(0.9, 0.1, 0.03, 0.029, count=1)) == ["one seed"] * 3


def schemes(**levels):
    names = {
        "outcome": "outcome",
        "exploring": "outcome, epsilon = 0.6",
        "one": "k = 1",
        "two": "k = 2",
        "three": "k = 3",
    }
    names |= {"five": "k = 5", "all": "k = max"}
    found = {names[name]: seeds(level) for name, level in levels.items()}
    for run in found.get("k = 3", []):
        run[-1]["nodes_touched"] = 5
    return found


def test_d2_compares_schemes_and_leaves_out_what_is_vacuous():
    good = schemes(outcome=0.9, exploring=0.07, one=0.12, three=0.026, five=0.025, all=0.025)
    assert holds("D2", good) == ["yes", "yes", "yes"]  # k = 5 is k = max, and outcome with exploration is ours
    bad = schemes(outcome=0.05, exploring=0.07, one=0.12, three=0.05, five=0.025, all=0.025)
    assert holds("D2", bad) == ["no", "no", "no"]
    one = {label: runs[:1] for label, runs in good.items()}
    assert holds("D2", one) == ["one seed"] * 3


def test_d11_compares_batches_and_schemes():
    def results(**levels):
        batches = {f"b = {b}": seeds(1 / b) for b in (1, 100, 500, 1000)}
        return batches | schemes(**levels)

    assert holds("D11", results(outcome=0.1, exploring=0.006, one=0.0033, two=0.003)) == ["yes"] * 5
    assert holds("D11", results(outcome=0.006, exploring=0.006, one=0.006, two=0.003)) == ["yes"] * 3 + ["no"] * 2
    few = {label: runs[:1] for label, runs in results(outcome=0.1, exploring=0.006, one=0.0033, two=0.003).items()}
    assert holds("D11", few) == ["one seed"] * 5


def test_d15_compares_at_equal_nodes_and_d16_with_and_without_batches():
    def by_nodes(level, nodes):
        return [
            [{"nodes_touched": nodes * t, "exploitability": run[0]["exploitability"] / t} for t in (1, 2, 4)]
            for run in seeds(level)
        ]

    cheap = {"external sampling": by_nodes(1.0, 100), "k = 1": by_nodes(1.0, 50)}
    assert holds("D15", cheap) == ["yes"]
    assert holds("D15", {**cheap, "k = 1": by_nodes(4.0, 50)}) == ["no"]
    assert holds("D15", {label: runs[:1] for label, runs in cheap.items()}) == ["one seed"]
    levels = {"MCCFR+, b = 5000": 0.02, "MCCFR, b = 5000": 0.04, "MCCFR+, b = 1": 0.9, "MCCFR, b = 1": 0.7}
    assert holds("D16", {label: seeds(level) for label, level in levels.items()}) == ["yes", "yes"]
    assert holds("D16", {label: seeds(1 / level) for label, level in levels.items()}) == ["no", "no"]
    assert holds("D16", {label: seeds(level, count=1) for label, level in levels.items()}) == ["one seed", "one seed"]


def late(*levels, iteration=1000, count=3, **more):
    """Return runs whose last record is at an iteration."""
    runs = seeds(*levels, count=count, **more)
    return [[*run[:-1], {**run[-1], "iteration": iteration}] for run in runs]


def test_d3_needs_levels_of_all_seeds_and_the_table():
    size = {"regret_parameters": 4000, "strategy_parameters": 1000}
    table = {"table (RS-MCCFR+)": late(0.9, 0.01)}

    def networks(early, end, **more):
        runs = late(0.9, early, end, **size, **more)
        return {"Double Neural CFR": [[run[0], {**run[1], "iteration": 200}, run[2]] for run in runs]}

    assert holds("D3", networks(0.05, 0.012) | table) == ["yes"] * 3
    assert holds("D3", networks(0.07, 0.03) | table) == ["no"] * 3
    assert holds("D3", {label: runs[:1] for label, runs in (networks(0.05, 0.012) | table).items()}) == ["one seed"] * 3
    short = {"Double Neural CFR": late(0.9, 0.01, iteration=100, **size), "table (RS-MCCFR+)": late(0.9, 0.01)}
    assert holds("D3", short)[:2] == ["not tested"] * 2
    xfp = {"XFP": [[{"iteration": t, "exploitability": 0.05 if t == 1100 else 1} for t in (1, 1100)]]}
    assert holds("D3", networks(0.05, 0.012) | table | xfp)[-1] == "yes"
    xfp["XFP"][0][-1]["iteration"] = 5000
    assert holds("D3", networks(0.05, 0.012) | table | xfp)[-1] == "no"


def test_networks_as_published_are_held_against_their_table():
    def results(ours, table, count=2, variant=0.9):
        runs = {
            "as published, b = 100": seeds(1.0, ours, count=count),
            "table, b = 100": seeds(1.0, table, count=count),
        }
        return runs | {"its regrets, averaged exactly, b = 100": seeds(1.0, variant, count=count)}

    assert holds("D3-published", results(0.4, 0.4)) == ["yes"]
    assert holds("D3-published", results(0.4, 0.2)) == ["no"]
    assert holds("D3-published", results(0.4, 0.4, count=1)) == ["one seed"]
    assert holds("D3-published", results(0.4, 0.2, count=1)) == ["no"]  # one run can miss a level
    mixed = results(0.4, 0.4) | {"as published, b = 100": [seeds(1.0, 0.4)[0], seeds(1.0, 0.9)[0]]}
    assert holds("D3-published", mixed) == ["within noise"]
    beside = {"table, b = 5000": [[{"iteration": t, "exploitability": 12.0 / t} for t in (1, 200, 1000)]]}
    found = CLAIMS["D3-published"].judge(results(0.4, 0.4) | beside)
    assert [finding.holds for finding in found if not finding.counts] == ["no", "one seed", "one seed"]


def test_d4_counts_nodes_of_the_figures_batch():
    def label(name, level, nodes, count=2):
        return {name: [[{"iteration": 10, "exploitability": level, "nodes_touched": nodes}]] * count}

    ours = "Double Neural CFR, b = 100, k = 3"
    assert holds("D4", label(ours, 0.05, 9e5) | label("NFSP", 0.05, 1e9) | label("XFP", 0.05, 0)) == ["yes"] * 3
    assert holds("D4", label(ours, 0.05, 9e6) | label("NFSP", 0.07, 2e9)) == ["no", "no"]
    assert holds("D4", label(ours, 0.05, 9e5, count=1) | label("NFSP", 0.07, 1e8)) == ["one seed", "not tested"]
    assert holds("D4", label("Double Neural CFR", 0.05, 9e5)) == []  # another batch


def test_d5_and_l7_need_every_seed_below_the_level():
    def results(*levels):
        runs = [late(level, count=2)[0] for level in levels]
        return {"b = 50": [[{**record, "observed_share": 0.1} for record in run] for run in runs]}

    for claim in ("D5", "L7"):
        assert holds(claim, results(0.09, 0.08)) == ["yes"]
        assert holds(claim, results(0.2, 0.2)) == ["no"]
        assert holds(claim, results(0.09, 0.2)) == ["within noise"]
        assert holds(claim, results(0.09)) == ["one seed"]
    assert holds("D5", {"b = 50": [history(0.05, observed_share=0.1)] * 2}) == ["not tested"]


def test_d6_and_d7_do_not_take_falling_for_converging():
    def results(*levels, **more):
        return {"embedding 8": seeds(*levels, observed_share=0.1, regret_parameters=2 * 1048, **more)}

    assert holds("D6", results(1.0, 0.3, 0.05, 0.04)) == ["yes"]
    assert holds("D6", results(1.0, 0.5, 0.4, 0.3)) == ["not tested"]
    assert holds("D6", results(1.0, 0.3, 0.4, 0.5)) == ["no"]
    assert holds("D6", results(1.0, 0.3, 0.05, 0.04, count=1)) == ["one seed"]
    assert holds("D7", results(1.0, 0.3, 0.05, 0.04)) == ["yes", "yes"]
    assert holds("D7", {"embedding 16": results(1.0, 0.3, 0.4, 0.5)["embedding 8"]}) == ["no", "no"]


def test_d8_d9_and_d10_compare_seeds():
    def halves(both, regrets, average, table, **more):
        labels = ("Double Neural CFR", "regrets in a network", "average in a network", "table (RS-MCCFR+)")
        return {
            label: seeds(level, **more) for label, level in zip(labels, (both, regrets, average, table), strict=True)
        }

    assert holds("D8", halves(0.012, 0.011, 0.0108, 0.01)) == ["yes"] * 5
    assert holds("D8", halves(0.020, 0.025, 0.024, 0.01)) == ["no"] * 5
    assert holds("D8", halves(0.012, 0.011, 0.0108, 0.01, count=1)) == ["one seed"] * 5
    assert holds("D9", {"after": seeds(0.4, 0.02)}) == ["yes"]
    assert holds("D9", {"after": seeds(0.4, 0.3)}) == ["no"]
    assert holds("D9", {"after": seeds(0.4, 0.02, count=1)}) == ["one seed"]
    names = ("mlp", "lstm", "lstm+attention", "rnn+attention", "gru+attention")
    best = {name: seeds(0.1 if name == "lstm+attention" else 0.2) for name in names}
    assert holds("D10", best) == ["yes", "yes"]  # mlp and lstm have other features or another head here
    assert holds("D10", {name: seeds(0.3 - runs[1][0]["exploitability"]) for name, runs in best.items()}) == [
        "no",
        "no",
    ]
    assert holds("D10", {name: runs[:1] for name, runs in best.items()}) == ["one seed"] * 2


def test_d11_neural_needs_every_seed_within_its_budget():
    def results(seconds, count=2):
        return {
            label: [history(0.0003, core_seconds=seconds)] * count
            for label in ("Double Neural CFR", "table (RS-MCCFR+)")
        }

    assert holds("D11-neural", results(100.0)) == ["yes"]
    assert holds("D11-neural", results(700.0)) == ["no"]
    assert holds("D11-neural", results(100.0, count=1)) == ["one seed"]


def test_d12_compares_converged_runs_only():
    size = {"regret_parameters": 4000, "strategy_parameters": 1000}

    def results(ours, table):
        return {"NLLH(15)": seeds(4.0, ours, **size), "table (RS-MCCFR+)": seeds(4.0, table)}

    assert holds("D12", results(0.1, 0.1)) == ["not tested", "yes", "not tested"]
    assert holds("D12", results(0.3, 0.1)) == ["not tested", "no", "not tested"]
    assert holds("D12", results(1.1, 2.3)) == ["not tested"] * 3


def test_c7_counts_the_papers_level_only():
    assert holds("C7", {"NFSP": seeds(0.3, 0.036, core_seconds=300.0)}) == ["yes"]
    assert holds("C7", {"NFSP": seeds(0.3, 0.08, core_seconds=300.0)}) == ["no"]
    assert holds("C7", {"NFSP": seeds(0.3, 0.03, count=1)}) == ["one seed"]


def test_own_levels_need_every_seed():
    def results(*seconds):
        return {"NFSP": [history(0.2, core_seconds=each) for each in seconds]}

    assert holds("L5", results(20.0, 30.0)) == ["yes"]
    assert holds("L5", results(700.0, 800.0)) == ["no"]
    assert holds("L5", results(20.0, 800.0)) == ["within noise"]
    assert holds("L5", results(20.0)) == ["one seed"]
    published = {"as published": seeds(0.7), "Double Neural CFR": seeds(0.01)}
    assert holds("L3", published) == ["no"]  # our own recipe is beside it
    choices = {"shipped": seeds(0.02), "other": seeds(0.03)}
    assert holds("L6", choices) == ["yes"]  # nothing is compared with itself
    assert holds("L6", {"shipped": seeds(0.03), "other": seeds(0.02)}) == ["no"]
    falling = [{"core_seconds": t, "exploitability": 1 / t} for t in (1, 5, 10)]
    assert holds("L4", {"Leduc": [falling]}) == ["yes"]
    assert holds("L4", {"Leduc": [[*falling, {"core_seconds": 11, "exploitability": 1}]]}) == ["no"]


def test_abstractions_of_flop_holdem_are_the_published_sizes():
    levels = [setting for setting in CLAIMS["C2"].full.settings if setting.algorithm == "es-mccfr"]
    assert [setting.parameters["buckets"] for setting in levels] == [
        "kmeans:552",
        "kmeans:5238",
        "kmeans:51400",
        "none",
    ]
    for setting in levels:
        find_recipe(setting.algorithm).resolve(setting.parameters, game="holdem")
        assert kind_from_text(str(setting.parameters["buckets"])).buckets(deck_of(load_game(setting.game)))[0] == 169


def on_holdem(*levels, nodes=1e6, last=None):
    found = [
        {"iteration": n + 1, "nodes_touched": nodes * 2**n, "core_seconds": n + 1, "nash_conv_mbb": level}
        for n, level in enumerate(levels)
    ]
    return found if last is None else [*found[:-1], {**found[-1], "iteration": last}]


def replicates(*levels, count=3, **more):
    return [on_holdem(*(level * (1 + 0.01 * seed) for level in levels), **more) for seed in range(count)]


def test_c1_needs_both_levels_and_their_order():
    def results(deep, nfsp, **more):
        return {"Deep CFR": replicates(900, deep, **more), "NFSP": replicates(900, nfsp, **more)}

    assert holds("C1", results(35, 45)) == ["yes", "yes", "yes"]
    assert holds("C1", results(200, 300)) == ["no", "no", "yes"]
    assert holds("C1", results(300, 200)) == ["no", "no", "no"]
    assert holds("C1", results(35, 45, count=1)) == ["one seed"] * 3


def test_c2_counts_nodes_to_deep_cfrs_level():
    def results(finest, lossless, count=3):
        deep = {"Deep CFR": replicates(900, 50, count=count)}
        return {**deep, "3.6 million decisions": replicates(900, finest, count=count), "lossless": lossless}

    slow, fast = [on_holdem(900, 300, 49, nodes=1e8)], [on_holdem(49, nodes=1e6)]
    assert holds("C2", results(45, slow)) == ["yes", "yes"]
    assert holds("C2", results(20, fast)) == ["no", "no"]
    assert holds("C2", results(45, slow, count=1)) == ["one seed", "one seed"]
    assert holds("C2", results(45, [on_holdem(900, nodes=1e7)])) == ["yes", "not tested"]  # it ended too early


def test_c3_is_tested_at_the_end_only():
    def results(*levels, last):
        return {"Deep CFR": [on_holdem(level, last=last) for level in levels]}

    assert holds("C3", results(35, 37, 39, 36, 38, last=450)) == ["yes"]
    assert holds("C3", results(20, 37, 60, 36, 38, last=450)) == ["no"]
    assert holds("C3", results(270, 290, 250, 280, 260, last=25)) == ["not tested"]


def test_c4_and_c5_need_changes_to_be_worse():
    def results(claim, base, changed, **more):
        labels = [setting.label for setting in CLAIMS[claim].full.settings]
        bases = ("Deep CFR", "from scratch each time", "full reservoir")
        return {label: replicates(base if label in bases else changed, **more) for label in labels}

    assert holds("C4", results("C4", 100, 150)) == ["yes"] * 3
    assert holds("C4", results("C4", 100, 110)) == ["no"] * 3
    assert holds("C4", results("C4", 100, 150, count=1)) == ["one seed"] * 3
    assert holds("C5", results("C5", 100, 110)) == ["yes", "not tested", "not tested"]  # ends are not seen
    assert holds("C5", results("C5", 100, 90)) == ["no", "not tested", "not tested"]
    assert holds("C5", results("C5", 100, 110, last=450)) == ["yes", "yes"]
    assert holds("C5", results("C5", 100, 150, last=450)) == ["no", "yes"]


def test_c11_orders_abstractions_and_c12_counts_samples():
    clusters = ("40,000 decisions", "368,000 decisions", "3.6 million decisions")

    def results(first, last, **more):
        return {label: replicates(a, b, **more) for label, a, b in zip(clusters, first, last, strict=True)}

    assert holds("C11", results((300, 500, 900), (90, 60, 40))) == ["yes"] * 4
    assert holds("C11", results((900, 500, 300), (40, 60, 90))) == ["no"] * 4
    assert holds("C11", results((300, 500, 900), (90, 60, 40), count=1)) == ["one seed"] * 4

    def pair(fast, slow, **more):
        return {fast: replicates(100, 50, **more), slow: replicates(900, 800, 100, nodes=1e8, **more)}

    assert holds("C12", pair("Deep CFR", "NFSP")) == ["yes", "yes"]
    assert holds("C12", pair("NFSP", "Deep CFR")) == ["no", "no"]
    assert holds("C12", pair("Deep CFR", "NFSP", count=1)) == ["one seed", "one seed"]


def test_l8_compares_exact_levels_with_the_published_ones_and_with_the_hour():
    def exact(**levels):
        return [
            {"iteration": int(name[1:]), "core_seconds": 3000.0, "nash_conv_mbb": level}
            for name, level in levels.items()
        ]

    labels = ("Linear CFR", "CFR+", "DCFR, the default", "DCFR in 16 bits")
    good = (exact(t20=115, t30=64, t45=40, t50=30), exact(t22=100), exact(t22=70, t150=4.0), exact(t22=70, t150=4.9))
    assert holds("L8", {label: [each] for label, each in zip(labels, good, strict=True)}) == ["yes"] * 6
    bad = (exact(t20=140, t30=50, t50=40), exact(t22=60), exact(t22=70, t150=6.0), exact(t22=70, t150=5.1))
    assert holds("L8", {label: [each] for label, each in zip(labels, bad, strict=True)}) == ["no"] * 6
    slow = [{**record, "core_seconds": 9000.0} for record in good[2]]
    assert holds("L8", {"Linear CFR": [good[0]], "DCFR, the default": [slow]}) == ["yes", "yes", "yes", "no"]
    for setting in CLAIMS["L8"].full.settings[2:]:
        assert 1000 * 2 * setting.until / max(load_game("flop_holdem").betting.blinds) == pytest.approx(5.0)


def test_l9_needs_every_level_to_be_far_below_the_first():
    labels = [setting.label for setting in CLAIMS["L9"].full.settings]
    assert len(labels) == 3

    def results(level, **more):
        return {label: replicates(1000, level, **more) for label in labels}

    assert holds("L9", results(300)) == ["yes"] * 3
    assert holds("L9", results(400)) == ["no"] * 3
    assert holds("L9", results(300, count=1)) == ["one seed"] * 3


def test_l10_asks_for_the_printed_level_within_the_time_that_was_allowed():
    (label,) = (setting.label for setting in CLAIMS["L10"].full.settings)

    def results(level, seconds=3000.0, count=4):
        runs = replicates(1000, level, count=count)
        for run in runs:
            run[-1]["core_seconds"] = seconds
        return {label: runs}

    assert holds("L10", results(35)) == ["yes"]
    assert holds("L10", results(40)) == ["no"]
    assert holds("L10", results(35, seconds=3700.0)) == ["no"]
    assert holds("L10", results(35, count=1)) == ["one seed"]


def test_settings_of_every_claim_are_parameters_that_exist():
    for claim in CLAIMS.values():
        for setting in (*claim.full.settings, *claim.quick.settings):
            if setting.measure == "exploitability":
                recipe = find_recipe(setting.algorithm)
                kind = choose(load_game(setting.game), "auto", recipe).settings
                recipe.resolve(setting.parameters, setting.preset, game=kind)


def test_a_sweep_runs_what_is_missing_and_only_that(tmp_path):
    settings = tuple(
        Setting(label=name, game="kuhn_poker", algorithm=name, iterations=30) for name in ("es-mccfr", "cfr+")
    )
    sweep = Sweep(settings=settings, seeds=2, scale="tiny")
    said = []
    first = sweep.run(tmp_path, said.append)
    assert [len(histories) for histories in first.values()] == [2, 2]
    assert first["es-mccfr"][0] != first["es-mccfr"][1]  # other seeds, other samples
    assert first["cfr+"][0][-1]["exploitability"] < 0.05
    again = sweep.run(tmp_path, said.append)
    assert again == first
    assert "4 runs, 4 of them done before" in said[-1]


def test_reproduce_writes_numbers_figures_and_the_page(tmp_path, monkeypatch):
    claim = CLAIMS["D11"]
    tiny = Sweep(
        settings=tuple(
            Setting(label=s.label, game="kuhn_poker", algorithm=s.algorithm, parameters=s.parameters, iterations=20)
            for s in claim.quick.settings
        ),
        seeds=1,
        scale="tiny",
    )
    monkeypatch.setitem(CLAIMS, "D11", type(claim)(**{**vars(claim), "quick": tiny}))
    found = reproduce("D11", quick=True, folder=tmp_path / "data", report=lambda text: None)
    assert found["verdict"]["scale"]["kind"] == "scaled down"
    assert found["verdict"]["recipe"]["kind"] == "as published"
    saved = json.loads((tmp_path / "data" / "D11-quick.json").read_text())
    assert saved["settings"][0]["histories"][0][-1]["iteration"] == 20
    assert (tmp_path / "data" / "D11-quick.png").read_bytes().startswith(b"\x89PNG")
    write_page(tmp_path / "data", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "## D11" in page and "data/D11-quick.png" in page and "## Not attempted" in page
    assert f"**{found['verdict']['outcome']}**" in page and "[C6](#not-attempted)" in page
    again = rejudged(tmp_path / "data" / "D11-quick.json")
    assert again["findings"] == found["findings"] == saved["findings"]
    summary = summary_of(tmp_path / "data", "page.md")
    assert "[D11](page.md#d11)" in summary and "not attempted" in summary


def test_unknown_claims_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(EquipoiseError, match="unknown claim 'D99'"):
        reproduce("D99", quick=True, folder=tmp_path, report=print)
    with pytest.raises(EquipoiseError, match="C6 was not attempted: beyond the budget"):
        reproduce("C6", quick=True, folder=tmp_path, report=print)
    with pytest.raises(EquipoiseError, match="no results yet"):
        write_page(tmp_path, tmp_path / "page.md")


def test_histories_are_thinned_only_as_far_as_the_judge_finds_the_same():
    claim = CLAIMS["L5"]
    levels = [1.0] * 60 + [0.2] + [0.1] * 60
    run = [{"iteration": n, "exploitability": level, "core_seconds": float(n)} for n, level in enumerate(levels)]
    kept = _thinned(claim, {"NFSP": [run, run]})
    assert claim.judge(kept) == claim.judge({"NFSP": [run, run]})
    flat = [{"iteration": n, "exploitability": 0.2, "core_seconds": float(n)} for n in range(120)]
    assert len(_thinned(claim, {"NFSP": [flat, flat]})["NFSP"][0]) == 25
