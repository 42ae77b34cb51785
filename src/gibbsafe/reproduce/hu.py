"""Hu, Aslett, Dai, Pollock, Roberts 2026, *Privacy guarantees in posterior sampling under contamination*: its Table 1.

Every value is computed here; only the column ``paper`` quotes the paper. Its Figures 1 and 2 are in `hu_figures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.contamination import CentredAtTruth, ContaminatedNormalMean, StudentT, estimate_epsilon
from gibbsafe.contamination.epsilon.instance_line import LineInstance
from gibbsafe.contamination.epsilon.quantiles import coverage, upper_order
from gibbsafe.contamination.epsilon.repeats import Task, run
from gibbsafe.contamination.posterior.line import line_posterior

__all__ = ["PAPER", "SCALE", "TRUTH", "delta_of", "paper_model", "public_model", "table1"]


#: Table 1 as printed.
PAPER = {100: 2.85, 1000: 0.94, 2000: 0.72, 5000: 0.46, 10_000: 0.32, 20_000: 0.26, 50_000: 0.18}
TRUTH, SCALE = 30.0, 8.0


def delta_of(n: int) -> float:
    """Return the paper's δ = 1/(10n)."""
    return 1 / (10 * n)


def paper_model() -> ContaminatedNormalMean:
    """Return §4.2's model: truncated normal, prior N(40, 40²), Student t contamination centred at the unknown truth."""
    return ContaminatedNormalMean(
        scale=SCALE,
        prior_mean=40.0,
        prior_scale=40.0,
        space=(-270.0, 330.0),
        truncated=True,
        contamination=CentredAtTruth(StudentT(5.0, 0.0, SCALE)),
    )


def public_model() -> ContaminatedNormalMean:
    """Return the same with a contamination that anyone can use: Student t of the prior's location and scale."""
    return ContaminatedNormalMean(scale=SCALE, prior_mean=40.0, prior_scale=40.0, space=(-270.0, 330.0), truncated=True)


@dataclass(frozen=True, eq=False)
class _Bounds(Task):
    """The sound and the coupled bound of one data set, which share its posterior and its set A."""

    def one(self, seed: np.random.SeedSequence) -> Any:
        """Return both."""
        assert self.truth is not None
        assert isinstance(self.model, ContaminatedNormalMean)
        rng = np.random.default_rng(seed)
        p = self.model.p(self.n)
        records = self.model.contaminate(self.model.simulate(self.n, self.truth, rng), rng, truth=self.truth)
        line = line_posterior(self.model, records, p)
        instance = LineInstance.of(self.model, line.without(self.model, records, p), p, line.mode, self.truth)
        phi = instance.radius(self.delta, worst=True)
        return instance.separate(phi, self.adjacency), instance.coupled(phi, self.adjacency)


def _upper(values: Floats, quantile: float = 0.99) -> tuple[float, float]:
    """Return an upper bound of the quantile and its confidence: 95 %, or the largest value where there are too few."""
    repeats = len(values)
    order = repeats if 1 - quantile**repeats < 0.95 else upper_order(repeats, quantile)
    return float(np.sort(values)[order - 1]), coverage(repeats, quantile, order)


def table1(
    *,
    repeats: int = 1000,
    bound_repeats: int = 300,
    exact_sets: int = 60,
    sizes: Sequence[int] = tuple(PAPER),
    seed: int = 1,
    workers: int = 1,
) -> list[JSON]:
    """Return Table 1: the paper's ε̂, Algorithm 1 literally, its sound version, the coupled bound and the exact curve.

    ``literal`` is the 99 % quantile over ``repeats`` data sets with 1,000 particles (invalid: m·δ is far below 10, the number
    with which the printed values come out best). ``sound`` and ``tight`` are upper confidence bounds of the same quantile over
    ``bound_repeats``, ``exact`` the largest over ``exact_sets``.
    """
    rows = []
    for n in sizes:
        estimate = estimate_epsilon(
            paper_model(), n, repeats=repeats, quantile=0.99, method="paper", truth=TRUTH, seed=seed, workers=workers
        )
        setup = (paper_model(), n, np.array([TRUTH]), delta_of(n))
        bounds = run(_Bounds(*setup, "sound", "replace-one"), bound_repeats, seed, workers=workers, progress=False)
        (sound, confidence), (tight, _) = (_upper(column) for column in bounds.T)
        exact = run(Task(*setup, "exact", "replace-one"), exact_sets, seed, workers=workers, progress=False)
        rows.append(
            {
                "n": n,
                "delta": delta_of(n),
                "paper": PAPER.get(n),
                "literal": estimate.epsilon,
                "literal_interval": None if estimate.interval is None else list(estimate.interval),
                "particles_times_delta": 1000 * delta_of(n),
                "sound": sound,
                "tight": tight,
                "bound_confidence": confidence,
                "exact": float(exact.max()),
                "exact_median": float(np.median(exact)),
                "repeats": repeats,
                "bound_repeats": bound_repeats,
                "exact_sets": exact_sets,
            }
        )
    return rows
