"""The settings of every recipe, by what they belong to: each is declared here once, or in its rule or scheme.

Nothing here needs PyTorch: names, meanings, ranges and defaults are known before a network is made.
"""

from dataclasses import dataclass
from typing import Any, Literal

from equipoise.errors import InvalidParameter
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus, Rule
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust, Scheme
from equipoise.settings import Above, Choice, Except, Number, Text, Values, Whole, YesNo, knob, other, part
from equipoise.solvers.setup import SAMPLED_RULES
from equipoise.stores.board_tables import STORAGES

Updates = Literal["alternating", "simultaneous"]
UPDATES = Choice(("alternating", "simultaneous"))
RULE = Choice(tuple(SAMPLED_RULES))
RESIDUAL = "lstm+residual-attention"
NETWORKS = ("mlp", "lstm", "lstm+attention", RESIDUAL, "gru", "gru+attention", "rnn", "rnn+attention")
ABOUT_UPDATES = "players take turns within an iteration, or are updated together at its end"
ABOUT_RULE = "how regrets and strategies of iterations are added up"
ABOUT_RATE = "Adam's step size"


@dataclass(frozen=True, kw_only=True)
class FullWidth:
    """Full-width CFR by any rule."""

    rule: Rule = part(CFR)
    updates: Updates = knob("alternating", UPDATES, ABOUT_UPDATES, when={"game": ("listed", "boards")})
    storage: str = knob(
        "auto",
        Choice(("auto", *STORAGES)),
        "numbers of the tables; auto is float32",
        when={"game": ("boards", "spots")},
    )


@dataclass(frozen=True, kw_only=True)
class Plus(FullWidth):
    """CFR+."""

    rule: Rule = part(CFRPlus)


@dataclass(frozen=True, kw_only=True)
class Linear(FullWidth):
    """Linear CFR."""

    rule: Rule = part(LinearCFR)


@dataclass(frozen=True, kw_only=True)
class Discounted(FullWidth):
    """Discounted CFR."""

    rule: Rule = part(DiscountedCFR)


@dataclass(frozen=True, kw_only=True)
class Predictive(FullWidth):
    """Predictive CFR+."""

    rule: Rule = part(PredictiveCFRPlus)


@dataclass(frozen=True, kw_only=True)
class PublicChance:
    """Public chance sampling."""

    boards: int = knob(100, Whole(1), "boards drawn in a turn")
    rule: str = knob("linear", RULE, ABOUT_RULE)
    updates: Updates = knob("alternating", UPDATES, ABOUT_UPDATES)
    storage: str = knob("auto", Choice(("auto", *STORAGES)), "numbers of the tables; auto is float32")


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """No settings."""


@dataclass(frozen=True, kw_only=True)
class Batches:
    """How sampled regrets and strategies go into tables."""

    batch: int = knob(1, Whole(1), "traversals of each player in an iteration", published="b")
    rule: str = knob("cfr", RULE, ABOUT_RULE)
    averaging: Literal["stochastic", "own_reach"] = knob(
        "stochastic",
        Choice(("stochastic", "own_reach")),
        "where strategies are averaged: at the opponent's infosets (G12), or at the traverser's, by its reach (DN19)",
    )
    updates: Updates = knob("alternating", UPDATES, ABOUT_UPDATES)
    buckets: str = knob(
        "none",
        Text("ehs2:N, kmeans:N or none"),
        "the card abstraction: ehs2:N, kmeans:N or none",
        when={"game": ("holdem",)},
    )
    precision: Literal["float64", "float32"] = knob("float64", Choice(("float64", "float32")), "numbers of the tables")


@dataclass(frozen=True, kw_only=True)
class ExternalSampling:
    """External sampling, which leaves no own action out."""

    scheme: Scheme = part(External)
    table: Batches = part(Batches)


@dataclass(frozen=True, kw_only=True)
class OutcomeSampling:
    """Outcome sampling."""

    scheme: Scheme = part(Outcome, only=("epsilon", "probe"))
    table: Batches = part(Batches)


def _refuse_idle_probes(scheme: Scheme) -> None:
    if isinstance(scheme, Robust) and scheme.k == 0 and scheme.probe:
        raise InvalidParameter("probe=yes would change nothing: with k=max no action is left out")


