"""Hu, Aslett, Dai, Pollock, Roberts 2026, *Privacy guarantees in posterior sampling under contamination*: its Table 1.

Every value is computed here; only the column ``paper`` quotes the paper. Its figures are in `hu_figure1` and `hu_regressions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.contamination import CentredAtTruth, ContaminatedNormalMean, StudentT
from gibbsafe.contamination.epsilon.estimate import PAPER_PARTICLES
from gibbsafe.contamination.epsilon.instance_line import LineInstance
from gibbsafe.contamination.epsilon.quantiles import coverage, interval_orders, percentile_order, upper_order
from gibbsafe.contamination.epsilon.repeats import Task
from gibbsafe.contamination.posterior.line import line_posterior
from gibbsafe.reproduce.results import Results

__all__ = ["PAPER", "SCALE", "TRUTH", "delta_of", "paper_model", "public_model", "seed_of", "table1"]


#: Table 1 as printed, and half of its last digit.
PAPER = {100: 2.85, 1000: 0.94, 2000: 0.72, 5000: 0.46, 10_000: 0.32, 20_000: 0.26, 50_000: 0.18}
ROUNDING = 0.005
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


def seed_of(seed: int, repeat: int) -> np.random.SeedSequence:
    """Return the seed of one repeat, the same in whichever piece and process it runs."""
    return np.random.SeedSequence(seed, spawn_key=(repeat,))


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


def _task(method: str, n: int) -> Task:
    setup = (paper_model(), n, np.array([TRUTH]), delta_of(n))
    if method == "literal":
        return Task(*setup, "paper", "replace-one", PAPER_PARTICLES)
    return _Bounds(*setup, "sound", "replace-one") if method == "bounds" else Task(*setup, "exact", "replace-one")


def simulate(piece: JSON) -> list[Any]:
    """Return ε̂ of the data sets of one piece."""
    task = _task(piece["method"], piece["n"])
    return [task.one(seed_of(piece["seed"], piece["first"] + k)) for k in range(piece["count"])]


def _upper(values: Floats, quantile: float = 0.99) -> tuple[float, float]:
    """Return an upper bound of the quantile and its confidence: 95 %, or the largest value where there are too few."""
    repeats = len(values)
    order = repeats if 1 - quantile**repeats < 0.95 else upper_order(repeats, quantile)
    return float(np.sort(values)[order - 1]), coverage(repeats, quantile, order)


def verdict(interval: Sequence[float] | None, printed: float | None) -> str:
    """Say whether a confidence interval excludes a printed value (which was rounded): ``"differs"``, ``"agrees"`` or neither.

    >>> verdict((1.03, 1.11), 0.94), verdict((0.17, 0.19), 0.18), verdict(None, 0.18)
    ('differs', 'agrees', 'too few repeats')
    """
    if interval is None:
        return "too few repeats"
    if printed is None:
        return "not in the paper"
    return "agrees" if interval[0] - ROUNDING <= printed <= interval[1] + ROUNDING else "differs"


def _literal(by_seed: Sequence[Floats]) -> JSON:
    """Return the 99 % quantile of all seeds together with its interval, and that of every seed."""

    def quantile(values: Floats) -> float:
        return float(np.sort(values)[percentile_order(len(values), 0.99) - 1])

    together = np.sort(np.concatenate(by_seed))
    ends = interval_orders(len(together), 0.99)
    return {
        "literal": quantile(together),
        "literal_interval": None if ends is None else [float(together[order - 1]) for order in ends],
        "literal_by_seed": [quantile(values) for values in by_seed],
    }


def table1(
    *,
    repeats: int = 1000,
    bound_repeats: int = 300,
    exact_sets: int = 60,
    sizes: Sequence[int] = tuple(PAPER),
    seeds: Sequence[int] = (1,),
    workers: int = 1,
    results: Results | None = None,
    progress: bool | None = False,
) -> list[JSON]:
    """Return Table 1: the paper's ε̂, Algorithm 1 literally, its sound version, the coupled bound and the exact curve.

    ``literal`` is the 99 % quantile over ``repeats`` data sets of every seed, with 1,000 particles (invalid: m·δ is far below 10,
    the number with which the printed values come out best), with a 95 % interval; where that excludes the printed value, the
    ``verdict`` is *differs*. ``sound`` and ``tight`` are upper confidence bounds of the same quantile over ``bound_repeats``,
    ``exact`` the largest over ``exact_sets``.
    """
    kept = Results() if results is None else results
    options: JSON = {"workers": workers, "progress": progress}

    def cells(method: str, among: Sequence[int]) -> list[JSON]:
        return [{"table": "hu-table1", "method": method, "n": n, "seed": seed} for n in sizes for seed in among]

    literal = kept.complete(cells("literal", seeds), repeats, simulate, size=50, **options)
    bounds = kept.complete(cells("bounds", seeds[:1]), bound_repeats, simulate, size=50, **options)
    exact = kept.complete(cells("exact", seeds[:1]), exact_sets, simulate, **options)
    rows = []
    for k, n in enumerate(sizes):
        found = _literal([np.array(values) for values in literal[k * len(seeds) : (k + 1) * len(seeds)]])
        (sound, confidence), (tight, _) = (_upper(column) for column in np.array(bounds[k]).T)
        rows.append(
            {"n": n, "delta": delta_of(n), "paper": PAPER.get(n)}
            | found
            | {
                "verdict": verdict(found["literal_interval"], PAPER.get(n)),
                "particles_times_delta": PAPER_PARTICLES * delta_of(n),
                "sound": sound,
                "tight": tight,
                "bound_confidence": confidence,
                "exact": float(np.max(exact[k])),
                "exact_median": float(np.median(exact[k])),
                "repeats": repeats,
                "seeds": list(seeds),
                "bound_repeats": bound_repeats,
                "exact_sets": exact_sets,
            }
        )
    return rows
