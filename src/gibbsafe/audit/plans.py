"""The exact curve of a plan between two data sets."""

from __future__ import annotations

import numpy as np

from gibbsafe._validate import choice, fail
from gibbsafe.audit.curves import PrivacyCurve
from gibbsafe.audit.langevin import langevin_curve
from gibbsafe.audit.records import persons_for
from gibbsafe.audit.repeated_records import count_repeats
from gibbsafe.data.census import Unit
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.stream import encode_records
from gibbsafe.errors import PremiseError
from gibbsafe.planning import Plan
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.posteriors.protocols import ExactCurve, Posterior
from gibbsafe.release.draw import posterior_of

__all__ = ["exact_curve", "posteriors_of"]


def posteriors_of(plan: Plan, *data: object, stage: int = -1, on_invalid: str = "error") -> tuple[Posterior, ...]:
    """Return the posterior that one stage of a plan draws from, on each data set (a stage without a centre: around 0)."""
    if not isinstance(plan, Plan):
        fail("plan", plan, "a gibbsafe.Plan")
    chosen, options = plan.stages[stage], EncodingOptions(on_invalid)
    unit = Unit(plan.rows_per_person)  # capped as a release caps them; any number of records may be looked at
    blocks = [encode_records(plan.model, each, options, unit=unit, **persons_for(plan, each)) for each in data]
    return tuple(posterior_of(plan, chosen, count_repeats(each)) for each in blocks)


def exact_curve(plan: Plan, data: object, neighbour: object, *, route: str = "auto") -> PrivacyCurve:
    """Return the exact privacy curve of a plan's release between two data sets, both directions.

    Args:
        plan: a plan with one stage; its draws compose.
        data, neighbour: two neighbouring data sets, in the form that the model reads.
        route: ``"auto"`` takes a closed form where the posterior has one, ``"quadrature"`` never does.

    Covered: posteriors with a closed form in any dimension, other posteriors of one or two parameters, the last iterate of
    certified Langevin with one parameter. Proximal rounds (audits/proximal.py follows their law on a mesh), estimates in several
    stages and anything else are refused: use `estimate_lower_bound`. Rounding to the grid is post-processing and is left out.

    >>> import gibbsafe as gs
    >>> model = gs.models.GaussianMean(dimension=3, radius=1.0)
    >>> plan = gs.plan(model, gs.Budget(1.0, 1e-6), n=2, adjacency="replace-one")
    >>> ones = np.array([[1.0, 0, 0], [1.0, 0, 0]])
    >>> curve = gs.audit.exact_curve(plan, ones, np.array([[-1.0, 0, 0], [1.0, 0, 0]]))
    >>> round(curve.epsilon(1e-6), 4)
    1.0
    """
    choice("route", route, ("auto", "quadrature"))
    first, second = posteriors_of(plan, data, neighbour)
    if len(plan.stages) != 1:
        raise PremiseError(f"plan of {len(plan.stages)} stages: later ones depend on earlier draws; use estimate_lower_bound")
    stage = plan.stages[0]
    if plan.mechanism in ("noisy-scores", "langevin-trajectory"):
        raise PremiseError("noisy scores: where the next one is asked depends on those before; use estimate_lower_bound")
    if plan.sampler == "proximal" and stage.steps is not None:
        raise PremiseError("proximal rounds: the law of the last one has no closed form; use estimate_lower_bound")
    if plan.sampler == "langevin":
        if plan.model.parameters != 1:
            raise PremiseError(
                f"langevin with {plan.model.parameters} parameters: its law is known for one; use estimate_lower_bound"
            )
        assert stage.step is not None
        assert stage.steps is not None
        return langevin_curve((first, second), stage.step, stage.steps).compose(stage.draws)
    return _posterior_curve(first, second, route).compose(stage.draws)


def _posterior_curve(first: Posterior, second: Posterior, route: str) -> PrivacyCurve:
    if route == "auto" and isinstance(first, NormalPosterior) and isinstance(second, NormalPosterior):
        if np.array_equal(first.precision, second.precision):
            return PrivacyCurve.gaussian(float(np.linalg.norm((first.mean - second.mean) * np.sqrt(first.precision))))
    elif route == "auto" and isinstance(first, ExactCurve) and isinstance(second, ExactCurve):
        return PrivacyCurve.closed_form(first, second)
    return PrivacyCurve.by_quadrature(first, second)