@dataclass(frozen=True, kw_only=True)
class RobustSampling:
    """Robust sampling in mini-batches."""

    scheme: Scheme = part(Robust, only=("k", "probe"), k=3)
    table: Batches = part(Batches, batch=5000, updates="simultaneous")

    def __post_init__(self) -> None:
        _refuse_idle_probes(self.scheme)


@dataclass(frozen=True, kw_only=True)
class RobustSamplingPlus:
    """Robust sampling in mini-batches, with regrets that are never negative."""

    scheme: Scheme = part(Robust, only=("k", "probe"), k=3)
    table: Batches = part(Batches, batch=5000, updates="simultaneous", rule="cfr_plus")

    def __post_init__(self) -> None:
        _refuse_idle_probes(self.scheme)


@dataclass(frozen=True, kw_only=True)
class InclusionSampling:
    """Each own action by itself."""

    scheme: Scheme = part(Inclusion)
    table: Batches = part(Batches)


@dataclass(frozen=True, kw_only=True)
class Probing:
    """The same, with roll-outs for actions that are left out."""

    scheme: Scheme = part(Inclusion, probe="yes")
    table: Batches = part(Batches)


MIXED = ("cards", "rnn", "gru", "own")  # networks whose way back is autograd's, on every device


@dataclass(frozen=True, kw_only=True)
class Network:
    """What networks see of an infoset, and how large they are."""

    cards: Literal["ranks", "cards"] = knob(
        "ranks",
        Choice(("ranks", "cards")),
        "what networks see of cards: infosets that differ by names of suits only are one (ranks), or not (cards)",
    )
    network: str = knob(
        "mlp",
        Choice((*NETWORKS, "cards", "heads", "own")),
        "the kind of network; cards and heads are for hold'em (heads: from a hand to all of its decisions at once), "
        "own is handed in from Python",
    )
    width: int = knob(
        64,
        Whole(1),
        "units in a hidden layer, or numbers in a recurrent network's state",
        when={"network": (*NETWORKS, "cards", "heads")},
        instead=lambda chosen: 256 if chosen["network"] == "heads" else None,
    )
    layers: int = knob(3, Whole(1), "hidden layers", when={"network": ("mlp", "heads")})
    strength: bool = knob(
        "no",
        YesNo(),
        "networks see how strong a hand is on its board, besides the cards; for games over boards, such as flop_holdem",
        when={"network": ("cards", "heads"), "game": ("codes",)},
        instead=lambda chosen: "yes" if chosen.get("targets") == "vector" else None,
    )
    amp: Literal["none", "bf16"] = knob(
        "none",
        Choice(("none", "bf16")),
        "mixed precision: fits multiply in bfloat16 where the hardware has it, and keep all else in 32 bits",
        when={"network": MIXED},
    )

    @property
    def mixed(self) -> bool:
        """Return whether fits are in mixed precision."""
        return self.network in MIXED and self.amp == "bf16"


VECTOR, NOT_VECTOR = {"targets": ("vector",)}, {"targets": Except("vector")}


def _by_targets(**values: object) -> Any:
    """Return a default that depends on the targets."""
    return lambda chosen: values.get(chosen.get("targets"))


def _in_algorithm_2(value: object, residual: object = None, vector: object = None) -> Any:
    """Return a default that Algorithm 2 has, and by steps one for networks with residual attention or for vectors."""

    def default(chosen: Values) -> object:
        if chosen["fitting"] == "algorithm2":
            return value
        if chosen.get("targets") == "vector":
            return vector
        return residual if chosen["network"] == RESIDUAL else None

    return default


