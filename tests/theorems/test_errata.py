"""The errata of the papers, one test each: what is printed, why it is wrong, and the counterexample, computed here.

Each test writes out the printed formula and the corrected one; docs/errata.md is the same list for readers and names these
tests. Minami et al. 2016 is [M] (its 2015 preprint [M1]), Dimitrakakis et al. 2017 [D], Hu et al. 2026 [H].
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import beta as beta_function
from scipy.special import betainc, gamma, log_expit, logsumexp, ndtr
from scipy.stats import binom, norm
from scipy.stats import t as student

import gibbsafe as gs
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, ApproximateDP, Budget, ConcentratedDP, GaussianDP
from gibbsafe.theorems import THEOREMS, Constants, approximate_sampling, get, langevin_steps, stochastic_lipschitz

from .quadrature import Array, Pair, panels


def gdp(epsilon: float, mu: float) -> float:
    """Return δ(ε) of two normals μ apart."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def far_absolute_losses(beta: float, m: float) -> Pair:
    """Return the posteriors of ℓ = |θ − x| (L = 1) for x = ±100, prior N(0, 1/m): normals 2β/√m standard deviations apart."""
    edges = panels(-beta / m - 14 / math.sqrt(m), beta / m + 14 / math.sqrt(m), 0.4 / math.sqrt(m))
    densities = [(lambda t, x=x: -beta * np.abs(t - x) - m * t**2 / 2) for x in (100.0, -100.0)]
    return Pair(*densities, edges)


# -- Minami et al. -------------------------------------------------------------------------------------------------------


def test_e1_corollary_8_is_false_for_large_epsilon() -> None:
    """E1. [M] Corollary 8, (13), (C.1), (B.7) print β = ε/(2L)·√(m/(1 + 2 ln 1/δ)) for every ε > 0.

    It follows from Theorem 7 only if 8l(ε−1) ≤ (2−ε)², l = ln 1/δ, so for ε ≤ 1; for large ε it is false. Correct for every
    ε: μ = √(2l + 2ε) − √(2l), β = μ√m/(2L).
    """
    epsilon, delta = 12.0, 1e-5
    log_term = math.log(1 / delta)
    printed = epsilon / 2 * math.sqrt(1 / (1 + 2 * log_term))
    assert far_absolute_losses(printed, 1.0).delta(epsilon) == pytest.approx(4.428e-5, rel=1e-3)
    assert far_absolute_losses(printed, 1.0).delta(epsilon) > 4 * delta
    corrected = (math.sqrt(2 * log_term + 2 * epsilon) - math.sqrt(2 * log_term)) / 2
    assert far_absolute_losses(corrected, 1.0).delta(epsilon) < delta

    constants = Constants(convex=True, lipschitz=1.0, prior_precision=1.0)
    with pytest.raises(PremiseError, match="E1"):
        get("log-sobolev-simple").calibrate(constants, Budget(epsilon, delta), adjacency="replace-one")
    library = get("log-sobolev").calibrate(constants, Budget(epsilon, delta), adjacency="replace-one")
    assert library == pytest.approx(corrected, rel=1e-9)


@pytest.mark.parametrize(("delta", "threshold"), [(1e-2, 7.44), (1e-3, 8.08), (1e-5, 8.99), (1e-8, 9.92)])
def test_e1_threshold_above_which_corollary_8_is_false(delta: float, threshold: float) -> None:
    """E1. The worst member of the class has μ = ε/√(1 + 2l); its exact δ passes δ at these ε."""
    scale = math.sqrt(1 + 2 * math.log(1 / delta))
    root = brentq(lambda epsilon: GaussianDP(epsilon / scale).delta(epsilon) - delta, 2.0, 20.0)
    assert root == pytest.approx(threshold, abs=0.006)


def test_e2_preprint_corollary_8_i_is_false() -> None:
    """E2. [M1] Corollary 8(i) prints (ε, e^{−(1+ε)/4})-DP at β = √(mε/(2L²)).

    Theorem 7 says nothing there (its δ is 1). The worst member of the class has μ = √(2ε) and δ = ½ − e^ε Φ(−√(2ε)).
    """

    def exact(epsilon: float) -> float:
        return 0.5 - math.exp(epsilon) * float(ndtr(-math.sqrt(2 * epsilon)))

    epsilon, m = 4.0, 1.0
    measured = far_absolute_losses(math.sqrt(m * epsilon / 2), m).delta(epsilon)
    assert measured == pytest.approx(exact(epsilon), rel=1e-9)
    assert measured == pytest.approx(0.3723, abs=5e-5)
    assert math.exp(-(1 + epsilon) / 4) == pytest.approx(0.2865, abs=5e-5)
    assert math.exp(-(1 + epsilon) / 4) < measured
    assert brentq(lambda e: exact(e) - math.exp(-(1 + e) / 4), 1.0, 6.0) == pytest.approx(3.1054, abs=1e-4)


def test_e3_logistic_loss_with_bias_is_not_r_lipschitz() -> None:
    """E3. [M] §3.3, (13) prints the Lipschitz constant r for rows (z, 1), ‖z‖ ≤ r; it is √(r² + 1).

    r = 0.1, prior precision 1, one record (z, +1) replaced by (z, −1): only u = a·z + b matters, u ~ N(0, r² + 1) a priori.
    """
    r, epsilon, delta, m = 0.1, 1.0, 1e-5, 1.0

    def exact(lipschitz: float) -> float:
        beta = epsilon / (2 * lipschitz) * math.sqrt(m / (1 + 2 * math.log(1 / delta)))
        variance = (r * r + 1) / m
        densities = [(lambda u, y=y: beta * log_expit(y * u) - u**2 / (2 * variance)) for y in (1, -1)]
        return Pair(*densities, panels(-16, 16, 0.3)).delta(epsilon)

    assert exact(r) == pytest.approx(0.1029, abs=1e-4)
    assert exact(r) > 1e4 * delta
    assert exact(math.hypot(r, 1.0)) < delta

    # and 2√(r² + 1) is the supremum of the gradient difference: rows that are almost equal, labels opposite, far parameter
    def gradient(label: int, z: float, theta: tuple[float, float]) -> Array:
        u = theta[0] * z + theta[1]
        return -label * np.exp(log_expit(-label * u)) * np.array([z, 1.0])

    theta = (1e6, -(r - 0.5e-4) * 1e6)  # separates z = r from z = r − 1e-4
    gap = gradient(-1, r, theta) - gradient(1, r - 1e-4, theta)
    assert np.linalg.norm(gap) == pytest.approx(2 * math.hypot(r, 1.0), rel=1e-4)


