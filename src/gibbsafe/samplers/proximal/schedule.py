"""Rounds and work of the proximal sampler, from public numbers (docs/samplers.md, *Theorem A* and *Theorem B*).

Everything is measured in units of the prior: distances in its standard deviations, the step η in its variances. The one number
that the data's form enters by is the **curvature** S = β·s·Σ w_i |z_i|², |z|² = Σ_j z_j²/m_j (`work.PublicPosterior` bounds it
for every data set); s is the smoothness of the loss. Rows of norm at most R, one prior precision m: S ≤ βsnR²/m.

- an inner draw costs at most exp(½Sη/(1+η) + `EXTRA`) proposals on average, for every data set, so `step_for` solves
  ½Sη/(1+η) = x for x nats;
- k rounds are k·log(1+η) e-folds, and cost `share_of_posterior` of the posterior's own μ (Theorem A);
- from the mode, k rounds bring the total variation down to γ (Theorem B: `rounds_for_slack`).
"""

from __future__ import annotations

import math

from gibbsafe._validate import non_negative, open_probability, positive

__all__ = [
    "EXTRA",
    "HEADROOM",
    "cheapest_nats",
    "mode_passes",
    "rounding_bound",
    "rounds_for_folds",
    "rounds_for_slack",
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
#: Newton's method may take one pass for so many rounds, and at most this many: the mode's curvature leads to a round's tangent.
ROUNDS_A_PASS, MOST_MODE_PASSES = 8, 24


def mode_passes(rounds: int) -> int:
    """Return how many passes may go into finding where the curvature is typical, beside this many rounds."""
    return min(MOST_MODE_PASSES, 1 + rounds // ROUNDS_A_PASS)


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


def rounding_bound(
    step: float, rounds: int, *, nats: float, parameters: int, terms: int, force: float, bend: float = 0.0
) -> float:
    """Return how far in total variation rounding can move a draw, in the worst case over all roundings (docs/samplers.md).

    ``nats`` is the largest per inner draw, ``terms`` the longest chain of additions in a sum over records (rows of a block plus
    number of blocks), ``force`` is βN·max|z|·(Lip + s·v) in the prior's units and ``bend`` κ·v, where v bounds |z||θ| along the
    chain.

    >>> f"{rounding_bound(0.0101, 299, nats=1.1, parameters=20, terms=500, force=100.0):.0e}"
    '1e-10'
    """
    longest = terms + parameters
    acceptance = (64 + longest + bend * parameters + 2 * parameters * math.sqrt(parameters)) * nats
    gradient = 0.4 * math.sqrt(step / (1 + step)) * longest * force
    return 2.0**-53 * rounds * (acceptance + gradient)