BY_STEPS, BY_ALGORITHM_2 = {"fitting": ("steps",)}, {"fitting": ("algorithm2",)}


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How one of Double Neural CFR's networks is fitted: by steps, or by DN19's Algorithm 2."""

    steps: int = knob(
        80,
        Whole(1),
        "passes over the samples in a fit; at most so many with fitting=algorithm2",
        unlisted=200,
        published="beta_epoch",
        instead=_in_algorithm_2(2000, residual=240, vector=120),
    )
    rate: float = knob(
        4e-3,
        Number(above=0.0),
        ABOUT_RATE,
        unlisted=2e-3,
        published="beta_lr",
        instead=_in_algorithm_2(1e-3, residual=1e-2),
    )
    minibatch: int = knob(
        0,
        Whole(1, word="all"),
        "rows in a step; all of them if 'all'; with targets=vector hands, each with all its decisions",
        published="neural batch size",
        instead=_in_algorithm_2(256, vector=1024),
    )
    rate_end: float = knob(
        0.05, Number(above=0.0, high=1.0), "share of the rate that is left at the end of a fit", when=BY_STEPS
    )
    rate_after: float = knob(50.0, Number(above=0.0), "iteration after which fits use a lower rate", when=BY_STEPS)
    rate_power: float = knob(
        0.6,
        Number(low=0.0, high=1.0),
        "the rate falls as (rate_after / t) to this power; 0: it does not",
        when=BY_STEPS,
    )
    rate_factor: float = knob(
        0.5,
        Number(above=0.0, high=1.0),
        "what the rate is multiplied by when the loss stops falling",
        when=BY_ALGORITHM_2,
    )
    patience: int = knob(10, Whole(1), "epochs without a lower loss before the rate falls", when=BY_ALGORITHM_2)
    rate_floor: float = knob(1e-6, Number(low=0.0), "the lowest rate", when=BY_ALGORITHM_2)
    reset_after: int = knob(
        100,
        Whole(1),
        "epochs without a lower loss before the rate is set back",
        published="beta_re",
        when=BY_ALGORITHM_2,
    )
    enough: float = knob(
        1e-4, Number(low=0.0), "the loss at which a fit ends", published="beta_loss", when=BY_ALGORITHM_2
    )
    clip_value: float = knob(
        1.0, Number(low=0.0), "bound of each gradient; 0: none", published="epsilon", when=BY_ALGORITHM_2
    )


@dataclass(frozen=True, kw_only=True)
class DoubleSampling:
    """Double Neural CFR's traversals, or what takes their place."""

    targets: Literal["sampled", "vector"] = knob(
        "sampled",
        Choice(("sampled", "vector")),
        "what regrets come from: traversals, or all hands on some boards, valued exactly (for games over boards, such "
        "as flop_holdem)",
    )
    boards: int = knob(32, Whole(1), "boards drawn anew in each turn", when=VECTOR)
    scheme: Robust = part(Robust, only=("k",), k=other(0, when=(NOT_VECTOR,)))
    batch: int = knob(
        5000,
        Whole(1),
        "traversals of each player in an iteration",
        unlisted=10_000,
        published="b",
        when=NOT_VECTOR,
    )
    # In a game too large to list most infosets are met once, with a regret that is mostly luck. The network averages
    # over those that are alike, but only what was not clipped before: with CFR+, luck would stay as regret.
    rule: str = knob(
        "cfr_plus_quadratic", RULE, ABOUT_RULE, unlisted="linear", instead=_by_targets(vector="discounted")
    )
    updates: Updates = knob("alternating", UPDATES, ABOUT_UPDATES)
    averaging: Literal["stochastic", "own_reach", "exact"] = knob(
        "exact",
        Choice(("stochastic", "own_reach", "exact")),
        "where strategies are averaged: at the opponent's infosets that were met, at the traverser's (DN19), or at all",
        unlisted="stochastic",
        when=NOT_VECTOR,
    )


TRAVERSALS = ("scheme", "batch", "rule", "updates", "averaging")  # all but vectors, which tables cannot hold


@dataclass(frozen=True, kw_only=True)
class RegretSums:
    """What the RegretSumNetwork is fitted to."""

    regrets: Literal["mean", "sum"] = knob(
        "mean",
        Choice(("mean", "sum")),
        "regrets of a batch: their mean (DN19 Eq. 12), or their sum (Algorithm 1, line 8)",
        when=NOT_VECTOR,
    )
    scale: Literal["adaptive", "sqrt"] = knob(
        "adaptive",
        Choice(("adaptive", "sqrt")),
        "what regrets are divided by before they are fitted: their size so far, or sqrt(t) (DN19 Eq. 9)",
    )
    anchor: float = knob(
        0.3,
        Number(low=0.0),
        "weight of infosets that were not met, whose target is the last prediction; 0: none",
        instead=_by_targets(vector=0.0),
    )
    anchor_memory: int = knob(
        0,
        Whole(0),
        "iterations for which an infoset stays an anchor after it was met; 0: all infosets always are",
        unlisted=5,
        when={"anchor": Above(0.0)},
    )


