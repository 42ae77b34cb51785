"""The mean of bounded vectors under squared loss and a Gaussian prior: everything in closed form."""

from __future__ import annotations

import math

from gibbsafe._numerics import half_square, up
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, ConcentratedDP, GaussianDP
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def mean_separation(constants: Constants, beta: float, adjacency: Adjacency) -> float:
    """Return μ = 2rβ/√(nβ + λ), rounded up: the distance of the two posterior means in standard deviations."""
    n = constants.public_n(adjacency)
    (radius,) = constants.need("record_radius")
    if isinstance(constants.prior_precision, tuple):
        raise PremiseError(f"prior_precision = {constants.prior_precision}: needs one number here, an isotropic prior")
    precision = constants.prior_precision or 0.0
    return up(up(2 * radius * beta / math.sqrt(n * beta + precision)))


@register
class GaussianMean(Theorem):
    """Exactly μ-GDP with μ = 2rβ/√(nβ + λ): the posterior is N(·, (nβ + λ)⁻¹ I), shifted by a replacement."""

    name = "gaussian-mean"
    title = "Gaussian mean, exact"
    reference = "closed form; sharpens Minami et al. 2016, Theorem 15"
    kinds = (Kind.GIBBS,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require bounded records, a public n and an isotropic Gaussian prior."""
        mean_separation(constants, 1.0, adjacency)
        return (
            Premise(f"records have norm at most {constants.record_radius:g}", checked=True),
            Premise(f"the loss is half the squared distance, the prior normal with precision {constants.prior_precision or 0:g}"),
        )

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> GaussianDP | ConcentratedDP:
        return GaussianDP(mean_separation(constants, beta, adjacency))


@register
class GaussianMeanPaper(GaussianMean):
    """The same posterior with the paper's tail bound: δ = exp(−(ε − μ²/2)²/(2μ²))."""

    name = "gaussian-mean-paper"
    title = "Gaussian mean, as printed"
    reference = "Minami et al. 2016, supplement, Theorem 15 and (B.8)"
    errata = ("E1", "E13", "E29")

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> ConcentratedDP:
        return ConcentratedDP(half_square(mean_separation(constants, beta, adjacency)), conversion="bun-steinke")
