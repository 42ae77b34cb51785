"""Guarantees against laws that attain them: profiles, inverses, conversions, groups, compositions, slack, metric claims."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp

from gibbsafe.privacy import (
    ApproximateDP,
    BoundedRange,
    ConcentratedDP,
    GaussianDP,
    MetricDP,
    PureDP,
    RecordReplacement,
    amplify,
    compose,
)

from . import exact
from .draw import Generator, either, failure, fraction, magnitude, size
from .suite import Case, case

mp.mp.dps = 40


def epsilons_for(rng: Generator, scale: float) -> list[float]:
    """Return a few ε: 0, around a claim's own scale, and one of any size."""
    near = [scale * float(10 ** rng.uniform(-2, 1.2)) for _ in range(2)]
    return [0.0, *near, magnitude(rng, 1e-12, 1e4)]


@case("gaussian profile", 2)
def gaussian(rng: Generator, made: Case) -> None:
    """μ-GDP is the profile of N(0, 1) and N(μ, 1) itself."""
    mu = magnitude(rng, 1e-12, 1e6)
    made.setting = {"mu": mu}
    claim = GaussianDP(mu)
    epsilons = [*epsilons_for(rng, mu), mu * mu / 2 + mu * float(rng.uniform(-3, 8))]
    epsilons = [max(0.0, e) for e in epsilons if e / mu < 1e6]
    for epsilon in epsilons:
        made.at_most(f"δ({epsilon!r})", exact.gaussian_delta(epsilon, mu), claim.delta(epsilon))
    made.decreasing(epsilons, [claim.delta(e) for e in epsilons])
    delta = failure(rng)
    epsilon = claim.epsilon(delta)
    if math.isfinite(epsilon):
        made.at_most(f"δ at ε({delta!r})", exact.gaussian_delta(epsilon, mu), delta)


@case("gaussian attacker", 0.3)
def attacker(rng: Generator, made: Case) -> None:
    """The best attacker's true-positive rate is Φ(Φ⁻¹(α) + μ)."""
    mu, alpha = magnitude(rng, 1e-6, 30), magnitude(rng, 1e-9, 0.5)
    made.setting = {"mu": mu, "alpha": alpha}
    with mp.workdps(60):
        quantile = -mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha))
        rate = mp.erfc(-(quantile + mp.mpf(mu)) / mp.sqrt(2)) / 2
    made.at_most("rate", rate, GaussianDP(mu).true_positive_rate(alpha))
    pure = magnitude(rng, 1e-6, 30)
    made.at_most("rate of pure", min(1, alpha * math.exp(pure), 1 - math.exp(-pure) * (1 - alpha)),
                 PureDP(pure).true_positive_rate(alpha), 1e-14)  # fmt: skip


def _discrete(rng: Generator) -> tuple[Any, exact.Law]:
    """Return a random guarantee with a finite law that attains it."""
    kind = either(rng, "pure", "range", "approximate")
    width = magnitude(rng, 1e-9, 300.0)
    if kind == "pure":
        return PureDP(width), exact.randomised_response(width)
    if kind == "range":
        return BoundedRange(width), exact.two_points(width, width * float(rng.uniform(0.05, 0.95)))
    delta = failure(rng)
    return ApproximateDP(width, delta), exact.worst_approximate(width, delta)


@case("finite profile", 2)
def finite(rng: Generator, made: Case) -> None:
    """Pure, bounded-range and approximate claims: randomised response, two-point laws, and the four outcomes of (ε, δ)."""
    with mp.workdps(330):  # e^{−600} beside 1
        claim, law = _discrete(rng)
        scale = claim.parameters.get("epsilon", claim.parameters.get("range"))
        epsilons = [scale * float(rng.random()), *epsilons_for(rng, scale)]
        made.setting = {"claim": repr(claim)}
        if isinstance(claim, BoundedRange):  # the worst two points at each ε
            laws = [exact.two_points(scale, (e + scale) / 2) if e < scale else law for e in epsilons]
        else:
            laws = [law] * len(epsilons)
        for epsilon, each in zip(epsilons, laws, strict=True):
            made.at_most(f"δ({epsilon!r})", exact.stick(each, epsilon), claim.delta(epsilon))
            made.at_most(f"back δ({epsilon!r})", exact.stick([(q, p) for p, q in each], epsilon), claim.delta(epsilon))
        made.decreasing(epsilons, [claim.delta(e) for e in epsilons])
        delta = failure(rng)
        epsilon = claim.epsilon(delta)
        if math.isfinite(epsilon):
            made.at_most(f"δ at ε({delta!r})", exact.stick(law, epsilon), delta)


