"""How fast this is: our work and that of OpenSpiel and LiteEFG, in alternating rounds on one core; threads."""

from collections.abc import Callable

from equipoise.bench import cluster, neural, page, sampling, spot_suite, tabular, threads
from equipoise.bench.measure import Row

SUITES: dict[str, Callable[..., list[Row]]] = {
    "tabular": tabular.tabular,
    "sampling": sampling.sampling,
    "neural": neural.neural,
    "threads": threads.threads,
    "spots": spot_suite.spots,
    "page": page.page,
    "cluster": cluster.cluster,
}
