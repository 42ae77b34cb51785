"""Rounds and work of the proximal sampler, from public numbers (docs/samplers.md, *Theorem A* and *Theorem B*).

Everything is measured in units of the prior: distances in its standard deviations, the step η in its variances. The one number
that the data's form enters by is the **curvature** S = β·s·Σ w_i |z_i|², |z|² = Σ_j z_j²/m_j (`curvature_bound` bounds it for
every data set); s is the smoothness of the loss. Rows of norm at most R, one prior precision m: S ≤ βsnR²/m.

- an inner draw costs at most exp(½Sη/(1+η) + `EXTRA`) proposals on average, for every data set, so `step_for` solves
  ½Sη/(1+η) = x for x nats;
- k rounds are k·log(1+η) e-folds, and cost `share_of_posterior` of the posterior's own μ (Theorem A);
- from the mode, k rounds bring the total variation down to γ (Theorem B: `rounds_for_slack`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gibbsafe._validate import count, non_negative, open_probability, positive
from gibbsafe.theorems.proximal_last_iterate import share_of_posterior

__all__ = [
    "EXTRA",
    "HEADROOM",
    "Work",
    "cheapest_nats",
    "curvature_bound",
    "public_schedule",
    "rounding_bound",
    "rounds_for_folds",
    "rounds_for_slack",
    "slack_schedule",
    "step_for",
]

#: Nats that an inexact tangent point may cost an inner draw; more, and another gradient moves it.
EXTRA = 0.1
#: Nats by which the bound may exceed what the curvature at the mode suggests, where the step is taken from the data (route B).
HEADROOM = 2.0
#: Where the data have (next to) no curvature a round is a fresh draw; no larger step gains anything.
LARGEST_STEP = 1e6
#: Nats per inner draw, ½Sη/(1+η), between which `cheapest_nats` chooses.
FEWEST_NATS, MOST_NATS = 1.0, 4.0
#: Seconds of one chain on one core: per cell of a gradient pass, per round, per proposal, per cell of a record looked up.
CELL, ROUND, PROPOSAL, LOOKED_UP = 0.5e-9, 8e-5, 3e-5, 2e-9
#: Share of the nats in the bound that inner draws were seen to cost (0.1 to 0.7): losses are nowhere as curved as they may be.
TYPICAL = 0.6


@dataclass(frozen=True)
class Work:
    """What a run of the proximal sampler will take, for every data set within the curvature bound it was made for.

    ``nats`` per inner draw are those the step was chosen for; ``proposals`` bounds their expected number per round, for every
    data set; ``records`` is the expected number of records looked at for a proposal where rows can be looked up one by one;
    ``share`` is μ_k/μ of Theorem A. ``passes`` counts gradient passes per chain: one per round as measured (1.00 to 1.02 on
    ordinary data, up to 4 on identical rows far from the mode), which is not proved.
    """

    step: float
    rounds: int
    e_folds: float
    share: float
    nats: float
    proposals: float
    records: float
    passes: int

    def seconds(self, rows: int, parameters: int) -> float:
        """Return about how long one chain takes on one core of 2020s hardware; ``rows`` as a pass visits them.

        With `TYPICAL` proposals; ``proposals`` is the proved bound.
        """
        proposal = PROPOSAL + min(rows, self.records) * parameters * LOOKED_UP
        return self.passes * rows * parameters * CELL + self.rounds * (ROUND + math.exp(TYPICAL * self.nats) * proposal)


def cheapest_nats(rows: int, parameters: int) -> float:
    """Return the nats x per inner draw for which rounds ∝ 1/x, each of a pass and eˣ proposals, take the least time.

    >>> round(cheapest_nats(100, 20), 1), round(cheapest_nats(100_000, 60), 1)
    (1.6, 3.5)
    """
    proposal = PROPOSAL + min(rows, parameters) * parameters * LOOKED_UP
    ratio = (rows * parameters * CELL + ROUND) / proposal
    low, high = FEWEST_NATS, MOST_NATS
    for _ in range(40):  # eˣ(x − 1) = pass/proposal
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(middle) * (middle - 1) < ratio else (low, middle)
    return round(low, 6)


def curvature_bound(
    *, inverse_temperature: float, smoothness: float, n: int, row_norms: Sequence[float], prior_precision: Sequence[float]
) -> float:
    """Return βsn Σ_b R_b²/m_b, a bound on the curvature S of every data set of n rows with norm at most R_b in block b.

    >>> curvature_bound(inverse_temperature=0.1, smoothness=0.25, n=1000, row_norms=[1.0], prior_precision=[0.5])
    50.0
    """
    blocks = math.fsum(norm**2 / m for norm, m in zip(row_norms, prior_precision, strict=True))
    return inverse_temperature * smoothness * n * blocks


def step_for(curvature: float, nats: float) -> float:
    """Return η with ½Sη/(1+η) = nats: the longest step whose inner draws cost at most e^nats proposals on average.

    >>> step_for(200.0, 1.0)
    0.0101...
    """
    share = positive("nats", nats) * 2 / max(non_negative("curvature", curvature), 1e-300)
    return share / (1 - share) if share < 1 - 1 / LARGEST_STEP else LARGEST_STEP


def rounds_for_folds(step: float, e_folds: float) -> int:
    """Return the least k with k·log(1+η) ≥ τ."""
    return max(1, math.ceil(positive("e_folds", e_folds) / math.log1p(positive("step", step)) * (1 - 2.0**-40)))


def rounds_for_slack(step: float, slack: float, *, distance: float) -> int:
    """Return k such that k rounds from a point t are within total variation γ of the posterior (Theorem B).

    cᵏ⁻¹·distance/√(2πη) ≤ γ with c = 1/(1+η); ``distance`` ≥ √E|x − t|² in the prior's units: √p at the mode, √p + |∇U(t)|
    near it.
    """
    eta, gamma = positive("step", step), open_probability("slack", slack)
    log_start = math.log(positive("distance", distance)) - 0.5 * math.log(2 * math.pi * eta)
    return 1 + max(0, math.ceil((log_start - math.log(gamma)) / math.log1p(eta) * (1 + 2.0**-40)))


def _work(step: float, rounds: int, nats: float, *, most: float, parameters: int) -> Work:
    return Work(
        step=step,
        rounds=rounds,
        e_folds=rounds * math.log1p(step),
        share=share_of_posterior(step, rounds),
        nats=nats,
        proposals=math.exp(min(most + EXTRA, 700.0)),
        records=parameters * nats,
        passes=rounds + 1,
    )


def public_schedule(*, curvature: float, parameters: int, e_folds: float, rows: int = 0, nats: float | None = None) -> Work:
    """Return the public schedule of Theorem A: step and rounds that relax the chain by ``e_folds``.

    ``curvature`` is a public bound (`curvature_bound`) and only decides how much work a round is: privacy needs no bound on it.
    ``rows`` (a public guess of how many rows a pass visits) chooses the nats per inner draw where they are not given.

    >>> public_schedule(curvature=200.0, parameters=20, e_folds=3.0, nats=1.0).rounds
    299
    """
    wanted = cheapest_nats(rows, parameters) if nats is None else nats
    step = step_for(curvature, wanted)
    spent = 0.5 * curvature * (step / (1 + step))
    return _work(step, rounds_for_folds(step, e_folds), spent, most=spent, parameters=parameters)


def slack_schedule(
    *, curvature: float, parameters: int, slack: float, rows: int = 0, offset: float = 100.0, nats: float | None = None
) -> Work:
    """Return what the total-variation route takes at most, for every data set of at most this curvature.

    The sampler takes a longer step where the data allow it. ``offset`` bounds the gradient left at the approximate mode, in the
    prior's units (it enters by its logarithm); ``proposals`` has the `HEADROOM` that a step taken from the data may use.
    """
    wanted = cheapest_nats(rows, parameters) if nats is None else nats
    step = step_for(curvature, wanted)
    rounds = rounds_for_slack(step, slack, distance=math.sqrt(count("parameters", parameters)) + offset)
    spent = min(wanted, 0.5 * curvature)
    return _work(step, rounds, spent, most=min(wanted + HEADROOM, 0.5 * curvature), parameters=parameters)


def rounding_bound(work: Work, *, parameters: int, terms: int, pull: float, bend: float = 0.0) -> float:
    """Return how far in total variation rounding can move a draw, in the worst case over all roundings (docs/samplers.md).

    ``terms`` is the longest chain of additions in a sum over records (rows of a block plus number of blocks), ``pull`` is
    βN·max|z|·(Lip + s·v) in the prior's units and ``bend`` κ·v, where v bounds |z||θ| along the chain.

    >>> work = public_schedule(curvature=200.0, parameters=20, e_folds=3.0, nats=1.0)
    >>> f"{rounding_bound(work, parameters=20, terms=500, pull=100.0):.0e}"
    '1e-10'
    """
    longest, nats = terms + parameters, math.log(work.proposals)  # the larger nats, where a step is taken from the data
    acceptance = (64 + longest + bend * parameters + 2 * parameters * math.sqrt(parameters)) * nats
    gradient = 0.4 * math.sqrt(work.step / (1 + work.step)) * longest * pull
    return 2.0**-53 * work.rounds * (acceptance + gradient)
