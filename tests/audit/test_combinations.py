"""Every theorem × model × sampler × adjacency of the registries is audited: exact curves and runs of the sampler itself.

Runs refute a true claim with probability at most 1e-5 per combination, about 0.15 % over this file; seeds are fixed.
"""

import itertools

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.theorems import THEOREMS

from ..examples import EXAMPLES, SMALL
from .combinations import ADJACENCIES, by_hand, plans


def exact(plan, pair):
    """Return the exact curve, or None where there is none."""
    try:
        return gs.audit.exact_curve(plan, *pair)
    except gs.PremiseError:
        return None


def audited(plan, worst, draws=80, curves=None):
    """Assert that neither the exact curve nor runs of the plan's own sampler refute its claim; return the curve."""
    pair, known = (worst.data, worst.neighbour), {} if curves is None else curves
    kind = plan.stages, plan.sampler == "langevin"  # two exact samplers draw from the same posterior
    if kind not in known:
        known[kind] = exact(plan, pair)
    curve = known[kind]
    if curve is not None:
        assert curve.violation(plan.guarantee) is None
    bound = gs.audit.estimate_lower_bound(
        gs.audit.mechanism_of(plan, np.random.default_rng(3)),
        *pair,
        draws=draws,
        confidence=1 - 1e-5,
        delta=plan.budget.delta,
        score=gs.audit.score_of(plan, *pair),
        vectorised=True,
    )
    assert not bound.refutes(plan.guarantee)
    return curve


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("name", "what"), SMALL)
def test_no_combination_is_refuted(name, what, adjacency):
    model = SMALL[name, what]
    made = list(plans(model, adjacency))
    if not made:
        with pytest.raises(gs.GibbsafeError):
            gs.plan(model, gs.Budget(1.0, 1e-6), n=12, adjacency=adjacency)
        return
    worst = gs.audit.worst_neighbours(made[0], effort=2 if EXAMPLES[name].slow else 8)  # more in audits/privacy.py
    known = {}
    curves = [audited(plan, worst, curves=known) for plan in made]
    if model.parameters <= 2 or "closed-form" in model.samplers:  # others may be audited by runs alone
        assert any(curve is not None for curve in curves)


@pytest.mark.parametrize(("name", "claim", "curve"), list(by_hand()), ids=lambda value: value if isinstance(value, str) else "")
def test_theorems_that_no_model_uses(name, claim, curve):
    assert curve.violation(claim) is None
    assert curve.delta(0.0) > 1e-3


def test_every_theorem_is_audited():
    missing = set(THEOREMS) - {name for name, _, _ in by_hand()}
    for model, adjacency in itertools.product(SMALL.values(), ADJACENCIES):
        if missing:  # else nothing is left to look for
            missing -= {plan.theorem.name for plan in plans(model, adjacency)}
    assert not missing


def test_several_draws_and_an_estimate_in_stages():
    model = gs.models.PseudoHuberRegression(dimension=1, intercept=False)
    several = gs.plan(model, gs.Budget(1.0, 1e-6), n=12, adjacency="replace-one", draws=3)
    worst = gs.audit.worst_neighbours(gs.plan(model, gs.Budget(1.0, 1e-6), n=12, adjacency="replace-one"), effort=24)
    assert audited(several, worst).epsilon(1e-5) == pytest.approx(several.guarantee.epsilon(1e-5), rel=1e-2)
    staged = gs.plan(model, gs.Budget(1.0, 1e-6), n=12, adjacency="replace-one", purpose="estimate")
    assert audited(staged, worst, draws=16) is None
