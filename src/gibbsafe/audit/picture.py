"""The audit's picture: claimed δ(ε), the exact curve of the worst neighbours, the lower confidence bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._plotting import figure
from gibbsafe.planning.describe import describe_guarantee
from gibbsafe.privacy.profiles import gaussian_delta

if TYPE_CHECKING:
    from gibbsafe.audit.report import PlanAudit

__all__ = ["draw_audit"]

#: δ below this is not drawn.
LOWEST = 1e-12


def draw_audit(audit: PlanAudit, path: Path | str, *, force: bool = False) -> None:
    """Write the picture; δ on a logarithmic axis."""
    plan, curve, bound = audit.plan, audit.neighbours.curve, audit.bound
    top = 1.5 * plan.guarantee.epsilon(plan.budget.delta)
    grid = np.linspace(0, top, 121)
    claimed = np.array([plan.guarantee.delta(float(epsilon)) for epsilon in grid])
    with figure(path, "ε", "δ(ε)", force=force) as axes:
        axes.plot(grid, _shown(claimed), color="C0", linewidth=4, alpha=0.6, label=f"claimed: {describe_guarantee(plan)}")
        if curve is not None:
            exact = np.array([curve.delta(float(epsilon)) for epsilon in grid])
            axes.plot(grid, _shown(exact), color="C1", linewidth=1.5, label="exact, worst neighbours found")
        if bound.mu > 0:
            shown = np.array([gaussian_delta(float(epsilon), bound.mu) for epsilon in grid])
            label = f"least Gaussian DP that runs allow: μ ≥ {bound.mu:.3g} ({bound.confidence:.0%}, {bound.draws:,} runs)"
            axes.plot(grid, _shown(shown), color="C2", linestyle="--", label=label)
        else:
            axes.plot([], [], " ", label=f"no lower bound above 0 ({bound.confidence:.0%} confidence, {bound.draws:,} runs)")
        if bound.epsilon > 0 and bound.delta >= LOWEST:
            axes.plot([bound.epsilon], [bound.delta], "C2>", markersize=6, label=f"runs: ε ≥ {bound.epsilon:.3g} at this δ")
        axes.plot([plan.budget.epsilon], [max(plan.budget.delta, LOWEST)], "k+", markersize=10, label="budget")
        axes.set_yscale("log")
        axes.set_ylim(LOWEST, 2)
        axes.set_xlim(0, top)
        verdict = "refuted" if audit.refuted else "not refuted"
        axes.set_title(f"{plan.model.name}, {plan.adjacency.value}, {plan.sampler}: {verdict}", fontsize=10)
        axes.legend(fontsize=8, frameon=False, loc="lower left")


def _shown(values: np.ndarray) -> np.ndarray:
    return np.where(values >= LOWEST / 100, values, np.nan)
