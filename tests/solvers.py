"""Full-width solvers by name, on a form that is compiled already."""

from equipoise.regret.rules import CFR, CFRPlus, DiscountedCFR, LinearCFR, PredictiveCFRPlus
from equipoise.solvers.fictitious_play import FictitiousPlay
from equipoise.solvers.full_width import FullWidthCFR
from equipoise.trees.sequence_form import SequenceForm

RULES = {"cfr": CFR(), "cfr+": CFRPlus(), "lcfr": LinearCFR(), "dcfr": DiscountedCFR(), "pcfr+": PredictiveCFRPlus()}
ALGORITHMS = [*RULES, "xfp"]


def make_solver(
    form: SequenceForm, algorithm: str, *, updates: str = "alternating", threads: int = 1
) -> FullWidthCFR | FictitiousPlay:
    if algorithm == "xfp":
        return FictitiousPlay(form, threads=threads)
    return FullWidthCFR(form, RULES[algorithm], updates=updates, threads=threads)


def solved(form: SequenceForm, algorithm: str, iterations: int, **options: str) -> FullWidthCFR | FictitiousPlay:
    """Return a solver that has run."""
    solver = make_solver(form, algorithm, **options)
    solver.run(iterations)
    return solver
