"""The claims that need no network: G for Gibson et al. 2012, D for Double Neural CFR (Li et al. 2019, 2020)."""

from itertools import pairwise
from statistics import mean

import numpy as np

from equipoise.experiments.claim import (
    Answer,
    Claim,
    Figure,
    Finding,
    Published,
    Results,
    is_below,
    is_within,
    ratio_interval,
    spread,
)
from equipoise.experiments.sweep import History, Setting, Sweep, at_end

# --- G1: the variance of estimates at the root of Goofspiel


NEAR = 1.25  # an average of a thousand variances is known to a percent: a quarter is room for the rules of the game


def _near(values: list[float], printed: float) -> Answer:
    """Return whether numbers are a printed one, up to a quarter."""
    if len(values) < 2:
        return "one seed"
    return "yes" if all(printed / NEAR < value < printed * NEAR for value in values) else "no"


_VANILLA, _ALTERNATING = "Goofspiel", "alternating updates"


def _judge_g1(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        plain = [mean(record["variance_mccfr"] for record in history) for history in histories]
        probed = [mean(record["variance_probing"] for record in history) for history in histories]
        ratios = [ours / theirs for ours, theirs in zip(probed, plain, strict=True)]
        counts = label == _VANILLA
        where = "" if counts else f", {label} (the paper's are vanilla CFR's)"
        findings += [
            Finding(what=f"MCCFR{where}", paper="0.295", ours=spread(plain), holds=_near(plain, 0.295), counts=counts),
            Finding(
                what=f"probing{where}", paper="0.133", ours=spread(probed), holds=_near(probed, 0.133), counts=counts
            ),
            Finding(
                what=f"probing has the smaller variance{where}",
                paper="yes",
                ours=spread(ratios),
                holds=is_below(probed, plain),
                counts=counts,
            ),
            Finding(
                what=f"probing / MCCFR{where}",
                paper="0.45",
                ours=spread(ratios),
                holds=_near(ratios, 0.45),
                counts=counts,
            ),
        ]
    return findings


def _variances(iterations: int, traversals: int) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            label=label,
            game="goofspiel(cards=6)",
            algorithm="cfr",
            parameters={"traversals": traversals, "updates": updates},
            iterations=iterations,
            measure="variance",
        )
        for label, updates in ((_VANILLA, "simultaneous"), (_ALTERNATING, "alternating"))
    )


G1 = Claim(
    id="G1",
    title="variance of estimates on Goofspiel(6)",
    paper="Gibson et al. 2012, Figure 2",
    says="Goofspiel(6): the variance of the value estimate at the root is 0.295 (MCCFR) and 0.133 (probing), the mean "
    "over 1000 CFR iterations with 1000 + 1000 traversals each",
    unit="squared wins",
    full=Sweep(settings=_variances(1000, 1000), seeds=2, scale="the paper's own scale; two test runs"),
    quick=Sweep(settings=_variances(60, 300), seeds=1, scale="60 iterations of 300 + 300 traversals"),
    figures=(
        Figure(
            x="iteration",
            x_label="CFR iteration",
            y=("variance_mccfr", "variance_probing"),
            y_label="empirical variance at the root (squared wins)",
            log=False,
        ),
    ),
    lines={"MCCFR, mean": 0.295, "probing, mean": 0.133},
    judge=_judge_g1,
    published=Published(iterations=1000, how="the paper's sampling scheme; vanilla CFR, both players at once"),
)


# --- G2 and G3: probing against MCCFR under the same scheme, at equal time


def _curve(histories: list[History], times: np.ndarray) -> np.ndarray:
    """Return the exploitability of each run at some solving times (interpolated in log-log)."""
    curves = []
    for history in histories:
        seconds = np.array([record["solving_seconds"] for record in history]) - start_up(history)
        levels = np.array([record["exploitability"] for record in history])
        curves.append(np.exp(np.interp(np.log(times), np.log(np.maximum(seconds, 1e-6)), np.log(levels))))
    return np.array(curves)


def start_up(history: History) -> float:
    """Return the solving seconds before the first iteration (reading kernels, making tables), from the pace after it.

    The pace is taken between the first record and the last. A history of one record tells nothing: 0.
    """
    first, last = history[0], history[-1]
    if last["iteration"] == first["iteration"]:
        return 0.0
    pace = (last["solving_seconds"] - first["solving_seconds"]) / (last["iteration"] - first["iteration"])
    return float(max(0.0, first["solving_seconds"] - pace * first["iteration"]))