def test_e4_approximate_sampling() -> None:
    """E4. [M] Proposition 12 prints "(εδ + (1 + e^ε)γ)"; (D.8) drops a γ on the way. Correct: (ε, δ + (1 + e^ε)γ).

    Two outcomes and a sampler that moves γ of mass: the corrected δ is attained, the printed one exceeded.
    """
    epsilon, gamma_slack = 0.1, 1e-3
    p, q = 0.6, 0.5
    delta = p - math.exp(epsilon) * q
    attained = (p + gamma_slack) - math.exp(epsilon) * (q - gamma_slack)
    corrected = delta + (1 + math.exp(epsilon)) * gamma_slack
    assert attained == pytest.approx(corrected, rel=1e-12)
    assert epsilon * delta + (1 + math.exp(epsilon)) * gamma_slack < attained
    assert delta + math.exp(epsilon) * gamma_slack < attained  # (D.8)'s middle term, taken at its word
    claim = approximate_sampling.with_slack(ApproximateDP(epsilon, delta), gamma_slack)
    assert claim.delta(epsilon) == pytest.approx(corrected, rel=1e-9)
    assert approximate_sampling.with_slack(ApproximateDP(1.0, 1e-6), 1e-8).delta(1.0) == pytest.approx(1.0371828182845905e-6)


def test_e5_assumption_9_bounds_the_radius_on_the_wrong_side() -> None:
    """E5. [M] Assumption 9(i) prints R ≤ κ + α√(d/m); its proof needs G̃(Θ) ≥ 1 − α⁻², that is R ≥ κ + α√(d/m)."""
    alpha, kappa, m = 2.0, 0.0, 1.0  # G̃ = N(0, 1), d = 1

    def mass(radius: float) -> float:
        return float(ndtr(radius * math.sqrt(m)) - ndtr(-radius * math.sqrt(m)))

    needed = 1 - alpha**-2
    limit = kappa + alpha / math.sqrt(m)
    assert limit >= 0.1  # allowed by the printed condition
    assert mass(0.1) == pytest.approx(0.0797, abs=1e-4)
    assert mass(0.1) < needed
    assert mass(limit) >= needed


def normal_tv(first: float, second: float) -> float:
    """Return the total variation of two centred normals with these variances."""
    v, w = max(first, second), min(first, second)
    if v == w:
        return 0.0
    cut = math.sqrt(math.log(v / w) / (1 / w - 1 / v))
    return 2 * float(ndtr(cut / math.sqrt(w)) - ndtr(cut / math.sqrt(v)))


def test_e6_langevin_step_count() -> None:
    """E6. [M] (17) prints T = dM²B²/(4mγ²); Dalalyan's corollary gives m² in the denominator.

    Target N(0, diag(1/m, 1/M)), m = 0.01, M = 1, γ = 0.1, start N(0, I/M): every coordinate of the chain is a normal whose
    variance is known, and the second one starts (nearly) where it ends.
    """
    m, big, accuracy, d = 0.01, 1.0, 0.1, 2
    horizon = 4 * math.log(1 / accuracy) + d * math.log(big / m)
    step = 2 * m * accuracy**2 / (d * big**2 * horizon)
    printed = math.ceil(d * big**2 * horizon**2 / (4 * m * accuracy**2))
    library_step, corrected = langevin_steps.schedule(dimension=d, smoothness=big, strong_convexity=m, slack=accuracy)
    assert library_step == pytest.approx(step, rel=1e-12)
    assert corrected == pytest.approx(printed / m, rel=1e-4)

    def variance(curvature: float, steps: int) -> float:
        shrink = (1 - step * curvature) ** 2
        return shrink**steps / big + 2 * step * (1 - shrink**steps) / (1 - shrink)

    assert normal_tv(variance(m, printed), 1 / m) == pytest.approx(0.395, abs=1e-3)
    assert normal_tv(variance(m, printed), 1 / m) > accuracy
    assert sum(normal_tv(variance(c, corrected), 1 / c) for c in (m, big)) < accuracy


def test_e7_hoeffding_condition_of_the_hinge_loss() -> None:
    """E7. [M] Example 19 prints f(b, n) = b²/4n − ½ ln(1 − r²b²/(4λn²)); correct: (d/2) ln(1 − r²b²/(2λn²)), G_{b/n}.

    d = 1, n = 200, r = 1, λ = 1/n, b = 1.2√n, yz = ±1 with equal probability: the loss difference D(θ) = ℓ₊ − ℓ₋ makes
    E exp(b(R − R_n)) = cosh(bD/2n)ⁿ for each θ ~ N(0, 1).
    """
    n, r, d = 200, 1.0, 1
    lam, b = 1 / n, 1.2 * math.sqrt(n)

    def moment(theta: float) -> float:
        gap = max(0.0, 1 - theta) - max(0.0, 1 + theta)
        return math.exp(n * math.log(math.cosh(b * gap / (2 * n)))) * float(norm.pdf(theta, scale=1 / math.sqrt(n * lam)))

    exact = math.log(2 * (quad(moment, 0, 1)[0] + quad(moment, 1, 30)[0]))
    printed = b**2 / (4 * n) - 0.5 * math.log(1 - r**2 * b**2 / (4 * lam * n**2))
    corrected = b**2 / (4 * n) - d / 2 * math.log(1 - r**2 * b**2 / (2 * lam * n**2))
    assert b < math.sqrt(2 * lam) * n / r
    assert printed == pytest.approx(0.5831, abs=5e-5)
    assert printed < exact
    assert exact == pytest.approx(0.7213, abs=5e-5)
    assert exact <= corrected


