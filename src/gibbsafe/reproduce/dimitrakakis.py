"""Dimitrakakis, Nelson, Zhang, Mitrokotsa, Rubinstein 2017: Figure 1, and the guarantees of Lemmas 19 to 24 on examples.

Every row of the table states one example three times: by the paper's own formula, with its errata corrected, and by the range of
the log-likelihood difference. Lemmas 19 to 22 bound total variation for replacing one record; Lemmas 23 and 24 bound ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaln

from gibbsafe._plotting import figure
from gibbsafe._types import JSON
from gibbsafe.assumptions import LipschitzLaw, lipschitz_weights
from gibbsafe.assumptions.priors import lipschitz_of_table
from gibbsafe.bounds import range_gap
from gibbsafe.models import (
    BayesianNetwork,
    BetaBernoulli,
    ExponentialRate,
    FiniteFamily,
    LaplaceScale,
    MultivariateNormalPrecision,
    NormalPrecision,
)
from gibbsafe.models.families.family import Family
from gibbsafe.theorems.stochastic_lipschitz import tv_bound

__all__ = ["LemmaRow", "figure1", "finite_bernoulli", "table"]

TV, EPSILON = "total variation", "epsilon"


@dataclass(frozen=True)
class LemmaRow:
    """One lemma on one example: the paper's guarantee, the corrected one and the range bound, all in the same ``quantity``."""

    lemma: int
    family: str
    example: str
    quantity: str
    paper: float
    corrected: float
    range: float
    errata: str
    note: str = ""

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self)


def _printed(ratio: float, floor: float, rate: float, distance: float) -> float:
    """Return √(½C(1 + 2L₀ + 1/c)ρ), Theorem 8.2 as printed."""
    return math.sqrt(0.5 * ratio * (1 + 2 * floor + 1 / rate) * distance)


def _range_tv(family: Family) -> float:
    width = family.metric_constants().whole_difference_range
    assert width is not None
    return range_gap(width).total_variation


def _exponential() -> LemmaRow:
    low, high, bound, rate = 0.1, 0.2, 1.0, 20.0
    ratio = high / min(low * math.exp(-low * bound), high * math.exp(-high * bound))
    family = ExponentialRate(trim=(low, high), bound=bound, rate=rate)
    corrected = tv_bound(rate=rate, floor=low, ratio=ratio, distance=bound)
    example = f"rate in [{low:g}, {high:g}], prior rate {rate:g}, x in [0, {bound:g}]"
    return LemmaRow(19, "exponential", example, TV, _printed(ratio, low, rate, bound), corrected, _range_tv(family), "E9, E30")


def _laplace() -> LemmaRow:
    low, high, bound, rate = 0.5, 0.9, 0.3, 20.0
    printed_ratio = high / (2 * min(1 / (2 * high), math.exp(-bound / low) / (2 * low)))
    ratio = high / min(low * math.exp(-low * bound), high * math.exp(-high * bound))
    family = LaplaceScale(trim=(low, high), bound=bound, rate=rate)
    distance = 2 * bound
    corrected = tv_bound(rate=rate, floor=low, ratio=ratio, distance=distance)
    printed = _printed(printed_ratio, low, rate, distance)
    example = f"inverse scale in [{low:g}, {high:g}], prior rate {rate:g}, |x| ≤ {bound:g}"
    note = f"the printed C is {printed_ratio:.3g}, below 1 and below the true one"
    return LemmaRow(20, "Laplace", example, TV, printed, corrected, _range_tv(family), "E9, E15, E30", note)


def _beta() -> LemmaRow:
    shape, n, trim = 4.0, 8, (0.3, 0.7)
    rate = math.exp((1 - 2 * shape) * math.log(2) - betaln(shape, shape))
    printed_ratio = math.exp(betaln(shape, shape) - betaln((n + 2 * shape - 1) / 2, (n + 2 * shape + 1) / 2))
    ratio = math.exp(betaln(shape, shape) - betaln(shape, shape + n))
    family = BetaBernoulli(alpha=shape, beta=shape, trim=trim)
    corrected = tv_bound(rate=rate, floor=0.0, ratio=ratio, distance=1.0)
    example = f"Beta({shape:g}, {shape:g}), {n} records of 0 or 1"
    note = f"bounds of 1 and more say nothing; the range needs a trim, here [{trim[0]:g}, {trim[1]:g}]"
    return LemmaRow(
        21,
        "Beta–binomial",
        example,
        TV,
        _printed(printed_ratio, math.log(n), rate, 1.0),
        corrected,
        _range_tv(family),
        "E16",
        note,
    )


def _normal() -> LemmaRow:
    low, high, bound, prior_rate, distance = 0.1, 0.5, 1.0, 20.0, 3.0  # records in [0, 1]: ρ ≤ 3
    floor, rate = low / 2, 2 * prior_rate
    printed_ratio = min(math.sqrt(high / low) * math.exp(low * high**2 / 2), math.exp(high**3 / 2))
    ratio = max(math.sqrt(high / low) * math.exp(low * bound**2 / 2), math.exp(high * bound**2 / 2))
    family = NormalPrecision(trim=(low, high), bound=bound, rate=prior_rate)
    corrected = tv_bound(rate=rate, floor=floor, ratio=ratio, distance=distance)
    example = f"precision in [{low:g}, {high:g}], prior rate {prior_rate:g}, mean 0, x in [0, {bound:g}]"
    note = f"the printed C is {printed_ratio:.4g}; its classical claim is 3δ, where √3·δ suffices"
    printed = 3 * _printed(printed_ratio, floor, rate, 1.0)
    return LemmaRow(22, "normal precision", example, TV, printed, corrected, _range_tv(family), "E17, E30", note)


