"""Recipes: the algorithms by the names people know, and how to make each from its parameters."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from equipoise.errors import EquipoiseError, InvalidParameter, MissingPackage, NotSupported, UnknownAlgorithm, nearest
from equipoise.memory import readable_bytes
from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus, Rule
from equipoise.sampling.bucketed import TablesInBuckets, TablesOverBoards, compile_buckets
from equipoise.sampling.gather import SMALL_BATCH, parts_of_batch
from equipoise.sampling.schemes import External, Inclusion, Outcome, Robust, Scheme
from equipoise.sampling.tree import Tables, compile_listed, compile_nodes
from equipoise.settings import Knob, completed, knobs_of, made, resolve
from equipoise.solvers.board_cfr import BoardCFR, needed_bytes
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.solvers.parameters import (
    Batches,
    DeepCFR,
    Discounted,
    DoubleNeural,
    ExternalSampling,
    FullWidth,
    InclusionSampling,
    Linear,
    Nothing,
    OutcomeSampling,
    Plus,
    Predictive,
    Probing,
    PublicChance,
    RegretNetwork,
    RobustSampling,
    RobustSamplingPlus,
    SelfPlaying,
    SingleDeepCFR,
    StrategyNetwork,
)
from equipoise.solvers.presets import PAPER, PRESETS, Preset
from equipoise.solvers.representations import Representation, Work, choose, threads_that_pay
from equipoise.solvers.sampled import SampledCFR
from equipoise.solvers.setup import SAMPLED_RULES, Setup
from equipoise.solvers.solver import Solver
from equipoise.solvers.spot_cfr import SpotCFR
from equipoise.stores.board_tables import Storage


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A named algorithm."""

    name: str
    about: str
    paper: str
    settings: type[Any]  # a dataclass of knobs and parts, which `make` is handed
    make_from: Callable[[Setup, Representation, Any], Solver]
    works_by: Work
    unlisted_evaluation: int = 10  # the first iteration that is evaluated there
    evaluation_growth: float = 1.1  # more where an evaluation fits a network
    networks: bool = False
    revision: int = 1  # raised by hand when results of the same settings and seed change: sweeps then run again

    def why_alone(self, representation: Representation, parameters: Mapping[str, object]) -> str | None:
        """Return why workers elsewhere cannot share the work on a game, and what can be done; None: they can."""
        if parameters.get("targets") == "vector":
            return "give --threads: boards of targets=vector are shared out to threads only"
        if representation.name == "boards" or representation.settings == "codes":
            return None
        if "batch" not in parameters:
            return "give --threads; sweeps of several runs can be shared out"
        batch = parameters["batch"]
        assert isinstance(batch, int)
        if parts_of_batch(batch) == 1:
            return f"give --set batch={SMALL_BATCH} or more, which is made in parts"
        return None

    def place(self, device: str) -> str:
        """Return the device that networks will be on, by its name; refuse one that there is nothing to do for."""
        if self.networks:
            _require_torch()
            from equipoise.networks.devices import find_device

            return str(find_device(device))
        if device not in ("auto", "cpu"):
            raise NotSupported(f"{self.name} has no networks to put on a device: leave out --device {device}")
        return "cpu"

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """Return all settings: what `--set` takes, and what is known of each."""
        return knobs_of(self.settings)

    @cached_property
    def presets(self) -> dict[str, Preset]:
        """Return settings of papers, by name; what the algorithm has no setting for is left out."""
        names = {knob.name: knob for knob in self.knobs}
        return {name: preset.of(names) for name, preset in PRESETS.get(self.name, {}).items()}

    @property
    def parameters(self) -> dict[str, object]:
        """Return the settings of the default variant on listed games, with their values."""
        return self.resolve({})

    def shown(self, values: Mapping[str, object]) -> list[str]:
        """Return settings as one would give them."""
        return [f"{knob.name}={knob.shown(values[knob.name])}" for knob in self.knobs if knob.name in values]

    def as_given(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return kept settings as they can be given again: words in place of the zeros that stand for them."""
        known = {knob.name: knob for knob in self.knobs}
        return {name: known[name].word_for(value) if name in known else value for name, value in values.items()}

    def resolve(
        self, given: Mapping[str, object], preset: str | None = None, *, game: str = "listed"
    ) -> dict[str, object]:
        """Return all settings of a variant, with the given ones in place of defaults, or say which one is wrong."""
        return resolve(self.knobs, given, self._preset(preset, game), owner=self.name, game=game)

    def _preset(self, name: str | None, game: str) -> Mapping[str, object]:
        if name is None:
            return {}
        chosen = PAPER.get(self.name, name) if name == "paper" else name
        if chosen not in self.presets:
            has = f"it has {', '.join(self.presets)}" if self.presets else "it has none"
            raise InvalidParameter(f"{self.name} has no preset '{name}'{nearest(name, self.presets) or f'; {has}'}")
        return self.presets[chosen].values(game)

    def recorded(self, stored: Mapping[str, object]) -> dict[str, object]:
        """Return the settings that a run recorded, or say which one is wrong."""
        known = {knob.name: knob for knob in self.knobs}
        kept: dict[str, object] = {}
        for name, value in stored.items():
            if name in known:
                read = known[name].read(value, self.name)
                if isinstance(value, str) != isinstance(read, str) or isinstance(value, bool):
                    known[name].refuse(value, self.name)
                kept[name] = value
            elif name not in NO_LONGER.get(self.name, ()):
                raise InvalidParameter(f"{self.name} has no parameter '{name}'")
        return kept

    def in_full(self, parameters: Mapping[str, object], representation: Representation) -> dict[str, object]:
        """Return the settings that a run recorded with those that it left to defaults because they are newer."""
        known = as_they_are_now(self.recorded(parameters))
        return dict(completed(self.knobs, known, owner=self.name, game=representation.settings))

    def make(
        self, setup: Setup, parameters: Mapping[str, object], representation: Representation | None = None
    ) -> Solver:
        """Return a solver with settings that were resolved, now or when a run was made."""
        seen_as = representation or choose(setup.game, setup.engine, self)
        chosen = completed(self.knobs, as_they_are_now(parameters), owner=self.name, game=seen_as.settings)
        return self.make_from(setup, seen_as, made(self.settings, chosen))

    def solver(self, setup: Setup, given: Mapping[str, object], preset: str | None = None) -> Solver:
        """Return a solver with given settings."""
        representation = choose(setup.game, setup.engine, self)
        return self.make(setup, self.resolve(given, preset, game=representation.settings), representation)


NO_LONGER = {  # settings that runs recorded, and that never had an effect
    "es-mccfr": ("probe",),
    "rs-mccfr+-asn": ("width", "steps", "rate", "scale", "anchor", "anchor_memory"),
}


def as_they_are_now(parameters: Mapping[str, object]) -> Mapping[str, object]:
    """Return a run's settings without those that were kept but ignored when it was made, and are not ignored now."""
    deep, double = "traversals" in parameters, "fitting" in parameters
    if "sampling" in parameters or (double and parameters.keys() & {"minibatch", "strategy_minibatch"}):
        return parameters
    if not deep and not double:
        return parameters
    old = dict(parameters)
    if old.get("anchor_memory"):
        old["strategy_rows"] = "met"
    if old.get("fitting") == "algorithm2":
        old.pop("rate", None)
        old.pop("strategy_rate", None)
        if "strategy_steps" in old:
            old["strategy_steps"] = old["steps"]
    if old.get("targets") == "aggregated":
        for name in ("steps", "fresh_steps", "rate", "clip_norm"):
            old.pop(name, None)
    return old


def _full_width(name: str, settings: type[FullWidth], paper: str, about: str) -> Recipe:
    def make(setup: Setup, representation: Representation, chosen: FullWidth) -> Solver:
        if representation.settings == "spots":
            return _spot_cfr(setup, representation, chosen)
        if representation.settings == "boards":
            return _board_cfr(name, setup, representation, chosen.rule, chosen)
        form = representation.form(setup.game)
        return FullWidthCFR(form, chosen.rule, updates=chosen.updates, threads=threads_that_pay(form, setup.threads))

    return Recipe(
        name=name,
        about=about,
        paper=paper,
        settings=settings,
        make_from=make,
        works_by="full width",
    )


# What reaches half a per cent of the pot soonest on the reference spots (a tenth sooner than with the paper's gamma).
SPOT_DEFAULTS: dict[str, dict[str, float]] = {"dcfr": {"gamma": 4.0}}

MEMORY_WORTH_SAYING = 100 << 20  # bytes


def _spot_cfr(setup: Setup, representation: Representation, chosen: FullWidth) -> Solver:
    storage: Storage = "float32" if chosen.storage == "auto" else chosen.storage  # type: ignore[assignment]
    solver = SpotCFR(representation.form(setup.game), chosen.rule, storage=storage, threads=setup.threads)
    if solver.memory >= MEMORY_WORTH_SAYING:
        fewer = "" if storage == "int16" else "; --set storage=int16 takes about half"
        setup.on_complaint(f"solving takes {readable_bytes(solver.memory)} of memory, with tables in {storage}{fewer}")
    return solver


def _board_cfr(
    name: str,
    setup: Setup,
    representation: Representation,
    rule: Rule,
    chosen: FullWidth | PublicChance,
    boards: int | None = None,
) -> Solver:
    coefficients = rule.at(2.0)
    if coefficients.optimism != 0.0:
        raise EquipoiseError(
            f"{name} keeps the last strategy as well as its sums, and {setup.game.name} has no memory for both; {_TRY}"
        )
    if boards is not None and (coefficients.keep_positive, coefficients.keep_negative) != (1.0, 1.0):
        raise EquipoiseError(
            f"{name} leaves out boards, whose sums cannot fade: choose a rule other than {chosen.rule}"
        )
    storage: Storage = "float32" if chosen.storage == "auto" else chosen.storage  # type: ignore[assignment]
    form = representation.form(setup.game)
    needed = needed_bytes(form, storage, setup.threads)
    where = "" if setup.workers is None else f", shared by {setup.workers.workers} workers"
    setup.report(f"{readable_bytes(needed)} of memory{where}, tables in {storage}", 1.0)
    return BoardCFR(
        form,
        rule,
        updates=chosen.updates,
        storage=storage,
        boards=boards,
        seed=setup.seed,
        threads=setup.threads,
        workers=setup.workers,
    )


_TRY = "choose cfr+, dcfr, lcfr, cfr or pcs"


def _public_chance_sampling(setup: Setup, representation: Representation, chosen: PublicChance) -> Solver:
    return _board_cfr("pcs", setup, representation, SAMPLED_RULES[chosen.rule], chosen, chosen.boards)


class _Sampled(Protocol):
    @property
    def scheme(self) -> Scheme:
        """Return which own actions are walked."""

    @property
    def table(self) -> Batches:
        """Return how findings go into tables."""


def _sampled(name: str, settings: type[_Sampled], paper: str, about: str) -> Recipe:
    def make(setup: Setup, representation: Representation, chosen: _Sampled) -> Solver:
        table = chosen.table
        buffered = table.batch > 1 or table.updates != "alternating"
        tables: Tables
        if representation.settings == "holdem":
            sampled, buckets = compile_buckets(
                setup.game,
                table.buckets,
                buffered=buffered,
                precision=table.precision,
                report=setup.report,
                on_complaint=setup.on_complaint,
            )
            in_game = TablesInBuckets if representation.evaluator is None else TablesOverBoards
            tables = in_game(representation.form(setup.game), sampled, buckets)
        elif representation.listed:
            tables, sampled = compile_listed(setup.game, representation.name, buffered=buffered)
        else:
            tables, sampled = compile_nodes(setup.game, buffered=buffered)
        return SampledCFR(
            tables,
            sampled,
            chosen.scheme,
            SAMPLED_RULES[table.rule],
            batch=table.batch,
            updates=table.updates,
            averaging=table.averaging,
            seed=setup.seed,
            threads=setup.threads,
            precision=table.precision,
            workers=setup.workers,
        )

    return Recipe(name=name, about=about, paper=paper, settings=settings, make_from=make, works_by="samples")


def _fictitious_play(setup: Setup, representation: Representation, chosen: Nothing) -> Solver:
    del chosen
    form = representation.form(setup.game)
    return FictitiousPlay(form, threads=threads_that_pay(form, setup.threads))


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingPackage("this algorithm needs PyTorch; install it by: pip install 'equipoise[neural]'") from None


def _neural(maker: str) -> Callable[[Setup, Representation, Any], Solver]:
    """Return how to make a neural solver; PyTorch is loaded when one is made, and not before."""

    def make(setup: Setup, representation: Representation, chosen: Any) -> Solver:
        _require_torch()
        module = importlib.import_module(
            "equipoise.solvers.nfsp" if maker == "make_nfsp" else "equipoise.solvers.neural"
        )
        solver: Solver = getattr(module, maker)(setup, representation, chosen)
        return solver

    return make


LI = "Li et al. 2019, 2020"
RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _full_width("cfr", FullWidth, CFR.paper, "counterfactual regret minimisation, uniform averaging"),
        _full_width("cfr+", Plus, CFRPlus.paper, "regrets never below zero, linear averaging; the default"),
        _full_width("lcfr", Linear, LinearCFR.paper, "iteration t counts t times"),
        _full_width("dcfr", Discounted, DiscountedCFR.paper, "old regrets and averages fade (alpha, beta, gamma)"),
        _full_width(
            "pcfr+", Predictive, PredictiveCFRPlus.paper, "CFR+ that predicts the next regret, quadratic averaging"
        ),
        Recipe(
            name="pcs",
            about="public chance sampling: all hands at once, on a sample of the boards",
            paper="Johanson et al. 2012",
            settings=PublicChance,
            make_from=_public_chance_sampling,
            works_by="boards",
        ),
        Recipe(
            name="xfp",
            about="extensive-form fictitious play: best responses to averages",
            paper="Heinrich et al. 2015",
            settings=Nothing,
            make_from=_fictitious_play,
            works_by="responses",
        ),
        _sampled("es-mccfr", ExternalSampling, External.paper, "external sampling: all own actions, all else sampled"),
        _sampled("os-mccfr", OutcomeSampling, Outcome.paper, "outcome sampling: one history per traversal"),
        _sampled(
            "rs-mccfr", RobustSampling, Robust.paper, "robust sampling: k own actions, uniformly, in mini-batches"
        ),
        _sampled(
            "rs-mccfr+",
            RobustSamplingPlus,
            Robust.paper,
            "robust sampling with regrets clipped at zero once per batch, linear averaging",
        ),
        _sampled(
            "is-mccfr",
            InclusionSampling,
            Inclusion.paper,
            "inclusion sampling: each own action with its own probability, left-out ones count as zero",
        ),
        _sampled("probing", Probing, Inclusion.paper, "inclusion sampling, with left-out actions valued by a roll-out"),
        Recipe(
            name="dncfr",
            about="Double Neural CFR: regrets and average strategy in two networks, robust sampling",
            paper=LI,
            settings=DoubleNeural,
            networks=True,
            make_from=_neural("make_double_neural"),
            works_by="stores",
        ),
        Recipe(
            name="rs-mccfr+-rsn",
            about="Double Neural CFR with regrets in a network and the average strategy in a table",
            paper=LI,
            settings=RegretNetwork,
            networks=True,
            make_from=_neural("make_double_neural"),
            works_by="stores",
        ),
        Recipe(
            name="rs-mccfr+-asn",
            about="Double Neural CFR with the average strategy in a network and regrets in a table",
            paper=LI,
            settings=StrategyNetwork,
            networks=True,
            make_from=_neural("make_double_neural"),
            works_by="stores",
        ),
        Recipe(
            name="deep-cfr",
            about="Deep CFR: networks refitted from reservoirs of samples, and a network of the average policy",
            paper="Brown et al. 2019",
            settings=DeepCFR,
            networks=True,
            make_from=_neural("make_deep_cfr"),
            works_by="stores",
            evaluation_growth=1.5,
        ),
        Recipe(
            name="sd-cfr",
            about="Single Deep CFR: the average is played from snapshots of the regret networks",
            paper="Steinberger 2019",
            settings=SingleDeepCFR,
            networks=True,
            make_from=_neural("make_deep_cfr"),
            works_by="stores",
        ),
        Recipe(
            name="nfsp",
            about="neural fictitious self-play: Q-learning responds to averages, supervised learning averages",
            paper="Heinrich and Silver 2016",
            settings=SelfPlaying,
            networks=True,
            make_from=_neural("make_nfsp"),
            works_by="stores",
            unlisted_evaluation=1000,
        ),
    )
}


def find_recipe(name: str) -> Recipe:
    """Return the recipe of an algorithm's name, or suggest the nearest."""
    if name not in RECIPES:
        hint = nearest(name, RECIPES) or "; `equipoise algorithms` lists them"
        raise UnknownAlgorithm(f"unknown algorithm '{name}'{hint}")
    return RECIPES[name]