def test_e13_slips_of_the_gaussian_example_and_the_proofs() -> None:
    """E13. [M] (B.1) normalises by (2π)^{−d/2}; (23) subtracts E[F]E[log F]; condition (iii) has I₀ = −E∇²ℓ; σ̄⁻¹ = nβ + λ.

    Correct: (λ/2π)^{d/2}; E[F] log E[F] = 0; I₀ = +E∇²ℓ for a loss ℓ; σ̄⁻² = nβ + λ.
    """
    lam = 2.5
    mass = quad(lambda t: math.exp(-lam * t * t / 2), -20, 20)[0]
    for d in (1, 2, 3):
        assert (2 * math.pi) ** (-d / 2) * mass**d == pytest.approx(lam ** (-d / 2), rel=1e-9)  # as printed: not 1
        assert (lam / (2 * math.pi)) ** (d / 2) * mass**d == pytest.approx(1.0, rel=1e-9)

    mu = 0.8  # F = dP/dQ for normals μ apart: E_Q[F log F] = KL = μ²/2, E_Q[F] = 1, E_Q[log F] = −μ²/2
    log_ratio = lambda t: mu * t - mu**2 / 2  # noqa: E731
    expectation = lambda f: quad(lambda t: f(t) * norm.pdf(t), -12, 12)[0]  # noqa: E731
    entropy = expectation(lambda t: math.exp(log_ratio(t)) * log_ratio(t))
    mean, mean_log = expectation(lambda t: math.exp(log_ratio(t))), expectation(log_ratio)
    assert entropy - mean * mean_log == pytest.approx(mu**2)  # as printed: twice the KL divergence
    assert entropy - mean * math.log(mean) == pytest.approx(mu**2 / 2)

    theta, h = 0.4, 1e-4  # Bernoulli in logits: the mean curvature of the loss is the variance of the score, with no sign
    p = 1 / (1 + math.exp(-theta))
    loss = lambda t, x: -x * t + math.log1p(math.exp(t))  # noqa: E731
    curvature = {x: (loss(theta + h, x) - 2 * loss(theta, x) + loss(theta - h, x)) / h**2 for x in (0, 1)}
    score = {x: p - x for x in (0, 1)}
    information = p * score[1] ** 2 + (1 - p) * score[0] ** 2
    assert p * curvature[1] + (1 - p) * curvature[0] == pytest.approx(information, rel=1e-6)
    assert information > 0

    n, beta = 7, 0.4
    precision = n * beta + lam
    log_density = lambda t: -precision * (t - 0.2) ** 2 / 2  # noqa: E731
    total = quad(lambda t: math.exp(log_density(t)), -9, 9)[0]
    variance = quad(lambda t: (t - 0.2) ** 2 * math.exp(log_density(t)), -9, 9)[0] / total
    assert 1 / variance == pytest.approx(precision)
    assert 1 / math.sqrt(variance) != pytest.approx(precision, rel=0.1)


def test_e29_numbers_of_the_supplement() -> None:
    """E29. [M] Supplement B at (ε, δ) = (0.1, 0.001), r = 1: prints n ≥ 15, 1.26e-4 n and the leading term ln(2/δ).

    Recomputed: n ≥ 70 (against β = ε/8), (B.7) is 1.6445e-4 n, and the leading term of η is ε²/(4 ln(1/δ)).
    """
    epsilon, delta = 0.1, 1e-3
    log_term = math.log(1 / delta)
    per_record = (math.sqrt(epsilon + log_term) - math.sqrt(log_term)) ** 2 / 2
    assert per_record == pytest.approx(1.79658e-4, rel=1e-5)  # printed 1.79e-4: right
    eta = epsilon + 2 * log_term - 2 * math.sqrt(log_term * (epsilon + log_term))
    assert eta / 2 == pytest.approx(per_record, rel=1e-9)
    assert math.ceil(epsilon / 8 / per_record) == 70
    assert 15 * per_record < epsilon / 8  # at the printed n the rule is far behind
    assert math.ceil(1 / per_record) == 5567  # printed 5600: right
    assert epsilon**2 / (8 * math.log(2 / delta)) == pytest.approx(1.6445e-4, rel=1e-4)
    assert epsilon**2 / (8 * math.log(2 / 1e-4)) == pytest.approx(1.2622e-4, rel=1e-4)  # the printed number, at δ = 1e-4
    small = 1e-4
    eta_small = small + 2 * log_term - 2 * math.sqrt(log_term * (small + log_term))
    assert eta_small / (small**2 / (4 * log_term)) == pytest.approx(1.0, abs=1e-3)
    assert eta_small / (small**2 / (4 * math.log(2 / delta))) > 1.05
    library = get("gaussian-mean-paper").calibrate(
        Constants(record_radius=1.0, n=1000), Budget(epsilon, delta), adjacency="replace-one"
    )
    assert library == pytest.approx(1000 * per_record, rel=1e-9)


# -- Dimitrakakis et al. -----------------------------------------------------------------------------------------------------


def trimmed_exponential_mean(rate: float, low: float, high: float) -> float:
    """Return E θ under the density ∝ e^{−λθ} on [c₁, c₂]."""
    norm_constant = quad(lambda t: math.exp(-rate * (t - low)), low, high)[0]
    return quad(lambda t: t * math.exp(-rate * (t - low)), low, high)[0] / norm_constant


def test_e8_expected_lipschitz_constant() -> None:
    """E8. [D] (12) prints E ℓ ≤ L₀ξ(Θ_L₀) + [1 − ξ(Θ_L₀)]/c on the way to L₀ + 1/c. The middle term is no bound.

    Trimmed exponential prior, ℓ(θ) = θ, L₀ = c₁, c = λ: ξ(Θ_L₀) = 0, so it says 1/c.
    """
    rate, low, high = 2.0, 1.0, 30.0
    mean = trimmed_exponential_mean(rate, low, high)
    middle = low * 0.0 + 1.0 / rate
    assert middle == pytest.approx(0.5)
    assert middle < mean
    assert mean == pytest.approx(1.5, abs=1e-9)
    assert mean <= low + 1 / rate + 1e-12
    assert mean <= stochastic_lipschitz.expected_lipschitz(rate, low) + 1e-12