@dataclass(frozen=True, kw_only=True)
class StrategySums:
    """What the AvgStrategyNetwork is fitted to, and when."""

    kind: Literal["average", "sum"] = knob(
        "average",
        Choice(("average", "sum")),
        "what the network is: the average strategy, fitted by cross-entropy, or sums of strategies (DN19 Eq. 8)",
    )
    every: int = knob(25, Whole(1), "iterations between two fits", unlisted=5, instead=_by_targets(vector=2))
    rows: Literal["all", "met"] = knob(
        "all",
        Choice(("all", "met")),
        "infosets that it is fitted at: all, or those that were met (DN19 Eq. 8); met if anchor_memory is above 0",
        published="M_S",
        when={"game": ("listed",)},
        instead=lambda chosen: "met" if chosen.get("anchor_memory") else None,
    )


COMMON = ("cards", "network", "layers", "amp")
SHARED = "one network for both players, instead of one each"
FITTING = Choice(("steps", "algorithm2"))
ABOUT_FITTING = "how networks are fitted: a number of steps at a falling rate, or DN19's Algorithm 2"


@dataclass(frozen=True, kw_only=True)
class RegretNetwork:
    """Double Neural CFR with the average strategy in a table."""

    sampling: DoubleSampling = part(DoubleSampling, only=TRAVERSALS)
    network: Network = part(Network, network=other("mlp", unlisted="cards"), width=other(32, unlisted=64), layers=2)
    shared: bool = knob("no", YesNo(), SHARED)
    fitting: str = knob("steps", FITTING, ABOUT_FITTING)
    fit: Fit = part(Fit)
    sums: RegretSums = part(RegretSums)


@dataclass(frozen=True, kw_only=True)
class StrategyNetwork:
    """Double Neural CFR with the regrets in a table."""

    sampling: DoubleSampling = part(DoubleSampling, only=TRAVERSALS)
    network: Network = part(Network, only=COMMON, network=other("mlp", unlisted="cards"), layers=2)
    shared: bool = knob("no", YesNo(), SHARED)
    fitting: str = knob("steps", FITTING, ABOUT_FITTING)
    strategy_network: Network = part(Network, prefix="strategy_", only=("width",), width=other(24, unlisted=64))
    strategy_sums: StrategySums = part(StrategySums, prefix="strategy_")
    strategy_fit: Fit = part(
        Fit,
        prefix="strategy_",
        steps=other(400, unlisted=400, instead=_in_algorithm_2(2000, residual=1200)),
        rate_factor=0.7,
        patience=15,
        enough=1e-5,
    )


@dataclass(frozen=True, kw_only=True)
class DoubleNeural(RegretNetwork):
    """Double Neural CFR: regrets and average strategy in two networks."""

    sampling: DoubleSampling = part(DoubleSampling)
    network: Network = part(
        Network,
        network=other("mlp", unlisted="cards", instead=_by_targets(vector="heads")),
        width=other(32, unlisted=64),
        layers=other(2, instead=_by_targets(vector=3)),
    )
    strategy_network: Network = part(Network, prefix="strategy_", only=("width",), width=other(24, unlisted=64))
    strategy_sums: StrategySums = part(StrategySums, prefix="strategy_")
    strategy_fit: Fit = part(
        Fit,
        prefix="strategy_",
        steps=other(400, unlisted=400, instead=_in_algorithm_2(2000, residual=1200, vector=150)),
        rate_factor=0.7,
        patience=15,
        enough=1e-5,
    )


AGGREGATED, DRAWN, SAMPLED = {"targets": ("aggregated",)}, {"targets": ("minibatch",)}, NOT_VECTOR


