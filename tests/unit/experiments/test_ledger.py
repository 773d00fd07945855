"""The ledger: sweeps that are interrupted and resumed, judgements that can fail, the page."""

import json

import pytest

from equipoise import EquipoiseError, load_game
from equipoise.abstraction.buckets import deck_of, kind_from_text
from equipoise.experiments.claim import Finding, verdict
from equipoise.experiments.claims import CLAIMS
from equipoise.experiments.ledger import reproduce, write_page
from equipoise.experiments.sweep import Setting, Sweep
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
    return [finding.holds for finding in CLAIMS[claim].judge(results)]


def test_every_claim_of_the_issue_is_declared_with_a_quick_version():
    tabular, neural = (
        {"G1", "G2", "G3", "G4", "D1", "D2", "D11"},
        {f"D{n}" for n in range(3, 11)} | {"D11-neural", "D12", "C7"},
    )
    assert tabular | neural | {f"C{n}" for n in range(1, 6)} <= set(CLAIMS)
    for claim in CLAIMS.values():
        assert claim.quick.settings and claim.full.settings and claim.figures
        slugs = [setting.slug for setting in claim.full.settings]
        assert len(set(slugs)) == len(slugs)


def test_g1_fails_when_probing_does_not_reduce_the_variance():
    def results(plain, probed):
        return {"Goofspiel": [[{"variance_mccfr": plain, "variance_probing": probed}] * 3]}

    assert holds("G1", results(0.295, 0.133)) == [True, True, True]
    assert holds("G1", results(0.295, 0.290)) == [True, False, False]


def test_g4_is_counted_by_the_program(tmp_path):
    outcome = reproduce("G4", quick=True, folder=tmp_path, report=lambda text: None)
    assert outcome["verdict"] == "reproduced"
    (finding,) = outcome["findings"]
    assert finding["ours"] == "57,337,080" and "5,670 x 10,000" in finding["what"]
    assert (tmp_path / "G4-quick.png").exists()
    assert holds("G4", {"ten buckets a round": [[{"decisions": 1, "buckets": 1, "infosets": 5e7}]]}) == [False]


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


def on_holdem(*levels, nodes=1e6):
    return [
        {"iteration": n + 1, "nodes_touched": nodes * 2**n, "nash_conv_mbb": level} for n, level in enumerate(levels)
    ]


def test_c1_needs_both_levels_and_their_order():
    assert holds("C1", {"Deep CFR": [on_holdem(900, 38)], "NFSP": [on_holdem(900, 47)]}) == [True, True, True]
    assert holds("C1", {"Deep CFR": [on_holdem(900, 200)], "NFSP": [on_holdem(900, 300)]}) == [False, False, True]
    assert holds("C1", {"Deep CFR": [on_holdem(900, 300)], "NFSP": [on_holdem(900, 200)]}) == [False, False, False]


def test_c2_counts_nodes_to_deep_cfrs_level_and_orders_abstractions():
    deep = {"Deep CFR": [on_holdem(900, 50)]}
    clusters = ("40,000 decisions", "368,000 decisions", "3.6 million decisions")
    finer_is_better = dict(zip(clusters, ([on_holdem(900, level)] for level in (90, 70, 45)), strict=True))
    slow = {"lossless": [on_holdem(900, 300, 49, nodes=1e8)]}
    assert holds("C2", {**deep, **finer_is_better, **slow}) == [True, True, True]
    coarser_is_better = dict(zip(clusters, ([on_holdem(900, level)] for level in (20, 30, 35)), strict=True))
    fast = {"lossless": [on_holdem(49, nodes=1e6)]}
    assert holds("C2", {**deep, **coarser_is_better, **fast}) == [False, False, False]


def test_c3_compares_the_spread_of_replicates_with_their_level():
    assert holds("C3", {"Deep CFR": [[*on_holdem(level)] for level in (100, 101, 99, 102, 98)]}) == [True]
    assert holds("C3", {"Deep CFR": [[*on_holdem(level)] for level in (100, 140, 90, 102, 70)]}) == [False]


def test_c4_and_c5_need_changes_to_be_worse():
    def results(claim, base, changed):
        labels = [setting.label for setting in CLAIMS[claim].full.settings]
        bases = ("Deep CFR", "from scratch each time", "full reservoir")
        return {label: [on_holdem(base if label in bases else changed)] for label in labels}

    assert holds("C4", results("C4", 100, 130)) == [True, True, True]
    assert holds("C4", results("C4", 100, 110)) == [False, False, False]
    assert holds("C5", results("C5", 100, 110)) == [True, True, False]  # ends are not seen at iteration 1
    assert holds("C5", results("C5", 100, 90)) == [False, False, False]
    ends = {label: [[{**run[-1], "iteration": 450}] for run in runs] for label, runs in results("C5", 100, 110).items()}
    assert holds("C5", ends) == [True, True]


