"""Tightness: the inverse temperature β that each theorem allows, beside the exact worst case that the audit finds; N draws'
price.

Small models, for which privacy curves are exact by quadrature. The audit looks for the worst neighbouring data sets; the
largest β at which *they* still meet the budget is an upper limit for every theorem. A theorem's share of it is at most 1,
and 1 is tight."""

from __future__ import annotations

import harness

import gibbsafe as gs
from gibbsafe import audit

PRECISION = 10.0
#: Name, model, records. One record where other records would only add curvature.
MODELS = {
    "pseudo-Huber regression, one coefficient": (gs.models.PseudoHuberRegression(dimension=1, intercept=False), 20),
    "proportion on the logit scale": (gs.models.BernoulliLogit(), 1),
    "logistic regression, two coefficients": (gs.models.LogisticRegression(dimension=2, intercept=False), 20),
}
THEOREMS = ("gaussian-dp", "log-sobolev", "log-sobolev-simple")


def make(name, budget, draws, **options):
    model, records = MODELS[name]
    return gs.plan(model, budget, n=records, adjacency="replace-one", prior=PRECISION, draws=draws, **options)


def allowed(name, epsilon, delta, draws):
    """β of every theorem whose premises hold, None for one that refuses."""
    rows = make(name, gs.Budget(epsilon, delta), draws).alternatives
    return {row.theorem.name: row.inverse_temperature for row in rows if row.theorem.name in THEOREMS}


def papers_price(name, epsilon, delta, draws):
    """β of the papers' way: each of N draws by Corollary 8 at (ε/N, δ/N), simple composition."""
    return allowed(name, epsilon / draws, delta / draws, 1)["log-sobolev-simple"]


def exact(name, epsilon, delta, draws, start, *, effort=60, steps=10):
    """The largest β at which the worst neighbours found at ``start`` meet (ε, δ), by bisection between start and four times
    it."""
    wide = gs.Budget(100 * max(1.0, epsilon), delta)

    def priced(beta):
        return make(name, wide, draws, inverse_temperature=beta, theorem="gaussian-dp")

    found = audit.worst_neighbours(priced(start), epsilon=epsilon, effort=effort)
    low, high = start, 4 * start
    for _ in range(steps):
        middle = (low * high) ** 0.5
        inside = audit.exact_curve(priced(middle), found.data, found.neighbour).delta(epsilon) <= delta
        low, high = (middle, high) if inside else (low, middle)
    return {"at_least": low, "at_most": high}


def cell(name, epsilon, delta, draws, with_exact=True):
    betas = allowed(name, epsilon, delta, draws)
    entry = {"model": name, "epsilon": epsilon, "delta": delta, "draws": draws, "allowed": betas}
    entry["papers"] = papers_price(name, epsilon, delta, draws)
    if with_exact:
        entry["exact"] = exact(name, epsilon, delta, draws, betas["gaussian-dp"])
    return entry


def main():
    quick = harness.arguments(__doc__).quick
    document = harness.head(quick) | {"prior_precision": PRECISION, "cells": []}
    for name in list(MODELS)[:2] if quick else MODELS:
        for epsilon in (1.0,) if quick else (0.1, 1.0, 3.0):
            for delta in (1e-6,) if quick else (1e-3, 1e-6):
                for draws in (1, 100):
                    document["cells"].append(cell(name, epsilon, delta, draws, with_exact=draws == 1))
                    harness.log(str(document["cells"][-1]))
                harness.save("tightness_quick" if quick else "tightness", document)


if __name__ == "__main__":
    main()