def _equal_time(results: Results, game: str) -> tuple[float, list[float], list[float]]:
    """Return the last common time without start-up, and the levels there of MCCFR and of probing, by seed."""
    plain, probed = results[f"{game}: MCCFR"], results[f"{game}: probing"]
    end = min(history[-1]["solving_seconds"] - start_up(history) for history in plain + probed)
    times = np.array([end])
    return end, _curve(plain, times)[:, 0].tolist(), _curve(probed, times)[:, 0].tolist()


def _judge_g2(results: Results) -> list[Finding]:
    findings = []
    paper = {"Goofspiel": 31, "Bluff": 10}
    for game in dict.fromkeys(label.split(":")[0] for label in results):
        end, plain, probed = _equal_time(results, game)
        gain = 100 * (1 - mean(probed) / mean(plain))
        interval = ""
        if min(len(plain), len(probed)) > 1:
            low, high = ratio_interval(probed, plain)
            interval = f" (95 %: {100 * (1 - high):.0f} to {100 * (1 - low):.0f})"
        # Half of what is printed, and beyond the noise of the seeds: less would be another claim.
        findings.append(
            Finding(
                what=f"{game}, after {end:.0f} s of solving without start-up: {spread(plain)} (MCCFR), "
                f"{spread(probed)} (probing); {len(plain)} seed(s)",
                paper=f"{paper[game]} % less exploitable",
                ours=f"{gain:.0f} % less exploitable{interval}",
                holds=is_below(probed, plain, 1 - paper[game] / 200),
            )
        )
    return findings


def _judge_g3(results: Results) -> list[Finding]:
    end, plain, _ = _equal_time(results, "Goofspiel")
    times = np.geomspace(end / 1000, end, 2000)
    shares = []
    for curve in _curve(results["Goofspiel: probing"], times):
        below = np.flatnonzero(curve <= mean(plain))
        shares.append(float(times[below[0]] / end) if len(below) else 2.0)  # not within the time: at least all of it
    return [
        Finding(
            what=f"share of MCCFR's {end:.0f} s that probing needs for MCCFR's last mean level, {mean(plain):.4g}",
            paper="nearly half the time",
            ours=spread(shares),
            holds=is_below(shares, [0.65, 0.65]),  # 'nearly half' is printed; two thirds would be another word
        )
    ]


def _pair(name: str, game: str, seconds: float, growth: float, first: int = 1) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            label=f"{name}: {label}",
            game=game,
            algorithm=algorithm,
            seconds=seconds,
            evaluation_growth=growth,
            first_evaluation=first,
        )
        for label, algorithm in (("MCCFR", "is-mccfr"), ("probing", "probing"))
    )


_GOOFSPIEL_7 = _pair("Goofspiel", "goofspiel(cards=7)", 150.0, 1.5)
_GOOFSPIEL_QUICK = _pair("Goofspiel", "goofspiel(cards=5)", 8.0, 1.3)
_TIME = Figure(x="solving_seconds", x_label="seconds of solving (one core a run, evaluations not counted)")

G2 = Claim(
    id="G2",
    title="probing against MCCFR at equal time",
    paper="Gibson et al. 2012, Figure 3",
    says="at equal time and under the same sampling scheme, probing ends 31 % (Goofspiel(7)) and 10 % (Bluff(2,2)) "
    "less exploitable than MCCFR",
    unit="wins a game",
    full=Sweep(
        settings=(*_GOOFSPIEL_7, *_pair("Bluff", "bluff(dice=2x2)", 240.0, 2.0, first=8000)),
        seeds=1,
        scale="scaled down in time: 150 seconds a run on Goofspiel(7), 240 on Bluff(2,2) (evaluations included), one "
        "seed; the paper ran five seeds for hours",
        side_by_side=1,
    ),
    quick=Sweep(
        settings=(*_GOOFSPIEL_QUICK, *_pair("Bluff", "bluff(dice=1x1)", 8.0, 1.3)),
        seeds=2,
        scale="scaled down to Goofspiel(5) and Bluff(1,1), 8 seconds a run",
    ),
    figures=(_TIME,),
    judge=_judge_g2,
    published=Published(how="the paper's sampling schemes, stochastic averaging"),
)

G3 = Claim(
    id="G3",
    title="probing's time to MCCFR's level",
    paper="Gibson et al. 2012, Figure 3",
    says="Goofspiel(7): probing reaches the level of MCCFR's last data point in nearly half the time",
    unit="wins a game",
    full=Sweep(
        settings=_GOOFSPIEL_7,
        seeds=5,
        scale="five seeds as in the paper, 150 seconds a run on one core instead of hours",
    ),
    quick=Sweep(settings=_GOOFSPIEL_QUICK, seeds=2, scale="scaled down to Goofspiel(5), 8 seconds a run"),
    figures=(_TIME,),
    judge=_judge_g3,
    published=Published(how="the paper's sampling scheme, stochastic averaging"),
)