@pytest.mark.parametrize("rate", [0.5, 3.0, 20.0])
def test_e9_divergence_of_posteriors_under_assumption_2(rate: float) -> None:
    """E9. [D] proof of Theorem 7.2 passes from ln(C e^{(1+L₀)ρ}) to C(1+L₀)ρ, which fails as ρ → 0 since ln C > 0.

    By Jensen instead: KL ≤ 2C(L₀ + 1/c)ρ for every c > 0 (the paper needs c > 1). Checked on trimmed exponentials.
    """
    low, high, bound = 0.2, 2.0, 1.0
    ratio = high / min(low * math.exp(-low * bound), high * math.exp(-high * bound))
    rho = 0.01
    assert math.log(ratio) + (1 + low) * rho > ratio * (1 + low) * rho  # the printed step

    for x, y in ((0.0, 1.0), (1.0, 0.0), (0.3, 0.31)):
        theta = np.linspace(low, high, 20001)

        def log_posterior(record: float, theta: Array = theta) -> Array:
            value = np.log(theta) - theta * record - rate * theta
            return value - logsumexp(value) - math.log(theta[1] - theta[0])

        p, q = log_posterior(x), log_posterior(y)
        divergence = float(np.trapezoid(np.exp(p) * (p - q), theta))
        corrected = stochastic_lipschitz.kl_bound(rate=rate, floor=low, ratio=ratio, distance=abs(x - y))
        assert corrected == pytest.approx(2 * ratio * (low + 1 / rate) * abs(x - y))
        assert 0 < divergence <= corrected


def test_e10_posteriors_are_not_randomly_private_over_the_prior() -> None:
    """E10. [D] Corollary 9 prints P[∀B: ξ(B|x) ≤ e^{2Lρ} ξ(B|y) ∀x, y] ≥ 1 − e^{−c(L−L₀)}, but the event is not random.

    Beta–Bernoulli: the log ratio of Beta(2, 1) and Beta(1, 2) is logit θ, unbounded, so the event fails for every L.
    """
    for epsilon in (1.0, 5.0, 20.0):
        cut = 1 / (1 + math.exp(-epsilon))  # B = {θ > cut}: ξ(B|x) = 1 − cut², ξ(B|y) = (1 − cut)²
        rest = 1 / (1 + math.exp(epsilon))
        excess = rest * (1 + cut) - math.exp(epsilon) * rest**2
        assert excess > 0
    assert 1 - betainc(2, 1, 0.9) == pytest.approx(1 - 0.9**2)
    assert not any("random" in name for name in THEOREMS)


def test_e11_distance_does_not_imply_distinguishability() -> None:
    """E11. [D] Theorem 13: "can distinguish x, y with probability 1 − δ if ρ(x, y) ≥ 3 ln(1/δ)/(4Ln)". It is "only if".

    A likelihood without θ, p_θ(x) ∝ e^{−|x|}, meets Assumption 1 with L = 1; all posteriors equal the prior.
    """
    lipschitz, draws, delta, x, y = 1.0, 100, 0.01, 0.0, 1.0
    assert abs(x - y) >= 3 * math.log(1 / delta) / (4 * lipschitz * draws)  # "distinguishable"
    log_prior: Callable[[Array], Array] = lambda t: -(t**2) / 2  # noqa: E731
    pair = Pair(lambda t: log_prior(t) - abs(x), lambda t: log_prior(t) - abs(y), panels(-12, 12, 0.5))
    assert pair.delta(0.0) == pytest.approx(0.0, abs=1e-14)  # total variation: any test errs with total probability 1


def test_e12_finite_bernoulli_family() -> None:
    """E12. [D] Example 1: θ_k = kΔ, k ≤ 1/Δ, ξ(θ_k) = Δ, L = ln(1/Δ). Too small unless 1/Δ is an integer.

    With the ends left out, which the printed k ≤ 1/Δ does not do, and integer 1/Δ: L = ln((1 − Δ)/Δ), ξ = Δ/(1 − Δ).
    """

    def lipschitz(parameters: list[float]) -> float:
        return max(abs(math.log(theta / (1 - theta))) for theta in parameters)

    assert lipschitz([0.3, 0.6, 0.9]) == pytest.approx(math.log(9))
    assert lipschitz([0.3, 0.6, 0.9]) == pytest.approx(2.1972, abs=1e-4)
    assert math.log(1 / 0.3) == pytest.approx(1.204, abs=1e-3)
    assert math.log(1 / 0.3) < lipschitz([0.3, 0.6, 0.9])
    for count in (2, 4, 5, 10, 50):
        step = 1 / count
        inner = [k * step for k in range(1, count)]
        assert lipschitz(inner) == pytest.approx(math.log((1 - step) / step), abs=1e-12)
        assert len(inner) * step / (1 - step) == pytest.approx(1.0)
        assert len(inner) * step < 1  # the printed weights do not add up
    with pytest.raises(ZeroDivisionError):
        lipschitz([1.0])  # k = 1/Δ is in the printed family, and has no Lipschitz constant


def test_e14_utility_of_posterior_samples_needs_a_union_bound() -> None:
    """E14. [D] Lemma 11 prints a regret of 2√(ln(2/δ)/2N) with probability 1 − δ for all responses; Hoeffding is for one.

    K responses whose utilities are independent fair bits under the posterior, and one sure response worth more than the
    printed regret above them: some bit's average overtakes it with probability far above δ. With ln(2K/δ) the bound holds.
    Lemma 14's 2‖ξ − ξ*‖₁ is true but twice too large.
    """
    draws, delta, responses = 50, 0.2, 10**6

    def overtaken(radius: float) -> float:
        worth = 0.5 + 2 * radius + 1e-9
        single = float(binom.sf(math.ceil(worth * draws) - 1, draws, 0.5))
        return -math.expm1(responses * math.log1p(-single))

    assert overtaken(math.sqrt(math.log(2 / delta) / (2 * draws))) > 0.9 > delta
    assert overtaken(math.sqrt(math.log(2 * responses / delta) / (2 * draws))) <= delta

    rng = np.random.default_rng(7)
    for _ in range(200):
        used, ideal = rng.dirichlet(np.ones(4), size=2)
        utility = rng.random((3, 4))
        chosen = int(np.argmax(utility @ used))
        regret = float((utility @ ideal).max() - (utility @ ideal)[chosen])
        assert regret <= float(np.abs(used - ideal).sum())


def likelihood_ratio_bound(
    density: Callable[[float, Array], Array], rate: float, low: float, high: float, records: Array
) -> float:
    """Return sup over records and θ of p_θ(x)/φ(x) for a single record, prior ∝ e^{−λθ} on [c₁, c₂]."""
    theta = np.linspace(low, high, 4001)
    prior = np.exp(-rate * theta)
    prior /= np.trapezoid(prior, theta)
    return max(float(density(x, theta).max() / np.trapezoid(density(x, theta) * prior, theta)) for x in records)


