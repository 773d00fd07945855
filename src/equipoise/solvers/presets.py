"""Presets that are the papers': every value with the place where it is published; what a paper leaves open is *ours*.

Keys: DN19 and DN20 are the two versions of Double Neural CFR (Li et al. 2019, 2020), B19 is Deep CFR (Brown et al.
2019). docs/presets.md is this table for people, and a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

OURS = "ours"
Published = tuple[object, str]  # a value, and where it comes from


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Defaults of a paper's experiments."""

    about: str
    published: Mapping[str, Published]
    unlisted: Mapping[str, Published] = field(
        default_factory=lambda: MappingProxyType({})
    )  # in games too large to list

    def values(self, game: str = "listed") -> dict[str, object]:
        """Return the settings on a kind of game."""
        here = {**self.published, **(self.unlisted if game == "codes" else {})}
        return {name: value for name, (value, _) in here.items()}

    def of(self, names: Mapping[str, object]) -> "Preset":
        """Return the part of it that an algorithm has settings for."""
        kept, large = (
            {name: each for name, each in some.items() if name in names} for some in (self.published, self.unlisted)
        )
        return Preset(about=self.about, published=kept, unlisted=large)


def changed(
    preset: Preset, about: str, unlisted: Mapping[str, Published] | None = None, **changes: Published
) -> Preset:
    """Return a preset with other values."""
    return Preset(
        about=about,
        published={**preset.published, **changes},
        unlisted=preset.unlisted if unlisted is None else unlisted,
    )