# --- D1, D2 and D11: mini-batches and robust sampling, as Double Neural CFR reports its tabular methods


def _robust(label: str, game: str, iterations: int, **parameters: object) -> Setting:
    """Return a run of RS-MCCFR+ as the paper has it: own-reach averaging, all iterations count the same."""
    own = {"rule": "cfr_plus_plain", "averaging": "own_reach", **parameters}
    return Setting(label=label, game=game, algorithm="rs-mccfr+", parameters=own, iterations=iterations)


def _outcome(label: str, game: str, iterations: int, batch: int, epsilon: float) -> Setting:
    """Return outcome sampling; without exploration it is what Double Neural CFR calls by that name (Lemma 4)."""
    own = {"rule": "cfr_plus_plain", "averaging": "own_reach", "batch": batch, "updates": "simultaneous"}
    return Setting(
        label=label, game=game, algorithm="os-mccfr", parameters={**own, "epsilon": epsilon}, iterations=iterations
    )


def _batches(game: str, iterations: int, batches: tuple[int, ...], k: str) -> tuple[Setting, ...]:
    return tuple(_robust(f"b = {b}", game, iterations, k=k, batch=b) for b in batches)


def _larger_is_better(results: Results, labels: list[str]) -> list[Finding]:
    levels = {label: at_end(results[label]) for label in labels}
    return [
        Finding(
            what=f"{larger} against {smaller}, exploitability at the last iteration",
            paper="larger b is better",
            ours=f"{spread(levels[larger])} against {spread(levels[smaller])}",
            holds=is_below(levels[larger], levels[smaller]),
        )
        for smaller, larger in pairwise(labels)
    ]


def _judge_d1(results: Results) -> list[Finding]:
    labels = list(results)
    findings = _larger_is_better(results, labels[:-1])
    last, before = at_end(results[labels[-1]]), at_end(results[labels[-2]])
    findings.append(
        Finding(
            what=f"{labels[-2]} against {labels[-1]}",
            paper="as good",
            ours=f"{spread(before)} against {spread(last)}",
            holds=is_within(before, last, SIMILAR),
        )
    )
    return findings


SIMILAR = 1.5  # two curves of a logarithmic figure whose ends differ by less than this lie on one another


D1 = Claim(
    id="D1",
    title="size of the mini-batch",
    paper="Li et al. 2019, Figure 3 (A)",
    says="NLLH(5), robust sampling with k = max: larger mini-batches give better strategies, and b = 5000 is as good "
    "as b = 10000",
    unit="chips a game",
    full=Sweep(
        settings=_batches("nl_leduc(stack=5)", 1000, (1, 1000, 5000, 10000), "max"),
        seeds=8,
        scale="eight seeds",
    ),
    quick=Sweep(
        settings=_batches("nl_leduc(stack=5)", 300, (1, 1000, 5000, 10000), "max"),
        seeds=2,
        scale="300 iterations, two seeds",
    ),
    figures=(Figure(x="iteration", x_label="iteration"),),
    judge=_judge_d1,
    published=Published(iterations=1000, preset="dn19", varied=("batch", "k")),
)


_AS_DEFINED, _EXPLORING = "outcome", "outcome, epsilon = 0.6"


def _judge_d2(results: Results) -> list[Finding]:
    level = {label: at_end(histories) for label, histories in results.items()}
    nodes = {label: mean(at_end(histories, "nodes_touched")) for label, histories in results.items()}
    findings = [
        Finding(
            what="outcome sampling as the paper defines it (no exploration), at the last iteration",
            paper="stays above 0.1",
            ours=spread(level[_AS_DEFINED]),
            holds=is_below([0.1, 0.1], level[_AS_DEFINED]),
        ),
        Finding(
            what="k = 1 against it",
            paper="better",
            ours=f"{spread(level['k = 1'])} against {spread(level[_AS_DEFINED])}",
            holds=is_below(level["k = 1"], level[_AS_DEFINED]),
        ),
        Finding(
            what="k = 1 against outcome sampling with epsilon = 0.6",
            paper="not in the paper",
            ours=f"{spread(level['k = 1'])} against {spread(level[_EXPLORING])}",
            holds=is_below(level["k = 1"], level[_EXPLORING]),
            counts=False,
        ),
    ]
    for label in ("k = 3", "k = 5"):
        share = nodes[label] / nodes["k = max"]
        # No infoset of NLLH(5) has more than five actions: there k = 5 is k = max, can save nothing and shows nothing.
        same = level[label] == level["k = max"]
        findings.append(
            Finding(
                what=f"{label} against k = max, with {100 * share:.0f} % of its nodes"
                + (" (the same runs: no infoset has more than five actions)" if same else ""),
                paper="a similar trend, with less memory",
                ours=f"{spread(level[label])} against {spread(level['k = max'])}",
                holds="not tested"
                if same
                else is_within(level[label], level["k = max"], SIMILAR)
                if share < 1
                else "no",
                counts=not same,
            )
        )
    return findings


