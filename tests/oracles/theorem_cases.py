"""Theorems on declared constants against instances that attain them: Gaussian shifts, finite mechanisms, quadratics."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np

from gibbsafe.privacy import Budget
from gibbsafe.theorems import get

from . import exact
from .adaptive import Line, curve
from .calculus_cases import epsilons_for
from .draw import Generator, either, failure, fraction, magnitude, size
from .suite import Case, case

ADJACENCIES = ("replace-one", "add-remove")


def budget_of(rng: Generator, pure: bool = False) -> Budget:
    """Return a random budget; δ = 0 only where a pure claim can meet it."""
    epsilon = magnitude(rng, 1e-4, 1e2)
    return Budget(epsilon, 0.0 if pure and rng.random() < 0.5 else failure(rng))


def temperature(rng: Generator, made: Case, theorem: Any, constants: dict[str, Any], adjacency: str, pure: bool = False) -> float:
    """Return a random β, or the largest one of a random budget, which is kept for the case's checks."""
    if rng.random() < 0.4 or theorem.name == "log-sobolev-simple":
        budget = budget_of(rng, pure)
        if theorem.name == "log-sobolev-simple":
            budget = Budget(min(1.0, budget.epsilon), budget.delta or 1e-6)
        made.setting["budget"] = budget
        return float(theorem.calibrate(constants, budget, adjacency=adjacency))
    return magnitude(rng)


def hold_shift(
    made: Case, theorem: Any, constants: dict[str, Any], adjacency: str, beta: float, mu: mp.mpf, rng: Generator
) -> None:
    """Hold a Gaussian shift of μ standard deviations beside the theorem's claim at β, and beside the budget it was solved for."""
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    made.setting |= {"theorem": theorem.name, "constants": constants, "adjacency": adjacency, "beta": beta}
    if "mu" in claim.parameters:
        made.at_most("μ", mu, claim.mu)
    size_of = float(mu)
    if not 1e-30 < size_of < 1e5:
        return
    for epsilon in epsilons_for(rng, size_of):
        if epsilon / size_of < 1e5:
            made.at_most(f"δ({epsilon!r})", exact.gaussian_delta(epsilon, mu), claim.delta(epsilon))
    budget = made.setting.get("budget")
    if budget is not None:
        made.at_most("the budget's δ", exact.gaussian_delta(budget.epsilon, mu), budget.delta)


@case("gaussian-dp and its weaker forms", 2)
def shifts(rng: Generator, made: Case) -> None:
    """Linear losses (|θ − x| far from the mass) shift a Gaussian prior: μ = β√Σ G²/m exactly, for blocks too."""
    theorem = get(
        str(
            either(
                rng, "gaussian-dp", "gaussian-dp", "log-sobolev", "log-sobolev-simple", "approximate-sampling", "langevin-steps"
            )
        )
    )
    adjacency = str(either(rng, *ADJACENCIES))
    blocks = int(rng.integers(1, 4)) if theorem.name in ("gaussian-dp", "approximate-sampling") else 1
    lipschitz, precision = [magnitude(rng) for _ in range(blocks)], [magnitude(rng) for _ in range(blocks)]
    constants: dict[str, Any] = {"lipschitz": tuple(lipschitz), "prior_precision": tuple(precision), "convex": True}
    gaps = [2 * mp.mpf(L) for L in lipschitz] if adjacency == "replace-one" else [mp.mpf(L) for L in lipschitz]
    if rng.random() < 0.3:
        shares = [float(rng.uniform(0.1, 1.9)) * L for L in lipschitz]
        constants["difference_lipschitz"] = tuple(shares)
        if adjacency == "replace-one" and theorem.name in ("gaussian-dp", "approximate-sampling"):
            gaps = [mp.mpf(share) for share in shares]
    slack = magnitude(rng, 1e-12, 1e-3)
    if theorem.name in ("approximate-sampling", "langevin-steps"):
        constants |= {"slack": slack, "dimension": 2, "n": 10, "smoothness": 1.0, "prior_smoothness": 2 * max(precision)}
    beta = temperature(rng, made, theorem, constants, adjacency)
    with mp.workdps(50):
        mu = mp.mpf(beta) * mp.sqrt(mp.fsum(g * g / mp.mpf(m) for g, m in zip(gaps, precision, strict=True)))
    hold_shift(made, theorem, constants, adjacency, beta, mu, rng)