def test_e15_constant_of_the_laplace_example() -> None:
    """E15. [D] Lemma 20 mixes the scale s and its inverse θ: for c = (0.5, 0.9), B = 0.3, μ = 0 its C is 0.82.

    C = sup p_θ(x)/φ(x) can never be below 1; at λ = 2 it is 1.336. Correct: C ≤ c₂/min(c₁e^{−c₁D}, c₂e^{−c₂D}), D = B + |μ|.
    """
    low, high, bound, centre = 0.5, 0.9, 0.3, 0.0
    printed = high / (2 * min(1 / (2 * high), math.exp((-bound - centre) / low) / (2 * low)))
    true = likelihood_ratio_bound(
        lambda x, theta: theta / 2 * np.exp(-theta * abs(x - centre)), 2.0, low, high, np.linspace(-bound, bound, 61)
    )
    reach = bound + abs(centre)
    corrected = high / min(low * math.exp(-low * reach), high * math.exp(-high * reach))
    assert printed == pytest.approx(0.82, abs=5e-3)
    assert printed < 1
    assert true >= 1
    assert true == pytest.approx(1.336, abs=5e-4)
    assert corrected == pytest.approx(2.0913016369109096)
    assert corrected >= true


def test_e16_beta_binomial_example() -> None:
    """E16. [D] Lemma 21 asks α > 1 and bounds C by B(α, α)/B((n+2α−1)/2, (n+2α+1)/2).

    The theorem it rests on needs c = 2^{1−2α}/B(α, α) > 1, so α > 3.38175. For even n the largest 1/B(α+k, α+n−k) is at
    k = n/2, which the printed term is below; the exact constant is C = B(α, α)/B(α, α+n). The printed δ is never below 1.
    """

    def rate(alpha: float) -> float:
        return 2 ** (1 - 2 * alpha) / beta_function(alpha, alpha)

    assert rate(2.0) < 1
    assert rate(4.0) > 1
    assert rate(4.0) == pytest.approx(1.09375)
    assert brentq(lambda alpha: rate(alpha) - 1, 2, 5) == pytest.approx(3.3817502647645754, rel=1e-9)

    def maximum_likelihood(k: int, n: int) -> float:
        return (k / n) ** k * (1 - k / n) ** (n - k)

    for alpha, n in itertools.product((1.5, 2.0, 4.0), (1, 2, 5, 8)):
        base = beta_function(alpha, alpha)
        enumerated = max(maximum_likelihood(k, n) * base / beta_function(alpha + k, alpha + n - k) for k in range(n + 1))
        assert enumerated == pytest.approx(base / beta_function(alpha, alpha + n), rel=1e-12)
    assert beta_function(2, 2) / beta_function(2, 10) == pytest.approx(18.333333333333333)
    for alpha, n in itertools.product((1.01, 2.0, 4.0, 10.0, 100.0), (1, 2, 3, 8, 50)):
        printed_ratio = beta_function(alpha, alpha) / beta_function((n + 2 * alpha - 1) / 2, (n + 2 * alpha + 1) / 2)
        if n % 2 == 0:
            assert printed_ratio < beta_function(alpha, alpha) / beta_function(alpha + n / 2, alpha + n / 2)
        assert math.sqrt(printed_ratio / 2 * (1 + 2 * math.log(n) + 1 / rate(alpha))) >= 1


def test_e17_constant_of_the_normal_example() -> None:
    """E17. [D] Lemma 22 prints C = min(√(c₂/c₁)e^{c₁c₂²/2}, e^{c₂³/2}), without B: 1.0645 at c = (0.1, 0.5).

    With |x| ≤ B = 3, μ = 0, λ = 2 the constant is 1.383. Correct: max(√(c₂/c₁)e^{c₁D²/2}, e^{c₂D²/2}), D = B + |μ|.
    """
    low, high, bound, centre = 0.1, 0.5, 3.0, 0.0
    printed = min(math.sqrt(high / low) * math.exp(low * high**2 / 2), math.exp(high**3 / 2))

    def density(x: float, theta: Array) -> Array:
        return np.sqrt(theta / (2 * math.pi)) * np.exp(-theta * (x - centre) ** 2 / 2)

    true = likelihood_ratio_bound(density, 2.0, low, high, np.linspace(-bound, bound, 121))
    reach = bound + abs(centre)
    corrected = max(math.sqrt(high / low) * math.exp(low * reach**2 / 2), math.exp(high * reach**2 / 2))
    assert printed == pytest.approx(1.0645, abs=5e-5)
    assert printed < true
    assert true == pytest.approx(1.383, abs=5e-4)
    assert true <= corrected


def test_e18_diameter_of_the_normal_metric() -> None:
    """E18. [D] after Lemma 23: "(3ε, 0) classical DP for bounded data". The factor is the diameter of the metric.

    ρ = ‖xxᵀ − yyᵀ‖_F + 2‖x − y‖ reaches 3 on [0, 1], 4 on [−1, 1] and 4.7096 on the unit ball in two and more dimensions.
    """

    def rho(x: Array, y: Array) -> float:
        return float(np.linalg.norm(np.outer(x, x) - np.outer(y, y)) + 2 * np.linalg.norm(x - y))

    for grid, largest in ((np.linspace(0, 1, 101), 3.0), (np.linspace(-1, 1, 101), 4.0)):
        assert max(rho(np.array([x]), np.array([y])) for x in grid for y in grid) == pytest.approx(largest)

    def on_the_sphere(angle: float) -> float:
        return rho(np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)]))

    best = minimize_scalar(lambda angle: -on_the_sphere(angle), bounds=(0, math.pi), method="bounded", options={"xatol": 1e-10})
    assert -best.fun == pytest.approx(4.7096, abs=1e-5)
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 3))
    points /= np.maximum(1, np.linalg.norm(points, axis=1))[:, None]
    assert max(rho(x, y) for x, y in zip(points[::2], points[1::2], strict=True)) <= -best.fun