def _schemes(game: str, iterations: int, batch: int, sizes: tuple[str, ...]) -> tuple[Setting, ...]:
    robust = (_robust(f"k = {k}", game, iterations, k=k, batch=batch) for k in sizes)
    return (
        _outcome(_AS_DEFINED, game, iterations, batch, 0.0),
        _outcome(_EXPLORING, game, iterations, batch, 0.6),
        *robust,
    )


_BY_ITERATION_AND_NODES = (
    Figure(x="iteration", x_label="iteration"),
    Figure(x="nodes_touched", x_label="touched nodes (decisions, terminals and public deals; dealt hands not counted)"),
)

D2 = Claim(
    id="D2",
    title="robust against outcome sampling",
    paper="Li et al. 2019, Figure 3 (B) and (C)",
    says="NLLH(5), 1000 iterations: outcome sampling stays above 0.1; robust sampling with k = 1 beats it; k = 3 and 5 "
    "match k = max with less memory",
    unit="chips a game",
    full=Sweep(
        settings=_schemes("nl_leduc(stack=5)", 1000, 5000, ("1", "3", "5", "max")),
        seeds=8,
        scale="b = 5000, eight seeds",
    ),
    quick=Sweep(
        settings=_schemes("nl_leduc(stack=5)", 300, 5000, ("1", "3", "5", "max")),
        seeds=2,
        scale="300 iterations, two seeds",
    ),
    figures=_BY_ITERATION_AND_NODES,
    judge=_judge_d2,
    published=Published(iterations=1000, preset="dn19", varied=("k", "epsilon", "rule")),
    lines={"outcome sampling stays above": 0.1},
)


def _judge_d11(results: Results) -> list[Finding]:
    batches = [label for label in results if label.startswith("b = ")]
    findings = _larger_is_better(results, batches)
    level = {label: at_end(results[label]) for label in (_AS_DEFINED, _EXPLORING, "k = 1", "k = 2")}
    findings += [
        Finding(
            what="k = 1 against k = 2",
            paper="a similar trend",
            ours=f"{spread(level['k = 1'])} against {spread(level['k = 2'])}",
            holds=is_within(level["k = 1"], level["k = 2"], SIMILAR),
        ),
        Finding(
            what="k = 1 against outcome sampling as the paper defines it (no exploration)",
            paper="far better",
            ours=f"{spread(level['k = 1'])} against {spread(level[_AS_DEFINED])}",
            holds=is_below(level["k = 1"], level[_AS_DEFINED], 0.5),
        ),
        Finding(
            what="k = 1 against outcome sampling with epsilon = 0.6",
            paper="not in the paper",
            ours=f"{spread(level['k = 1'])} against {spread(level[_EXPLORING])}",
            holds=is_below(level["k = 1"], level[_EXPLORING], 0.5),
            counts=False,
        ),
    ]
    return findings


def _one_card(iterations: int, batches: tuple[int, ...], batch: int) -> tuple[Setting, ...]:
    game = "one_card_poker(cards=5)"
    return (*_batches(game, iterations, batches, "max"), *_schemes(game, iterations, batch, ("1", "2")))


D11 = Claim(
    id="D11",
    title="One-Card Poker, tabular",
    paper="Li et al. 2019, Figure 7 (A) and (B)",
    says="One-Card Poker(5), tabular: larger mini-batches are better (b = 1, 100, 500, 1000); k = 1 is like k = 2, and "
    "both are far better than outcome sampling",
    unit="chips a game",
    full=Sweep(
        settings=_one_card(1000, (1, 100, 500, 1000), 1000),
        seeds=8,
        scale="1000 iterations, eight seeds; b = 1000 for k",
    ),
    quick=Sweep(settings=_one_card(200, (1, 100, 500, 1000), 1000), seeds=3, scale="200 iterations, three seeds"),
    figures=_BY_ITERATION_AND_NODES,
    judge=_judge_d11,
    published=Published(iterations=1000, preset="one-card", varied=("k", "batch", "epsilon", "rule")),
)

