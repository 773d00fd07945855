"""The claims that need networks: D for Double Neural CFR (Li et al. 2019, 2020), C for Deep CFR (Brown et al. 2019),
and L for levels that this project holds itself to, with shipped defaults.
"""

from collections.abc import Callable
from statistics import mean, median
from typing import Any

from equipoise.experiments.claim import Claim, Figure, Finding, Level, Results, spread
from equipoise.experiments.sweep import History, Setting, Sweep, at_end

NLLH_5, LEDUC, ONE_CARD = "nl_leduc(stack=5)", "leduc_poker", "one_card_poker(cards=5)"
TABLE_ENTRIES = {NLLH_5: 9360}  # of one of the two tables; with suits
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
            what=f"Double Neural CFR at iteration {early}",
            paper="0.06 at 200",
            ours=spread(at_iteration(ours, early)),
            holds=max(at_iteration(ours, early)) <= 0.05,
        ),
        Finding(
            what=f"Double Neural CFR at iteration {last}; all seeds must",
            paper="0.02 at 1000",
            ours=f"{spread(at_end(ours))}, worst {max(at_end(ours)):.3g}",
            holds=max(at_end(ours)) <= (0.02 if last >= 1000 else 0.06),
        ),
        Finding(
            what=f"numbers in all networks, against the entries of two tables ({2 * TABLE_ENTRIES[NLLH_5]:,})",
            paper="fewer",
            ours=f"{parameters:,}",
            holds=parameters < TABLE_ENTRIES[NLLH_5],
        ),
        Finding(
            what="the tabular counterpart at the same iteration",
            paper="similar",
            ours=spread(at_end(results[_TWIN])),
            holds=mean(at_end(ours)) < 2 * mean(at_end(results[_TWIN])) + 0.005,
        ),
    ]
    if "XFP" in results:
        needed = first_below(results["XFP"], 0.06, "iteration")
        findings.append(
            Finding(what="XFP: iterations to 0.06", paper="1e3", ours=_shown(needed), holds=500 <= needed[0] <= 2000)
        )
    return findings


def _judge_d4(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        if label == "NFSP":
            episodes = mean(history[-1]["episodes"] for history in histories)
            findings.append(
                Finding(
                    what=f"NFSP: exploitability after {episodes:.2g} episodes",
                    paper="0.06 after 1e6 iterations",
                    ours=spread(at_end(histories)),
                    holds=mean(at_end(histories)) <= 0.09,
                )
            )
        if label == "XFP":
            nodes = [2.0 * HISTORIES[NLLH_5] * t for t in first_below(histories, 0.06, "iteration")]
        else:
            nodes = first_below(histories, 0.06, "nodes_touched")
        paper = 1e9 if label == "NFSP" else 1e7 if label == "XFP" else 1e6
        reached = [count for count in nodes if count < float("inf")]
        findings.append(
            Finding(
                what=f"{label}: touched nodes to exploitability 0.06"
                + (" (all histories, twice an iteration; not in the figure)" if label == "XFP" else ""),
                paper=f"{paper:.0e}" if label in ("NFSP", "XFP") else "at most 1e6",
                ours=f"{median(nodes):.2g}" if len(reached) == len(nodes) else "not reached",
                holds=bool(reached) and median(nodes) <= (10 * paper if label in ("NFSP", "XFP") else paper),
            )
        )
    return findings


_XFP = _run("XFP", "xfp", iterations=1500)
_NFSP = _run("NFSP", "nfsp", core_seconds=300.0, evaluation_growth=1.5)

D3 = Claim(
    id="D3",
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
    judge=_judge_d3,
    levels=(
        Level(game=NLLH_5, value=0.06, text="Double Neural CFR, 200 iterations (Li et al. 2019)"),
        Level(game=NLLH_5, value=0.02, text="Double Neural CFR, 1,000 iterations (Li et al. 2019)"),
    ),
)

D4 = Claim(
    id="D4",
    paper="Li et al. 2019, Figure 4 (A), by touched nodes",
    says="NLLH(5), exploitability 0.06: NFSP needs 1e9 touched nodes, XFP 1e7, Double Neural CFR at most 1e6",
    unit="chips a game",
    full=Sweep(
        settings=(
            _run(_DNCFR, "dncfr", iterations=1000),
            _run("Double Neural CFR, b = 500", "dncfr", iterations=1000, batch=500),
            _XFP,
            _NFSP,
        ),
        seeds=1,
        scale="the paper's own scale, one seed; NFSP five minutes",
    ),
    quick=Sweep(
        settings=(
            _run("Double Neural CFR, b = 500", "dncfr", iterations=200, batch=500),
            _run("XFP", "xfp", iterations=1200),
        ),
        seeds=1,
        scale="200 iterations, one seed",
    ),
    figures=(BY_NODES,),
    judge=_judge_d4,
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
                f"(the paper counts {paper[label]} %, of both players' infosets and ends)",
                paper="below 0.1",
                ours=f"{spread(best)}, worst {max(best):.3g}; at the end {spread(at_end(histories))}",
                holds=max(best) < (0.1 if last >= 1000 else 0.4),
            )
        )
    return findings