def test_e19_bayesian_networks_and_whole_records() -> None:
    """E19. [D] Lemma 24: "2‖v‖_∞ ln 1/ε-DP under the classical definition". A whole row changes K factors, not one.

    Four independent bits, each θ_k ∈ {0.1, 0.9}, the row 0000 replaced by 1111, all 16 parameters enumerated.
    """
    floor, size, bits = 0.1, 2, 4
    printed = 2 * 1 * math.log(1 / floor)
    corrected = 2 * bits * math.log((1 - (size - 1) * floor) / floor)
    assert printed == pytest.approx(4.61, abs=5e-3)
    assert corrected == pytest.approx(17.58, abs=5e-3)
    parameters = np.array(list(itertools.product([0.1, 0.9], repeat=bits)))
    log_x, log_y = np.log1p(-parameters).sum(axis=1), np.log(parameters).sum(axis=1)

    def worst(log_prior: Array) -> float:
        ratio = (log_x - logsumexp(log_x + log_prior)) - (log_y - logsumexp(log_y + log_prior))
        return float(np.abs(ratio).max())

    uniform = np.full(16, -math.log(16))
    assert worst(uniform) == pytest.approx(corrected / 2)
    assert worst(uniform) > printed
    skewed = np.where(parameters.sum(axis=1) > 3.5, 0.0, -40.0)  # nearly all prior mass on (0.9, 0.9, 0.9, 0.9)
    assert worst(skewed - logsumexp(skewed)) == pytest.approx(corrected, rel=1e-6)


def test_e30_total_variation_grows_with_the_root_of_the_distance() -> None:
    """E30. [D] Lemma 19 says "(0, δ)-DP under ρ", Lemma 22 "(0, 3δ) for data in [0, 1]". Theorem 8.2 is under √ρ: √3 δ."""
    constants = {"rate": 30.0, "floor": 0.05, "ratio": 2.0}
    unit = stochastic_lipschitz.tv_bound(**constants, distance=1.0)
    assert stochastic_lipschitz.tv_bound(**constants, distance=3.0) == pytest.approx(math.sqrt(3) * unit)
    assert stochastic_lipschitz.tv_bound(**constants, distance=0.01) == pytest.approx(0.1 * unit)
    assert stochastic_lipschitz.tv_bound(**constants, distance=0.01) > 0.01 * unit
    assert unit == pytest.approx(math.sqrt(2.0 * (0.05 + 1 / 30)))


# -- Hu et al. ---------------------------------------------------------------------------------------------------------------


def test_e20_log_ratio_of_gaussian_posteriors() -> None:
    """E20. [H] Remark 1 prints Σ(x_i + μ₀)/(n+2) in the log ratio; correct: (μ₀ + Σx_i)/(n+2)."""
    common, x, z, prior_mean, mu = np.array([0.4, -1.1, 2.0]), 1.5, -0.7, 0.7, 0.3
    n = common.size

    def log_posterior(record: float) -> float:
        precision = n + 2
        mean = (prior_mean + common.sum() + record) / precision
        return -precision * (mu - mean) ** 2 / 2

    exact = log_posterior(x) - log_posterior(z)

    def formula(centre: float) -> float:
        return -(x**2 - z**2) / (2 * (n + 2)) + (x - z) * (mu - centre)

    assert formula((prior_mean + common.sum()) / (n + 2)) == pytest.approx(exact, abs=1e-12)
    assert abs(formula((common + prior_mean).sum() / (n + 2)) - exact) > 0.5


def test_e21_algorithm_1_misses_the_reverse_direction() -> None:
    """E21. [H] Algorithm 1 takes δ = P(A^c|X) at the observed data only; correct: the supremum of P(A^c|D ∪ x) over records x.

    X = (0, 0, 0), normal model, p = 0.2, contamination t₅ with scale 3, prior N(0, 3²), records in [−5, 5], θ* = 0 known,
    all integrals exact. At the algorithm's own ε̂ the posterior of (0, 0, 5) exceeds that of X by 0.051, five times its δ.
    """
    p = 0.2
    theta = np.linspace(-25.0, 25.0, 20001)
    step = theta[1] - theta[0]

    def likelihood(x: float, at: Array) -> Array:
        return (1 - p) * norm.pdf(x - at) + p * student.pdf(x, 5, scale=3.0)

    def d(x: float, at: Array) -> Array:
        return likelihood(x, at) / likelihood(x, np.zeros(1))

    prior = norm.pdf(theta, scale=3.0)
    partial = prior * likelihood(0.0, theta) ** 2
    partial /= partial.sum() * step

    def posterior(x: float) -> Array:
        value = partial * likelihood(x, theta)
        return value / (value.sum() * step)

    observed = posterior(0.0)
    tail = lambda phi, density: float(density[np.abs(theta) > phi].sum() * step)  # noqa: E731
    phi = brentq(lambda value: tail(value, observed) - 0.01, 0.5, 5.0)
    assert phi == pytest.approx(1.6346, abs=2e-3)
    records, inside = np.linspace(-5.0, 5.0, 401), np.linspace(-phi, phi, 801)
    values = np.array([[d(x, inside).max(), d(x, inside).min()] for x in records])
    averages = np.array([(partial * d(x, theta)).sum() * step for x in records])
    epsilon = math.log(values[:, 0].max() / values[:, 1].min()) + math.log(averages.max() / averages.min())
    assert epsilon == pytest.approx(4.6935, abs=5e-3)

    reverse = float(np.maximum(posterior(5.0) - math.exp(epsilon) * observed, 0).sum() * step)
    assert reverse == pytest.approx(0.0513, abs=1e-3)
    assert reverse > 5 * 0.01
    sound = max(tail(phi, posterior(x)) for x in records)
    assert sound == pytest.approx(0.1682, abs=1e-3)
    assert sound > reverse


def test_e22_contamination_rate_is_a_probability() -> None:
    """E22. [H] (18) prints p_n = n^{1/8}, above 1 for every n ≥ 2; the simulations use n^{−1/8}."""
    assert all(n ** (1 / 8) > 1 > n ** (-1 / 8) > 0 for n in (2, 100, 10_000))
    assert math.pow(1000, -1 / 8) == pytest.approx(0.4217, abs=5e-5)


@pytest.mark.parametrize("dispersion", [1.0, 5.0, 45.0])
def test_e23_student_contamination_density(dispersion: float) -> None:
    """E23. [H] §4.3 prints g = Γ(3)/(λ√(3π) Γ(5/2))·(1 + x²/λ)^{−3}, whose integral is 1/√(3λ), and forgets the shift."""
    kernel = 2 * quad(lambda x: (1 + x * x / dispersion) ** -3, 0, np.inf)[0]
    printed = gamma(3) / (dispersion * math.sqrt(3 * math.pi) * gamma(2.5)) * kernel
    corrected = gamma(3) / (math.sqrt(math.pi * dispersion) * gamma(2.5))
    assert printed == pytest.approx(1 / math.sqrt(3 * dispersion), rel=1e-8)
    assert corrected * kernel == pytest.approx(1.0, rel=1e-8)
    scale, location, x = math.sqrt(dispersion / 5), 0.4, 1.1
    value = corrected * (1 + (x - location) ** 2 / dispersion) ** -3
    assert value == pytest.approx(float(student.pdf(x, 5, loc=location, scale=scale)), rel=1e-9)


