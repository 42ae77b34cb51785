"""A rehearsal of a model of one's own: releases from synthetic records whose parameters were drawn from the prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import count
from gibbsafe.models.own.custom import Custom
from gibbsafe.planning import Plan, plan
from gibbsafe.planning.describe import table_of
from gibbsafe.privacy import Budget
from gibbsafe.release.draw import carried_out
from gibbsafe.samplers.trajectory import split_r_hat

__all__ = ["OwnRehearsal", "rehearse_own"]


@dataclass(frozen=True, eq=False)
class OwnRehearsal:
    """What releases from synthetic records came to, run by run (rows) and parameter by parameter.

    Attributes:
        plan: the plan that was rehearsed.
        truths: the parameters that records were simulated with.
        means: the means of the draws.
        spreads: their standard deviations.
        r_hat: split R-hat of the chains; near 1 where they agree, nan for one chain's last iterates.
        clipped: which share of records had their gradient shortened at the truth.
    """

    plan: Plan
    truths: Floats
    means: Floats
    spreads: Floats
    r_hat: Floats
    clipped: float

    @property
    def error(self) -> float:
        """Root mean square of means − truths."""
        return float(np.sqrt(np.square(self.means - self.truths).mean()))

    @property
    def prior_error(self) -> float:
        """The same of the public start, which knows nothing: an error near it says that the budget bought little."""
        model = self.plan.model
        assert isinstance(model, Custom)
        return float(np.sqrt(np.square(np.array(model.prior.start) - self.truths).mean()))

    def __str__(self) -> str:
        pairs = [
            ("error of the means", f"{self.error:.4g}, root mean square; {self.prior_error:.4g} without any data"),
            ("spread of the draws", f"{float(np.sqrt(np.square(self.spreads).mean())):.4g}"),
            ("split R-hat", f"at most {np.nanmax(self.r_hat):.3f}" if np.isfinite(self.r_hat).any() else "of no chains"),
            ("gradients shortened", f"{self.clipped:.0%} at the truth; the clip is {self.plan.constants.lipschitz}"),
        ]
        return f"Rehearsal on synthetic records, {len(self.truths)} run(s)\n{table_of(pairs)}"


def rehearse_own(model: Custom, budget: Budget, *, n: int, adjacency: str, seed: int, runs: int) -> OwnRehearsal:
    """Return what `Custom.rehearse` promises. Nothing is charged, and no record is read."""
    count("runs", runs)
    made, rng = plan(model, budget, n=n, adjacency=adjacency), np.random.default_rng(count("seed", seed, least=0))
    truths = model.prior.drawn(runs, rng)
    means, spreads, hats, shares = [], [], [], []
    for truth in truths:
        rows = model.simulated(truth, n, rng)
        draws = carried_out(made, model.blocks_of_rows(rows), rng).on_grid
        rule = made.stages[0].chain
        chains = draws[None] if rule is None else draws.reshape(rule.chains, rule.kept, -1)
        means.append(draws.mean(axis=0))
        spreads.append(draws.std(axis=0))
        hats.append(split_r_hat(chains))
        some = model.code(rows[:1000], truth[None])[0]
        shares.append(float((np.linalg.norm(some, axis=1) > (model.clip or 0.0)).mean()))
    return OwnRehearsal(made, truths, np.array(means), np.array(spreads), np.array(hats), float(np.mean(shares)))