@case("conversions", 1.5)
def conversions(rng: Generator, made: Case) -> None:
    """Pure and bounded range to Gaussian and concentrated; concentrated claims against Gaussians and randomised response."""
    width = magnitude(rng, 1e-12, 1e4)
    made.setting = {"width": width}
    made.at_most("μ of pure", exact.mu_of_pure(width), PureDP(width).gaussian().mu)
    made.at_most("μ of range", exact.mu_of_pure(width / 2), BoundedRange(width).gaussian().mu)
    with mp.workdps(60):
        made.at_most("ρ of pure", mp.mpf(width) ** 2 / 2, PureDP(width).concentrated().rho)
        made.at_most("ρ of range", mp.mpf(width) ** 2 / 8, BoundedRange(width).concentrated().rho)
        mu = magnitude(rng, 1e-9, 100.0)
        made.at_most("ρ of μ", mp.mpf(mu) ** 2 / 2, GaussianDP(mu).concentrated().rho)
        rho = mu * mu / 2
        exactly = mp.sqrt(2 * mp.mpf(rho))
        for conversion in ("optimal", "bun-steinke", "corollary-8"):
            claim = ConcentratedDP(rho, conversion=conversion)
            epsilons = [e for e in [*epsilons_for(rng, mu), rho + mu * float(rng.uniform(0, 9))] if e / mu < 1e6]
            for epsilon in epsilons:
                made.at_most(f"{conversion} δ({epsilon!r})", exact.gaussian_delta(epsilon, exactly), claim.delta(epsilon))
            made.decreasing(epsilons, [claim.delta(e) for e in epsilons])
        pure = min(width, 300.0)
        read = PureDP(pure).concentrated()
        for epsilon in epsilons_for(rng, pure):
            made.at_most(f"ρ-read δ({epsilon!r})", exact.stick(exact.randomised_response(pure), epsilon), read.delta(epsilon))


@case("groups", 1)
def groups(rng: Generator, made: Case) -> None:
    """Groups of k: kε, kr, kμ, k²ρ exactly, and δ(e^{kε} − 1)/(e^ε − 1)."""
    k = size(rng, 1e4)
    value = magnitude(rng, 1e-12, 1e3)
    made.setting = {"k": k, "value": value}
    scaled = Fraction(value) * k
    made.at_most("kε", scaled, Fraction(PureDP(value).group(k).pure_epsilon))
    made.at_most("kr", scaled, Fraction(BoundedRange(value).group(k).range))
    made.at_most("kμ", scaled, Fraction(GaussianDP(value).group(k).mu))
    made.at_most("k²ρ", scaled * k, Fraction(ConcentratedDP(value).group(k).rho))
    delta = magnitude(rng, 1e-300, 0.5)
    grouped = ApproximateDP(value, delta).group(k)
    made.at_most("group's ε", scaled, Fraction(grouped.pair[0]))
    made.at_most("group's δ", exact.group_delta(value, delta, k), grouped.delta(grouped.pair[0]))


@case("compositions", 2)
def compositions(rng: Generator, made: Case) -> None:
    """Random lists of finite and Gaussian releases, every route, with and without slack, by enumeration."""
    with mp.workdps(330):
        parts = [_discrete(rng) for _ in range(int(rng.integers(0, 4)))]
        times = int(rng.integers(1, 4)) if parts else 1
        mus = [magnitude(rng, 1e-3, 30.0) for _ in range(int(rng.integers(0 if parts else 1, 3)))]
        claims = [claim for claim, _ in parts for _ in range(times)] + [GaussianDP(mu) for mu in mus]
        if len(claims) > 6:
            claims, times = [c for c, _ in parts] + [GaussianDP(mu) for mu in mus], 1
        law = exact.product([each for _, each in parts for _ in range(times)])
        mu = mp.sqrt(mp.fsum(mp.mpf(each) ** 2 for each in mus))
        made.setting = {"claims": [repr(claim) for claim in claims]}
        slack = magnitude(rng, 1e-12, 1e-2) if not mus and rng.random() < 0.5 else 0.0
        whole = compose(claims, slack=slack)
        scale = sum(
            claim.parameters.get("epsilon", claim.parameters.get("range", claim.parameters.get("mu"))) for claim in claims
        )
        epsilons = [scale * float(rng.random()), *epsilons_for(rng, min(scale, 50.0))]
        for epsilon in epsilons:
            if slack:
                value = exact.slackened(law, epsilon, slack)
            else:
                value = exact.stick_with_gaussian(law, mu, epsilon) if mus else exact.stick(law, epsilon)
            for route in ("auto", "basic", "gaussian", "zcdp"):
                made.at_most(f"{route} δ({epsilon!r}), slack {slack:g}", value, whole.delta(epsilon, route=route))
        made.decreasing(epsilons, [whole.delta(e) for e in epsilons])