@pytest.mark.parametrize("spread", [0.5, 2.0, 9.0])
def test_e24_cauchy_likelihood(spread: float) -> None:
    """E24. [H] C.3 prints f = (√γ/π)(1 + u²/γ)^{−1}, whose integral is γ; correct: 1/(π√γ), and its derivative with it."""
    kernel = 2 * quad(lambda u: 1 / (1 + u * u / spread), 0, np.inf)[0]
    assert math.sqrt(spread) / math.pi * kernel == pytest.approx(spread, rel=1e-8)
    assert kernel / (math.pi * math.sqrt(spread)) == pytest.approx(1.0, rel=1e-8)

    def root(value: float, u: float) -> float:
        return math.sqrt(1 / (math.pi * math.sqrt(value) * (1 + u * u / value)))

    for u in (0.0, 0.7, 3.0):
        h = 1e-5 * spread
        numeric = (root(spread + h, u) - root(spread - h, u)) / (2 * h)
        formula = spread ** (-9 / 4) / (4 * math.sqrt(math.pi)) * (1 + u * u / spread) ** -1.5 * (u * u - spread)
        assert formula == pytest.approx(numeric, rel=1e-6)


def test_e25_conversion_of_concentrated_privacy() -> None:
    """E25. [H] §4.2 prints "ε²/2-zCDP implies (ε√ln(1/δ), δ)"; Bun and Steinke have (ε²/2 + ε√(2 ln(1/δ)), δ).

    The Gaussian mechanism with μ = 0.5 is 0.125-zCDP; at δ = 1e-4 the printed ε leaves 3.5e-4.
    """
    mu, delta = 0.5, 1e-4
    printed = mu * math.sqrt(math.log(1 / delta))
    assert gdp(printed, mu) == pytest.approx(3.5e-4, abs=5e-6)
    assert gdp(printed, mu) > 3 * delta
    corrected = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    assert gdp(corrected, mu) < delta
    assert ConcentratedDP(mu**2 / 2, conversion="bun-steinke").epsilon(delta) == pytest.approx(corrected, rel=1e-9)


def test_e26_strictly_adjacent_data_sets() -> None:
    """E26. [H] Remark 20 adds m_{n−1}(A^c, Z)/m_n(Ω, X); correct: the left-hand data set's own m_n(A^c, X)/m_n(Ω, X).

    Two parameters, 0 (in A, prior mass 0.999) and 5; normal model, p = 0.2, contamination t₅ with scale 3; Z empty, X = {5}.
    """
    p = 0.2
    contamination = float(student.pdf(5.0, 5, scale=3.0))
    at = lambda theta: (1 - p) * float(norm.pdf(5.0 - theta)) + p * contamination  # noqa: E731
    d_inside, d_outside = 1.0, at(5.0) / at(0.0)  # d(x; θ) = k_p(x; θ)/k_p(x; θ*), θ* = 0
    inside, outside = 0.999, 0.001
    total = inside * d_inside + outside * d_outside  # m_1(Ω, X); m_0(A^c, Z) = outside
    left = outside * d_outside / total  # P(A^c | X)
    eta_root = 1.0  # sup over A of d(x; θ) and its inverse
    printed = eta_root * (eta_root + outside / total) * outside + outside / total
    corrected = eta_root * (eta_root + outside / total) * outside + outside * d_outside / total
    assert 15 * printed < left <= corrected
    assert left == pytest.approx(0.0463, abs=5e-5)


def test_e27_reparametrisation_moves_the_prior_only() -> None:
    """E27. [H] Proposition 31 multiplies the *likelihood* by the Jacobian too (and defines ψ₁ ~ ψ₂ by ≠).

    Exponential records with rate ψ, prior Exp(1), θ = ln ψ: with the Jacobian on each of n = 3 records the posterior mean of
    ψ is 7/(1 + Σx), with the Jacobian on the prior only it is what it was, 4/(1 + Σx).
    """
    records = np.array([0.5, 1.0, 2.5])
    theta = np.linspace(-25.0, 8.0, 200001)
    psi = np.exp(theta)
    log_jacobian = theta
    log_likelihood = records.size * theta - psi * records.sum()

    def mean(log_density: Array) -> float:
        weights = np.exp(log_density - log_density.max())
        return float((psi * weights).sum() / weights.sum())

    corrected = mean(log_likelihood - psi + log_jacobian)
    printed = mean(log_likelihood + records.size * log_jacobian - psi + log_jacobian)
    assert corrected == pytest.approx(4 / (1 + records.sum()), rel=1e-9)
    assert corrected == pytest.approx(0.8)
    assert printed == pytest.approx(7 / (1 + records.sum()), rel=1e-9)
    assert printed == pytest.approx(1.4)


def test_e28_constants_of_the_posterior_contraction_lemma() -> None:
    """E28. [H] Lemma 8 prints c = 2^{−7.5}·3^{−1.5}/5 ≈ 2^{−13}; condition (26) with k = 2/3, e^{τ/2} = 5 gives 3^{−2}.

    Only the corrected value is near 2^{−13}. c₀ and c₂ are right. Lemma 12's exponent is e^{−nαt}, as Lemma 10 has it.
    """
    k, e_half_tau = 2 / 3, 5.0
    from_condition = math.sqrt(3) * k**2.5 / (2**10 * e_half_tau)
    corrected, printed = 2**-7.5 * 3**-2 / 5, 2**-7.5 * 3**-1.5 / 5
    assert from_condition == pytest.approx(corrected, rel=1e-12)
    assert from_condition == pytest.approx(1.2276e-4, rel=1e-4)
    assert printed > 1.7 * from_condition
    assert corrected == pytest.approx(2**-13, rel=0.01)
    half_tau = math.log(e_half_tau)
    c0 = (e_half_tau - 1 - half_tau) / (1 - 1 / e_half_tau) ** 2
    assert c0 == pytest.approx(25 * (4 - half_tau) / 16, rel=1e-12)
    assert c0 == pytest.approx(3.73525, abs=1e-5)
    assert (1 - k) * k**2 / (32 * c0 + 4 * k) == pytest.approx(1.21239e-3, rel=1e-5)
    varrho = 2 / e_half_tau / (1 - 1 / e_half_tau) ** 2
    assert 2 * (1 - varrho - k / 2) == pytest.approx(1 / 12)