@case("gaussian mean", 1)
def means(rng: Generator, made: Case) -> None:
    """The mean of bounded vectors: μ = 2rβ/√(nβ + λ) in 50 digits."""
    theorem = get(str(either(rng, "gaussian-mean", "gaussian-mean-paper")))
    radius, n = magnitude(rng), size(rng, 1e12)
    precision = magnitude(rng) if rng.random() < 0.8 else 0.0
    constants = {"record_radius": radius, "n": n, "prior_precision": precision}
    beta = temperature(rng, made, theorem, constants, "replace-one")
    with mp.workdps(50):
        mu = 2 * mp.mpf(radius) * beta / mp.sqrt(mp.mpf(n) * beta + precision)
    hold_shift(made, theorem, constants, "replace-one", beta, mu, rng)


@case("langevin-last-iterate", 1)
def langevin(rng: Generator, made: Case) -> None:
    """Quadratics of the least and of the largest curvature: the law of the last iterate is normal, in closed form."""
    theorem = get("langevin-last-iterate")
    precision, n = magnitude(rng), size(rng, 1e4)
    smoothness, steps = magnitude(rng), size(rng, 1e4)
    adjacency = str(either(rng, *ADJACENCIES))
    lipschitz = magnitude(rng)
    prior_smoothness = precision * (1.0 if rng.random() < 0.5 else magnitude(rng, 0.01, 1e6))
    constants: dict[str, Any] = {
        "lipschitz": lipschitz, "prior_precision": precision, "prior_smoothness": prior_smoothness, "convex": True,
        "smoothness": smoothness, "steps": steps, "n": n, "maximum_n": n,
    }  # fmt: skip
    beta = magnitude(rng)
    largest = mp.mpf(n) * beta * smoothness + prior_smoothness
    if rng.random() < 0.6:
        constants["step"] = float(1 / largest) * magnitude(rng, 1e-6, 3.0)
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    made.setting = {"constants": constants, "adjacency": adjacency, "beta": beta}
    step = constants.get("step") or float(2 / (largest + precision)) * (1 - 2.0**-40)
    gap = mp.mpf(beta) * lipschitz * (2 if adjacency == "replace-one" else 1)
    for curvature in (mp.mpf(precision), largest):  # M ≥ m is for the theorem to demand
        error = 0.0 if "step" in constants else 1e-11
        mu = exact.last_iterate_mu(step, gap, curvature, steps)
        made.at_most(f"μ at curvature {float(curvature)!r}", mu * (1 - error), claim.mu)


@case("proximal-last-iterate", 1)
def proximal(rng: Generator, made: Case) -> None:
    """A loss difference that is a line: every iterate is normal, and its separation is known in closed form."""
    theorem = get("proximal-last-iterate")
    precision, lipschitz, step, steps = magnitude(rng), magnitude(rng), magnitude(rng), size(rng, 1e9)
    adjacency, beta = str(either(rng, *ADJACENCIES)), magnitude(rng)
    constants = {"lipschitz": lipschitz, "prior_precision": precision, "convex": True, "step": step, "steps": steps}
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    made.setting = {"constants": constants, "adjacency": adjacency, "beta": beta}
    gap = mp.mpf(beta) * lipschitz * (2 if adjacency == "replace-one" else 1)
    made.at_most("μ of a line", exact.proximal_line_mu(step, gap, precision, steps), claim.mu)
    made.at_most("claim", claim.mu, gap / mp.sqrt(precision) * (1 + mp.mpf(2) ** -40))


def finite_losses(rng: Generator, points: int) -> np.ndarray:
    """Return losses in [0, 1] of a record at every parameter, corners included."""
    levels = rng.random(points)
    corners = rng.integers(0, 2, points).astype(float)
    return np.where(rng.random(points) < 0.6, corners, levels)


