"""How many densities there are: Lemma 2 of Hu et al. (2026), by which Assumption 1 is checked.

√f is Lipschitz in θ, so a cover of the parameters gives brackets of densities. The paper's brackets [(√f − uM)², (√f + uM)²] have
Hellinger size √2·u‖M‖₂, not u‖M‖₂ (E35); the √2 is charged here. Lemmas 18, 20, 23, 24, 26 and 27 bound ‖M‖₂ by powers of the
sieve's radius; with the scale declared it is a number that does not depend on the radius, and is computed.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate

from gibbsafe._types import Floats
from gibbsafe._validate import count, non_negative, positive
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.contamination.theory.distances import record_rule
from gibbsafe.errors import PremiseError

__all__ = ["bracketing_entropy", "entropy_integral", "require_declared_location", "root_lipschitz"]

#: How many shifts within the reach are compared.
SHIFTS = 81


def require_declared_location(model: ContaminatedModel) -> None:
    """Refuse models whose density is more than a shifted one: an unknown scale, or a truncation."""
    if model.unknown_scale:
        raise PremiseError("scale: unknown, so the constants grow with the sieve; declare the scale")
    if model.truncation is not None:
        raise PremiseError("truncated: the likelihood's shape depends on θ; use the model without truncation")


def root_lipschitz(model: ContaminatedModel, reach: float = 0.0) -> float:
    """Return ‖M‖₂ of Lemma 2: √f changes by at most M(x)·|θ − ϑ|_∞ for |θ − ϑ|_∞ ≤ reach, uniformly in ϑ.

    M(x) = d·sup |∂√f/∂u| over locations within d·reach, since |w| ≤ 1. At reach 0 it is d/2 times the root of the Fisher
    information of a location.

    >>> from gibbsafe.contamination import ContaminatedNormalMean
    >>> round(root_lipschitz(ContaminatedNormalMean(scale=2.0)), 12)
    0.25
    """
    require_declared_location(model)
    d, away = model.dimension, model.dimension * non_negative("reach", reach)
    if model.likelihood.labels:  # ½√σ(1 − σ), largest at σ = 1/3, for either label
        return d * math.sqrt(2) * math.sqrt(1 / 3) / 3
    scale = model.noise
    shifts = np.linspace(-away, away, SHIFTS) if away else np.zeros(1)
    x, weight = record_rule(model, np.array([-away, 0.0, away]), scale)
    steepest = np.max([_root_slope(model, x, shift, scale) for shift in shifts], axis=0)
    return d * math.sqrt(float(weight @ steepest**2))


def _root_slope(model: ContaminatedModel, x: Floats, u: float, scale: float) -> Floats:
    at = np.full(len(x), u)
    return np.abs(model.likelihood.ratios(x, at, scale)[0]) / 2 * np.exp(model.likelihood.log_f(x, at, scale) / 2)


def bracketing_entropy(size: float, *, dimension: int, radius: float, lipschitz: float) -> float:
    """Return a bound on the Hellinger bracketing entropy of densities with parameters in a ball: d·log(1 + √2·R·M/r) (Lemma 2).

    ``lipschitz`` is `root_lipschitz` at the reach r/(√2M) at least. The cube [−R, R]^d is covered by ⌈R/u⌉^d cubes of half-width
    u. Contamination makes it no larger (Lemma 9).
    """
    ratio = math.sqrt(2) * positive("radius", radius) * positive("lipschitz", lipschitz) / positive("size", size)
    return count("dimension", dimension) * math.log1p(ratio)


def entropy_integral(phi: float, *, dimension: int, radius: float, lipschitz: float) -> float:
    """Return the left-hand side of (8), ∫√H(u) du from φ²/2¹⁰ to φ, which Assumption 1 holds against c√n·φ²."""
    high = positive("phi", phi)

    def integrand(log_u: float) -> float:
        u = math.exp(log_u)
        return u * math.sqrt(bracketing_entropy(u, dimension=dimension, radius=radius, lipschitz=lipschitz))

    return float(integrate.quad(integrand, 2 * math.log(high) - 10 * math.log(2), math.log(high), limit=200)[0])