def _batches(iterations: int, until: float | None = None) -> tuple[Setting, ...]:
    sizes = (50, 100, 500)
    return tuple(_run(f"b = {b}", "dncfr", iterations=iterations, until=until, batch=b) for b in sizes)


D5 = Claim(
    id="D5",
    paper="Li et al. 2019, Figure 5 (A)",
    says="NLLH(5), b = 50, 100, 500: below 0.1 within 1000 iterations although few infosets are seen in each",
    unit="chips a game",
    full=Sweep(settings=_batches(1000), seeds=2, scale="the paper's own scale, two seeds"),
    quick=Sweep(settings=_batches(100), seeds=1, scale="100 iterations, one seed"),
    figures=(BY_ITERATION,),
    judge=_judge_d5,
)


def _falls(label: str, histories: list[History]) -> Finding:
    """Return whether exploitability falls, seed by seed: to half of its start by half of the run, and further then."""
    middle = histories[0][-1]["iteration"] // 2
    first = [history[0]["exploitability"] for history in histories]
    half, end = at_iteration(histories, middle), at_end(histories)
    return Finding(
        what=f"{label}: exploitability at iteration 1, {middle} and {2 * middle}",
        paper="converges",
        ours=f"{mean(first):.3g}, {spread(half)}, {spread(end)}",
        holds=all(0.5 * a > 0.9 * b > c for a, b, c in zip(first, half, end, strict=True)),
    )


def _judge_d6(results: Results) -> list[Finding]:
    findings = []
    for label, histories in results.items():
        seen = 100 * mean(history[-1]["observed_share"] for history in histories)
        findings.append(_falls(f"{label}, {seen:.2g} % of rows seen in a turn", histories))
    return findings


def _sizes(iterations: tuple[int, ...], stacks: tuple[int, ...]) -> tuple[Setting, ...]:
    return tuple(
        _run(f"NLLH({x})", "dncfr", f"nl_leduc(stack={x})", iterations=t, batch=500, evaluation_growth=1.3)
        for x, t in zip(stacks, iterations, strict=True)
    )


D6 = Claim(
    id="D6",
    paper="Li et al. 2019, Figure 5 (C)",
    says="NLLH(5), (10) and (15) with b = 500: converges although 13 %, 2.4 % and 0.5 % of infosets are seen",
    unit="chips a game",
    full=Sweep(settings=_sizes((150, 150, 40), (5, 10, 15)), seeds=8, scale="eight seeds; 150, 150 and 40 iterations"),
    quick=Sweep(settings=_sizes((60, 40), (5, 10)), seeds=1, scale="60 and 40 iterations, without NLLH(15)"),
    figures=(BY_ITERATION,),
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
                holds=size == printed[label],
            )
        )
        findings.append(_falls(label, histories))
    return findings


def _embeddings(iterations: int) -> tuple[Setting, ...]:
    return tuple(_architecture(f"embedding {h}", "lstm+attention", h, iterations) for h in (8, 16))


D7 = Claim(
    id="D7",
    paper="Li et al. 2019, Figure 5 (B)",
    says="NLLH(5): LSTMs with attention of embedding 8 and 16 have 1,048 and 2,608 numbers, and both converge",
    unit="chips a game",
    full=Sweep(settings=_embeddings(150), seeds=1, scale="150 iterations, one seed, one network a player, our fitting"),
    quick=Sweep(settings=_embeddings(8), seeds=1, scale="8 iterations, one seed"),
    figures=(BY_ITERATION,),
    judge=_judge_d7,
)


def _judge_d8(results: Results) -> list[Finding]:
    level = {label: mean(at_end(histories)) for label, histories in results.items()}
    table = level[_TWIN]
    findings = []
    for label in ("regrets in a network", "average in a network"):
        findings.append(
            Finding(
                what=f"{label} only, against both",
                paper="slightly better",
                ours=f"{spread(at_end(results[label]))} against {spread(at_end(results[_DNCFR]))}",
                holds=level[label] <= 1.05 * level[_DNCFR],
            )
        )
    findings.append(
        Finding(
            what="all against the table",
            paper="match it",
            ours=", ".join(f"{label} {value:.3g}" for label, value in level.items()),
            holds=max(level.values()) < 2 * table + 0.005,
        )
    )
    return findings


