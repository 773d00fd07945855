"""How fast this is: our work beside that of OpenSpiel and LiteEFG, in one run, on one core, in alternating rounds."""

from collections.abc import Callable

from equipoise.bench import neural, sampling, tabular
from equipoise.bench.measure import Row

SUITES: dict[str, Callable[..., list[Row]]] = {
    "tabular": tabular.tabular,
    "sampling": sampling.sampling,
    "neural": neural.neural,
}