@dataclass(frozen=True, kw_only=True)
class DeepSampling:
    """Deep CFR's traversals."""

    traversals: int = knob(
        5000, Whole(1), "traversals of each player in an iteration", unlisted=10_000, published="K", when=SAMPLED
    )
    sampling: Literal["external", "robust", "outcome"] = knob(
        "external",
        Choice(("external", "robust", "outcome")),
        "own actions that a traversal walks: all, k of them, or one; games too large to list have no outcome sampling",
        when=SAMPLED,
    )
    k: int = knob(3, Whole(1), "own actions walked at an infoset, chosen uniformly", when={"sampling": ("robust",)})
    epsilon: float = knob(
        0.6,
        Number(low=0.0, high=1.0),
        "share of uniform play when an own action is drawn",
        when={"sampling": ("outcome",)},
    )


@dataclass(frozen=True, kw_only=True)
class KeptBoards:
    """Exact regrets on a sample of boards, and how they are added up."""

    boards: int = knob(
        256, Whole(1), "boards whose hands are valued in every turn, drawn once; their sums are kept", when=VECTOR
    )
    fresh_boards: int = knob(
        64, Whole(1), "boards drawn anew in each turn, to value what is played before there is a board", when=VECTOR
    )
    rule: str = knob("discounted", RULE, ABOUT_RULE, when=VECTOR)


TARGETS = knob(
    "minibatch",
    Choice(("minibatch", "aggregated", "vector")),
    "what networks are fitted to: samples drawn from a memory, the means of all samples by infoset, or sums of exact "
    "regrets of all hands on a sample of boards (for games over boards, such as flop_holdem)",
)


@dataclass(frozen=True, kw_only=True)
class DeepMemory:
    """What Deep CFR keeps of samples, and how much each counts."""

    memory: Literal["reservoir", "window"] = knob(
        "reservoir",
        Choice(("reservoir", "window")),
        "samples that stay when a memory is full: a random part of all, or the latest",
        when=DRAWN,
    )
    # 24 million are the samples of 450 iterations on flop hold'em.
    capacity: int = knob(
        4_000_000, Whole(1), "samples in a memory", unlisted=24_000_000, published="size of M_V and M_Pi", when=DRAWN
    )
    weighted: bool = knob("yes", YesNo(), "iteration t counts t times, in regrets and in the average", when=SAMPLED)
    fallback: Literal["best", "uniform"] = knob(
        "best", Choice(("best", "uniform")), "what is played where no regret is positive"
    )


SCHEDULE = Choice(("linear", "constant"))


@dataclass(frozen=True, kw_only=True)
class DeepFit:
    """How Deep CFR's regret networks are fitted."""

    fit: Literal["scratch", "hybrid", "fine_tune"] = knob(
        "hybrid",
        Choice(("scratch", "hybrid", "fine_tune")),
        "whether an iteration's network is fitted from scratch: always (B19), now and then, or never",
        when=DRAWN,
    )
    fresh_every: int = knob(10, Whole(1), "iterations between two fresh networks", when={"fit": ("hybrid",)})
    # What a fit lacks in hold'em is steps, not samples: many of few rows fit better in the same time than few of many.
    fresh_steps: int = knob(
        300,
        Whole(1),
        "steps that fit a fresh network",
        unlisted=4000,
        published="SGD iterations",
        when=SAMPLED,
        instead=_by_targets(aggregated=100),
    )
    steps: int = knob(
        60,
        Whole(1),
        "steps that fit a network that is not fresh",
        unlisted=500,
        when=({"fit": ("hybrid", "fine_tune")}, AGGREGATED, VECTOR),
        instead=_by_targets(aggregated=15, vector=120),
    )
    minibatch: int = knob(
        4096,
        Whole(1),
        "samples in a step; with targets=vector hands, each with all its decisions",
        unlisted=1024,
        published="batch size",
        when=(DRAWN, VECTOR),
    )
    rate: float = knob(
        5e-3,
        Number(above=0.0),
        ABOUT_RATE,
        published="learning rate",
        instead=_by_targets(aggregated=4e-3, vector=1e-3),
    )
    schedule: Literal["linear", "constant"] = knob(
        "linear", SCHEDULE, "the rate falls to zero within a fit, or stays", when=DRAWN
    )
    clip_norm: float = knob(
        0.0, Number(low=0.0), "bound of the gradient's norm; 0: none", published="gradient norm clipping"
    )


