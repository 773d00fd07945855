"""The claims that need networks: D for Double Neural CFR (Li et al. 2019, 2020), C for Deep CFR (Brown et al. 2019),
and L for levels that this project holds itself to, with shipped defaults.
"""

from collections.abc import Callable, Mapping
from statistics import mean, median
from typing import Any

from equipoise.experiments.claim import (
    Answer,
    Claim,
    Figure,
    Finding,
    Level,
    Published,
    Results,
    is_at_most,
    is_below,
    is_within,
    spread,
    yes,
)
from equipoise.experiments.sweep import History, Setting, Sweep, at_end

NLLH_5, LEDUC, ONE_CARD = "nl_leduc(stack=5)", "leduc_poker", "one_card_poker(cards=5)"
MERGED_ENTRIES = 5808  # of both tables of NLLH(5) with ranks merged, as the networks of our recipe see cards
SIMILAR = 1.5  # two curves of a logarithmic figure whose ends differ by less than this lie on one another
HALF_A_DECADE = 10**0.5  # how well a power of ten can be read from a logarithmic axis
HISTORIES = {NLLH_5: 41197}  # decisions, ends and chance: what a full-width iteration visits for each player

BY_ITERATION = Figure(x="iteration", x_label="iteration")
BY_NODES = Figure(x="nodes_touched", x_label="touched nodes (decisions, terminals and public deals)")
BY_SECONDS = Figure(x="core_seconds", x_label="seconds of one core, evaluations included")


def _run(label: str, algorithm: str, game: str = NLLH_5, **rest: object) -> Setting:
    """Return a setting; what is no field of a setting is a parameter of the algorithm."""
    own = ("iterations", "core_seconds", "until", "preset", "start", "first_evaluation", "evaluation_growth")
    fields = {"evaluation_growth": 1.2, **{name: rest.pop(name) for name in own if name in rest}}
    return Setting(label=label, game=game, algorithm=algorithm, parameters=rest, **fields)  # type: ignore[arg-type]


def at_iteration(histories: list[History], iteration: int, name: str = "exploitability") -> list[float]:
    """Return each history's number at the last record up to an iteration."""
    return [
        float([record for record in history if record["iteration"] <= iteration][-1][name]) for history in histories
    ]


def first_below(histories: list[History], level: float, name: str) -> list[float]:
    """Return where each history first has an exploitability: at which iteration, nodes, ...; infinite if nowhere."""
    return [
        next((float(record[name]) for record in history if record["exploitability"] <= level), float("inf"))
        for history in histories
    ]


def _shown(values: list[float]) -> str:
    """Return the median and the worst of some values."""
    worst = max(values)
    return f"{median(values):.3g} (worst {worst:.3g})"


# --- D3 and D4: Double Neural CFR beside XFP and NFSP

_DNCFR = "Double Neural CFR"
_TWIN = "table (RS-MCCFR+)"
_SMALL_BATCH = "Double Neural CFR, b = 100, k = 3"


def _twin(iterations: int, game: str = NLLH_5, **parameters: object) -> Setting:
    """Return the tabular counterpart of `dncfr`: the same sampling, rule and averaging weights."""
    own = {"k": "max", "batch": 5000, "rule": "cfr_plus_quadratic", "updates": "alternating", **parameters}
    return _run(_TWIN, "rs-mccfr+", game, iterations=iterations, **own)


def _judge_d3(results: Results) -> list[Finding]:
    ours = results[_DNCFR]
    last = ours[0][-1]["iteration"]
    parameters = int(ours[0][-1]["regret_parameters"] + ours[0][-1]["strategy_parameters"])
    early = min(200, last)
    findings = [
        Finding(
            what=f"Double Neural CFR at iteration {early}; all seeds must",
            paper="0.06 at 200",
            ours=spread(at_iteration(ours, early)),
            holds=is_at_most(at_iteration(ours, early), 0.06) if early == 200 else "not tested",
        ),
        Finding(
            what=f"Double Neural CFR at iteration {last}; all seeds must",
            paper="0.02 at 1000",
            ours=f"{spread(at_end(ours))}, worst {max(at_end(ours)):.3g}",
            holds=is_at_most(at_end(ours), 0.02) if last >= 1000 else "not tested",
        ),
        Finding(
            what="the tabular counterpart (same sampling, rule and weights) at the same iteration",
            paper="similar",
            ours=f"{spread(at_end(results[_TWIN]))}; networks {spread(at_end(ours))}",
            holds=is_within(at_end(ours), at_end(results[_TWIN]), SIMILAR),
        ),
        Finding(
            what=f"numbers in all networks, against the entries of two tables with the same merged ranks "
            f"({MERGED_ENTRIES:,})",
            paper="fewer, against tables with suits",
            ours=f"{parameters:,}",
            holds=yes(parameters < MERGED_ENTRIES),
            counts=False,
        ),
    ]
    if "XFP" in results:
        needed = first_below(results["XFP"], 0.06, "iteration")
        near = 1e3 / HALF_A_DECADE <= needed[0] <= 1e3 * HALF_A_DECADE
        findings.append(
            Finding(
                what="XFP: iterations to 0.06 (it has no seeds)", paper="1e3", ours=f"{needed[0]:.3g}", holds=yes(near)
            )
        )
    return findings


