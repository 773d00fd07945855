"""Recipes: the algorithms by the names people know, and how to make each from its parameters."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.abstraction.buckets import NONE, Buckets, has_deck
from equipoise.errors import EquipoiseError, InvalidParameter, nearest
from equipoise.games import Game
from equipoise.games.sizes import too_large_to_list
from equipoise.memory import readable_bytes
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus, Rule
from equipoise.sampling.bucketed import compile_buckets
from equipoise.sampling.large import LargeForm
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust, Scheme
from equipoise.sampling.tree import compile_for_sampling
from equipoise.solvers.board_cfr import BoardCFR, needed_bytes
from equipoise.solvers.board_tables import STORAGES, Storage
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.solvers.sampled import SampledCFR
from equipoise.solvers.setup import SAMPLED_RULES, Form, Setup
from equipoise.trees.board_form import board_form, has_board_form
from equipoise.trees.compile import Engine, compile_game
from equipoise.trees.sequence_form import SequenceForm


class Solver(Protocol):
    """What every algorithm offers: run, give the strategy found so far, save and restore."""

    iteration: int
    threads: int  # in use: never more than pay

    @property
    def form(self) -> Form:
        """Return the compiled game."""

    def run(self, iterations: int) -> None:
        """Run some iterations; where a run is cut into calls makes no difference to its result."""

    def average_strategy(self) -> Any:
        """Return the strategy found so far, as the form's evaluator takes it: mostly one array a player."""

    @property
    def layout(self) -> str:
        """Return a hash of which infoset and action each number of the state belongs to."""

    def reached(self) -> npt.NDArray[np.bool_] | None:
        """Return, by infoset of a listed game, whether the average has weight there; None: the strategy itself says."""

    def state(self) -> dict[str, Any]:
        """Return all that the next iterations depend on."""

    def restore(self, iteration: int, state: dict[str, Any]) -> None:
        """Continue from a saved state, bit for bit."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A named algorithm."""

    name: str
    about: str
    paper: str
    parameters: dict[str, object]
    make: Callable[[Setup, dict[str, Any]], Solver]
    presets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # other defaults, by name
    unlisted: Mapping[str, object] = field(default_factory=dict)  # other defaults in games too large to list,
    unlisted_presets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # and in presets there
    unlisted_evaluation: int = 10  # the first iteration that is evaluated there
    evaluation_growth: float = 1.1  # more where an evaluation fits a network

    def unlists(self, game: Game, engine: Engine) -> bool:
        """Return whether a game is worked on by codes of infosets, because it has too many to list."""
        return bool(self.unlisted) and engine == "auto" and too_large_to_list(game)

    def resolve(
        self, given: Mapping[str, object], preset: str | None = None, *, unlisted: bool = False
    ) -> dict[str, object]:
        """Return all parameters with the given ones in place of defaults, or say which one is wrong."""
        resolved = {**self.parameters, **(self.unlisted if unlisted else {})}
        if preset is not None:
            if preset not in self.presets:
                has = f"it has {', '.join(self.presets)}" if self.presets else "it has none"
                raise EquipoiseError(f"{self.name} has no preset '{preset}'; {has}")
            resolved.update(self.presets[preset])
            resolved.update(self.unlisted_presets.get(preset, {}) if unlisted else {})
        for name, value in given.items():
            if name not in resolved:
                has = f"; it has {', '.join(resolved)}" if resolved else "; it has none"
                raise EquipoiseError(f"{self.name} has no parameter '{name}'{nearest(name, resolved) or has}")
            resolved[name] = _converted(self.name, name, value, resolved[name])
        return resolved

    def recorded(self, stored: Mapping[str, object]) -> dict[str, object]:
        """Return all parameters as a run recorded them, or say which one is wrong; unknown ones then have defaults."""
        known = {**self.unlisted, **self.parameters}
        for name, value in stored.items():
            if name not in known:
                raise InvalidParameter(f"{self.name} has no parameter '{name}'")
            whole_for_float = isinstance(known[name], float) and isinstance(value, int)
            if isinstance(value, bool) or not (isinstance(value, type(known[name])) or whole_for_float):
                raise InvalidParameter(f"{self.name}: {name}={value} is not valid; give a value like {known[name]}")
            if (name, value) != ("k", 0):  # all actions
                _converted(self.name, name, value, known[name])
        return {**self.parameters, **stored}