DN19 = Preset(
    about="Double Neural CFR as in Li et al. 2019, on no-limit Leduc",
    published={
        "k": (3, "DN19 section 5: 'We choose k = 3 for the later experiments in Leduc Hold'em Poker'"),
        "batch": (5000, "DN19 section 5: 'in the later experiments, we set the mini-batch size equal to 5000'"),
        "rule": ("cfr_plus_plain", "DN19 Eq. 14 for regrets; Algorithm 3 adds strategies without weights"),
        "updates": ("simultaneous", "DN19 Algorithm 1: one fit an iteration, after the samples of both players"),
        "averaging": ("own_reach", "DN19 Algorithm 3: reach and strategy of the traverser go to M_S"),
        "cards": ("cards", "DN19 Appendix D: one-hot private and public cards, suits included"),
        "network": ("lstm+attention", "DN19 Appendix D, Eq. 15"),
        "width": (16, "DN19 section 5: 'embedding size of 8 and 16'; 16 of the two is ours"),
        "strategy_width": (16, "DN19 section 5, as the other network"),
        "shared": ("yes", "DN19 Algorithm 1: one RSN and one ASN"),
        "fitting": ("algorithm2", "DN19 Algorithm 2"),
        "steps": (2000, "DN19 Appendix E: 'We set beta_epoch = 2000'"),
        "rate": (1e-3, "DN19 Appendix E: 'learning rate beta_lr = 0.001'"),
        "minibatch": (256, "DN19 Appendix E: 'neural batch size is 256'"),
        "rate_factor": (0.5, "DN19 Appendix E: 'reduced by 0.5 when loss has stopped improving after 10 epochs'"),
        "patience": (10, "DN19 Appendix E, the same sentence"),
        "rate_floor": (1e-6, "DN19 Appendix E: 'The lower bound on the learning rate ... is 10^-6'"),
        "reset_after": (100, OURS),
        "enough": (1e-4, "DN19 Appendix E: 'beta_loss = 10^-4'"),
        "clip_value": (1.0, OURS),
        "regrets": ("sum", "DN19 Algorithm 1, line 8 (Eq. 12 divides by b: regrets=mean)"),
        "scale": ("sqrt", "DN19 Eq. 9"),
        "anchor": (0.0, "DN19 Eq. 7: the loss is over observed infosets"),
        "strategy_kind": ("sum", "DN19 Eq. 8"),
        "strategy_every": (1, "DN19 Algorithm 1"),
        "strategy_rows": ("met", "DN19 Eq. 8: the samples of M_S"),
        "strategy_steps": (2000, "DN19 Appendix E: 'Other hyperparameters in ASN are similar to RSN'"),
        "strategy_rate": (1e-3, "DN19 Appendix E, the same sentence"),
        "strategy_minibatch": (256, "DN19 Appendix E, the same sentence"),
        "strategy_rate_factor": (0.7, "DN19 Appendix E: 'reduced by 0.7 ... after 15 epochs'"),
        "strategy_patience": (15, "DN19 Appendix E, the same sentence"),
        "strategy_rate_floor": (1e-6, "DN19 Appendix E: 'of all parameters in this scheduler'"),
        "strategy_reset_after": (100, OURS),
        "strategy_enough": (1e-5, "DN19 Appendix E: 'For ASN, we set the loss of early stopping criteria as 10^-5'"),
        "strategy_clip_value": (1.0, OURS),
    },
)
DN20 = changed(
    DN19,
    "Double Neural CFR as in Li et al. 2020: smaller batches; the optimiser is DN19's",
    k=(3, "DN20, ablation studies: 'We choose k = 3 for the later experiments in Leduc Hold'em'"),
    batch=(100, "DN20, ablation studies: 'we set b = 100 as the default mini-batch size'"),
    network=("lstm+attention", "DN20, ablation studies: 'We select LSTM plus attention as the default architectures'"),
    width=(16, "DN20, ablation studies: 'We select embedding size 16 as the default parameters'"),
    strategy_width=(16, "DN20, ablation studies, as the other network"),
)
ONE_CARD = changed(
    DN19,
    "Double Neural CFR on One-Card Poker, as in Li et al. 2019",
    minibatch=(4, "DN19 Appendix C: 'we set neural batch size 4, hidden size 32 and learning rate 0.001'"),
    strategy_minibatch=(4, "DN19 Appendix C, the same sentence"),
    width=(32, "DN19 Appendix C, the same sentence"),
    strategy_width=(32, "DN19 Appendix C, the same sentence"),
    rate=(1e-3, "DN19 Appendix C, the same sentence"),
    strategy_rate=(1e-3, "DN19 Appendix C, the same sentence"),
    k=(0, OURS),
    batch=(1000, "DN19 Appendix C, Figure 7 (A): b = 1000 is the largest"),
)
NO_EXPLORATION = (0.0, "DN19 Lemma 4: k = 1 with the sampling strategy equal to the current one, so no exploration")
B19 = Preset(
    about="Deep CFR as in Brown et al. 2019, on flop hold'em",
    published={
        "traversals": (10_000, "B19 section 6: 'We show Deep CFR performance for 10,000 CFR traversals per step'"),
        "sampling": ("external", "B19 Algorithm 2"),
        "cards": ("cards", "B19 section 5.1: rank, suit and card embeddings"),
        "network": ("mlp", OURS),
        "width": (64, OURS),
        "layers": (3, OURS),
        "targets": ("minibatch", "B19 section 5.2"),
        "memory": ("reservoir", "B19 Algorithm 1"),
        "capacity": (40_000_000, "B19 section 5.2: 'a maximum size of 40 million infosets'"),
        "weighted": ("yes", "B19 section 5.3"),
        "fallback": ("best", "B19 section 2.1: 'we choose the action with highest counterfactual regret'"),
        "fit": ("scratch", "B19 section 5.2: 'trained from scratch each CFR iteration'"),
        "fresh_steps": (4000, "B19 section 5.2: '4,000 mini-batch stochastic gradient descent (SGD) iterations'"),
        "minibatch": (10_000, "B19 section 5.2: 'a batch size of 10,000'"),
        "rate": (1e-3, "B19 section 5.2: 'a learning rate of 0.001'"),
        "schedule": ("constant", "B19 section 5.2: no schedule"),
        "clip_norm": (1.0, "B19 section 5.2: 'gradient norm clipping to 1'"),
        "policy_networks": ("one", "B19 Algorithm 1: one strategy memory, one network"),
        "policy_loss": ("squared", "B19 Algorithm 1, the loss of theta_Pi"),
        "policy_steps": (4000, "B19 section 5.2; it names no other number for this network"),
        "policy_rate": (1e-3, "B19 section 5.2, the same"),
        "policy_schedule": ("constant", "B19 section 5.2, the same"),
        "policy_clip_norm": (1.0, "B19 section 5.2, the same"),
    },
    unlisted={"network": ("cards", "B19 section 5.1 and Appendix C"), "width": (64, "B19 Appendix C")},
)
B19_HULH = changed(
    B19,
    "Deep CFR as in Brown et al. 2019, on limit hold'em",
    fresh_steps=(32_000, "B19 section 5.2: 'For HULH we use 32,000 SGD iterations and a batch size of 20,000'"),
    minibatch=(20_000, "B19 section 5.2, the same sentence"),
    policy_steps=(32_000, "B19 section 5.2, the same sentence"),
    traversals=(10_000, OURS),
)
NFSP = Preset(
    about="our NFSP with the memories of Li et al. 2020, who say nothing else of it",
    published={
        "q_capacity": (200_000, "DN20, comparison: '2 x 10^5 state-action pair samples'"),
        "capacity": (2_000_000, "DN20, comparison: '2 x 10^6 samples for supervised learning'"),
    },
)
NFSP_B19 = Preset(
    about="our NFSP with the network of Deep CFR; Brown et al. 2019 swept its other settings by hand",
    published={"width": (64, "B19 footnote 4: 'the same model architecture as we use for Deep CFR'")},
    unlisted={"network": ("cards", "B19 footnote 4, the same"), "width": (64, "B19 footnote 4, the same")},
)
PRESETS: Mapping[str, Mapping[str, Preset]] = {
    **{
        name: {"dn19": DN19, "dn20": DN20, "one-card": ONE_CARD}
        for name in ("dncfr", "rs-mccfr+-rsn", "rs-mccfr+-asn", "rs-mccfr+")
    },
    "rs-mccfr": {
        name: changed(preset, preset.about, rule=("cfr", "DN19 Eq. 13: RS-MCCFR is without regret matching+"))
        for name, preset in (("dn19", DN19), ("dn20", DN20), ("one-card", ONE_CARD))
    },
    "os-mccfr": {
        name: changed(preset, preset.about, rule=("cfr", OURS), epsilon=NO_EXPLORATION)
        for name, preset in (("dn19", DN19), ("dn20", DN20), ("one-card", ONE_CARD))
    },
    "deep-cfr": {"b19": B19, "b19-hulh": B19_HULH},
    "sd-cfr": {"b19": B19, "b19-hulh": B19_HULH},
    "nfsp": {"nfsp": NFSP, "b19": NFSP_B19},
}
PAPER = {  # what --preset paper stands for, where one is meant
    **dict.fromkeys(("dncfr", "rs-mccfr+-rsn", "rs-mccfr+-asn", "rs-mccfr+", "rs-mccfr"), "dn19"),
    **dict.fromkeys(("deep-cfr", "sd-cfr"), "b19"),
    "nfsp": "nfsp",
}