def bounded(name: str, rng: Generator, made: Case) -> None:
    """Finitely many parameters, losses at the ends of what is declared, priors down to 1e-12: by enumeration in 60 digits."""
    theorem, adjacency = get(name), str(either(rng, *ADJACENCIES))
    points = int(rng.integers(2, 6))
    x, y = finite_losses(rng, points), finite_losses(rng, points)
    if rng.random() < 0.5:
        x[:2], y[:2] = (0.0, 1.0), (1.0, 0.0)
    width = magnitude(rng)
    declared = str(
        either(rng, "loss_bound", "loss_interval", "difference_bound", "sensitivity", "difference_range", "loss_range")
    )
    constants: dict[str, Any]
    low = 0.0
    if declared == "loss_bound":
        constants, low = {"loss_bound": width / 2}, -width / 2
    elif declared == "loss_interval":
        low = width * float(either(rng, 0.0, -1.0, 0.5))
        constants = {"loss_interval": (low, low + width)}
        width = (low + width) - low
    elif declared == "sensitivity" and adjacency == "add-remove":
        constants, low = {"sensitivity": width / 2}, -width / 2  # |loss| is at most the sensitivity
    else:
        constants = {declared: width}
        if declared == "difference_range":
            x, y = x / 2, y / 2
    beta = temperature(rng, made, theorem, constants, adjacency, pure=True)
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    made.setting |= {
        "theorem": name,
        "constants": constants,
        "adjacency": adjacency,
        "beta": beta,
        "x": x.tolist(),
        "y": y.tolist(),
    }
    with mp.workdps(60):
        prior = [mp.mpf(magnitude(rng, 1e-12, 1.0)) for _ in range(points)]
        losses = [[mp.mpf(low) + mp.mpf(width) * mp.mpf(float(v)) for v in each] for each in (x, y)]
        if adjacency == "add-remove":
            losses[1] = [mp.mpf(0)] * points
        laws = []
        for each in losses:
            exponents = [-mp.mpf(beta) * loss for loss in each]
            masses = [p * mp.exp(e - max(exponents)) for p, e in zip(prior, exponents, strict=True)]
            laws.append([mass / mp.fsum(masses) for mass in masses])
        scale = beta * width
        epsilons = epsilons_for(rng, min(scale, 1e3)) + ([made.setting["budget"].epsilon] if "budget" in made.setting else [])
        for epsilon in epsilons:
            for p, q in (laws, laws[::-1]):
                value = exact.stick(list(zip(p, q, strict=True)), epsilon)
                made.at_most(f"δ({epsilon!r})", value * (1 - mp.mpf(10) ** -40), claim.delta(epsilon))
        ratio = max(abs(mp.log(p / q)) for p, q in zip(*laws, strict=True))
        made.at_most("log ratio", ratio * (1 - mp.mpf(10) ** -40), claim.epsilon(0.0))
        if "budget" in made.setting:
            made.at_most("the budget's δ", claim.delta(made.setting["budget"].epsilon), made.setting["budget"].delta)


for _name in ("exponential-mechanism", "bounded-loss", "bounded-difference", "bounded-range"):
    case(_name, 0.5)(partial(bounded, _name))


@case("contaminated-uniform", 0.5)
def contaminated(rng: Generator, made: Case) -> None:
    """Labels of a model that may give 0 or F·g to a record, contaminated by g: enumeration of two parameters and a prior."""
    theorem, adjacency = get("contaminated-uniform"), str(either(rng, *ADJACENCIES))
    p, ratio, beta = fraction(rng), magnitude(rng), magnitude(rng)
    constants = {"contamination": p, "density_ratio": ratio}
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    made.setting = {"constants": constants, "adjacency": adjacency, "beta": beta}
    with mp.workdps(60):
        top = mp.log1p((1 - mp.mpf(p)) * mp.mpf(ratio) / mp.mpf(p))
        weight = mp.mpf(magnitude(rng, 1e-12, 1.0))
        x, y = (top, mp.mpf(0)), ((mp.mpf(0), top) if adjacency == "replace-one" else (mp.mpf(0), mp.mpf(0)))
        laws = []
        for each in (x, y):
            masses = [w * mp.exp(mp.mpf(beta) * (value - top)) for w, value in zip((mp.mpf(1), weight), each, strict=True)]
            laws.append([mass / mp.fsum(masses) for mass in masses])
        width = float(claim.range)
        made.at_most("range", beta * top * (2 if adjacency == "replace-one" else 1), width)
        for epsilon in epsilons_for(rng, min(width, 1e3)):
            for one, other in (laws, laws[::-1]):
                made.at_most(f"δ({epsilon!r})", exact.stick(list(zip(one, other, strict=True)), epsilon), claim.delta(epsilon))


