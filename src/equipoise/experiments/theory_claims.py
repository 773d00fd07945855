"""What needs no long run: printed sizes of games (S1), the working memory of schemes (D20), regret beside its bounds
(T1), and the variance of estimates (V1).
"""

from typing import Any

from equipoise.experiments.claim import (
    Answer,
    Claim,
    Figure,
    Finding,
    Published,
    Results,
    is_at_most,
    is_below,
    spread,
    yes,
)
from equipoise.experiments.sweep import Measure, Setting, Sweep

NLLH_5 = "nl_leduc(stack=5)"


def _measured(label: str, game: str, measure: Measure, algorithm: str, iterations: int, **parameters: Any) -> Setting:
    return Setting(
        label=label, game=game, algorithm=algorithm, iterations=iterations, measure=measure, parameters=parameters
    )


# --- S1: printed sizes

_HUNL_1, _FHP, _HULH = "HUNL(1)", "flop hold'em", "limit hold'em"
_GAMES = {
    "NLLH(5)": NLLH_5,
    "NLLH(10)": "nl_leduc(stack=10)",
    "NLLH(15)": "nl_leduc(stack=15)",
    _HUNL_1: "nolimit_holdem(stack=20000,actions=fcpa)",
    _FHP: "flop_holdem",
    _HULH: "limit_holdem",
}
# What is printed, of what, and how it is counted here: a number to its digits, or one to be above.
_PRINTED: tuple[tuple[str, str, str, str, float, bool], ...] = (
    ("NLLH(5)", "infosets", "DN20: 11,083", "infosets", 11_083, False),
    ("NLLH(15)", "infosets", "DN19: 3.7 million", "infosets", 3.7e6, False),
    (_HUNL_1, "infosets", "DN20: 2e8, to one digit", "leaf_infosets", 2e8, False),
    (_HUNL_1, "states", "DN20: 3e11, to one digit", "leaf_states", 3e11, False),
    (_FHP, "infosets", "B19: over 1e9", "infosets", 1e9, True),
    (_FHP, "states", "B19: over 1e12", "states", 1e12, True),
    (_HULH, "infosets", "G12: about 3e14", "infosets", 3e14, False),
    (_HULH, "infosets", "B19: over 1e14", "infosets", 1e14, True),
    (_HULH, "states", "B19: over 1e17", "states", 1e17, True),
)


def _agrees(count: float, printed: float, above: bool) -> bool:
    """Return whether a count has the printed first digits; or is above a power of ten, but not above the next."""
    digits = len(f"{printed:.15g}".rstrip("0").replace(".", ""))
    same = f"{count:.{digits - 1}e}" == f"{printed:.{digits - 1}e}"
    return same or (above and printed <= count < 10.0 * printed)


def _judge_s1(results: Results) -> list[Finding]:
    findings = []
    for label, what, paper, name, printed, above in _PRINTED:
        if label not in results:
            continue
        rounds = results[label][0]
        record = rounds[0] if name.startswith("leaf") else rounds[-1]
        how = " of leaves: histories that go on to the flop, x hands and flops" if name.startswith("leaf") else ""
        more = f"; with ends of the betting {record['with_ends']:,}" if label.startswith("NLLH") else ""
        findings.append(
            Finding(
                what=f"{label}: {what}{how}",
                paper=paper,
                ours=f"{record[name]:,}{more}",
                holds=yes(_agrees(record[name], printed, above)),
            )
        )
    if "NLLH(10)" in results:
        count = results["NLLH(10)"][0][-1]["infosets"]
        findings.append(_untold("NLLH(10): infosets", "Table 1 is not in the text that we have", f"{count:,}"))
        findings.append(_untold("HUNL(2): infosets", "DN20: 8e10; its eight actions are not said", "not counted"))
    return findings


def _untold(what: str, paper: str, ours: str) -> Finding:
    return Finding(what=what, paper=paper, ours=ours, holds="not tested", counts=False)


_SIZES = Sweep(
    settings=tuple(_measured(label, game, "sizes", "count", 1) for label, game in _GAMES.items()),
    seeds=1,
    scale="the games themselves: counted from betting trees and cards, suits distinguished",
)