NETWORKS = ("mlp", "lstm", "lstm+attention", "gru", "gru+attention", "rnn", "rnn+attention")
CHOICES: dict[str, tuple[str, ...]] = {
    "updates": ("alternating", "simultaneous"),
    "averaging": ("stochastic", "own_reach", "exact"),
    "rule": tuple(SAMPLED_RULES),
    "probe": ("yes", "no"),
    "precision": ("float64", "float32"),
    "cards": ("ranks", "cards"),
    "network": (*NETWORKS, "cards"),  # the last is for hold'em
    "shared": ("yes", "no"),
    "scale": ("adaptive", "sqrt"),
    "fitting": ("steps", "algorithm2"),
    "strategy_kind": ("average", "sum"),
    "memory": ("reservoir", "window"),
    "weighted": ("yes", "no"),
    "fit": ("scratch", "hybrid", "fine_tune"),
    "fallback": ("best", "uniform"),
    "targets": ("minibatch", "aggregated"),
    "storage": ("auto", *STORAGES),
}
_AT_LEAST_ONE = (
    *("batch", "k", "width", "layers", "steps", "traversals", "minibatch", "capacity", "strategy_every"),
    *("episodes", "q_capacity", "target_every", "q_steps", "policy_steps"),
    *("fresh_steps", "strategy_steps", "strategy_width", "boards"),
)


def _converted(recipe: str, name: str, value: object, default: object) -> object:
    """Return a value given as text or number in the type of the parameter's default."""
    if name in CHOICES:
        if value not in CHOICES[name]:
            raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give {' or '.join(CHOICES[name])}")
        return value
    if name == "k" and value == "max":
        return 0  # all actions
    try:
        converted = type(default)(value)  # type: ignore[call-arg]
    except (TypeError, ValueError):
        raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give a number like {default}") from None
    if name in _AT_LEAST_ONE and int(str(converted)) < 1:
        raise EquipoiseError(f"{recipe}: {name}={value} is not valid; give a number of at least 1")
    return converted


def _full_width(name: str, rule: type[Rule], about: str) -> Recipe:
    defaults: dict[str, object] = {each.name: each.default for each in fields(rule)}  # type: ignore[arg-type]

    def make(setup: Setup, parameters: dict[str, Any]) -> Solver:
        chosen = rule(**{key: parameters[key] for key in defaults})
        if over_boards(setup):
            return _board_cfr(name, setup, chosen, parameters)
        if parameters["storage"] not in ("auto", "float64"):
            raise EquipoiseError(f"storage={parameters['storage']} is for games over boards, such as flop_holdem")
        form = compile_game(setup.game, setup.engine)
        return FullWidthCFR(form, chosen, updates=parameters["updates"], threads=threads_that_pay(form, setup.threads))

    parameters = {**defaults, "updates": "alternating", "storage": "auto"}
    return Recipe(name=name, about=about, paper=rule.paper, parameters=parameters, make=make)


def over_boards(setup: Setup) -> bool:
    """Return whether a game is solved board by board."""
    return setup.engine == "boards" or (setup.engine == "auto" and has_board_form(setup.game))


def _board_cfr(name: str, setup: Setup, rule: Rule, parameters: dict[str, Any], boards: int | None = None) -> Solver:
    coefficients = rule.at(2.0)
    if coefficients.optimism != 0.0:
        raise EquipoiseError(
            f"{name} needs a strategy beside its sums, which {setup.game.name} has no memory for: {_TRY}"
        )
    if boards is not None and (coefficients.keep_positive, coefficients.keep_negative) != (1.0, 1.0):
        raise EquipoiseError(
            f"{name} leaves out boards, whose sums cannot fade: take another rule than {parameters['rule']}"
        )
    storage: Storage = "float32" if parameters["storage"] == "auto" else parameters["storage"]
    form = board_form(setup.game)
    needed = needed_bytes(form, storage, setup.threads)
    setup.on_preparation(f"{readable_bytes(needed)} of memory, tables in {storage}", 1.0)
    return BoardCFR(
        form,
        rule,
        updates=parameters["updates"],
        storage=storage,
        boards=boards,
        seed=setup.seed,
        threads=setup.threads,
    )


_TRY = "take cfr+, dcfr, lcfr, cfr or pcs"


