"""What an adversary who holds the draws can tell about the data (Dimitrakakis et al. 2017, §4.3 and §4.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gibbsafe._numerics import down, up
from gibbsafe._validate import count, fail, non_negative, open_probability, positive
from gibbsafe.bounds.divergence import range_gap
from gibbsafe.errors import PremiseError
from gibbsafe.theorems.stochastic_lipschitz import expected_lipschitz

if TYPE_CHECKING:
    from gibbsafe.models.families.family import Family

__all__ = [
    "EmpiricalBall",
    "NecessaryDistance",
    "empirical_ball",
    "error_of_any_test",
    "family_reconstruction_error",
    "lipschitz_distance",
    "reconstruction_error",
    "stochastic_distance",
]


@dataclass(frozen=True)
class EmpiricalBall:
    """How near an empirical distribution is to its source: within ``radius`` in ‖·‖₁ on partitions of at most ``cells``."""

    radius: float
    cells: int


def empirical_ball(n: int, failure: float) -> EmpiricalBall:
    """Return the ‖·‖₁ radius √(3 ln(1/δ)/n) that n draws stay in with probability 1 − δ, on up to log₂√(1/δ) cells (Lemma 12).

    Two cells need δ ≤ 1/16.

    >>> empirical_ball(100, 0.01)
    EmpiricalBall(radius=0.37169221888498..., cells=3)
    """
    log_failure = -math.log(open_probability("failure", failure))
    cells = 0
    while 4.0 ** (cells + 1) * failure <= 1:  # exact: a power of two times a number
        cells += 1
    return EmpiricalBall(up(math.sqrt(3 * log_failure / count("n", n))), cells)


@dataclass(frozen=True)
class NecessaryDistance:
    """Data sets nearer than this cannot be told apart by empirical distributions: sharpened, and by the paper's formula."""

    distance: float
    paper: float


def lipschitz_distance(lipschitz: float, draws: int, failure: float) -> NecessaryDistance:
    """Return the distance that N draws need to tell data sets apart with probability 1 − δ (Theorem 13, case 1, as "only if").

    Empirical distributions differ from their sources by ‖·‖₁ up to h = √(3 ln(1/δ)/N), so posteriors nearer than that look alike.
    The paper's KL bound gives ρ ≥ 3 ln(1/δ)/(4LN); ‖·‖₁ ≤ 2 tanh(Lρ/2) gives ρ ≥ (2/L) artanh(h/2), infinite where h ≥ 2. The
    theorem says "if"; a likelihood that ignores the parameter refutes that (erratum E11).
    """
    constant, reach = positive("lipschitz", lipschitz), down(math.sqrt(3 * _log(failure) / count("draws", draws)))
    paper = down(reach**2 / (4 * constant))
    sharp = math.inf if reach >= 2 else down(2 * math.atanh(reach / 2) / constant)
    return NecessaryDistance(max(sharp, paper), paper)


def stochastic_distance(*, rate: float, floor: float, ratio: float, draws: int, failure: float) -> NecessaryDistance:
    """Return the same under the stochastic assumption: ρ ≥ 3 ln(1/δ)/(4NC(L₀ + 1/c)) (Theorem 13, case 2, errata E9 and E11).

    The paper's formula, once its garbled denominator is read as 2NC(1 + 2L₀ + 1/c), is kept beside it.
    """
    square, scale = down(3 * _log(failure) / count("draws", draws)), positive("ratio", ratio)
    paper = down(square / (2 * scale * (1 + 2 * non_negative("floor", floor) + 1 / positive("rate", rate))))
    return NecessaryDistance(down(square / (4 * scale * expected_lipschitz(rate, floor))), paper)


def _log(failure: float) -> float:
    return -math.log(open_probability("failure", failure))


def error_of_any_test(kl: float, draws: int = 1) -> float:
    """Return a lower bound on the sum of both error rates of any test between posteriors with KL at most ``kl`` per draw.

    1 − TV ≥ max(1 − √(N·KL/2), ½e^{−N·KL}) by Pinsker, and by Bretagnolle and Huber: the sound form of Theorem 13's message.

    >>> round(error_of_any_test(0.005, 4), 6), round(error_of_any_test(2.0), 6)
    (0.9, 0.067668)
    """
    total = up(count("draws", draws) * non_negative("kl", kl))
    return max(0.0, 1 - up(math.sqrt(total / 2)), down(math.exp(-total) / 2))


def reconstruction_error(per_unit: float, *, largest: float, unit: float = 1.0, draws: int = 1, steps: int = 200) -> float:
    """Return a lower bound on the worst-case expected distance of any guess of the data from the data (Le Cam, Lemma 18).

    For two data sets at distance ρ no estimator can be nearer than (ρ/2)(1 − TV) to both in expectation. The log-likelihood
    difference varies by at most r = ``per_unit``·ρ over the parameters, so TV is at most that of N draws of range r (tanh(r/4)
    for one). The bound is the best over distances ρ = ``unit``, 2·``unit``, …, ``largest``.

    Args:
        per_unit: range of the log-likelihood difference per unit of distance: β times a family's `difference_range` for records
            replaced, or twice its Lipschitz constant.
        largest: how far two data sets can be apart (n, if all records can be replaced).
        unit: the grain of distances.
        draws: how many draws are released.
        steps: how many distances are tried.

    >>> round(reconstruction_error(0.1, largest=1000), 3)  # records, at 0.1 per record
    5.568
    """
    slope, top, grain = non_negative("per_unit", per_unit), positive("largest", largest), positive("unit", unit)
    if top < grain:
        fail("largest", largest, f"at least one unit ({unit:g})")
    multiples = {max(1, round((top / grain) ** (k / max(1, steps - 1)))) for k in range(count("steps", steps))}
    multiples |= {min(k, math.floor(top / grain)) for k in range(1, steps)}
    distances = [grain * k for k in multiples if grain * k <= top]
    errors = [down(rho / 2 * (1 - range_gap(up(slope * rho), draws).total_variation)) for rho in distances]
    return max(errors)


def family_reconstruction_error(family: Family, n: int, *, inverse_temperature: float = 1.0, draws: int = 1) -> float:
    """Return `reconstruction_error` in records, for n records of a family: how many any guess of the data gets wrong.

    >>> import gibbsafe as gs
    >>> round(family_reconstruction_error(gs.models.BetaBernoulli(trim=(0.45, 0.55)), n=100), 3)
    1.385
    """
    width = family.metric_constants().whole_difference_range
    if width is None:
        raise PremiseError(f"{family.name}: states no range of the log-likelihood difference; trim its prior")
    per_record = up(positive("inverse_temperature", inverse_temperature) * width)
    return reconstruction_error(per_record, largest=float(count("n", n)), draws=draws)