S1 = Claim(
    id="S1",
    title="printed sizes of games",
    paper="Li et al. 2019, 2020; Brown et al. 2019; Gibson et al. 2012",
    says="the sizes of the games: NLLH(5) 11,083 infosets, NLLH(15) 3.7 million, HUNL(1) 2e8 and 3e11 states, flop "
    "hold'em over 1e9 and 1e12, limit hold'em over 1e14 (about 3e14) and 1e17",
    unit="infosets and states (decisions and ends)",
    full=_SIZES,
    quick=_SIZES,
    figures=(Figure(x="infosets", x_label="infosets, round by round", y=("states",), y_label="states"),),
    published=Published(scale="the paper's", how="our rules; each count is said how"),
    judge=_judge_s1,
)


# --- D20: working memory


def _judge_d20(results: Results) -> list[Finding]:
    def kept(label: str) -> list[float]:
        return [sum(record["kept"] for record in history) / len(history) for history in results[label]]

    findings = []
    for label in results:
        what, _, batch = label.partition(", b = ")
        base = f"external sampling, b = {batch}"
        if label == base:
            continue
        infosets = results[label][0][0]["kept"] / results[label][0][0]["share"]
        findings.append(
            Finding(
                what=f"{label}: infosets that an iteration keeps, of {infosets:,.0f}, on average; external sampling",
                paper="fewer with a small k",
                ours=f"{spread(kept(label))} against {spread(kept(base))}",
                holds=is_below(kept(label), kept(base)),
                counts=what.startswith("k = "),
            )
        )
    return findings


def _memories(batches: tuple[int, ...], iterations: int) -> tuple[Setting, ...]:
    schemes = {"external sampling": "external", "k = 1": "1", "k = 2": "2", "k = 3": "3", "outcome sampling": "outcome"}
    return tuple(
        _measured(f"{label}, b = {batch}", NLLH_5, "kept", "rs-mccfr+", iterations, actions=actions, batch=batch)
        for batch in batches
        for label, actions in schemes.items()
    )


D20 = Claim(
    id="D20",
    title="working memory by k",
    paper="Li et al. 2020, section 4.1",
    says="NLLH(5): the infosets that an iteration keeps are fewer with a small k than with external sampling",
    unit="infosets",
    full=Sweep(settings=_memories((100, 5000), 200), seeds=4, scale="b = 100 and 5000, 200 iterations, four seeds"),
    quick=Sweep(settings=_memories((100,), 100), seeds=2, scale="b = 100, 100 iterations, two seeds"),
    figures=(Figure(x="iteration", x_label="iteration", y=("kept",), y_label="infosets kept in an iteration"),),
    published=Published(iterations=1000, how="MCCFR+ in mini-batches; outcome sampling without exploration"),
    judge=_judge_d20,
)


# --- V1: variance by scheme


def _judge_v1(results: Results) -> list[Finding]:
    pairs = (
        ("robust_1", "outcome", "regrets", "robust(1) below outcome sampling", True),
        ("robust_1", "outcome_exploring", "regrets", "not in the paper (outcome sampling with epsilon = 0.6)", False),
        ("robust_1", "outcome", "value", "not in the paper (the value at the root)", False),
        ("probing", "zeros", "regrets", "probing below zeros", True),
        ("probing", "zeros", "value", "probing below zeros", True),
        ("robust_1_probing", "robust_1", "regrets", "not in the paper (probes for robust sampling)", False),
    )
    findings = []
    for game, (history, *_) in results.items():
        later = [record for record in history if record["iteration"] > 1]  # at uniform play, k = 1 is outcome sampling
        for ours, theirs, what, paper, counts in pairs:
            name = "variance" if what == "regrets" else "value"
            ratios = [record[f"{name}_{ours}"] / record[f"{name}_{theirs}"] for record in later]
            shown = f"{ours} over {theirs}".replace("_", " ")
            findings.append(
                Finding(
                    what=f"{game}, variance of {'all regrets' if what == 'regrets' else 'the root'}: {shown}, at the "
                    f"averages of {later[0]['iteration']} to {later[-1]['iteration']} iterations",
                    paper=paper,
                    ours=f"{min(ratios):.3g} to {max(ratios):.3g}",
                    holds=yes(max(ratios) < 1.0),
                    counts=counts,
                )
            )
    return findings


def _schemes(iterations: int, games: dict[str, str]) -> tuple[Setting, ...]:
    return tuple(_measured(label, game, "schemes", "cfr", iterations) for label, game in games.items())


_SMALL = {"Kuhn": "kuhn_poker", "Leduc": "leduc_poker"}

