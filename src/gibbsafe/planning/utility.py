"""What a budget buys before data is seen."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._types import JSON
from gibbsafe.models.base import GibbsModel
from gibbsafe.models.capabilities import StatesSpread

if TYPE_CHECKING:
    from gibbsafe.planning.plans import Plan

__all__ = ["Utility", "excess_risk_bound", "predict_utility"]


@dataclass(frozen=True)
class Utility:
    """Predictions from public numbers: noise and risk where n is known, and what an attacker gains.

    Attributes:
        prior_sd: standard deviation of the Gaussian prior, the noise if the data said nothing (scaled units).
        noise_sd: standard deviation of a draw around the posterior mode if rows spread evenly over all directions and the
            loss has half its largest curvature, or in a family's typical case; an expectation, not a bound. None if n is not
            known or the loss has kinks.
        excess_risk: upper bound on the expected mean training loss of an exact draw above that of the best parameter of norm D.
        advantage: largest possible true-positive minus false-positive rate of a membership attacker.
        true_positive_rate: largest possible true-positive rate of an attacker with one false alarm in a hundred.
        typical_case: when ``noise_sd`` is to be expected.
    """

    prior_sd: float | None
    noise_sd: float | None
    excess_risk: float | None
    advantage: float
    true_positive_rate: float
    typical_case: str = ""

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self)


def excess_risk_bound(*, inverse_temperature: float, prior_precision: float, radius: float, parameters: int, n: int) -> float:
    """Return (d/β + ΛD²/2)/n, Λ = m/β: a bound on E[mean loss of a draw] − min over |θ| ≤ D of the mean loss.

    The potential U = βF is convex and E[U] − min U ≤ d under exp(−U) (integrate ∇·(θ e^{−U})), so E[F] − min F ≤ d/β for
    F = Σ losses + Λ|θ|²/2; the best θ of norm at most D pays ΛD²/2.
    """
    per_beta = prior_precision / inverse_temperature
    return (parameters / inverse_temperature + per_beta * radius**2 / 2) / n


def typical_sd(plan: Plan, n: int) -> tuple[float | None, str]:
    """Return the standard deviation of a draw to be expected (scaled units) with n records, and when; None if nobody can say."""
    model, stage = plan.model, plan.stages[-1]
    if isinstance(model, StatesSpread):
        return model.typical_sd(n, stage.inverse_temperature), model.typical_case
    if not isinstance(model, GibbsModel) or not math.isfinite(model.loss.smoothness):
        return None, ""
    curvature = n * model.loss.smoothness / 2 / model.parameters
    if plan.constants.loss_strong_convexity:  # the same for all data; constants are then in the user's units
        curvature = n * float(np.max(model.units.scale)) ** 2 * plan.constants.loss_strong_convexity
    spread = 1 / math.sqrt(stage.inverse_temperature * curvature + max(stage.prior_precision))
    return spread, "if rows spread evenly over all directions"


def predict_utility(plan: Plan) -> Utility:
    """Return what the plan's posterior can be expected to be worth."""
    stage = plan.stages[-1]
    noise, case, risk = None, "", None
    if plan.n is not None:
        noise, case = typical_sd(plan, plan.n)
        around_public_centre = stage.steps is None and stage.prior_centre is not None
        if stage.prior_precision and plan.prior_radius is not None and around_public_centre:
            risk = excess_risk_bound(
                inverse_temperature=stage.inverse_temperature,
                prior_precision=max(stage.prior_precision),
                radius=plan.prior_radius,
                parameters=plan.model.parameters,
                n=plan.n,
            )
    return Utility(
        prior_sd=1 / math.sqrt(min(stage.prior_precision)) if stage.prior_precision else None,
        noise_sd=noise,
        excess_risk=risk,
        advantage=plan.guarantee.advantage(),
        true_positive_rate=plan.guarantee.true_positive_rate(0.01),
        typical_case=case,
    )