def _multivariate() -> LemmaRow:
    low, high, dimension = 1.0, 2.0, 2
    family = MultivariateNormalPrecision(dimension=dimension, trim=(low, high), bound=1.0)
    lipschitz, width = family.metric_constants().metric_lipschitz, family.metric_constants().whole_difference_range
    assert lipschitz is not None
    assert width is not None
    diameter = family.diameter  # mean 0: the lemma's metric has its first term only
    away = MultivariateNormalPrecision(dimension=dimension, trim=(low, high), bound=1.0, mean=(0.5, 0.0))
    example = f"precision matrix with eigenvalues in [{low:g}, {high:g}], mean 0, |x| ≤ 1, d = {dimension}"
    note = (
        f"mean 0 needs the metric's first term only; with both, records are up to {away.diameter:.5g} apart, not 3; range c₂ − c₁"
    )
    return LemmaRow(23, "multivariate normal", example, EPSILON, 6 * lipschitz, 2 * lipschitz * diameter, width, "E18", note)


def _network() -> LemmaRow:
    smallest, states, nodes = 0.05, 3, 4
    names = [f"node{k}" for k in range(nodes)]
    parents = {name: [before] for before, name in pairwise(names)}
    family = BayesianNetwork(states=dict.fromkeys(names, states), parents=parents, smallest_probability=smallest)
    width = family.metric_constants().whole_difference_range
    assert width is not None
    paper = 2 * max(family.connectivity) * math.log(1 / smallest)
    corrected = 2 * nodes * math.log(1 / smallest)
    example = f"chain of {nodes} nodes with {states} states, conditional probabilities at least {smallest:g}"
    note = "replacing a whole row changes every factor; the printed claim is for one cell"
    return LemmaRow(24, "Bayesian network", example, EPSILON, paper, corrected, width, "E19", note)


def table() -> list[LemmaRow]:
    """Return one row per lemma."""
    return [_exponential(), _laplace(), _beta(), _normal(), _multivariate(), _network()]


# -- Figure 1 ----------------------------------------------------------------------------------------------------------


def finite_bernoulli(spacing: float, *, shun_sensitive: bool) -> LipschitzLaw:
    """Return the law of ℓ for success probabilities Δ, 2Δ, …, 1 − Δ (Examples 1 and 2; erratum E12: the ends are left out).

    The prior is uniform, or ∝ e^{−ℓ(θ)} with ``shun_sensitive``.
    """
    family = FiniteFamily.bernoulli(spacing)
    lipschitz = lipschitz_of_table(family.likelihood)
    return LipschitzLaw.finite(lipschitz, lipschitz_weights(lipschitz if shun_sensitive else np.zeros(len(lipschitz))))


def _curves(law: LipschitzLaw) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    grid = np.linspace(0.0, 3.2, 801)
    yield grid, np.array([law.mass_below(float(point)) for point in grid])
    yield grid, law.steepest().lower_bound(grid)


def figure1(path: Path, *, force: bool = False) -> None:
    """Draw both panels of Figure 1: ξ(Θ_L), its highest lower bounds with L₀ = inf ℓ, and the uniform Lipschitz constants."""
    looks = {0.2: ("#a63603", "--", "x"), 0.05: ("#08519c", "-", "o")}
    with figure(path, "Lipschitz constant L", "prior mass of Θ_L", width=9.6, height=4.2, force=force) as left:
        grid = left.figure.add_gridspec(1, 2)
        left.set_subplotspec(grid[0])
        right = left.figure.add_subplot(grid[1], sharey=left)
        right.set_xlabel("Lipschitz constant L")
        right.spines[["top", "right"]].set_visible(False)
        for axes, shun in ((left, False), (right, True)):
            for spacing, (colour, style, mark) in looks.items():
                law = finite_bernoulli(spacing, shun_sensitive=shun)
                (x, mass), (_, bound) = _curves(law)
                axes.plot(x, mass, style, color=colour, linewidth=2.4, drawstyle="steps-post", label=f"Δ = {spacing:g}")
                pair = law.steepest()
                said = f"1 − exp(−{pair.rate:.2f}(L − {pair.floor:.2f}))"
                axes.plot(x, bound, style, color=colour, linewidth=0.9, label=said)
                face = "none" if mark == "o" else colour
                axes.plot([law.largest], [0.0], mark, color=colour, markerfacecolor=face, clip_on=False, zorder=3)
            axes.set_ylim(0, 1.03)
            axes.set_xlim(0, 3.2)
            axes.legend(frameon=False, loc="lower right", fontsize=8)
        left.set_title("a. uniform prior", loc="left")
        right.set_title("b. prior ∝ exp(−ℓ(θ))", loc="left")