def _public_chance_sampling(setup: Setup, parameters: dict[str, Any]) -> Solver:
    if not over_boards(setup):
        raise EquipoiseError(f"pcs draws boards: it is for games such as flop_holdem, not for {setup.game.name}")
    return _board_cfr("pcs", setup, SAMPLED_RULES[parameters["rule"]], parameters, parameters["boards"])


SEQUENCES_WORTH_THREADS = 100_000  # below this, sharing out a full-width iteration costs more than it saves


def threads_that_pay(form: SequenceForm, threads: int) -> int:
    """Return how many threads to use for full-width work on a game."""
    return threads if form.num_sequences >= SEQUENCES_WORTH_THREADS else 1


def _sampled(
    name: str,
    scheme: type[External] | type[Outcome] | type[Robust] | type[Inclusion],
    about: str,
    *,
    paper: str | None = None,
    batch: int = 1,
    updates: str = "alternating",
    rule: str = "cfr",
    probe: str = "no",
    **scheme_defaults: object,
) -> Recipe:
    own: dict[str, object] = {
        each.name: scheme_defaults.get(each.name, each.default)
        for each in fields(scheme)
        if each.name not in ("probe", "from_strategy")
    }
    parameters = {**own, "batch": batch, "rule": rule, "averaging": "stochastic", "updates": updates, "probe": probe}
    parameters |= {"buckets": "none", "precision": "float64"}

    def make(setup: Setup, parameters: dict[str, Any]) -> Solver:
        made: Scheme = scheme(probe=parameters["probe"] == "yes", **{key: parameters[key] for key in own})
        buffered = parameters["batch"] > 1 or parameters["updates"] != "alternating"
        if parameters["averaging"] == "exact":
            raise EquipoiseError(f"averaging=exact is for networks; {name} takes stochastic or own_reach")
        form: Form | None
        buckets: Buckets | None = None
        if has_deck(setup.game) or parameters["buckets"] != NONE:
            form, sampled, buckets = compile_buckets(
                setup.game,
                parameters["buckets"],
                buffered=buffered,
                precision=parameters["precision"],
                on_progress=setup.on_preparation,
                on_complaint=setup.on_complaint,
            )
        else:
            form, sampled = compile_for_sampling(setup.game, setup.engine, buffered=buffered, order=setup.order)
        return SampledCFR(
            form if form is not None else LargeForm(setup.game, sampled),
            sampled,
            made,
            SAMPLED_RULES[parameters["rule"]],
            batch=parameters["batch"],
            updates=parameters["updates"],
            averaging=parameters["averaging"],
            seed=setup.seed,
            threads=setup.threads,
            precision=parameters["precision"],
            buckets=buckets,
        )

    return Recipe(name=name, about=about, paper=paper or scheme.paper, parameters=parameters, make=make)


def _fictitious_play(setup: Setup, parameters: dict[str, Any]) -> Solver:
    del parameters
    form = compile_game(setup.game, setup.engine)
    return FictitiousPlay(form, threads=threads_that_pay(form, setup.threads))


def _neural(maker: str, **options: bool) -> Callable[[Setup, dict[str, Any]], Solver]:
    """Return how to make a neural solver; PyTorch is loaded when one is made, and not before."""

    def make(setup: Setup, parameters: dict[str, Any]) -> Solver:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise EquipoiseError(
                "this algorithm needs PyTorch; install it by: pip install 'equipoise[neural]'"
            ) from None
        module = importlib.import_module(
            "equipoise.solvers.nfsp" if maker == "make_nfsp" else "equipoise.solvers.neural"
        )
        made: Solver = getattr(module, maker)(setup, parameters, **options)
        return made

    return make