def test_l8_compares_exact_levels_with_the_published_ones_and_with_the_hour():
    def exact(**levels):
        return [
            {"iteration": int(name[1:]), "core_seconds": 3000.0, "nash_conv_mbb": level}
            for name, level in levels.items()
        ]

    labels = ("Linear CFR", "CFR+", "DCFR, the default", "DCFR in 16 bits")
    good = (exact(t20=115, t30=64, t45=40, t50=30), exact(t22=100), exact(t22=70, t150=4.0), exact(t22=70, t150=4.9))
    assert holds("L8", {label: [each] for label, each in zip(labels, good, strict=True)}) == [True] * 6
    bad = (exact(t20=140, t30=50, t50=40), exact(t22=60), exact(t22=70, t150=6.0), exact(t22=70, t150=5.1))
    assert holds("L8", {label: [each] for label, each in zip(labels, bad, strict=True)}) == [False] * 6
    slow = [{**record, "core_seconds": 9000.0} for record in good[2]]
    assert holds("L8", {"Linear CFR": [good[0]], "DCFR, the default": [slow]}) == [True, True, True, False]
    for setting in CLAIMS["L8"].full.settings[2:]:
        assert 1000 * 2 * setting.until / max(load_game("flop_holdem").betting.blinds) == pytest.approx(5.0)


def test_l9_needs_every_level_to_be_far_below_the_first():
    labels = [setting.label for setting in CLAIMS["L9"].full.settings]
    assert len(labels) == 3
    good, bad = (
        {label: [on_holdem(*((1000, level) if label == labels[0] else (level,)))] for label in labels}
        for level in (330, 340)
    )
    assert holds("L9", good) == [True] * 3
    assert holds("L9", bad) == [False] * 3


def test_settings_of_every_claim_are_parameters_that_exist():
    for claim in CLAIMS.values():
        for setting in (*claim.full.settings, *claim.quick.settings):
            if setting.measure == "exploitability":
                recipe = find_recipe(setting.algorithm)
                kind = choose(load_game(setting.game), "auto", recipe).settings
                recipe.resolve(setting.parameters, setting.preset, game=kind)


def test_g2_and_g3_compare_at_equal_time():
    slow = {"Goofspiel: MCCFR": [history(0.4, 0.3, 0.2, 0.1)], "Goofspiel: probing": [history(0.3, 0.09, 0.05, 0.04)]}
    assert holds("G2", slow) == [True]
    assert holds("G3", slow) == [True]
    equal = {"Goofspiel: MCCFR": slow["Goofspiel: MCCFR"], "Goofspiel: probing": slow["Goofspiel: MCCFR"]}
    assert holds("G2", equal) == [False]
    assert holds("G3", equal) == [False]


def test_d1_needs_larger_batches_to_be_better_and_the_last_two_to_be_close():
    def results(*levels):
        return {f"b = {n}": [history(level)] for n, level in enumerate(levels)}

    assert holds("D1", results(0.9, 0.1, 0.03, 0.029)) == [True, True]
    assert holds("D1", results(0.1, 0.9, 0.03, 0.029)) == [False, True]
    assert holds("D1", results(0.9, 0.1, 0.05, 0.02)) == [True, False]


def test_d2_and_d11_compare_schemes():
    level = {"outcome": 0.2, "k = 1": 0.12, "k = 3": 0.03, "k = 5": 0.03, "k = max": 0.025}
    results = {label: [history(value)] for label, value in level.items()}
    for label in ("k = 3", "k = 5"):
        results[label][0][-1]["nodes_touched"] = 5
    assert holds("D2", results) == [True, True, True, True]
    results["k = 1"] = [history(0.3)]
    results["outcome"] = [history(0.05)]
    assert holds("D2", results) == [False, False, True, True]


def test_verdicts():
    def found(*flags):
        return [Finding(what="", paper="", ours="", holds=flag) for flag in flags]

    assert verdict(found(True, True)) == "reproduced"
    assert verdict(found(True, False)) == "partly reproduced"
    assert verdict(found(False, False)) == "not reproduced"


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
    outcome = reproduce("D11", quick=True, folder=tmp_path / "data", report=lambda text: None)
    assert outcome["verdict"] in ("reproduced", "partly reproduced", "not reproduced")
    saved = json.loads((tmp_path / "data" / "D11-quick.json").read_text())
    assert saved["settings"][0]["histories"][0][-1]["iteration"] == 20
    assert (tmp_path / "data" / "D11-quick.png").read_bytes().startswith(b"\x89PNG")
    write_page(tmp_path / "data", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert "## D11" in page and "data/D11-quick.png" in page and outcome["verdict"] in page


def test_unknown_claims_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(EquipoiseError, match="unknown claim 'D99'"):
        reproduce("D99", quick=True, folder=tmp_path, report=print)
    with pytest.raises(EquipoiseError, match="no results yet"):
        write_page(tmp_path, tmp_path / "page.md")
