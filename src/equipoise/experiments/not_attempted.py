"""Claims of the papers that nothing here has been run for: what an attempt would cost, and why there was none.

Costs are estimates from the pace of runs that are in the ledger, in hours of one core.
"""

from equipoise.experiments.claim import NotAttempted

_B19, _DN20 = "Brown et al. 2019", "Li et al. 2020"
_DEEP_CFR_HOURS = "about 15 core-hours for each curve and seed at the paper's 450 iterations"

LEFT = (
    NotAttempted(
        id="G5",
        title="probing on hold'em in ten buckets",
        paper="Gibson et al. 2012, Figure 3 (c)",
        says="10-bucket limit hold'em, five runs: probing ends 18 % less exploitable, significantly",
        cost="about 40 core-hours: ten runs of four hours",
        why="the abstract game has 57 million infosets, and a best response inside it is not built; the exploitability "
        "in the full game would be another measure than the paper's",
    ),
    NotAttempted(
        id="D13",
        title="sizes of networks on HUNL(1)",
        paper=f"{_DN20}, Figure 7",
        says="HUNL(1): networks of embedding 8 to 128 (608 to 71,168 numbers): larger is better; more steps of fitting "
        "lower the asymptote",
        cost="hundreds of core-hours: five sizes on a game of 2e8 infosets",
        why="beyond the budget of a small machine; the game is there (`hunl`), and can be started",
    ),
    NotAttempted(
        id="D14",
        title="HUNL(2) against ABS-CFR",
        paper=f"{_DN20}, section 5",
        says="HUNL(2): Double Neural CFR beats ABS-CFR by 9.8 ± 4.1 chips a game and ties its tabular version (0.7 ± "
        "2.2) with 1,070,592 numbers",
        cost="thousands of core-hours",
        why="the opponent (ABS-CFR) is not published, and the game has 8e10 infosets",
    ),
    NotAttempted(
        id="D19",
        title="from buckets to networks, improved in the full game",
        paper="Li et al. 2019, section 3.3; 2020, section 3.4",
        says="flop hold'em: a strategy solved in buckets is cloned into networks and improved in the full game",
        cost="about 6 core-hours: two for buckets and clone, four for the improvement, two seeds",
        why="waits for exact targets of neural hold'em, which an improvement needs",
    ),
    NotAttempted(
        id="C6",
        title="limit hold'em, head to head",
        paper=f"{_B19}, Table 1",
        says="limit hold'em: Deep CFR wins 43 mbb/g from NFSP and +6, -6, -11 (± 2) from 3.3e6, 3.3e7 and 3.3e8 "
        "buckets; NFSP -40, -49, -55",
        cost="thousands of core-hours: 32,000 steps of 20,000 samples an iteration, and three converged abstractions",
        why="beyond the budget of a small machine",
    ),
    NotAttempted(
        id="C8",
        title="Deep CFR without linear weights",
        paper=f"{_B19}, Figure 4 (left)",
        says="flop hold'em: without linear weights Deep CFR ends at a similar level, more slowly",
        cost=_DEEP_CFR_HOURS,
        why="at the scale that we can pay, ends are not seen, and the claim is about ends",
    ),
    NotAttempted(
        id="C9",
        title="Deep CFR by size of the model",
        paper=f"{_B19}, Figure 3 (right)",
        says="flop hold'em: a larger model ends lower, up to a size; the network used has 98,948 numbers",
        cost=_DEEP_CFR_HOURS,
        why="at the scale that we can pay, ends are not seen, and the claim is about ends",
    ),
    NotAttempted(
        id="C10",
        title="a full sliding window rises",
        paper=f"{_B19}, Figure 4 (right)",
        says="flop hold'em: with a sliding window the exploitability rises once the memory is full",
        cost="about 2 core-hours at 25 iterations with a small memory, evaluated in each; 30 at the paper's",
        why="C4 evaluates its windows only at the end, and a rise is a curve",
    ),
    NotAttempted(
        id="D17",
        title="networks against the table at small batches",
        paper=f"{_DN20}, Figure 4 (d)",
        says="NLLH(5), b = 50, 100, 500: Double Neural CFR is slightly better than its tabular counterpart",
        cost="about 3 core-hours with the published network, on four seeds; half an hour by our recipe",
        why="a slight difference needs more seeds than D5 has",
    ),
    NotAttempted(
        id="D18",
        title="squared loss or likelihood for the average",
        paper=f"{_DN20}, section 6, point 3",
        says="NLLH(5): squared loss on the average strategy against likelihood",
        cost="about half a core-hour by our recipe, on four seeds",
        why="one seed of it is in L6 (summed strategies by squared loss: five times worse), which decides nothing",
    ),
)