@case("lipschitz-metric", 0.5)
def lipschitz(rng: Generator, made: Case) -> None:
    """log p_θ(x) = ±Lx on two parameters, records at both ends of the diameter: range 2βLρ."""
    theorem = get("lipschitz-metric")
    L, diameter, beta = magnitude(rng), magnitude(rng, 1e-6, 1e6), magnitude(rng)
    constants = {"metric_lipschitz": L, "metric_diameter": diameter}
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency="replace-one")
    made.setting = {"constants": constants, "beta": beta}
    with mp.workdps(60):
        reach = mp.mpf(beta) * mp.mpf(L) * mp.mpf(diameter)
        weight = mp.mpf(magnitude(rng, 1e-12, 1.0))
        made.at_most("range", 2 * reach, claim.range)
        first, second = [mp.exp(-2 * reach), weight], [mp.mpf(1), weight]
        laws = [[mass / mp.fsum(each) for mass in each] for each in (first, second)]
        for epsilon in epsilons_for(rng, min(float(2 * reach), 1e3)):
            for one, other in (laws, laws[::-1]):
                made.at_most(f"δ({epsilon!r})", exact.stick(list(zip(one, other, strict=True)), epsilon), claim.delta(epsilon))


@case("squared loss on an interval", 1)
def strongly_convex(rng: Generator, made: Case) -> None:
    """½m(θ − x)² on [−B, B]: strongly convex losses, n public or bounded below, both adjacencies, by quadrature."""
    theorem, adjacency = get("gaussian-dp"), str(either(rng, *ADJACENCIES))
    half, reach, curvature = magnitude(rng, 1e-6, 1e6), magnitude(rng, 1e-6, 1e6), magnitude(rng)
    precision, n = magnitude(rng), size(rng, 1e6)
    constants: dict[str, Any] = {
        "lipschitz": curvature * (half + reach) * (1 + 1e-15), "difference_lipschitz": 2 * curvature * reach, "convex": True,
        "loss_strong_convexity": curvature, "prior_precision": precision,
    }  # fmt: skip
    constants |= {"n": n} if adjacency == "replace-one" else {"minimum_n": n - 1}
    if constants["difference_lipschitz"] > 2 * constants["lipschitz"]:
        return
    beta = temperature(rng, made, theorem, constants, adjacency)
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    made.setting |= {"constants": constants, "adjacency": adjacency, "beta": beta, "half": half, "reach": reach}
    common = float(either(rng, 0.0, reach, -reach)) * (n - 1)
    total = precision + n * beta * curvature
    q_total = total if adjacency == "replace-one" else precision + (n - 1) * beta * curvature
    pull, q_pull = (
        beta * curvature * (common + reach),
        beta * curvature * (common - (reach if adjacency == "replace-one" else 0.0)),
    )
    epsilons = epsilons_for(rng, min(claim.mu, 1e3)) + ([made.setting["budget"].epsilon] if "budget" in made.setting else [])
    # measured from the end of the interval that the data pull towards, so that far means do not swallow the digits
    mean = pull / total
    origin = min(max(mean, -half), half)

    def log_p(t: np.ndarray) -> np.ndarray:
        return -total * t * (t / 2 + (origin - mean))

    def log_q(t: np.ndarray) -> np.ndarray:
        return -q_total * t * (t / 2 + (origin - q_pull / q_total))

    def terms(t: np.ndarray) -> np.ndarray:
        return total * np.abs(t) * (np.abs(t) + abs(origin) + 2 * abs(mean) + abs(q_pull / q_total))

    scale = 1 / math.sqrt(total)
    shown = curve(log_p, log_q, Line(-half - origin, half - origin, (0.0, mean - origin), scale, (), terms), epsilons)
    made.profile(claim, shown, epsilons)
    if "budget" in made.setting:
        made.at_most("the budget's δ", float(shown.worst[-1]), made.setting["budget"].delta, float(shown.error[-1]))