@case("many releases", 0.5)
def many(rng: Generator, made: Case) -> None:
    """N equal randomised responses or two-point laws: binomial sums; and N Gaussians: μ√N."""
    times = size(rng, 300)
    width = magnitude(rng, 1e-4, 3.0)
    ranged = bool(rng.random() < 0.5)
    claim = (BoundedRange(width) if ranged else PureDP(width)).compose(times)
    made.setting = {"times": times, "claim": repr(claim)}
    with mp.workdps(40):
        law = exact.two_points(width, width * float(rng.uniform(0.3, 0.7))) if ranged else exact.randomised_response(width)
        (p1, q1), (p2, q2) = law
        joint = [(mp.binomial(times, j) * p1**j * p2 ** (times - j), mp.binomial(times, j) * q1**j * q2 ** (times - j))
                 for j in range(times + 1)]  # fmt: skip
        for epsilon in epsilons_for(rng, width * math.sqrt(times)):
            made.at_most(f"δ({epsilon!r})", min(mp.mpf(1), exact.stick(joint, epsilon)), claim.delta(epsilon))
        mu = GaussianDP(width).compose(times).gaussian().mu
        made.at_most("μ√N", mp.mpf(width) * mp.sqrt(times), mu)


@case("amplification", 0.3)
def amplification(rng: Generator, made: Case) -> None:
    """A record's bit through randomised response, the record replaced by a fair coin with probability 1 − q: exact."""
    epsilon, keep, delta = magnitude(rng, 1e-12, 1e3), fraction(rng), float(either(rng, 0.0, failure(rng)))
    made.setting = {"epsilon": epsilon, "keep": keep, "delta": delta}
    claim: Any = ApproximateDP(epsilon, delta, adjacency="replace-one") if delta else PureDP(epsilon, adjacency="replace-one")
    replaced = RecordReplacement(keep_probability=keep, whole_record=True, rows_per_person=1)
    least_epsilon, least_delta = exact.amplified(epsilon, delta, keep)
    stated = amplify(claim, replaced)
    made.at_most("ε", least_epsilon, stated.pair[0])
    made.at_most("δ", least_delta, stated.pair[1])


@case("metric claims", 0.5)
def metric(rng: Generator, made: Case) -> None:
    """ε and δ per unit of distance add over releases and grow with the distance, to the last digit."""
    value, distance, times = magnitude(rng), magnitude(rng, 1e-9, 1e9), size(rng, 1000)
    made.setting = {"epsilon": value, "distance": distance, "times": times}
    ranged = bool(rng.random() < 0.3)
    claim = MetricDP(value, "hamming", bounded_range=ranged)
    at = claim.at(distance)
    made.at_most("ε at a distance", Fraction(value) * Fraction(distance), Fraction(_width(at)))
    many = claim.compose(times).at(distance)
    made.at_most("ε of many", Fraction(value) * times * Fraction(distance), Fraction(_width(many)))
    unit = claim.compose(times).at(1.0)
    made.at_most("ε at 1", Fraction(value) * times, Fraction(_width(unit)))
    delta = magnitude(rng, 1e-300, 1e-3)
    both = MetricDP(value, "hamming", delta).compose(times)
    made.at_most("δ per unit", Fraction(delta) * times, Fraction(both.delta_per_unit))


def _width(guarantee: Any) -> float:
    parameters = guarantee.parameters
    return float(parameters["epsilon"] if "epsilon" in parameters else parameters["range"])