def _halves(iterations: int) -> tuple[Setting, ...]:
    return (
        _run(_DNCFR, "dncfr", iterations=iterations),
        _run("regrets in a network", "rs-mccfr+-rsn", iterations=iterations),
        _run("average in a network", "rs-mccfr+-asn", iterations=iterations),
        _twin(iterations),
    )


D8 = Claim(
    id="D8",
    paper="Li et al. 2019, Figure 4 (B)",
    says="NLLH(5): one network with a table for the other sum is slightly better than two; all match the table",
    unit="chips a game",
    full=Sweep(settings=_halves(1000), seeds=1, scale="1000 iterations, one seed"),
    quick=Sweep(settings=_halves(60), seeds=1, scale="60 iterations, one seed"),
    figures=(BY_ITERATION,),
    judge=_judge_d8,
)


def _judge_d10(results: Results) -> list[Finding]:
    level = {label: mean(at_end(histories)) for label, histories in results.items()}
    best = min(level, key=lambda label: level[label])
    last = next(iter(results.values()))[0][-1]["iteration"]
    return [
        Finding(
            what=f"best architecture at iteration {last}",
            paper="LSTM with attention, slightly",
            ours=f"{best}; " + ", ".join(f"{label} {value:.3g}" for label, value in level.items()),
            holds=best == "lstm+attention",
        )
    ]


def _architectures(iterations: int) -> tuple[Setting, ...]:
    names = ("mlp", "lstm", "lstm+attention", "rnn+attention", "gru+attention")
    return tuple(_architecture(name, name, 16, iterations) for name in names)


D10 = Claim(
    id="D10",
    paper="Li et al. 2019, Figure 5 (D)",
    says="NLLH(5): LSTM with attention is slightly best late, among fully connected, LSTM, RNN and GRU with attention",
    unit="chips a game",
    full=Sweep(settings=_architectures(150), seeds=1, scale="150 iterations, one seed, width 16, our fitting"),
    quick=Sweep(settings=_architectures(4), seeds=1, scale="4 iterations, one seed"),
    figures=(BY_ITERATION,),
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
                holds=all(end < 0.5 * begin for begin, end in zip(start, at_end(histories), strict=True)),
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
    paper="Li et al. 2019, Figure 4 (C)",
    says="NLLH(5): started from 10 iterations of tabular CFR or RS-MCCFR+, Double Neural CFR keeps improving "
    "(b = 5000, k = max)",
    unit="chips a game",
    full=Sweep(settings=_warm(300), seeds=2, scale="300 iterations, two seeds"),
    quick=Sweep(settings=_warm(50), seeds=1, scale="50 iterations, one seed"),
    figures=(BY_ITERATION,),
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
            holds=good == len(ours),
        ),
        Finding(
            what="its table, stopped at the same level: iterations, against those of the networks",
            paper="similar",
            ours=f"{_shown(at_end(results[_TWIN], 'iteration'))}; networks {_shown(at_end(ours, 'iteration'))}",
            holds=median(at_end(ours, "iteration")) <= 3 * median(at_end(results[_TWIN], "iteration")),
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
    judge=_judge_d11n,
    levels=(Level(game=ONE_CARD, value=0.0004, text="Double Neural CFR (Li et al. 2019)"),),
)


ENTRIES_15 = 3_366_192  # (infoset, action) pairs of NLLH(15), suits included


def _judge_d12(results: Results) -> list[Finding]:
    table = results[_TWIN][0]
    networks = next(histories[0] for label, histories in results.items() if label != _TWIN)
    last = networks[-1]
    numbers = last["regret_parameters"] + last["strategy_parameters"]
    ratio = 2 * ENTRIES_15 / numbers
    ours, theirs = last["exploitability"], table[-1]["exploitability"]
    return [
        Finding(
            what=f"{numbers:,.0f} numbers in networks, {2 * ENTRIES_15:,} in two tables: the table's memory",
            paper="128 times",
            ours=f"{ratio:.0f} times",
            holds=ratio >= 128,
        ),
        Finding(
            what=f"exploitability at iteration {last['iteration']}, networks and table",
            paper="equal",
            ours=f"{ours:.3g}, {theirs:.3g}",
            holds=ours <= 1.2 * theirs,
        ),
    ]