# --- D15 and D16: small k against external sampling by nodes; MCCFR+ against MCCFR


def _at_nodes(histories: list[History], nodes: float) -> list[float]:
    """Return each run's exploitability at so many touched nodes (interpolated in log-log)."""
    return [
        float(
            np.exp(
                np.interp(
                    np.log(nodes),
                    np.log([record["nodes_touched"] for record in history]),
                    np.log([record["exploitability"] for record in history]),
                )
            )
        )
        for history in histories
    ]


_EXTERNAL = "external sampling"


def _judge_d15(results: Results) -> list[Finding]:
    nodes = min(history[-1]["nodes_touched"] for histories in results.values() for history in histories)
    external = _at_nodes(results[_EXTERNAL], nodes)
    return [
        Finding(
            what=f"{label} against external sampling, after {nodes:.2g} touched nodes",
            paper="as good",
            ours=f"{spread(_at_nodes(histories, nodes))} against {spread(external)}",
            holds=is_within(_at_nodes(histories, nodes), external, SIMILAR),
        )
        for label, histories in results.items()
        if label != _EXTERNAL
    ]


def _small_k(iterations: int) -> tuple[Setting, ...]:
    game = "nl_leduc(stack=5)"
    own = {"rule": "cfr_plus_plain", "averaging": "own_reach", "batch": 5000, "updates": "simultaneous"}
    external = Setting(label=_EXTERNAL, game=game, algorithm="es-mccfr", parameters=own, iterations=iterations)
    return (external, *(_robust(f"k = {k}", game, iterations, k=k, batch=5000) for k in ("1", "2", "3")))


D15 = Claim(
    id="D15",
    title="small k by touched nodes",
    paper="Li et al. 2019, Figure 3 (C); 2020, Figure 4 (a)",
    says="NLLH(5), by touched nodes: robust sampling with a small k is as good as external sampling",
    unit="chips a game",
    full=Sweep(settings=_small_k(1000), seeds=8, scale="b = 5000, eight seeds"),
    quick=Sweep(settings=_small_k(200), seeds=2, scale="200 iterations, two seeds"),
    figures=_BY_ITERATION_AND_NODES[1:],
    judge=_judge_d15,
    published=Published(iterations=1000, preset="dn19", varied=("k",)),
)


def _judge_d16(results: Results) -> list[Finding]:
    level = {label: at_end(histories) for label, histories in results.items()}
    pairs = (
        ("MCCFR+, b = 5000", "MCCFR, b = 5000", "better in mini-batches"),
        ("MCCFR, b = 1", "MCCFR+, b = 1", "slower without mini-batches"),
    )
    return [
        Finding(
            what=f"{better} below {worse} at the last iteration",
            paper=f"MCCFR+ is {paper}",
            ours=f"{spread(level[better])} against {spread(level[worse])}",
            holds=is_below(level[better], level[worse]),
        )
        for better, worse, paper in pairs
    ]


def _plus_and_plain(iterations: int) -> tuple[Setting, ...]:
    game = "nl_leduc(stack=5)"
    return tuple(
        Setting(
            label=f"{name}, b = {b}",
            game=game,
            algorithm=algorithm,
            parameters={"batch": b},
            preset="dn19",
            iterations=iterations,
        )
        for b in (5000, 1)
        for name, algorithm in (("MCCFR+", "rs-mccfr+"), ("MCCFR", "rs-mccfr"))
    )


D16 = Claim(
    id="D16",
    title="MCCFR+ against MCCFR, with and without mini-batches",
    paper="Li et al. 2019, section 5",
    says="NLLH(5): MCCFR+ in mini-batches beats MCCFR in mini-batches; without mini-batches (b = 1) it is slower",
    unit="chips a game",
    full=Sweep(settings=_plus_and_plain(1000), seeds=8, scale="k = 3, b = 5000 and 1, eight seeds"),
    quick=Sweep(settings=_plus_and_plain(200), seeds=2, scale="200 iterations, two seeds"),
    figures=_BY_ITERATION_AND_NODES[:1],
    judge=_judge_d16,
    published=Published(iterations=1000, preset="dn19", varied=("batch",)),
)

TABULAR_CLAIMS = (G1, G2, G3, D1, D2, D11, D15, D16)
