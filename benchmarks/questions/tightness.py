"""Tightness: the inverse temperature β that each theorem allows, beside the exact worst case that the audit finds; N draws'
price.

Small models, for which privacy curves are exact by quadrature. The audit looks for the worst neighbouring data sets; the
largest β at which *they* still meet the budget is an upper limit for every theorem. A theorem's share of it is at most 1,
and 1 is tight."""

from __future__ import annotations

import gibbsafe as gs
from benchmarks import harness
from gibbsafe import audit
from tests.examples import EXAMPLES

PRECISION = 10.0
#: Name → model, records: those with fewest parameters first.
MODELS = dict(
    sorted((pair for each in EXAMPLES.values() for pair in each.tightness.items()), key=lambda pair: pair[1][0].parameters)
)
DRAWS = (1, 10, 100)
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


def worst(name, epsilon, delta, *, effort=60):
    """The worst neighbours of one draw that the audit finds at the β of Gaussian DP."""
    start = allowed(name, epsilon, delta, 1)["gaussian-dp"]
    return audit.worst_neighbours(priced(name, epsilon, delta, 1, start), epsilon=epsilon, effort=effort)


def priced(name, epsilon, delta, draws, beta):
    """A plan at this β, whatever it costs."""
    wide = gs.Budget(100 * max(1.0, epsilon), delta)
    return make(name, wide, draws, inverse_temperature=beta, theorem="gaussian-dp")


def exact(name, epsilon, delta, draws, *, start, pair, precision=1.002):
    """The largest β at which these neighbours meet (ε, δ): a bracket, by bisection between start and four times it."""

    def inside(beta):
        curve = audit.exact_curve(priced(name, epsilon, delta, draws, beta), pair.data, pair.neighbour)
        return curve.delta(epsilon) <= delta

    low, high = (start, 1.02 * start) if not inside(1.02 * start) else (1.02 * start, 4 * start)
    while high > precision * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if inside(middle) else (low, middle)
    return {"at_least": low, "at_most": high}


def cell(name, epsilon, delta, draws, pair):
    betas = allowed(name, epsilon, delta, draws)
    return {
        "model": name,
        "epsilon": epsilon,
        "delta": delta,
        "draws": draws,
        "allowed": betas,
        "papers": papers_price(name, epsilon, delta, draws),
        "exact": exact(name, epsilon, delta, draws, start=betas["gaussian-dp"], pair=pair),
    }


def main():
    quick = harness.arguments(__doc__).quick
    document = harness.head(quick) | {"prior_precision": PRECISION, "cells": []}
    for name in [name for name, (model, _) in MODELS.items() if model.parameters == 1 or not quick]:
        for epsilon in (1.0,) if quick else (0.1, 1.0, 3.0):
            for delta in (1e-6,) if quick else (1e-3, 1e-6):
                pair = worst(name, epsilon, delta)
                for draws in (1,) if quick else DRAWS:
                    document["cells"].append(cell(name, epsilon, delta, draws, pair))
                    harness.log(str(document["cells"][-1]))
                harness.save("tightness_quick" if quick else "tightness", document)


if __name__ == "__main__":
    main()