def _judge_d4(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        if label == "XFP":
            nodes = [2.0 * HISTORIES[NLLH_5] * t for t in first_below(histories, 0.06, "iteration")]
        else:
            nodes = first_below(histories, 0.06, "nodes_touched")
        paper = 1e9 if label == "NFSP" else 1e7 if label == "XFP" else 1e6
        reached = [count for count in nodes if count < float("inf")]
        touched = median(history[-1].get("nodes_touched", 0) for history in histories)
        end = f"{spread(at_end(histories))} after {touched:.2g} nodes"
        holds: Answer
        if label == "XFP":
            holds = yes(nodes[0] <= HALF_A_DECADE * paper)
        elif label == "NFSP" and not reached and histories[0][-1]["nodes_touched"] < paper:
            holds = "not tested"  # the run ended before the paper's number of nodes
        elif label not in ("NFSP", _SMALL_BATCH):
            holds = "not tested"  # another batch than the figure's
        else:
            holds = is_at_most(nodes, HALF_A_DECADE * paper)
        findings.append(
            Finding(
                what=f"{label}: touched nodes to exploitability 0.06"
                + (" (all histories, twice an iteration; not in the figure)" if label == "XFP" else ""),
                paper=f"{paper:.0e}" if label in ("NFSP", "XFP") else "at most 1e6",
                ours=f"{median(nodes):.2g}" if len(reached) == len(nodes) else f"not reached: {end}",
                holds=holds,
                counts=label in ("NFSP", "XFP", _SMALL_BATCH),
            )
        )
    return findings


_XFP = _run("XFP", "xfp", iterations=1500)
_NFSP = _run("NFSP", "nfsp", core_seconds=300.0, evaluation_growth=1.5)

D3 = Claim(
    id="D3",
    title="Double Neural CFR beside XFP",
    paper="Li et al. 2019, Figure 4 (A)",
    says="NLLH(5): Double Neural CFR has exploitability 0.06 after 200 iterations (XFP after 1e3, NFSP after 1e6) and "
    "0.02 after 1000, like its tabular counterpart",
    unit="chips a game",
    full=Sweep(
        settings=(_run(_DNCFR, "dncfr", iterations=1000), _twin(1000), _XFP),
        seeds=8,
        scale="the paper's own scale, eight seeds; NFSP is in D4",
    ),
    quick=Sweep(settings=(_run(_DNCFR, "dncfr", iterations=100), _twin(100)), seeds=2, scale="100 iterations, no NFSP"),
    figures=(BY_ITERATION,),
    published=Published(iterations={_DNCFR: 1000, _TWIN: 1000}, preset="dn19"),
    lines={"Double Neural CFR at 200": 0.06, "at 1000": 0.02},
    judge=_judge_d3,
    levels=(
        Level(game=NLLH_5, value=0.06, text="Double Neural CFR, 200 iterations (Li et al. 2019)"),
        Level(game=NLLH_5, value=0.02, text="Double Neural CFR, 1,000 iterations (Li et al. 2019)"),
    ),
)

D4 = Claim(
    id="D4",
    title="nodes to 0.06: NFSP, XFP, Double Neural CFR",
    paper="Li et al. 2020, Figure 5 (c)",
    says="NLLH(5), b = 100, k = 3, exploitability 0.06: NFSP needs 1e9 touched nodes, XFP 1e7, Double Neural CFR at "
    "most 1e6",
    unit="chips a game",
    full=Sweep(
        settings=(
            _run(_SMALL_BATCH, "dncfr", iterations=1000, batch=100, k="3"),
            _run("table, b = 100, k = 3", "rs-mccfr+", iterations=1000, preset="dn20"),
            _XFP,
            _NFSP,
        ),
        seeds=1,
        scale="one seed; NFSP five minutes",
    ),
    quick=Sweep(
        settings=(
            _run(_SMALL_BATCH, "dncfr", iterations=200, batch=100, k="3"),
            _run("XFP", "xfp", iterations=1200),
        ),
        seeds=1,
        scale="200 iterations, one seed",
    ),
    figures=(BY_NODES,),
    published=Published(preset="dn20", how="NFSP with our network"),
    lines={"the level": 0.06},
    judge=_judge_d4,
)

# --- D3 with the networks as published

_AS_PUBLISHED, _EXACTLY, _TABLE = "as published", "its regrets, averaged exactly", "table"


def _judge_d3_published(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        what, _, batch = label.partition(", b = ")
        table = results[f"{_TABLE}, b = {batch}"]
        if what == _TABLE:
            continue
        last = min(history[-1]["iteration"] for history in (*histories, *table))
        ours, theirs = at_iteration(histories, last), at_iteration(table, last)
        findings.append(
            Finding(
                what=f"{label}: at iteration {last}, against the table, same sampling and rule; at most "
                f"{SIMILAR} times as much is asked for",
                paper="like its tabular counterpart" if what == _AS_PUBLISHED else "not in the paper",
                ours=f"{spread(ours)} against {spread(theirs)}",
                holds=is_at_most([a / b for a, b in zip(ours, theirs, strict=True)], SIMILAR),
                counts=what == _AS_PUBLISHED,
            )
        )
    if "table, b = 5000" in results:  # whether the levels printed for networks are those of the table
        table = results["table, b = 5000"]
        findings += [
            Finding(
                what=f"the table, b = 5000, at iteration {iteration}",
                paper=f"{printed:g}, of the networks",
                ours=spread(at_iteration(table, iteration)),
                holds=is_at_most(at_iteration(table, iteration), SIMILAR * printed),
                counts=False,
            )
            for iteration, printed in ((200, 0.06), (1000, 0.02))
        ]
    return findings


def _as_published(what: str, algorithm: str, batch: int, iterations: int, **changes: Any) -> Setting:
    preset = {100: "dn20", 5000: "dn19"}[batch]
    label = f"{what}, b = {batch}"
    return _run(label, algorithm, iterations=iterations, preset=preset, evaluation_growth=1.15, **changes)


D3_PUBLISHED = Claim(
    id="D3-published",
    title="Double Neural CFR as published",
    paper="Li et al. 2019, Figure 4 (A); 2020, Figure 4 (d)",
    says="NLLH(5), with the published networks, regressed sums and Algorithm 2, b = 100: Double Neural CFR is like "
    "its tabular counterpart",
    unit="chips a game",
    full=Sweep(
        settings=(
            _as_published(_AS_PUBLISHED, "dncfr", 100, 200),
            _as_published(_TABLE, "rs-mccfr+", 100, 1000),
            _as_published(_TABLE, "rs-mccfr+", 5000, 1000),
            _as_published(_EXACTLY, "rs-mccfr+-rsn", 100, 60, averaging="exact"),
        ),
        seeds=1,
        scale="one seed, 200 iterations with b = 100; the whole: equipoise solve 'nl_leduc(stack=5)' --algorithm dncfr "
        "--preset dn20 (b = 100; dn19: b = 5000) --iterations 1000, about an hour (six hours) of one core",
        side_by_side=1,
    ),
    quick=Sweep(
        settings=(
            _as_published(_AS_PUBLISHED, "dncfr", 100, 3, steps=20, strategy_steps=20),
            _as_published(_TABLE, "rs-mccfr+", 100, 3),
        ),
        seeds=1,
        scale="3 iterations of at most 20 epochs",
    ),
    figures=(BY_ITERATION,),
    published=Published(
        iterations={f"{_AS_PUBLISHED}, b = 100": 1000},
        preset="dn19",
        varied=("batch", "averaging"),
    ),
    lines={"the paper at 200, b = 5000": 0.06, "at 1000": 0.02},
    judge=_judge_d3_published,
)


# --- D5 and D6: few infosets are observed


def _judge_d5(results: Results) -> list[Finding]:
    paper = {"b = 50": 3.08, "b = 100": 5.59, "b = 500": 13.06}
    findings = []
    for label, histories in results.items():
        seen = 100 * mean(mean(record["observed_share"] for record in history) for history in histories)
        best = [min(record["exploitability"] for record in history) for history in histories]
        last = histories[0][-1]["iteration"]
        findings.append(
            Finding(
                what=f"{label}: lowest within {last} iterations; {seen:.1f} % of the traverser's rows seen in a turn "
                f"(the paper prints {paper[label]} %; what it counts is not said)",
                paper="below 0.1",
                ours=f"{spread(best)}, worst {max(best):.3g}; at the end {spread(at_end(histories))}",
                holds=is_at_most(best, 0.1) if last >= 1000 else "not tested",
            )
        )
    return findings


def _batches(iterations: int, until: float | None = None) -> tuple[Setting, ...]:
    sizes = (50, 100, 500)
    return tuple(_run(f"b = {b}", "dncfr", iterations=iterations, until=until, batch=b) for b in sizes)


D5 = Claim(
    id="D5",
    title="small mini-batches",
    paper="Li et al. 2019, Figure 5 (A)",
    says="NLLH(5), b = 50, 100, 500: below 0.1 within 1000 iterations although few infosets are seen in each",
    unit="chips a game",
    full=Sweep(settings=_batches(1000), seeds=2, scale="the paper's own scale, two seeds"),
    quick=Sweep(settings=_batches(100), seeds=1, scale="100 iterations, one seed"),
    figures=(BY_ITERATION,),
    published=Published(iterations=1000, preset="dn19", varied=("batch",)),
    lines={"below": 0.1},
    judge=_judge_d5,
)


CONVERGED = 0.1  # of the first level: what 'converges' is taken for; a curve that only falls may end anywhere


def _converges(label: str, histories: list[History]) -> Finding:
    """Return whether exploitability falls, seed by seed, to a tenth of its start; falling alone decides nothing."""
    middle = histories[0][-1]["iteration"] // 2
    first = [history[0]["exploitability"] for history in histories]
    half, end = at_iteration(histories, middle), at_end(histories)
    falls = all(a > b > c for a, b, c in zip(first, half, end, strict=True))
    there = all(c <= CONVERGED * a for a, c in zip(first, end, strict=True))
    holds: Answer = "no" if not falls else "not tested" if not there else "yes" if len(end) > 1 else "one seed"
    return Finding(
        what=f"{label}: exploitability at iteration 1, {middle} and {2 * middle}; a tenth of the start is asked for",
        paper="converges",
        ours=f"{mean(first):.3g}, {spread(half)}, {spread(end)}",
        holds=holds,
    )


def _judge_d6(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        seen = 100 * mean(history[-1]["observed_share"] for history in histories)
        findings.append(_converges(f"{label}, {seen:.2g} % of rows seen in a turn", histories))
    return findings


def _sizes(iterations: tuple[int, ...], stacks: tuple[int, ...]) -> tuple[Setting, ...]:
    return tuple(
        _run(f"NLLH({x})", "dncfr", f"nl_leduc(stack={x})", iterations=t, batch=500, evaluation_growth=1.3)
        for x, t in zip(stacks, iterations, strict=True)
    )


D6 = Claim(
    id="D6",
    title="larger games",
    paper="Li et al. 2019, Figure 5 (C)",
    says="NLLH(5), (10) and (15) with b = 500: converges although 13 %, 2.4 % and 0.5 % of infosets are seen",
    unit="chips a game",
    full=Sweep(settings=_sizes((150, 150, 40), (5, 10, 15)), seeds=8, scale="eight seeds; 150, 150 and 40 iterations"),
    quick=Sweep(settings=_sizes((60, 40), (5, 10)), seeds=1, scale="60 and 40 iterations, without NLLH(15)"),
    figures=(BY_ITERATION,),
    published=Published(iterations=1000, preset="dn19", varied=("batch",)),
    judge=_judge_d6,
)


# --- D7, D8 and D10: embedding sizes, single networks, architectures


def _architecture(label: str, network: str, width: int, iterations: int) -> Setting:
    return _run(
        label, "dncfr", iterations=iterations, network=network, cards="cards", width=width, strategy_width=width
    )


def _judge_d7(results: Results) -> list[Finding]:
    printed = {"embedding 8": 1048, "embedding 16": 2608}
    findings = []
    for label, histories in results.items():
        size = int(histories[0][-1]["regret_parameters"]) // 2  # one network a player
        findings.append(
            Finding(
                what=f"{label}: numbers in a network",
                paper=f"{printed[label]:,}",
                ours=f"{size:,}",
                holds=yes(size == printed[label]),
            )
        )
        findings.append(_converges(label, histories))
    return findings


def _embeddings(iterations: int) -> tuple[Setting, ...]:
    return tuple(_architecture(f"embedding {h}", "lstm+attention", h, iterations) for h in (8, 16))


D7 = Claim(
    id="D7",
    title="networks of 1,048 and 2,608 numbers",
    paper="Li et al. 2019, Figure 5 (B)",
    says="NLLH(5): LSTMs with attention of embedding 8 and 16 have 1,048 and 2,608 numbers, and both converge",
    unit="chips a game",
    full=Sweep(settings=_embeddings(150), seeds=1, scale="150 iterations, one seed, one network a player, our fitting"),
    quick=Sweep(settings=_embeddings(8), seeds=1, scale="8 iterations, one seed"),
    figures=(BY_ITERATION,),
    published=Published(iterations=1000, preset="dn19", varied=("width", "strategy_width")),
    judge=_judge_d7,
)


def _judge_d8(results: Results) -> list[Finding]:
    level = {label: at_end(histories) for label, histories in results.items()}
    findings = [
        Finding(
            what=f"{label} only, against both",
            paper="slightly better",
            ours=f"{spread(level[label])} against {spread(level[_DNCFR])}",
            holds=is_below(level[label], level[_DNCFR]),
        )
        for label in ("regrets in a network", "average in a network")
    ]
    return findings + [
        Finding(
            what=f"{label} against the table",
            paper="matches it",
            ours=f"{spread(values)} against {spread(level[_TWIN])}",
            holds=is_within(values, level[_TWIN], SIMILAR),
        )
        for label, values in level.items()
        if label != _TWIN
    ]


def _halves(iterations: int) -> tuple[Setting, ...]:
    return (
        _run(_DNCFR, "dncfr", iterations=iterations),
        _run("regrets in a network", "rs-mccfr+-rsn", iterations=iterations),
        _run("average in a network", "rs-mccfr+-asn", iterations=iterations),
        _twin(iterations),
    )


D8 = Claim(
    id="D8",
    title="one network or two",
    paper="Li et al. 2019, Figure 4 (B)",
    says="NLLH(5): one network with a table for the other sum is slightly better than two; all match the table",
    unit="chips a game",
    full=Sweep(settings=_halves(1000), seeds=1, scale="1000 iterations, one seed"),
    quick=Sweep(settings=_halves(60), seeds=1, scale="60 iterations, one seed"),
    figures=(BY_ITERATION,),
    published=Published(iterations=1000, preset="dn19"),
    judge=_judge_d8,
)


def _judge_d10(results: Results) -> list[Finding]:
    last = next(iter(results.values()))[0][-1]["iteration"]
    best = at_end(results["lstm+attention"])
    # Our fully connected network sees a pair flag, and the plain LSTM has one more layer: neither is the paper's.
    unequal = ("mlp", "lstm")
    return [
        Finding(
            what=f"lstm+attention against {label} at iteration {last}"
            + (" (other features or another head: not the paper's comparison)" if label in unequal else ""),
            paper="slightly better, late",
            ours=f"{spread(best)} against {spread(at_end(histories))}",
            holds=is_below(best, at_end(histories)),
            counts=label not in unequal,
        )
        for label, histories in results.items()
        if label != "lstm+attention"
    ]


def _architectures(iterations: int) -> tuple[Setting, ...]:
    names = ("mlp", "lstm", "lstm+attention", "rnn+attention", "gru+attention")
    return tuple(_architecture(name, name, 16, iterations) for name in names)


D10 = Claim(
    id="D10",
    title="architectures",
    paper="Li et al. 2019, Figure 5 (D)",
    says="NLLH(5): LSTM with attention is slightly best late, among fully connected, LSTM, RNN and GRU with attention",
    unit="chips a game",
    full=Sweep(settings=_architectures(150), seeds=1, scale="150 iterations, one seed, width 16, our fitting"),
    quick=Sweep(settings=_architectures(4), seeds=1, scale="4 iterations, one seed"),
    figures=(BY_ITERATION,),
    published=Published(iterations=1000, preset="dn19", varied=("network",)),
    judge=_judge_d10,
)


# --- D9: warm starts


def _judge_d9(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        start = [history[0]["exploitability"] for history in histories]
        findings.append(
            Finding(
                what=f"{label}: from {spread(start)} after iteration {histories[0][0]['iteration']} to iteration "
                f"{histories[0][-1]['iteration']}",
                paper="keeps improving",
                ours=spread(at_end(histories)),
                holds=is_below(at_end(histories), start, 0.5),
            )
        )
    return findings


def _warm(iterations: int) -> tuple[Setting, ...]:
    starts = {
        "CFR": _run("CFR", "cfr", iterations=10),
        "RS-MCCFR+": _run("RS-MCCFR+", "rs-mccfr+", iterations=10, k="max", batch=5000),
    }
    return tuple(
        _run(f"after 10 iterations of {name}", "dncfr", iterations=iterations, start=start, first_evaluation=11)
        for name, start in starts.items()
    )


D9 = Claim(
    id="D9",
    title="warm starts",
    paper="Li et al. 2019, Figure 4 (C)",
    says="NLLH(5): started from 10 iterations of tabular CFR or RS-MCCFR+, Double Neural CFR keeps improving "
    "(b = 5000, k = max)",
    unit="chips a game",
    full=Sweep(settings=_warm(300), seeds=2, scale="300 iterations, two seeds"),
    quick=Sweep(settings=_warm(50), seeds=1, scale="50 iterations, one seed"),
    figures=(BY_ITERATION,),
    published=Published(preset="dn19", varied=("batch", "k")),
    judge=_judge_d9,
)


# --- D11's neural part, D12's Leduc part


LEVEL_OF_D11 = 0.0004
BUDGET_OF_D11 = 600.0  # core-seconds: five minutes of two cores


def _judge_d11n(results: Results) -> list[Finding]:
    ours = results[_DNCFR]
    needed = first_below(ours, LEVEL_OF_D11, "core_seconds")
    good = sum(each <= BUDGET_OF_D11 for each in needed)
    return [
        Finding(
            what=f"Double Neural CFR within {BUDGET_OF_D11:.0f} s of one core; all seeds must",
            paper="below 0.0004",
            ours=f"{good} of {len(ours)} seeds, after {_shown(needed)} s; at the end {_shown(at_end(ours))}",
            holds=is_at_most(needed, BUDGET_OF_D11),
        ),
        Finding(
            what="its table, stopped at the same level: iterations, against those of the networks",
            paper="similar",
            ours=f"{_shown(at_end(results[_TWIN], 'iteration'))}; networks {_shown(at_end(ours, 'iteration'))}",
            holds=is_within(at_end(ours, "iteration"), at_end(results[_TWIN], "iteration"), SIMILAR),
            counts=False,
        ),
    ]


def _one_card(**limits: float) -> tuple[Setting, ...]:
    table = {"k": "max", "batch": 5000, "rule": "cfr_plus_quadratic", "updates": "alternating"}
    return (
        _run(_DNCFR, "dncfr", ONE_CARD, until=LEVEL_OF_D11, **limits),
        _run(_TWIN, "rs-mccfr+", ONE_CARD, until=LEVEL_OF_D11, **table, **limits),
    )


D11_NEURAL = Claim(
    id="D11-neural",
    title="One-Card Poker, networks",
    paper="Li et al. 2019, Figure 7 (C)",
    says="One-Card Poker(5): Double Neural CFR has exploitability below 0.0004",
    unit="chips a game",
    full=Sweep(
        settings=_one_card(core_seconds=BUDGET_OF_D11),
        seeds=8,
        scale="eight seeds, each until it is below or ten minutes of one core have passed",
    ),
    quick=Sweep(settings=_one_card(core_seconds=60.0), seeds=1, scale="one minute, one seed"),
    figures=(BY_ITERATION,),
    published=Published(preset="one-card", varied=("batch",)),
    lines={"Double Neural CFR": 0.0004},
    judge=_judge_d11n,
    levels=(Level(game=ONE_CARD, value=0.0004, text="Double Neural CFR (Li et al. 2019)"),),
)


ENTRIES_15 = 3_366_192  # (infoset, action) pairs of NLLH(15), suits included


def _judge_d12(results: Results) -> list[Finding]:
    table = results[_TWIN]
    networks = next(histories for label, histories in results.items() if label != _TWIN)
    last = networks[0][-1]
    numbers = last["regret_parameters"] + last["strategy_parameters"]
    ratio = 2 * ENTRIES_15 / numbers
    ours, theirs = at_end(networks), at_end(table)
    start = [history[0]["exploitability"] for history in networks]
    converged = all(end <= CONVERGED * first for first, end in zip(start, ours, strict=True))
    return [
        Finding(
            what=f"{numbers:,.0f} numbers in networks, {2 * ENTRIES_15:,} in two tables. The run also holds arrays of "
            "one number for every entry while it fits, so that its own memory is not smaller: the ratio is the files'",
            paper="128 times",
            ours=f"{ratio:.0f} times",
            holds="not tested",
        ),
        Finding(
            what=f"exploitability at iteration {last['iteration']}, networks and table"
            + ("" if converged else " (neither has converged: what is equal here says nothing of the end)"),
            paper="equal",
            ours=f"{spread(ours)}, {spread(theirs)}",
            holds=is_within(ours, theirs, SIMILAR) if converged else "not tested",
        ),
        Finding(
            what="relative memory by relative time, at exploitability 1.0 to 0.005",
            paper="slope -5",
            ours="not measured",
            holds="not tested",
        ),
    ]


def _sizes_15(iterations: int) -> tuple[Setting, ...]:
    return (*_sizes((iterations,), (15,)), _twin(iterations, "nl_leduc(stack=15)", batch=500))


D12 = Claim(
    id="D12",
    title="memory of table and networks",
    paper="Li et al. 2020, section 5",
    says="NLLH(15): a table needs 128 times the memory of Double Neural CFR at equal performance",
    unit="chips a game",
    full=Sweep(settings=_sizes_15(40), seeds=1, scale="the run of D6, 40 iterations; the slope is not measured"),
    quick=Sweep(settings=_sizes_15(6), seeds=1, scale="6 iterations"),
    figures=(BY_ITERATION,),
    published=Published(preset="dn19", varied=("batch",)),
    judge=_judge_d12,
)


# --- C7 and the project's own levels


def _seconds(record: Mapping[str, Any]) -> float:
    """Return the core-seconds of a record; older data have the time of the clock, of a run on one core."""
    return float(record.get("core_seconds", record["seconds"]))


def _judge_c7(results: Results) -> list[Finding]:
    histories = results["NFSP"]
    best = [min(record["exploitability"] for record in history) for history in histories]
    return [
        Finding(
            what=f"NFSP after {mean(_seconds(history[-1]) for history in histories):.0f} s of one core; all seeds must",
            paper="0.037",
            ours=f"{spread(at_end(histories))}; lowest {spread(best)}",
            holds=is_at_most(at_end(histories), 0.037),
        ),
        Finding(
            what="the project's own level, all seeds",
            paper="0.3 within 10 minutes",
            ours=_shown(at_end(histories)),
            holds=is_at_most(at_end(histories), 0.3),
            counts=False,
        ),
    ]


C7 = Claim(
    id="C7",
    title="NFSP on Leduc",
    paper="Brown et al. 2019, section 6; Heinrich and Silver 2016",
    says="limit Leduc: NFSP reaches 37 milli-big-blinds a game, the average of the two players' gains",
    unit="chips a game (the ante is 1 chip)",
    full=Sweep(
        settings=(_run("NFSP", "nfsp", LEDUC, core_seconds=300.0, evaluation_growth=1.5),),
        seeds=2,
        scale="five minutes, two seeds",
    ),
    quick=Sweep(
        settings=(_run("NFSP", "nfsp", LEDUC, core_seconds=60.0, evaluation_growth=1.5),),
        seeds=1,
        scale="one minute, one seed",
    ),
    figures=(Figure(x="seconds", x_label="seconds on one core, evaluations included"),),
    published=Published(recipe="ours", how="our NFSP; the paper gives no settings"),
    lines={"NFSP": 0.037},
    judge=_judge_c7,
    levels=(Level(game=LEDUC, value=0.037, text="NFSP (Heinrich and Silver 2016)"),),
)


def _levels(levels: dict[str, tuple[tuple[float, float], ...]]) -> Callable[[Results], list[Finding]]:
    """Return a judge that asks whether every seed has each exploitability within its seconds."""

    def judge(results: Results) -> list[Finding]:
        findings = []
        for label, wanted in levels.items():
            for level, seconds in wanted:
                if label not in results:
                    continue
                needed = first_below(results[label], level, "core_seconds")
                good = sum(each <= seconds for each in needed)
                findings.append(
                    Finding(
                        what=f"{label}: exploitability {level:g}",
                        paper=f"within {seconds:g} s",
                        ours=f"{good} of {len(needed)} seeds; {_shown(needed)} s",
                        holds=is_at_most(needed, seconds),
                    )
                )
        return findings

    return judge


_OWN = "a level of this project"
_DEEP, _SINGLE, _NFSP_LEVEL = "Deep CFR (policy network)", "Single Deep CFR", "NFSP"

L1 = Claim(
    id="L1",
    title="Leduc: Deep CFR and Single Deep CFR",
    paper=_OWN,
    says="limit Leduc, one core, shipped defaults, every seed: Deep CFR's policy network has 0.08 within 5 minutes and "
    "0.06 within 15, Single Deep CFR 0.07 and 0.05",
    unit="chips a game",
    full=Sweep(
        settings=(
            # Its evaluations fit policy networks, and are part of its seconds: none before it may be there.
            _run(_DEEP, "deep-cfr", LEDUC, core_seconds=900.0, until=0.06, evaluation_growth=1.3, first_evaluation=300),
            _run(_SINGLE, "sd-cfr", LEDUC, core_seconds=900.0, until=0.05, evaluation_growth=1.3),
        ),
        seeds=8,
        scale="eight seeds; a run ends at its last level",
    ),
    quick=Sweep(
        settings=(_run(_SINGLE, "sd-cfr", LEDUC, core_seconds=50.0, evaluation_growth=1.3),),
        seeds=2,
        scale="50 seconds, two seeds",
    ),
    figures=(BY_SECONDS,),
    published=Published(recipe="ours", how="shipped defaults"),
    judge=_levels({_DEEP: ((0.08, 300.0), (0.06, 900.0)), _SINGLE: ((0.2, 50.0), (0.07, 300.0), (0.05, 900.0))}),
)


def _aggregated(label: str, game: str, **limits: float) -> Setting:
    return _run(label, "sd-cfr", game, targets="aggregated", evaluation_growth=1.1, **limits)


def _judge_l4(results: Results) -> list[Finding]:
    findings = []
    for history in results["Leduc"]:
        half = history[-1]["core_seconds"] / 2
        before = [record["exploitability"] for record in history if record["core_seconds"] <= half][-1]
        findings.append(
            Finding(
                what=f"exploitability after {half:.0f} s and {2 * half:.0f} s",
                paper="still falling",
                ours=f"{before:.3g}, {history[-1]['exploitability']:.3g}",
                holds=yes(history[-1]["exploitability"] < before),
            )
        )
    return findings


L2 = Claim(
    id="L2",
    title="aggregated targets",
    paper=_OWN,
    says="Single Deep CFR with per-infoset aggregated targets, one core: limit Leduc 0.02 within a minute, 0.01 within "
    "three; NLLH(5) and liar's dice 0.05 within five minutes",
    unit="chips a game (dice: wins)",
    full=Sweep(
        settings=(
            _aggregated("Leduc", LEDUC, core_seconds=180.0, until=0.01),
            _aggregated("NLLH(5)", NLLH_5, core_seconds=300.0, until=0.05),
            _aggregated("dice", "bluff(dice=1x1)", core_seconds=300.0, until=0.05),
        ),
        seeds=8,
        scale="eight seeds",
    ),
    quick=Sweep(
        settings=(_aggregated("Leduc", LEDUC, core_seconds=60.0, until=0.02),),
        seeds=1,
        scale="Leduc for a minute, one seed",
    ),
    figures=(BY_SECONDS,),
    published=Published(recipe="ours", how="shipped defaults"),
    judge=_levels({"Leduc": ((0.02, 60.0), (0.01, 180.0)), "NLLH(5)": ((0.05, 300.0),), "dice": ((0.05, 300.0),)}),
)

L4 = Claim(
    id="L4",
    title="ten minutes without divergence",
    paper=_OWN,
    says="Single Deep CFR with aggregated targets on limit Leduc: still falling at ten minutes, no divergence",
    unit="chips a game",
    full=Sweep(settings=(_aggregated("Leduc", LEDUC, core_seconds=600.0),), seeds=8, scale="ten minutes, eight seeds"),
    quick=Sweep(settings=(_aggregated("Leduc", LEDUC, core_seconds=60.0),), seeds=1, scale="one minute, one seed"),
    figures=(BY_SECONDS,),
    published=Published(recipe="ours", how="shipped defaults"),
    judge=_judge_l4,
)

L3 = Claim(
    id="L3",
    title="Double Neural CFR as published",
    paper=_OWN,
    says="Double Neural CFR as published (its attention network, its regressed sums, its Algorithm 2) on NLLH(5), "
    "shown as it is beside our recipe",
    unit="chips a game",
    full=Sweep(
        settings=(
            _run("as published", "dncfr", preset="paper", core_seconds=400.0, evaluation_growth=1.3),
            _run(
                "as published, average by cross-entropy",
                "dncfr",
                preset="paper",
                core_seconds=400.0,
                evaluation_growth=1.3,
                strategy_kind="average",
            ),
            _run(
                "as published, 100 epochs instead of 2,000",
                "dncfr",
                preset="paper",
                core_seconds=400.0,
                evaluation_growth=1.3,
                steps=100,
            ),
            _run(_DNCFR, "dncfr", iterations=1000),
        ),
        seeds=1,
        scale="400 seconds of one core for each variant of what is published, one seed",
    ),
    quick=Sweep(
        settings=(
            _run("as published", "dncfr", preset="paper", iterations=3, steps=20),
            _run(_DNCFR, "dncfr", iterations=30),
        ),
        seeds=1,
        scale="3 iterations of at most 20 epochs",
    ),
    figures=(BY_ITERATION,),
    published=Published(preset="dn19"),
    lines={"the paper at 200": 0.06, "at 1000": 0.02},
    judge=lambda results: [
        Finding(
            what=f"{label}, after {histories[0][-1]['iteration']} iterations",
            paper="0.06 after 200, 0.02 after 1000",
            ours=spread(at_end(histories)),
            holds=is_at_most(at_end(histories), 0.06),
            counts=label != _DNCFR,
        )
        for label, histories in results.items()
    ],
)

L5 = Claim(
    id="L5",
    title="Leduc: NFSP",
    paper=_OWN,
    says="limit Leduc, one core, shipped defaults, every seed: NFSP has 0.3 within ten minutes",
    unit="chips a game",
    full=Sweep(
        settings=(_run(_NFSP_LEVEL, "nfsp", LEDUC, core_seconds=600.0, until=0.3),),
        seeds=8,
        scale="eight seeds, each until it is there",
    ),
    quick=Sweep(
        settings=(_run(_NFSP_LEVEL, "nfsp", LEDUC, core_seconds=60.0, until=0.3),), seeds=1, scale="a minute, one seed"
    ),
    figures=(BY_SECONDS,),
    published=Published(recipe="ours", how="shipped defaults"),
    judge=_levels({_NFSP_LEVEL: ((0.3, 600.0),)}),
)

LEVEL_OF_D5 = 0.1


def _judge_l7(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        needed = first_below(histories, LEVEL_OF_D5, "iteration")
        good = sum(each <= 1000 for each in needed)
        findings.append(
            Finding(
                what=f"{label}: exploitability {LEVEL_OF_D5:g}",
                paper="within 1000 iterations",
                ours=f"{good} of {len(needed)} seeds; {_shown(needed)} iterations",
                holds=is_at_most(needed, 1000.0),
            )
        )
    return findings


L7 = Claim(
    id="L7",
    title="D5 on eight seeds",
    paper=_OWN,
    says="NLLH(5), Double Neural CFR with b = 50, 100, 500, every seed: below 0.1 within 1000 iterations (D5)",
    unit="chips a game",
    full=Sweep(settings=_batches(1000, until=LEVEL_OF_D5), seeds=8, scale="eight seeds, each until it is there"),
    quick=Sweep(settings=_batches(1000, until=LEVEL_OF_D5)[-1:], seeds=1, scale="b = 500, one seed"),
    figures=(BY_ITERATION,),
    published=Published(recipe="ours", how="shipped defaults"),
    judge=_judge_l7,
)


# --- What the paper leaves open, and what decided it

_OPEN_CHOICES: dict[str, dict[str, Any]] = {
    "shipped": {},
    "ASN regresses sums": {"strategy_kind": "sum"},
    "ASN fitted every 10 iterations": {"strategy_every": 10},
    "average from visits only": {"averaging": "stochastic"},
    "average weighs t": {"rule": "cfr_plus"},
    "average weighs 1": {"rule": "cfr_plus_plain"},
    "simultaneous updates": {"updates": "simultaneous"},
    "RSN sees sums / sqrt(t)": {"scale": "sqrt"},
    "RSN without anchors": {"anchor": 0.0},
    "cards instead of ranks": {"cards": "cards"},
    "b = 100": {"batch": 100},  # few infosets are met in an iteration, which is what anchors are for
    "b = 100, RSN without anchors": {"batch": 100, "anchor": 0.0},
}


def _judge_l6(results: Results) -> list[Finding]:
    last = results["shipped"][0][-1]["iteration"]
    findings = []
    for label, histories in results.items():
        base = "b = 100" if label.startswith("b = 100") else "shipped"
        if label == base:
            continue  # it would be compared with itself
        ours, shipped = at_end(histories), at_end(results[base])
        findings.append(
            Finding(
                what=f"{base} at most as {label}, at iteration {last}",
                paper="not said",
                ours=f"{spread(shipped)} against {spread(ours)}",
                holds=is_below(shipped, ours, 1.1),
            )
        )
    return findings


def _choices(iterations: int) -> tuple[Setting, ...]:
    return tuple(
        _run(label, "dncfr", iterations=iterations, evaluation_growth=1.3, **change)
        for label, change in _OPEN_CHOICES.items()
    )


L6 = Claim(
    id="L6",
    title="choices that papers leave open",
    paper="Li et al. 2019: what it leaves open",
    says="NLLH(5): each choice that the paper leaves open is at least as good as shipped as any other one tried, one "
    "change at a time",
    unit="chips a game",
    full=Sweep(settings=_choices(300), seeds=1, scale="300 iterations, one seed"),
    quick=Sweep(settings=_choices(25), seeds=1, scale="25 iterations, one seed"),
    figures=(BY_ITERATION,),
    published=Published(recipe="ours", how="shipped defaults"),
    judge=_judge_l6,
)

NEURAL_CLAIMS = (D3, D3_PUBLISHED, D4, D5, D6, D7, D8, D9, D10, D11_NEURAL, D12, C7, L1, L2, L3, L4, L5, L6, L7)