@dataclass(frozen=True, kw_only=True)
class PolicyFit:
    """How Deep CFR's average policy is fitted."""

    networks: Literal["one", "two"] = knob(
        "two",
        Choice(("one", "two")),
        "memories and networks of the average: one for both players, or one each",
        when=SAMPLED,
    )
    steps: int = knob(
        1000, Whole(1), "steps that fit it, from scratch", unlisted=8000, instead=_by_targets(vector=3000)
    )
    rate: float = knob(5e-3, Number(above=0.0), ABOUT_RATE, instead=_by_targets(vector=2e-3))
    schedule: Literal["linear", "constant"] = knob(
        "linear", SCHEDULE, "the rate falls to zero within the fit, or stays"
    )
    loss: Literal["cross_entropy", "squared"] = knob(
        "cross_entropy",
        Choice(("cross_entropy", "squared")),
        "what is made small: cross-entropy, or the squared error of probabilities (B19 Algorithm 1, line 10)",
        when=SAMPLED,
    )
    clip_norm: float = knob(0.0, Number(low=0.0), "bound of the gradient's norm; 0: none")


@dataclass(frozen=True, kw_only=True)
class SingleDeepCFR:
    """Single Deep CFR."""

    targets: Literal["minibatch", "aggregated", "vector"] = TARGETS
    sampling: DeepSampling = part(DeepSampling)
    boards: KeptBoards = part(KeptBoards)
    network: Network = part(Network, network=other("mlp", unlisted="cards", instead=_by_targets(vector="heads")))
    memory: DeepMemory = part(DeepMemory)
    fit: DeepFit = part(DeepFit)
    snapshot_megabytes: int = knob(
        256,
        Whole(1),
        "memory for networks of past iterations; beyond it they are thinned out",
        instead=_by_targets(vector=32),
    )


@dataclass(frozen=True, kw_only=True)
class DeepCFR:
    """Deep CFR."""

    targets: Literal["minibatch", "aggregated", "vector"] = TARGETS
    sampling: DeepSampling = part(DeepSampling)
    boards: KeptBoards = part(KeptBoards)
    network: Network = part(Network, network=other("mlp", unlisted="cards", instead=_by_targets(vector="heads")))
    memory: DeepMemory = part(DeepMemory)
    fit: DeepFit = part(DeepFit)
    policy: PolicyFit = part(PolicyFit, prefix="policy_")


SHARE = Number(low=0.0, high=1.0)


@dataclass(frozen=True, kw_only=True)
class SelfPlaying:
    """Neural fictitious self-play."""

    episodes: int = knob(2048, Whole(1), "hands played in an iteration", unlisted=4096)
    anticipatory: float = knob(
        0.1, SHARE, "how often a player responds in a hand instead of playing its average", published="eta"
    )
    # In hold'em iterations are few, and what explores is averaged with the rest.
    epsilon: float = knob(
        1.0, SHARE, "how often a response explores at first; falls as 1 / sqrt(t)", unlisted=0.1, published="epsilon"
    )
    epsilon_floor: float = knob(0.0, SHARE, "how often it explores at least")
    network: Network = part(Network, layers=other(2, unlisted=3))
    q_capacity: int = knob(2_000_000, Whole(1), "transitions that a player keeps", published="M_RL")
    recent: float = knob(
        0.05, Number(above=0.0, high=1.0), "share of all transitions, the latest, that Q-learning draws from"
    )
    target_every: int = knob(5, Whole(1), "iterations between two copies of the Q-network to the target network")
    q_steps: int = knob(2, Whole(1), "steps of the Q-network in an iteration", unlisted=6)
    rate: float = knob(5e-3, Number(above=0.0), f"{ABOUT_RATE}, of the Q-network", unlisted=4e-3)
    capacity: int = knob(2_000_000, Whole(1), "responses that a player keeps, in a reservoir", published="M_SL")
    policy_steps: int = knob(2, Whole(1), "steps of the policy network in an iteration", unlisted=6)
    policy_rate: float = knob(5e-3, Number(above=0.0), f"{ABOUT_RATE}, of the policy network", unlisted=4e-3)
    minibatch: int = knob(2048, Whole(1), "samples in a step")
    # Averages move ever more slowly, and steps that shrink with them leave less noise in what is learnt.
    rate_after: float = knob(1000.0, Number(above=0.0), "iteration after which rates fall")
    rate_power: float = knob(0.5, SHARE, "rates fall as (rate_after / t) to this power; 0: they do not")
