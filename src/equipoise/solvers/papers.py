"""The papers that algorithms come from: titles by the way recipes cite them."""

TITLES = {
    "Zinkevich et al. 2007": "Regret Minimization in Games with Incomplete Information (NIPS 2007)",
    "Lanctot et al. 2009": "Monte Carlo Sampling for Regret Minimization in Extensive Games (NIPS 2009)",
    "Gibson et al. 2012": "Generalized Sampling and Variance in Counterfactual Regret Minimization (AAAI 2012)",
    "Johanson et al. 2012": (
        "Efficient Nash Equilibrium Approximation through Monte Carlo Counterfactual Regret Minimization (AAMAS 2012)"
    ),
    "Tammelin 2014": "Solving Large Imperfect Information Games Using CFR+ (arXiv 1407.5042)",
    "Heinrich et al. 2015": "Fictitious Self-Play in Extensive-Form Games (ICML 2015)",
    "Heinrich and Silver 2016": (
        "Deep Reinforcement Learning from Self-Play in Imperfect-Information Games (arXiv 1603.01121)"
    ),
    "Brown and Sandholm 2019": ("Solving Imperfect-Information Games via Discounted Regret Minimization (AAAI 2019)"),
    "Brown et al. 2019": "Deep Counterfactual Regret Minimization (ICML 2019)",
    "Steinberger 2019": "Single Deep Counterfactual Regret Minimization (arXiv 1901.07621)",
    "Li et al. 2019, 2020": (
        "Double Neural Counterfactual Regret Minimization (ICLR 2020, and its first version of 2019)"
    ),
    "Farina et al. 2021": (
        "Faster Game Solving via Predictive Blackwell Approachability: Connecting Regret Matching and Mirror Descent "
        "(AAAI 2021)"
    ),
}