_DOUBLE_NEURAL: dict[str, object] = {
    "k": 0,
    "batch": 5000,
    "rule": "cfr_plus_quadratic",
    "updates": "alternating",
    "averaging": "exact",
    "cards": "ranks",
    "network": "mlp",
    "width": 32,
    "layers": 2,
    "shared": "no",
    "fitting": "steps",
    "steps": 80,
    "rate": 4e-3,
    "scale": "adaptive",
    "anchor": 0.3,
    "anchor_memory": 0,
    "strategy_kind": "average",
    "strategy_width": 24,
    "strategy_every": 25,
    "strategy_steps": 400,
    "strategy_rate": 4e-3,
}
_AS_PUBLISHED: dict[str, dict[str, object]] = {
    # DN19: shared networks, LSTM with attention, all sums regressed, Algorithm 2; what it leaves open is in docs.
    "paper": {
        "k": 3,
        "rule": "cfr_plus_plain",
        "updates": "simultaneous",
        "averaging": "own_reach",
        "cards": "cards",
        "network": "lstm+attention",
        "width": 16,
        "strategy_width": 16,
        "shared": "yes",
        "fitting": "algorithm2",
        "steps": 2000,
        "scale": "sqrt",
        "anchor": 0.0,
        "strategy_kind": "sum",
        "strategy_every": 1,
    }
}
_DEEP: dict[str, object] = {
    "traversals": 5000,
    "cards": "ranks",
    "network": "mlp",
    "width": 64,
    "layers": 3,
    "targets": "minibatch",
    "memory": "reservoir",
    "capacity": 4_000_000,
    "weighted": "yes",
    "fallback": "best",
    "fit": "hybrid",
    "fresh_every": 10,
    "fresh_steps": 300,
    "steps": 60,
    "minibatch": 4096,
    "rate": 5e-3,
    "clip_norm": 0.0,
}
_DEEP_AS_PUBLISHED: dict[str, dict[str, object]] = {
    # B19: refitted from scratch each time, 4,000 steps of 10,000 samples at 1e-3, gradients clipped to norm 1.
    "paper": {
        "cards": "cards",
        "width": 64,
        "layers": 3,
        "fit": "scratch",
        "fresh_steps": 4000,
        "minibatch": 10_000,
        "rate": 1e-3,
        "clip_norm": 1.0,
    }
}


