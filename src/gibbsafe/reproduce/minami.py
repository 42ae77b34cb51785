"""Minami, Arai, Sato, Nakagawa 2016, *Differential privacy without sensitivity*: its numbers and its Figure 1.

Every value is computed here by the library's theorems; only the column ``printed`` quotes the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gibbsafe._numerics import least
from gibbsafe._plotting import figure
from gibbsafe._types import JSON
from gibbsafe.privacy import Budget
from gibbsafe.privacy.profiles import gaussian_delta
from gibbsafe.theorems import Constants, get
from gibbsafe.theorems.langevin_steps import schedule

__all__ = ["Number", "figure1", "numbers"]

BUDGET = Budget(epsilon=0.1, delta=1e-3)  # the paper's running example
REPLACE = "replace-one"


@dataclass(frozen=True)
class Number:
    """One number of the paper: as printed, by the paper's own formula, and by the exact analysis."""

    where: str
    quantity: str
    printed: str
    recomputed: float
    exact: float
    erratum: str | None = None

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self)


def _first_n(condition: Callable[[int], bool]) -> int:
    """Return the least n for which an increasing condition holds."""
    high = 1
    while not condition(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def _mean_beta(theorem: str, n: int) -> float:
    """Return the largest β for the mean of n vectors of norm at most 1 under a flat prior."""
    return get(theorem).calibrate(Constants(record_radius=1.0, n=n), BUDGET, adjacency=REPLACE)


def _mean_numbers() -> Iterator[Number]:
    paper, exact = _mean_beta("gaussian-mean-paper", 1), _mean_beta("gaussian-mean", 1)
    yield Number("supplement B, (B.4), (B.8)", "β/n for the Gaussian mean", "1.79e-4", paper, exact)
    mechanism = _mean_beta("gaussian-mean", 1)
    formula = BUDGET.epsilon**2 / (8 * math.log(2 / BUDGET.delta))
    yield Number("supplement B, (B.7)", "β/n of the Gaussian mechanism", "1.26e-4", formula, mechanism, "E29")
    ball = Constants(loss_interval=(0.0, 2.0))  # half the squared distance of two points of the unit ball
    pure = Budget(BUDGET.epsilon)
    printed_bound = get("exponential-mechanism").calibrate(Constants(loss_bound=2.0), pure, adjacency=REPLACE)
    sharper = get("exponential-mechanism").calibrate(ball, pure, adjacency=REPLACE)
    yield Number("supplement B", "β of the exponential mechanism on the unit ball", "0.0125", printed_bound, sharper)
    crossing = _first_n(lambda n: _mean_beta("gaussian-mean-paper", n) > printed_bound)
    crossing_exact = _first_n(lambda n: _mean_beta("gaussian-mean", n) > printed_bound)
    yield Number("supplement B", "least n that beats the exponential mechanism", "15", crossing, crossing_exact, "E29")
    against_range = _first_n(lambda n: _mean_beta("gaussian-mean", n) > sharper)
    by_paper = _first_n(lambda n: _mean_beta("gaussian-mean-paper", n) > sharper)
    yield Number("supplement B", "the same against its sharper form", "—", by_paper, against_range)
    free = _first_n(lambda n: _mean_beta("gaussian-mean-paper", n) >= 1)
    free_exact = _first_n(lambda n: _mean_beta("gaussian-mean", n) >= 1)
    yield Number("supplement B", "least n for which β = 1 is private", "5600", free, free_exact)


def _bernoulli_numbers() -> Iterator[Number]:
    loss = Constants(lipschitz=1.0, prior_precision=1.0, convex=True)
    paper = get("log-sobolev-simple").calibrate(loss, BUDGET, adjacency=REPLACE)
    true_gap = Constants(lipschitz=1.0, difference_lipschitz=1.0, prior_precision=1.0, convex=True)
    exact = get("gaussian-dp").calibrate(true_gap, BUDGET, adjacency=REPLACE)
    where = "supplement C, Example 17"
    yield Number(where, "β for the Bernoulli model with logit-normal prior", "0.012", paper, exact)
    yield Number(where, "asymptotic variance, times the Bayesian one", "83", 1 / paper, 1 / exact)


def _rule_fails(delta: float, epsilon: float) -> bool:
    """Whether Corollary 8's temperature at this ε needs a larger δ."""
    return gaussian_delta(epsilon, epsilon / math.sqrt(1 + 2 * math.log(1 / delta))) > delta


def _rule_numbers() -> Iterator[Number]:
    for epsilon, delta in ((0.1, 1e-3), (0.1, 1e-5), (1.0, 1e-6)):
        loss = Constants(lipschitz=1.0, prior_precision=1.0, convex=True)
        budget = Budget(epsilon, delta)
        paper = get("log-sobolev").calibrate(loss, budget, adjacency=REPLACE)
        exact = get("gaussian-dp").calibrate(loss, budget, adjacency=REPLACE)
        yield Number("Theorem 7", f"largest β/(L/√m) at ε = {epsilon:g}, δ = {delta:g}", "—", paper, exact)
    for delta in (1e-2, 1e-3, 1e-5, 1e-8):
        fails = least(partial(_rule_fails, delta), 1.0)
        yield Number(
            "Corollary 8, (13), (C.1)", f"ε up to which the rule is true, δ = {delta:g}", "every ε > 0", 1.0, fails, "E1"
        )
    radius = 0.1
    yield Number(
        "§3.3", f"Lipschitz constant of the logistic loss with bias, r = {radius:g}", "r", radius, math.hypot(radius, 1), "E3"
    )
    _, steps = schedule(dimension=2, smoothness=3.0, strong_convexity=0.5, slack=0.05)
    yield Number("(17)", "Langevin steps, d = 2, M = 3, m = 0.5, γ = 0.05", "formula", math.ceil(steps * 0.5), steps, "E6")


def numbers() -> list[Number]:
    """Return every number of the paper and its supplement that can be checked, printed beside recomputed and exact."""
    return [*_mean_numbers(), *_bernoulli_numbers(), *_rule_numbers()]


def figure1(path: Path, *, force: bool = False) -> None:
    """Draw the paper's Figure 1: why a Lipschitz analysis does not pay for the size of the parameter space."""
    theta = np.linspace(-6, 6, 401)
    positive, negative = np.logaddexp(0, -theta), np.logaddexp(0, theta)
    slope = 1 / (1 + np.exp(theta))
    with figure(path, "parameter θ (z = 1)", "", width=7.0, height=4.2, force=force) as axes:
        axes.plot(theta, positive, color="#9ecae1", label="loss at label +1")
        axes.plot(theta, negative, color="#fdae6b", label="loss at label −1")
        axes.plot(theta, np.abs(positive - negative), color="#08519c", linewidth=2, label="difference of losses (grows with Θ)")
        gap = np.abs(-slope - (1 - slope))
        axes.plot(theta, gap, "--", color="#a63603", linewidth=2, label="difference of gradients")
        axes.axhline(2.0, linestyle=":", color="black", label="twice the Lipschitz constant")
        axes.set_title("Logistic loss: two labels of one record", loc="left")
        axes.set_ylim(0, 6.3)
        axes.legend(frameon=False, loc="upper center", ncols=2, fontsize=8)