def test_e31_one_covariate_does_not_identify_the_parameter() -> None:
    """E31. [H] Lemmas 21, 22, 25, 28 bound ‖θ − θ*‖ by the Hellinger distance for one fixed w; along (1, −1) it is 0."""
    w, truth = np.array([1.0, 1.0]), np.array([0.3, -0.2])
    x = np.linspace(-12.0, 12.0, 4001)

    def squared_distance(theta: Array) -> float:
        p, q = norm.pdf(x - theta @ w), norm.pdf(x - truth @ w)
        return float(np.square(np.sqrt(p) - np.sqrt(q)).sum() * (x[1] - x[0]))

    assert squared_distance(truth + 5 * np.array([1.0, -1.0])) < 1e-25
    assert squared_distance(truth + np.array([1.0, 1.0])) > 0.5
    spread = np.array([[1.0, 0.2], [0.2, 1.0]])  # a regular E[wwᵀ] leaves no such direction
    assert np.linalg.eigvalsh(spread).min() > 0 == np.linalg.eigvalsh(np.outer(w, w)).min().round(12)


def test_e32_rate_of_the_quantile_example() -> None:
    """E32. [H] C.4 asks k > (q − 2)/2q and concludes k > 1/6 for q = 6."""
    q = 6
    assert (q - 2) / (2 * q) == pytest.approx(1 / 3)
    assert (q - 2) / (2 * q) > 1 / 6


def test_e33_gradient_of_the_root_of_the_density() -> None:
    """E33. [H] Lemma 26 differentiates √f of the asymmetric Laplace density without the ½ of the root."""
    tau, w, x, theta = 0.3, 0.7, 1.1, 0.4

    def root(at: float) -> float:
        residual = x - at * w
        return math.sqrt(tau * (1 - tau)) * math.exp(-residual * (tau - (residual < 0)) / 2)

    step = 1e-6
    found = (root(theta + step) - root(theta - step)) / (2 * step)
    assert found == pytest.approx(tau * w * root(theta) / 2, rel=1e-8)
    assert abs(found) == pytest.approx(0.5 * abs(tau * w * root(theta)), rel=1e-8)  # half of what is printed


def test_e34_constant_of_theorem_4() -> None:
    """E34. [H] C(n, φ_n) = 20(log₂ φ_n)² becomes 20(log₂ n)² in the proof; with φ_n = n^{−1/q} they differ by q²."""
    n, q = 10**6, 6
    of_phi, of_n = math.log2(n ** (-1 / q)) ** 2, math.log2(n) ** 2
    assert of_n / of_phi == pytest.approx(q**2)


def test_e16_the_worst_count_of_small_shapes_is_inside() -> None:
    """E16. C is a maximum over the number of successes k; for small α it is not at k = 0."""

    def constant(alpha: float, k: int, n: int = 10) -> float:
        likelihood = (k / n) ** k * (1 - k / n) ** (n - k)
        return likelihood * beta_function(alpha, alpha) / beta_function(alpha + k, alpha + n - k)

    for alpha, expected in ((0.01, 124.9), (0.1, 14.1), (0.3, 5.78)):
        worst = max(constant(alpha, k) for k in range(11))
        assert worst == pytest.approx(expected, rel=2e-3)
        model = gs.models.BetaBernoulli(alpha=alpha, beta=alpha)
        declared = model.constants(np.empty(0), adjacency=Adjacency.REPLACE_ONE, n=10, rows_per_person=1)
        assert declared.likelihood_ratio_bound is not None
        assert worst <= declared.likelihood_ratio_bound <= worst * (1 + 1e-7)
    assert constant(0.01, 0) == pytest.approx(2.06, abs=5e-3)


# -- the page ----------------------------------------------------------------------------------------------------------------


def test_e35_brackets_of_lemma_2_are_wider() -> None:
    """[(√f − uM)², (√f + uM)²] has Hellinger size √2·u‖M‖, where the proof of Lemma 2 has u‖M‖."""
    u, x = 1e-3, np.linspace(-9, 9, 40_001)

    def root(v: float) -> np.ndarray:
        return np.exp(-((x - v) ** 2) / 4) / (2 * math.pi) ** 0.25

    steepest = np.max([np.abs(x - v) / 2 * root(v) for v in np.linspace(-u, u, 21)], axis=0)
    lower, upper = np.maximum(root(0.0) - u * steepest, 0), root(0.0) + u * steepest
    assert all(((lower <= root(v) + 1e-9) & (root(v) <= upper + 1e-9)).all() for v in (-u, -u / 2, u))
    spacing = x[1] - x[0]
    size = math.sqrt(0.5 * float(((upper - lower) ** 2).sum()) * spacing)
    printed = u * math.sqrt(float((steepest**2).sum()) * spacing)
    assert size > 1.4 * printed
    assert size <= math.sqrt(2) * printed * (1 + 1e-9)


def test_e36_counts_of_lemma_8() -> None:
    """(1 + L)(1 + N) by the definitions against 20·max{−log₂φ, (log₂φ)²}: above it from φ = 0.42 on, not for smaller φ."""
    for phi in (0.9, 0.7, 0.5, 0.42, 0.4, 0.31, 0.1, 0.003):
        shells = next(k for k in range(99) if 2 ** (k + 1) * phi**2 > 1)
        narrow = (2 / 3) ** 2 * phi**2 / (2**4.5 * 5)
        brackets = next(k for k in range(99) if 2**k * narrow > phi)
        logs = -math.log2(phi)
        assert ((1 + shells) * (1 + brackets) > 20 * max(logs, logs**2)) == (phi >= 0.42)


def test_the_errata_page_lists_all_errata_and_names_tests_that_exist() -> None:
    page = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (E\d+) \|.*\|$", page, flags=re.MULTILINE)
    assert rows == [f"E{number}" for number in range(1, 37)]
    named = set(re.findall(r"`(test_\w+)`", page))
    defined = {name for name in globals() if name.startswith("test_e")}
    assert named <= set(globals())
    assert {name for name in defined if re.match(r"test_e\d", name)} <= named
    for name in THEOREMS.values():
        assert set(name.errata) <= set(rows)
