"""Langevin chains: last iterates propagated as densities, and steps at their schedule in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_expit, ndtr

from gibbsafe.privacy import Adjacency, GaussianDP
from gibbsafe.theorems import Constants, get

from ..quadrature import NODES, WEIGHTS, Array, Pair, panels
from .cases import (
    ADD,
    REPLACE,
    assert_within,
    gdp,
    run,
)


@dataclass(frozen=True)
class Chain:
    """The law of a projected Langevin chain in one dimension, propagated as nodes and weights (atoms at the ends of K)."""

    gradient: Callable[[Array], Array]
    start: float
    step: float
    steps: int
    breaks: tuple[float, ...]
    interval: tuple[float, float] | None = None

    def law(self, low: float, high: float) -> tuple[Callable[[Array], Array], tuple[float, float]]:
        """Return the log density of the last iterate inside the interval, and its atoms at the two ends."""
        noise = math.sqrt(2 * self.step)
        edges = panels(low, high, noise / 2, self.breaks)
        half = np.diff(edges)[:, None] / 2
        grid, weight = (edges[:-1, None] + half + half * NODES).ravel(), (half * WEIGHTS).ravel()
        nodes, mass = np.array([self.start]), np.array([1.0])
        for k in range(self.steps):
            centre = nodes - self.step * self.gradient(nodes)
            at = mass
            if k < self.steps - 1:
                density = np.exp(-(((grid[:, None] - centre) / noise) ** 2) / 2) @ at / (noise * math.sqrt(2 * math.pi))
                ends_mass = self._atoms(centre, at, noise)
                nodes, mass = np.append(grid, [low, high]), np.append(density * weight, ends_mass)

        def log_density(t: Array) -> Array:
            flat = np.ravel(t)
            exponent = -(((flat[:, None] - centre) / noise) ** 2) / 2
            top = exponent.max(axis=1)
            value = top + np.log(np.exp(exponent - top[:, None]) @ at) - math.log(noise * math.sqrt(2 * math.pi))
            return value.reshape(np.shape(t))

        return log_density, self._atoms(centre, at, noise)

    def _atoms(self, centre: Array, mass: Array, noise: float) -> tuple[float, float]:
        if self.interval is None:
            return 0.0, 0.0
        low, high = self.interval
        return float(ndtr((low - centre) / noise) @ mass), float(ndtr((centre - high) / noise) @ mass)


def chain_delta(first: Chain, second: Chain, low: float, high: float, epsilons: tuple[float, ...]) -> list[float]:
    (log_p, atoms_p), (log_q, atoms_q) = first.law(low, high), second.law(low, high)
    edges = panels(low, high, math.sqrt(2 * first.step) / 2)
    pair = Pair(log_p, log_q, edges, normalised=True)
    atoms = [sum(max(0.0, p - math.exp(e) * q) for p, q in zip(atoms_p, atoms_q, strict=True)) for e in epsilons]
    return [pair.delta(e) + a for e, a in zip(epsilons, atoms, strict=True)]


@pytest.mark.parametrize("model", ["logistic", "Huber"])
@pytest.mark.parametrize("projected", [False, True])
def test_langevin_last_iterate(model: str, projected: bool) -> None:
    """Density propagation of neighbouring chains; neighbours are opposite rows, or records far on either side."""

    @run(15)
    @given(
        beta=st.floats(0.05, 1.5),
        m=st.floats(0.2, 3.0),
        fraction=st.floats(0.05, 1.3),  # of the step 2/(m + M): above 1, and at c ≥ 1, other branches of the formula
        steps=st.integers(1, 4),
        start=st.floats(-0.5, 0.5),
        common=st.lists(st.sampled_from([-1.0, 1.0, 0.3]), max_size=2),
        other=st.sampled_from([-1.0, 0.0]),
        adjacency=st.sampled_from([REPLACE, ADD]),
    )
    def sweep(
        beta: float, m: float, fraction: float, steps: int, start: float, common: list[float], other: float, adjacency: Adjacency
    ) -> None:
        if model == "logistic":
            lipschitz, smoothness, breaks = 2.0, 1.0, ()
            slope = {w: (lambda t, w=w: -2 * w * np.exp(log_expit(-2 * w * t))) for w in (-1.0, 0.0, 0.3, 1.0)}
        else:
            lipschitz, smoothness = 1.0, 1.0
            slope = {w: (lambda t, w=w: np.clip(t - 30 * w, -1, 1)) for w in (-1.0, 0.0, 0.3, 1.0)}
            breaks = (-1.0, 1.0)
        n = len(common) + 1
        large = n * beta * smoothness + m
        step = fraction * 2 / (m + large)
        interval = (-0.8, 0.9) if projected else None
        growth = max(abs(1 - step * m), abs(1 - step * large))
        mean, variance = 0.5, 0.0
        for _ in range(steps):
            mean, variance = growth * mean + step * n * beta * lipschitz, growth**2 * variance + 2 * step
        reach = mean + 10 * math.sqrt(variance)
        low, high = interval or (-reach, reach)

        def chain(records: list[float]) -> Chain:
            def gradient(t: Array) -> Array:
                total = m * t
                for w in records:
                    total = total + beta * slope[w](t)
                return total

            return Chain(gradient, start, step, steps, breaks, interval)

        first = chain([*common, 1.0])
        second = chain([*common, other]) if adjacency is REPLACE else chain(common)
        constants = Constants(
            convex=True, lipschitz=lipschitz, smoothness=smoothness, prior_precision=m, prior_smoothness=m,
            n=n, minimum_n=n - 1, maximum_n=n, step=step, steps=steps,
        )  # fmt: skip
        claim = get("langevin-last-iterate").guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
        epsilons = (0.0, 0.1, 0.5, 1.5)
        for a, b in ((first, second), (second, first)):
            for epsilon, exact in zip(epsilons, chain_delta(a, b, low, high, epsilons), strict=True):
                assert_within(exact, claim.delta(epsilon), 1e-7, f"t = {steps}, ε = {epsilon}, {adjacency}")

    sweep()


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_one_langevin_step_attains_its_claim(epsilon: float) -> None:
    """One step from a fixed start is a Gaussian mechanism: far Huber records on either side differ by the full gap."""
    beta, m, step = 0.6, 1.0, 0.2
    constants = Constants(
        convex=True, lipschitz=1.0, smoothness=1.0, prior_precision=m, prior_smoothness=m, n=1, step=step, steps=1
    )
    claim = get("langevin-last-iterate").guarantee(constants, inverse_temperature=beta, adjacency=REPLACE)
    chains = [Chain(lambda t, w=w: m * t + beta * np.clip(t - 30 * w, -1, 1), 0.1, step, 1, ()) for w in (-1.0, 1.0)]
    (exact,) = chain_delta(*chains, -9.0, 9.0, (epsilon,))
    assert exact / claim.delta(epsilon) == pytest.approx(1.0, abs=1e-8)


@run(60)
@given(
    beta=st.floats(0.05, 2.0),
    m=st.floats(0.1, 3.0),
    n=st.integers(1, 20),
    fraction=st.floats(0.02, 0.98),
    steps=st.integers(1, 400),
    epsilon=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_langevin_on_quadratics_attains_its_claim(
    beta: float, m: float, n: int, fraction: float, steps: int, epsilon: float
) -> None:
    """Losses ½(θ − x)², |x| ≤ 1: the chain is Gaussian, and its means part by hG Σcʲ with variance 2h Σc²ʲ, c = 1 − hm."""
    curvature = m + n * beta
    step = fraction / curvature  # c in (0, 1): the records pull in one direction at every step
    contraction = 1 - step * curvature
    powers = contraction ** np.arange(steps)
    shift, variance = step * 2 * beta * powers.sum(), 2 * step * (powers**2).sum()
    constants = Constants(
        convex=True, difference_lipschitz=2.0, smoothness=1.0, loss_strong_convexity=1.0,
        prior_precision=m, prior_smoothness=m, n=n, step=step, steps=steps,
    )  # fmt: skip
    claim = get("langevin-last-iterate").guarantee(constants, inverse_temperature=beta, adjacency=REPLACE)
    exact = GaussianDP(shift / math.sqrt(variance))
    assert exact.mu / claim.mu == pytest.approx(1.0, abs=1e-9)
    assert exact.mu <= claim.mu * (1 + 1e-12)
    assert exact.delta(epsilon) <= claim.delta(epsilon) * (1 + 1e-9)


@run(30)
@given(
    beta=st.floats(0.02, 1.0),
    m=st.floats(0.2, 4.0),
    n=st.integers(1, 5),
    gamma=st.floats(0.01, 0.4),
    epsilon=st.sampled_from([0.1, 0.5, 1.0, 3.0]),
)
def test_langevin_steps_hold_at_their_schedule(beta: float, m: float, n: int, gamma: float, epsilon: float) -> None:
    """Far Huber rows in the plane: the potential is quadratic over the mass, so the chain's law is Gaussian in closed form.

    After the corrected number of steps it is within γ of the posterior, and neighbours are within the claim.
    """
    constants = Constants(
        convex=True, lipschitz=1.0, smoothness=1.0, prior_precision=m, prior_smoothness=m, n=n, dimension=2, slack=gamma
    )
    theorem = get("langevin-steps")
    step, count = theorem.schedule(constants, beta, REPLACE)
    claim = theorem.guarantee(constants, inverse_temperature=beta, adjacency=REPLACE)
    shrink = (1 - step * m) ** 2
    remains = math.exp(count * math.log(shrink))
    variance = remains / (n * beta + m) + 2 * step * (1 - remains) / (1 - shrink)
    v, w = max(variance, 1 / m), min(variance, 1 / m)
    edge = 2 * math.log(v / w) / (1 / w - 1 / v) if v > w else 0.0  # squared radius where the two densities cross
    tv = math.exp(-edge / (2 * v)) - math.exp(-edge / (2 * w)) if v > w else 0.0
    assert tv <= gamma
    exact = gdp(epsilon, 2 * beta / m / math.sqrt(variance))
    assert_within(exact, claim.delta(epsilon), 1e-9, "langevin-steps")
