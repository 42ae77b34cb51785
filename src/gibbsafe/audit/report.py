"""The whole audit of a plan: claimed curve, exact curve of the worst neighbours found, lower confidence bound, verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gibbsafe._extras import require_extra
from gibbsafe._types import JSON
from gibbsafe._validate import count, positive
from gibbsafe.audit.clock import Clock
from gibbsafe.audit.comparison import SameMechanism, same_mechanism
from gibbsafe.audit.curves import PrivacyCurve, Violation
from gibbsafe.audit.mechanisms import mechanism_of, score_of
from gibbsafe.audit.neighbours import Neighbours, worst_neighbours
from gibbsafe.audit.picture import draw_audit
from gibbsafe.audit.refutation import Refutation, refute
from gibbsafe.audit.statistical import MOST_DRAWS, LowerBound, estimate_lower_bound
from gibbsafe.planning import Plan
from gibbsafe.planning.describe import describe_guarantee
from gibbsafe.progress import Progress

__all__ = ["PlanAudit", "audit_plan"]


#: Runs are made for so long even where the search has used up the time: without any there is no bound.
LEAST_SECONDS = 0.05


@dataclass(frozen=True, eq=False)
class PlanAudit:
    """What an audit of a plan found."""

    plan: Plan
    neighbours: Neighbours
    bound: LowerBound
    constants: Refutation
    same: SameMechanism
    violation: Violation | None
    #: Whether the time was over before everything was looked at.
    stopped: bool = False

    @property
    def refuted(self) -> bool:
        """Whether any part of the claim was refuted."""
        return bool(self.reasons)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What refutes the claim, in words."""
        found = []
        if self.violation is not None:
            found.append(f"exact curve: {self.violation}")
        if self.bound.refutes(self.plan.guarantee):
            found.append(f"runs: {self.bound}, more than {self.plan.guarantee}")
        if self.constants.counterexample is not None:
            found.append(f"constants: {self.constants.counterexample}")
        if self.same.difference is not None:
            found.append(f"mechanism: {self.same.difference}")
        return tuple(found)

    def to_dict(self) -> JSON:
        """Return plain data; the neighbours are left out."""
        claim, delta, curve = self.plan.guarantee, self.plan.budget.delta, self.neighbours.curve
        exact = None
        if curve is not None:
            grid = _epsilons(self.plan)
            exact = {
                "route": curve.route,
                "error": curve.error,
                "mu": curve.mu,
                "epsilon": _epsilon(curve, delta),
                "curve": [[epsilon, claim.delta(epsilon), curve.delta(epsilon)] for epsilon in grid],
            }
        return {
            "verdict": "refuted" if self.refuted else "not refuted",
            "stopped": self.stopped,
            "reasons": list(self.reasons),
            "claim": {"epsilon": claim.epsilon(delta), "delta": delta, "guarantee": claim.to_dict()},
            "exact": exact,
            "lower_bound": {
                name: getattr(self.bound, name) for name in ("epsilon", "mu", "delta", "confidence", "draws", "score")
            },
            "constants": [[name, share if math.isfinite(share) else None] for name, share in self.constants.checked],
            "pairs_tried": self.neighbours.tried,
            "hostile_pairs": len(self.same.situations),
        }

    def draw(self, path: Path | str, *, force: bool = False) -> None:
        """Draw the claimed δ(ε), the exact curve and the lower confidence bound; an existing file is kept without ``force``."""
        draw_audit(self, path, force=force)

    def __str__(self) -> str:
        claim, delta, curve = self.plan.guarantee, self.plan.budget.delta, self.neighbours.curve
        told = describe_guarantee(self.plan)
        lines = [f"claim        epsilon = {claim.epsilon(delta):.6g} at delta = {delta:g} ({told}, {self.plan.theorem.name})"]
        if curve is None:
            lines.append("exact        none for this plan: more parameters or stages than quadrature covers")
        else:
            error = f"error below {curve.error:.1g}"
            lines.append(
                f"exact        epsilon = {_epsilon(curve, delta):.6g} at delta = {delta:g} for the worst of "
                f"{self.neighbours.tried} pairs ({curve.route}, {error})"
            )
        lines.append(f"runs         {self.bound}")
        lines.append(f"constants    {self.constants}")
        lines.append(f"neighbours   {self.same}")
        if self.stopped:
            lines.append("stopped      the time was over: fewer pairs, runs or checks than asked for")
        lines.append("verdict      " + ("REFUTED: " + "; ".join(self.reasons) if self.refuted else "not refuted"))
        return "\n".join(lines)


def _epsilon(curve: PrivacyCurve, delta: float) -> float:
    """Return the exact ε at the budget's δ, or where that is not resolved at the least δ that is."""
    return float(curve.epsilon(max(delta, curve.resolution)))


def _epsilons(plan: Plan) -> list[float]:
    top = min(2 * plan.guarantee.epsilon(plan.budget.delta), 300.0)
    return [float(epsilon) for epsilon in np.linspace(0, top, 41)]


def audit_plan(
    plan: Plan,
    *,
    draws: int = 2000,
    confidence: float = 0.99,
    effort: int = 400,
    workers: int = 1,
    seconds: float | None = None,
    generator: np.random.Generator | None = None,
    progress: bool | Progress | None = None,
) -> PlanAudit:
    """Try to refute what a plan claims, in every way this package knows.

    Worst neighbours (looked for with ``effort``) and their exact curve; ``draws`` runs of the plan's own sampler on each of them;
    the model's declared constants; the same mechanism on hostile neighbours. No data are needed: the audit makes its own.
    ``seconds`` bounds all of it, up to the last piece of work that was begun: a third for the search, the rest for the others.
    """
    count("draws", draws, least=8, most=MOST_DRAWS)  # before the search, which takes its time
    if count("workers", workers) > 1:
        require_extra("sklearn", "several workers")
    clock = Clock.within(None if seconds is None else positive("seconds", seconds))
    neighbours = worst_neighbours(plan, effort=effort, seconds=clock.share(1 / 3).left())
    constants = refute(plan.model, seconds=clock.share(1 / 4).left())
    same = same_mechanism(plan, seconds=clock.share(1 / 4).left())
    curve = neighbours.curve
    bound = estimate_lower_bound(
        mechanism_of(plan, generator),
        neighbours.data,
        neighbours.neighbour,
        draws=draws,
        confidence=confidence,
        delta=plan.budget.delta,
        score=score_of(plan, neighbours.data, neighbours.neighbour),
        vectorised=True,
        workers=workers,
        seconds=None if seconds is None else max(clock.left() or 0.0, LEAST_SECONDS),
        progress=progress,
    )
    violation = None if curve is None else curve.violation(plan.guarantee)
    return PlanAudit(plan, neighbours, bound, constants, same, violation, seconds is not None and clock.is_over())
