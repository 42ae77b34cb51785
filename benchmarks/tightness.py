"""Tightness: the inverse temperature β that each theorem allows, beside the exact worst case that the audit finds; N draws' price.

The model is logistic regression with one coefficient, |x| ≤ 1, prior precision 10: small enough for exact privacy curves by
quadrature. The audit looks for the worst neighbouring data sets; the largest β at which *they* still meet the budget is an upper
limit for every theorem, so a theorem's β over it is at most 1, and 1 is tight.
"""

from __future__ import annotations

import harness

import gibbsafe as gs
from gibbsafe import audit
from gibbsafe.privacy import Adjacency

PRECISION = 10.0
RECORDS = 200
THEOREMS = ("gaussian-dp", "log-sobolev", "log-sobolev-simple")


def model():
    return gs.models.LogisticRegression(dimension=1, intercept=False)


def allowed(epsilon, delta, draws):
    """β of every theorem whose premises hold, and why the others refuse."""
    constants = {"lipschitz": 1.0, "prior_precision": PRECISION, "convex": True}
    table = gs.theorems.compare(constants, gs.Budget(epsilon, delta), Adjacency.REPLACE_ONE, draws)
    return {
        row.theorem.name: row.inverse_temperature if row.inverse_temperature is not None else str(row.failure)
        for row in table.rows
        if row.theorem.name in THEOREMS
    }


def priced(beta, epsilon, delta, draws):
    """A plan that draws at this β whatever it costs: its own budget is far above."""
    wide = gs.Budget(50 * max(1.0, epsilon), delta)
    options = {"prior": PRECISION, "inverse_temperature": beta, "theorem": "gaussian-dp", "draws": draws}
    return gs.plan(model(), wide, n=RECORDS, adjacency="replace-one", **options)


def exact(epsilon, delta, draws, start, effort=120, steps=12):
    """The largest β at which the worst neighbours found at ``start`` meet (ε, δ), by bisection, and their δ at ``start``."""
    plan = priced(start, epsilon, delta, draws)
    found = audit.worst_neighbours(plan, epsilon=epsilon, effort=effort)
    pair = found.data, found.neighbour

    def delta_at(beta):
        return audit.exact_curve(priced(beta, epsilon, delta, draws), *pair).delta(epsilon)

    low, high = start, 2 * start
    for _ in range(steps):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta_at(middle) <= delta else (low, middle)
    return {"beta": low, "delta_at_theorem": delta_at(start), "up_to": high}


def papers_price(epsilon, delta, draws):
    """β of the papers' way: each of N draws by Corollary 8 at (ε/N, δ/N), simple composition."""
    constants = {"lipschitz": 1.0, "prior_precision": PRECISION, "convex": True}
    table = gs.theorems.compare(constants, gs.Budget(epsilon / draws, delta / draws), Adjacency.REPLACE_ONE, 1)
    return next(row.inverse_temperature for row in table.rows if row.theorem.name == "log-sobolev-simple")


def cell(epsilon, delta, draws, with_exact=True):
    betas = allowed(epsilon, delta, draws)
    entry = {"epsilon": epsilon, "delta": delta, "draws": draws, "allowed": betas, "papers": papers_price(epsilon, delta, draws)}
    if with_exact:
        entry["exact"] = exact(epsilon, delta, draws, betas["gaussian-dp"])
    return entry


def main():
    options = harness.arguments(__doc__)
    quick = options.quick
    epsilons = (1.0,) if quick else (0.1, 0.3, 1.0, 3.0)
    document = harness.head(quick) | {"prior_precision": PRECISION, "records": RECORDS, "cells": []}
    for epsilon in epsilons:
        for delta in (1e-6,) if quick else (1e-3, 1e-6):
            for draws in (1, 10) if quick else (1, 10, 100):
                document["cells"].append(cell(epsilon, delta, draws, with_exact=draws <= 10))
                harness.log(str(document["cells"][-1]))
                harness.save("tightness_quick" if quick else "tightness", document)


if __name__ == "__main__":
    main()