# Games too large to list (hold'em): infosets that differ by names of suits only are one (cards=ranks).
_DEEP_UNLISTED: dict[str, object] = {
    "traversals": 10_000,
    "network": "cards",
    "capacity": 24_000_000,  # the samples of 450 iterations
    # What a fit lacks there is steps, not samples: many of few rows fit better in the same time than few of many.
    "minibatch": 1024,
    "fresh_steps": 4000,
    "steps": 500,
}
_DEEP_UNLISTED_AS_PUBLISHED: dict[str, dict[str, object]] = {
    # B19 section 5: 10,000 traversals, 4,000 steps of 10,000 samples, memories of 40 million.
    "paper": {"traversals": 10_000, "network": "cards", "capacity": 40_000_000}
}
_DOUBLE_NEURAL_UNLISTED: dict[str, object] = {
    # Most infosets are met once, with a regret that is mostly luck. The network averages over those that are alike, but
    # only what was not clipped before: with CFR+, luck would stay as regret.
    "rule": "linear",
    "averaging": "stochastic",
    "network": "cards",
    "width": 64,
    "strategy_width": 64,
    "anchor_memory": 5,
    "batch": 10_000,
    "steps": 200,
    "rate": 2e-3,
    "strategy_every": 5,
    "strategy_rate": 2e-3,
}
_DOUBLE_NEURAL_UNLISTED_AS_PUBLISHED: dict[str, dict[str, object]] = {
    # What the paper does with a list of infosets cannot be done without one: its own reach, and regressed sums.
    "paper": {"averaging": "stochastic", "strategy_kind": "average"}
}
_NFSP_UNLISTED: dict[str, object] = {
    # Steps of the feed-forward network are cheap, and here their number is what counts.
    "episodes": 4096,
    "epsilon": 0.1,  # iterations are few, and what explores is averaged with the rest
    "layers": 3,
    "q_steps": 6,
    "rate": 4e-3,
    "policy_steps": 6,
    "policy_rate": 4e-3,
}

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _full_width("cfr", CFR, "counterfactual regret minimisation, uniform averaging"),
        _full_width("cfr+", CFRPlus, "regrets never below zero, linear averaging; the default"),
        _full_width("lcfr", LinearCFR, "iteration t counts t times"),
        _full_width("dcfr", DiscountedCFR, "old regrets and averages fade (alpha, beta, gamma)"),
        _full_width("pcfr+", PredictiveCFRPlus, "CFR+ that predicts the next regret, quadratic averaging"),
        Recipe(
            name="pcs",
            about="public chance sampling: all hands at once, on a sample of the boards",
            paper="Johanson et al. 2012",
            parameters={"boards": 100, "rule": "linear", "updates": "alternating", "storage": "auto"},
            make=_public_chance_sampling,
        ),
        Recipe(
            name="xfp",
            about="extensive-form fictitious play: best responses to averages",
            paper="Heinrich et al. 2015",
            parameters={},
            make=_fictitious_play,
        ),
        _sampled("es-mccfr", External, "external sampling: all own actions, all else sampled"),
        _sampled("os-mccfr", Outcome, "outcome sampling: one history per traversal"),
        _sampled(
            "rs-mccfr",
            Robust,
            "robust sampling: k own actions, uniformly, in mini-batches",
            batch=5000,
            updates="simultaneous",
            k=3,
        ),
        _sampled(
            "rs-mccfr+",
            Robust,
            "robust sampling with regrets clipped at zero once per batch, linear averaging",
            batch=5000,
            updates="simultaneous",
            rule="cfr_plus",
            k=3,
        ),
        _sampled(
            "is-mccfr",
            Inclusion,
            "inclusion sampling: each own action with its own probability, left-out ones count as zero",
        ),
        _sampled("probing", Inclusion, "inclusion sampling, with left-out actions valued by a roll-out", probe="yes"),
        Recipe(
            name="dncfr",
            about="Double Neural CFR: regrets and average strategy in two networks, robust sampling",
            paper="Li et al. 2019, 2020",
            parameters=_DOUBLE_NEURAL,
            make=_neural("make_double_neural"),
            presets=_AS_PUBLISHED,
            unlisted=_DOUBLE_NEURAL_UNLISTED,
            unlisted_presets=_DOUBLE_NEURAL_UNLISTED_AS_PUBLISHED,
        ),
        Recipe(
            name="rs-mccfr+-rsn",
            about="Double Neural CFR with regrets in a network and the average strategy in a table",
            paper="Li et al. 2019, 2020",
            parameters={name: value for name, value in _DOUBLE_NEURAL.items() if not name.startswith("strategy_")},
            make=_neural("make_double_neural", strategies=False),
        ),
        Recipe(
            name="rs-mccfr+-asn",
            about="Double Neural CFR with the average strategy in a network and regrets in a table",
            paper="Li et al. 2019, 2020",
            parameters=_DOUBLE_NEURAL,
            make=_neural("make_double_neural", regrets=False),
        ),
        Recipe(
            name="deep-cfr",
            about="Deep CFR: networks refitted from reservoirs of samples, and a network of the average policy",
            paper="Brown et al. 2019",
            parameters={**_DEEP, "policy_steps": 1000},
            make=_neural("make_deep_cfr", snapshots=False),
            presets=_DEEP_AS_PUBLISHED,
            unlisted={**_DEEP_UNLISTED, "policy_steps": 8000},
            unlisted_presets={"paper": {**_DEEP_UNLISTED_AS_PUBLISHED["paper"], "policy_steps": 4000}},
            evaluation_growth=1.5,
        ),
        Recipe(
            name="sd-cfr",
            about="Single Deep CFR: the average is played from snapshots of the regret networks",
            paper="Steinberger 2019",
            parameters={**_DEEP, "snapshot_megabytes": 256},
            make=_neural("make_deep_cfr", snapshots=True),
            presets=_DEEP_AS_PUBLISHED,
            unlisted=_DEEP_UNLISTED,
            unlisted_presets=_DEEP_UNLISTED_AS_PUBLISHED,
        ),
        Recipe(
            name="nfsp",
            about="neural fictitious self-play: Q-learning responds to averages, supervised learning averages",
            paper="Heinrich and Silver 2016",
            parameters={
                "episodes": 2048,
                "anticipatory": 0.1,
                "epsilon": 1.0,
                "epsilon_floor": 0.0,
                "cards": "ranks",
                "network": "mlp",
                "width": 64,
                "layers": 2,
                "q_capacity": 2_000_000,
                "recent": 0.05,
                "target_every": 5,
                "q_steps": 2,
                "rate": 5e-3,
                "capacity": 2_000_000,
                "policy_steps": 2,
                "policy_rate": 5e-3,
                "minibatch": 2048,
            },
            make=_neural("make_nfsp"),
            unlisted=_NFSP_UNLISTED,
            unlisted_evaluation=1000,
        ),
    )
}


def find_recipe(name: str) -> Recipe:
    """Return the recipe of an algorithm's name, or suggest the nearest."""
    if name not in RECIPES:
        hint = nearest(name, RECIPES) or "; `equipoise algorithms` lists them"
        raise EquipoiseError(f"unknown algorithm '{name}'{hint}")
    return RECIPES[name]