def _sizes_15(iterations: int) -> tuple[Setting, ...]:
    return (*_sizes((iterations,), (15,)), _twin(iterations, "nl_leduc(stack=15)", batch=500))


D12 = Claim(
    id="D12",
    paper="Li et al. 2020, section 5",
    says="NLLH(15): a table needs 128 times the memory of Double Neural CFR at equal performance",
    unit="chips a game",
    full=Sweep(settings=_sizes_15(40), seeds=1, scale="the run of D6, 40 iterations; the slope is not measured"),
    quick=Sweep(settings=_sizes_15(6), seeds=1, scale="6 iterations"),
    figures=(BY_ITERATION,),
    judge=_judge_d12,
)


# --- C7 and the project's own levels


def _judge_c7(results: Results) -> list[Finding]:
    histories = results["NFSP"]
    return [
        Finding(
            what=f"NFSP after {mean(history[-1]['core_seconds'] for history in histories):.0f} s of one core",
            paper="0.037",
            ours=spread(at_end(histories)),
            holds=mean(at_end(histories)) <= 0.06,
        ),
        Finding(
            what="the project's own level, all seeds",
            paper="0.3 within 10 minutes",
            ours=_shown(at_end(histories)),
            holds=max(at_end(histories)) <= 0.3,
        ),
    ]


C7 = Claim(
    id="C7",
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
    figures=(BY_SECONDS,),
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
                        holds=good == len(needed),
                    )
                )
        return findings

    return judge


_OWN = "a level of this project"
_DEEP, _SINGLE, _NFSP_LEVEL = "Deep CFR (policy network)", "Single Deep CFR", "NFSP"

L1 = Claim(
    id="L1",
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
                holds=history[-1]["exploitability"] < before,
            )
        )
    return findings


L2 = Claim(
    id="L2",
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
    judge=_levels({"Leduc": ((0.02, 60.0), (0.01, 180.0)), "NLLH(5)": ((0.05, 300.0),), "dice": ((0.05, 300.0),)}),
)

L4 = Claim(
    id="L4",
    paper=_OWN,
    says="Single Deep CFR with aggregated targets on limit Leduc: still falling at ten minutes, no divergence",
    unit="chips a game",
    full=Sweep(settings=(_aggregated("Leduc", LEDUC, core_seconds=600.0),), seeds=8, scale="ten minutes, eight seeds"),
    quick=Sweep(settings=(_aggregated("Leduc", LEDUC, core_seconds=60.0),), seeds=1, scale="one minute, one seed"),
    figures=(BY_SECONDS,),
    judge=_judge_l4,
)

L3 = Claim(
    id="L3",
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
    judge=lambda results: [
        Finding(
            what=f"{label}, after {histories[0][-1]['iteration']} iterations",
            paper="0.06 after 200, 0.02 after 1000",
            ours=spread(at_end(histories)),
            holds=mean(at_end(histories)) <= 0.06,
        )
        for label, histories in results.items()
    ],
)

L5 = Claim(
    id="L5",
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
                holds=good == len(needed),
            )
        )
    return findings


L7 = Claim(
    id="L7",
    paper=_OWN,
    says="NLLH(5), Double Neural CFR with b = 50, 100, 500, every seed: below 0.1 within 1000 iterations (D5)",
    unit="chips a game",
    full=Sweep(settings=_batches(1000, until=LEVEL_OF_D5), seeds=8, scale="eight seeds, each until it is there"),
    quick=Sweep(settings=_batches(1000, until=LEVEL_OF_D5)[-1:], seeds=1, scale="b = 500, one seed"),
    figures=(BY_ITERATION,),
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
        ratio = mean(at_end(histories)) / mean(at_end(results[base]))
        findings.append(
            Finding(
                what=f"{label}, at iteration {last}",
                paper="not said" if label != "shipped" else "0.06 at 200",
                ours=spread(at_end(histories)) + (f" ({ratio:.2g} of {base})" if label != base else ""),
                holds=ratio >= 0.9,
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
    paper="Li et al. 2019: what it leaves open",
    says="NLLH(5): each choice that the paper leaves open is at least as good as shipped as any other one tried, one "
    "change at a time",
    unit="chips a game",
    full=Sweep(settings=_choices(300), seeds=1, scale="300 iterations, one seed"),
    quick=Sweep(settings=_choices(25), seeds=1, scale="25 iterations, one seed"),
    figures=(BY_ITERATION,),
    judge=_judge_l6,
)

NEURAL_CLAIMS = (D3, D4, D5, D6, D7, D8, D9, D10, D11_NEURAL, D12, C7, L1, L2, L3, L4, L5, L6, L7)