V1 = Claim(
    id="V1",
    title="variance of estimates by scheme",
    paper="Li et al. 2019, G.2; Gibson et al. 2012",
    says="the variance of estimates: robust sampling with k = 1 below outcome sampling, probing below zeros",
    unit="squared chips",
    full=Sweep(
        settings=_schemes(1000, {**_SMALL, "NLLH(5)": NLLH_5}),
        seeds=1,
        scale="exact, by a walk over all histories: there are no seeds",
    ),
    quick=Sweep(settings=_schemes(100, _SMALL), seeds=1, scale="without NLLH(5), at most 100 iterations"),
    figures=(
        Figure(
            x="iteration",
            x_label="iteration of CFR whose average is played",
            y=tuple(f"variance_{name}" for name in ("robust_1", "outcome", "zeros", "probing")),
            y_label="variance of all regrets together",
        ),
    ),
    published=Published(
        scale="the paper's", how="the papers give no numbers; outcome sampling as defined, without exploration"
    ),
    judge=_judge_v1,
)


# --- T1: average external regret

_BOUNDS = {
    "of_infosets": ("the sum over infosets of positive regrets", "a bound"),
    "of_matching": ("at every infoset, Delta sqrt(A T) of regret matching", "a bound"),
    "of_bound": ("its bound: CFR's Delta I sqrt(A / T); of samples, with the measured variance", "a bound"),
    "of_external": ("(1 + sqrt(2 / p)) times CFR's bound, p = 0.05", "a bound"),
    "of_two_epsilon": ("the gain against the average: 2 epsilon, epsilon the larger average regret", "a bound"),
}


def _judge_t1(results: Results) -> list[Finding]:
    findings = []
    for name, (what, paper) in _BOUNDS.items():
        labels = [label for label, histories in results.items() if name in histories[0][-1]]
        if not labels:
            continue
        # Each run's largest share of the bound, whenever it was looked at; equal up to rounding is within it.
        shares = {label: [max(record[name] for record in history) for history in results[label]] for label in labels}
        answers: set[Answer] = {
            is_at_most(each, 1.0 + 1e-9) if len(each) > 1 else yes(each[0] <= 1.0 + 1e-9) for each in shares.values()
        }
        worst = max(shares, key=lambda label: max(shares[label]))
        holds: Answer = "no" if "no" in answers else "within noise" if "within noise" in answers else "yes"
        findings.append(
            Finding(
                what=f"{what}; {len(labels)} kinds of runs",
                paper=paper,
                ours=f"at most {max(shares[worst]):.3g} of it ({worst})",
                holds=holds,
            )
        )
    return findings


def _regrets(games: dict[str, str], exact: int, sampled: int) -> tuple[Setting, ...]:
    names = {"cfr": "CFR", "es-mccfr": "external", "os-mccfr": "outcome", "probing": "probing"}
    return tuple(
        _measured(f"{game}: {name}", text, "regret", algorithm, exact if algorithm == "cfr" else sampled)
        for game, text in games.items()
        for algorithm, name in names.items()
    )


_T1_GAMES = {"Kuhn": "kuhn_poker", "One-Card(5)": "one_card_poker(cards=5)", "Leduc": "leduc_poker"}

T1 = Claim(
    id="T1",
    title="average regret beside its bounds",
    paper="Gibson et al. 2012, Theorems 1 and 2; Brown et al. 2019, section 2",
    says="average external regret is below its bounds: the sum of positive regrets, CFR's and MCCFR's, with measured "
    "variance, and the average is a 2 epsilon-Nash equilibrium",
    unit="shares of the bounds",
    full=Sweep(
        settings=_regrets(_T1_GAMES, 1000, 20_000),
        seeds=4,
        scale="1000 iterations of CFR, 20,000 of one traversal a player; simultaneous updates; four seeds",
    ),
    quick=Sweep(settings=_regrets({"Kuhn": "kuhn_poker"}, 100, 500), seeds=2, scale="Kuhn poker, 100 and 500"),
    figures=(
        Figure(
            x="iteration", x_label="iteration", y=("average_regret",), y_label="average external regret, the larger"
        ),
    ),
    published=Published(scale="the paper's", how="the theorems hold for any game; regrets of what was played, exactly"),
    judge=_judge_t1,
)

THEORY_CLAIMS = (S1, D20, T1, V1)
