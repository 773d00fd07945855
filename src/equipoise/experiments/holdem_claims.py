"""The claims about hold'em in buckets, and the abstractions that Deep CFR is compared with."""

from equipoise.experiments.claim import Claim, Figure, Finding, Results
from equipoise.experiments.sweep import Setting, Sweep

# --- G4: the size of limit hold'em in ten buckets a round


def _judge_g4(results: Results) -> list[Finding]:
    by_round = results["ten buckets a round"][0]
    shown = " + ".join(f"{record['decisions']:,} x {record['buckets']:,}" for record in by_round)
    infosets = by_round[-1]["infosets"]
    return [
        Finding(
            what=f"infosets: {shown}",
            paper="roughly 57 million",
            ours=f"{infosets:,}",
            holds=round(infosets / 1e6) == 57,
        )
    ]


_TEN_BUCKETS = Sweep(
    settings=(
        Setting(
            label="ten buckets a round",
            game="limit_holdem(caps=3-4-4-4)",  # four bets a round, the big blind being one
            algorithm="is-mccfr",
            parameters={"buckets": "ehs2:10"},
            measure="count",
        ),
    ),
    seeds=1,
    scale="the paper's own: counted from the betting tree and the buckets, nothing is solved",
    side_by_side=1,
)

G4 = Claim(
    id="G4",
    paper="Gibson et al. 2012, experiments",
    says="limit hold'em in ten buckets a round, by expected hand strength squared, has roughly 57 million infosets",
    unit="infosets",
    full=_TEN_BUCKETS,
    quick=_TEN_BUCKETS,
    figures=(Figure(x="iteration", x_label="betting round", y=("infosets",), y_label="infosets up to the round"),),
    judge=_judge_g4,
)


# --- C2: the abstractions of flop hold'em, by their numbers of decisions: 8 x 169 + 70 x clusters

CLUSTERS = {"40,000 decisions": 552, "368,000 decisions": 5_238, "3.6 million decisions": 51_400}


def abstraction_levels(*, core_seconds: float) -> tuple[Setting, ...]:
    """Return the curves that Deep CFR's Figure 2 compares with: Linear MCCFR in k-means clusters, and lossless."""
    kinds = {**{label: f"kmeans:{count}" for label, count in CLUSTERS.items()}, "lossless": "none"}
    return tuple(
        Setting(
            label=label,
            game="flop_holdem",
            algorithm="es-mccfr",
            parameters={"buckets": kind, "rule": "linear"},
            core_seconds=core_seconds,
            evaluation_growth=2.0,
            first_evaluation=100_000,
        )
        for label, kind in kinds.items()
    )


HOLDEM_CLAIMS = (G4,)
