"""What N draws of a conjugate family cost: a proportion trimmed to a narrow interval, the best composition of bounded ranges
beside the paper's 2NL (Dimitrakakis et al. 2017, Corollary 10), which adds 2L per draw."""

from __future__ import annotations

import gibbsafe as gs
from benchmarks import harness

TRIM = (0.4875, 0.5125)
DELTA = 1e-9
ROUTES = ("gaussian", "zcdp", "basic")


def price(draws):
    """ε of this many draws at δ by the best route and by each, beside the paper's."""
    constants = gs.models.BetaBernoulli(trim=TRIM).metric_constants()
    claim = gs.privacy.BoundedRange(constants.difference_range).compose(draws)
    paper = 2 * draws * constants.metric_lipschitz
    best = claim.epsilon(DELTA)
    routes = {route: claim.epsilon(DELTA, route=route) for route in ROUTES}
    return {"draws": draws, "paper": paper, "epsilon": best, "share": best / paper, "routes": routes}


def main():
    quick = harness.arguments(__doc__).quick
    sizes = (1, 100) if quick else (1, 10, 100, 1000, 10_000)
    document = harness.head(quick) | {"trim": TRIM, "delta": DELTA, "rows": [price(draws) for draws in sizes]}
    harness.save("families_quick" if quick else "families", document)


if __name__ == "__main__":
    main()
