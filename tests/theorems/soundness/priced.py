"""Which kinds of declared constants each theorem prices: one line per theorem. A case of the table says which kinds it has.

- convex: Lipschitz convex losses and a strongly convex prior; strong: strongly convex losses, whatever the prior
- range: a bounded loss, or a bounded range of its difference; difference: a bound on a loss difference, and a metric on records
- mean: quadratics of bounded records; stochastic, contaminated: the constants of those papers
- elsewhere: a claim about a sampler or one family, held beside exact values in a test of its own
"""

from __future__ import annotations

PRICED: dict[str, set[str]] = {
    "gaussian-dp": {"convex", "strong", "mean"},
    "log-sobolev": {"convex"},
    "log-sobolev-simple": {"convex"},
    "exponential-mechanism": {"range"},
    "bounded-loss": {"range"},
    "bounded-range": {"range"},
    "bounded-difference": {"difference"},
    "lipschitz-metric": {"difference"},
    "stochastic-lipschitz": {"stochastic"},
    "contaminated-uniform": {"contaminated"},
    "gaussian-mean": {"mean"},
    "gaussian-mean-paper": {"mean"},
    "approximate-sampling": {"elsewhere"},  # test_approximate_sampling.py
    "langevin-last-iterate": {"elsewhere"},  # test_langevin.py
    "langevin-steps": {"elsewhere"},  # test_langevin.py
    "proximal-last-iterate": {"elsewhere"},  # tests/theorems/test_proximal.py
    "langevin-trajectory": {"elsewhere"},  # tests/theorems/test_langevin_trajectory.py
    "noisy-scores": {"elsewhere"},  # tests/theorems/test_noisy_scores.py
    "fixed-normaliser": {"elsewhere"},  # tests/models/families/test_contingency_table.py
    "beta-bernoulli": {"elsewhere"},  # tests/privacy/test_beta.py
}
