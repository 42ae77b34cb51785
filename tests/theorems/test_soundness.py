"""No theorem of the registry claims less than the truth: exact divergences of neighbouring posteriors against every claim.

`CASES` is the table: a model is one entry, with its loss, prior, declared constants, grid, and the theorems whose premises
those constants meet under each adjacency. The registry is checked against that list in both directions, so a theorem cannot
drop out of the suite by refusing.

How the neighbours are chosen: hypothesis draws the common records and the pair (x, x′) from the ends of the record domain,
where the loss difference is steepest or its range largest (opposite rows ±r, labels flipped, responses far beyond the mass,
both ends of an interval), mixed with interior points; where the worst pair is known in closed form (far |θ − x| losses, far
Huber and pinball responses, quadratics) it is drawn explicitly and the ratio to the claim is asserted to be 1. Replace-one
compares D ∪ {x} with D ∪ {x′}, add-remove D ∪ {x} with D; both directions always.

Tolerance: the quadrature's relative error (1e-8 in one dimension, 1e-6 in two) and 1e-12 absolute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import betainc, betaln, log_expit, logit, ndtr

from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.privacy import Adjacency, BoundedRange, Budget, GaussianDP, PureDP
from gibbsafe.theorems import THEOREMS, Constants, get

from .quadrature import NODES, WEIGHTS, Array, Pair, panels

REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
EPSILONS = (0.0, 0.02, 0.1, 0.3, 0.7, 1.0, 2.0, 4.0)
Parameters = dict[str, Any]

CONVEX = {"gaussian-dp", "log-sobolev", "log-sobolev-simple"}
BOUNDED = {"exponential-mechanism", "bounded-loss", "bounded-range"}


def gdp(epsilon: float, mu: float) -> float:
    """Return the Gaussian profile, written here once more."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def run(examples: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A model: what hypothesis draws, the loss and log prior on its grid, the declared constants, the theorems that apply.

    The drawn parameters always hold ``beta``, ``common`` (a list of records), ``x`` and ``other`` (the replaced record).
    """

    name: str
    parameters: st.SearchStrategy[Parameters]
    loss: Callable[..., Array]  # (parameters, record, *theta)
    log_prior: Callable[..., Array]  # (parameters, *theta)
    grid: Callable[[Parameters], Parameters]  # edges, and outer and breaks in two dimensions
    constants: Callable[[Parameters], Parameters]
    replace_one: frozenset[str]
    add_remove: frozenset[str]
    relative: float = 1e-8

    def pair(self, c: Parameters, adjacency: Adjacency) -> Pair:
        """Return the posteriors of D ∪ {x} and of its neighbour."""
        first = [*c["common"], c["x"]]
        second = [*c["common"], c["other"]] if adjacency is REPLACE else c["common"]

        def log_posterior(records: list[Any]) -> Callable[..., Array]:
            def log_density(*theta: Array) -> Array:
                value = self.log_prior(c, *theta)
                for record in records:
                    value = value - c["beta"] * self.loss(c, record, *theta)
                return value

            return log_density

        return Pair(log_posterior(first), log_posterior(second), **self.grid(c))

    def expected(self, adjacency: Adjacency) -> frozenset[str]:
        """Return the theorems whose premises the declared constants meet."""
        return self.replace_one if adjacency is REPLACE else self.add_remove


def case(*args: Any, replace_one: set[str], add_remove: set[str], **kwargs: Any) -> Case:
    return Case(*args, replace_one=frozenset(replace_one), add_remove=frozenset(add_remove), **kwargs)


def drawn(record: st.SearchStrategy[Any], common: int = 2, **others: st.SearchStrategy[Any]) -> st.SearchStrategy[Parameters]:
    beta = others.pop("beta", st.floats(-2.5, 0.4).map(lambda power: 10.0**power))
    fields = {"beta": beta, "common": st.lists(record, max_size=common), "x": record, "other": record, **others}
    return st.fixed_dictionaries(fields)


def ends(*values: Any, inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw the extreme records three times in four."""
    return st.sampled_from(values) | st.sampled_from(values) | st.sampled_from(values) | inside


PRECISION = st.floats(0.3, 8.0)


def gaussian_prior(c: Parameters, theta: Array) -> Array:
    return -c["m"] * theta**2 / 2


def real_line(slope: Callable[[Parameters], float], kinks: Callable[[Parameters, Any], list[float]] = lambda c, x: []) -> Any:
    """Cover 12 standard deviations beyond every mode that losses with this slope can reach (mass left out < 1e-31)."""

    def grid(c: Parameters) -> Parameters:
        reach = c["beta"] * (len(c["common"]) + 1) * slope(c) / c["m"] + 12 / math.sqrt(c["m"])
        breaks = [k for record in [*c["common"], c["x"], c["other"]] for k in kinks(c, record)]
        return {"edges": panels(-reach, reach, 0.5 * min(1.0, 1 / math.sqrt(c["m"])), breaks)}

    return grid


def prior_constants(c: Parameters, **others: Any) -> Parameters:
    return {"convex": True, "prior_precision": c["m"], "n": len(c["common"]) + 1, **others}


def huber(k: float, u: Array) -> Array:
    return np.where(np.abs(u) <= k, u**2 / 2, k * (np.abs(u) - k / 2))


def pinball(tau: float, u: Array) -> Array:
    return np.where(u >= 0, tau * u, (tau - 1) * u)


def row(radius: float, response: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, float]]:
    """Draw whole rows (z, y): both change when a record is replaced."""
    return st.tuples(ends(-radius, radius, inside=st.floats(-radius, radius)), response)


def sloped(x: tuple[float, float]) -> bool:
    """Return whether the row's loss depends on the slope at all on our grids (a kink at y/z is somewhere finite)."""
    return abs(x[0]) > 1e-6


FAR = ends(-50.0, 50.0, inside=st.floats(-3.0, 3.0))

ONE_DIMENSION = [
    case(
        "logistic",
        drawn(ends(-1.0, 1.0, inside=st.floats(-1.0, 1.0)), m=PRECISION, r=st.floats(0.2, 3.0)),
        loss=lambda c, w, theta: -log_expit(c["r"] * w * theta),  # w r = label times feature
        log_prior=gaussian_prior,
        grid=real_line(lambda c: c["r"]),
        constants=lambda c: prior_constants(c, lipschitz=c["r"]),
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "logistic on an interval",  # θ ∈ [−b, b]: a convex set, and bounded losses
        drawn(ends(-1.0, 1.0, inside=st.floats(-1.0, 1.0)), common=3, m=PRECISION, r=st.floats(0.2, 3.0), b=st.floats(0.2, 3.0)),
        loss=lambda c, w, theta: -log_expit(c["r"] * w * theta),
        log_prior=gaussian_prior,
        grid=lambda c: {"edges": panels(-c["b"], c["b"], c["b"] / 20)},
        constants=lambda c: prior_constants(
            c,
            lipschitz=c["r"],
            loss_interval=(-log_expit(c["r"] * c["b"]), -log_expit(-c["r"] * c["b"])),
            difference_bound=c["r"] * c["b"],
            metric_lipschitz=c["b"],
            metric_diameter=2 * c["r"],
        ),
        replace_one=CONVEX | BOUNDED | {"bounded-difference", "lipschitz-metric"},
        add_remove=CONVEX | BOUNDED,
    ),
    case(
        "Bernoulli in logits",  # the loss difference is exactly linear: G = β, not 2β
        drawn(st.sampled_from([0.0, 1.0]), common=4, m=PRECISION),
        loss=lambda c, x, theta: -x * theta - log_expit(-theta),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.0),
        constants=lambda c: prior_constants(c, lipschitz=1.0, difference_lipschitz=1.0),
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "Huber location",
        drawn(FAR, m=PRECISION, k=st.floats(0.3, 2.0)),
        loss=lambda c, x, theta: huber(c["k"], theta - x),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: c["k"], lambda c, x: [x - c["k"], x + c["k"]]),
        constants=lambda c: prior_constants(c, lipschitz=c["k"]),
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "Huber regression",
        drawn(row(2.0, FAR), m=PRECISION, k=st.floats(0.3, 1.5)),
        loss=lambda c, x, theta: huber(c["k"], x[1] - theta * x[0]),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 2 * c["k"], lambda c, x: [(x[1] + s * c["k"]) / x[0] for s in (-1, 1)] if sloped(x) else []),
        constants=lambda c: prior_constants(c, lipschitz=2 * c["k"]),
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "pinball location",
        drawn(FAR, m=PRECISION, tau=st.floats(0.05, 0.95)),
        loss=lambda c, x, theta: pinball(c["tau"], x - theta),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.0, lambda c, x: [x]),
        constants=lambda c: prior_constants(c, lipschitz=max(c["tau"], 1 - c["tau"]), difference_lipschitz=1.0),
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "pinball regression",
        drawn(row(1.5, FAR), m=PRECISION, tau=st.floats(0.05, 0.95)),
        loss=lambda c, x, theta: pinball(c["tau"], x[1] - theta * x[0]),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.5, lambda c, x: [x[1] / x[0]] if sloped(x) else []),
        constants=lambda c: prior_constants(c, lipschitz=1.5 * max(c["tau"], 1 - c["tau"])),  # difference: 2 max(τ, 1−τ) r
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "absolute loss",
        drawn(FAR, m=PRECISION),
        loss=lambda c, x, theta: np.abs(theta - x),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.0, lambda c, x: [x]),
        constants=lambda c: prior_constants(c, lipschitz=1.0),
        replace_one=CONVEX,
        add_remove=CONVEX,
    ),
    case(
        "quadratic on an interval",  # records and parameters in [−b, b]
        drawn(ends(-1.0, 1.0, inside=st.floats(-1.0, 1.0)), common=4, m=st.floats(0.1, 5.0), b=st.floats(0.2, 2.0)),
        loss=lambda c, x, theta: (theta - c["b"] * x) ** 2 / 2,
        log_prior=gaussian_prior,
        grid=lambda c: {"edges": panels(-c["b"], c["b"], c["b"] / 12)},
        constants=lambda c: prior_constants(
            c,
            lipschitz=2 * c["b"],
            difference_lipschitz=2 * c["b"],
            loss_strong_convexity=1.0,
            loss_interval=(0.0, 2 * c["b"] ** 2),
            difference_bound=2 * c["b"] ** 2,
            difference_range=4 * c["b"] ** 2,
            metric_lipschitz=2 * c["b"],
            metric_diameter=2 * c["b"],
        ),
        replace_one=CONVEX | BOUNDED | {"bounded-difference", "lipschitz-metric"},
        add_remove=CONVEX | BOUNDED,
    ),
]


def bernoulli_loss(c: Parameters, x: int, theta: Array) -> Array:
    return -np.log(theta) if x else -np.log1p(-theta)


def trimmed_bernoulli_constants(c: Parameters) -> Parameters:
    a, b = c["trim"]
    return {
        "convex": True,
        "n": len(c["common"]) + 1,
        "lipschitz": max(1 / a, 1 / (1 - b)),
        "difference_lipschitz": max(1 / (a * (1 - a)), 1 / (b * (1 - b))),
        "loss_strong_convexity": min(1 / b**2, 1 / (1 - a) ** 2),
        "loss_interval": (min(-math.log(b), -math.log1p(-a)), max(-math.log(a), -math.log1p(-b))),
        "difference_bound": max(abs(logit(a)), abs(logit(b))),
        "difference_range": logit(b) - logit(a),
        "metric_lipschitz": max(abs(logit(a)), abs(logit(b))),  # Hamming distance
        "metric_diameter": 1.0,
    }


def trim_grid(c: Parameters) -> Parameters:
    a, b = c["trim"]
    return {"edges": panels(a, b, (b - a) / 24)}


TRIM = st.tuples(st.floats(0.03, 0.45), st.floats(0.55, 0.97))


def exponential_constants(c: Parameters) -> Parameters:
    """Return the constants of θe^{−θx} on θ ∈ [c₁, c₂], x ∈ [0, B]: loss θx − ln θ."""
    (low, high), bound = c["trim"], c["bound"]
    return {
        "convex": True,
        "n": len(c["common"]) + 1,
        "lipschitz": max(1 / low, bound - 1 / high),
        "difference_lipschitz": min(bound, 2 * max(1 / low, bound - 1 / high)),
        "loss_strong_convexity": 1 / high**2,
        "loss_interval": (-math.log(high), max(bound * theta - math.log(theta) for theta in (low, high))),
        "difference_bound": high * bound,
        "difference_range": (high - low) * bound,
        "metric_lipschitz": high,
        "metric_diameter": bound,
    }


PARAMETER_FAMILIES = BOUNDED | {"gaussian-dp", "bounded-difference", "lipschitz-metric"}
FAMILIES = [
    case(
        "Beta–Bernoulli, trimmed",
        drawn(st.sampled_from([0, 1]), common=5, trim=TRIM, prior=st.tuples(st.floats(1.0, 4.0), st.floats(1.0, 4.0))),
        loss=bernoulli_loss,
        log_prior=lambda c, theta: (c["prior"][0] - 1) * np.log(theta) + (c["prior"][1] - 1) * np.log1p(-theta),
        grid=trim_grid,
        constants=trimmed_bernoulli_constants,
        replace_one=PARAMETER_FAMILIES,
        add_remove=BOUNDED | {"gaussian-dp"},
    ),
    case(
        "Bernoulli, symmetric trim for a pure budget",  # b = 1/(1 + e^{−ε/2}): the range is ε
        drawn(
            st.sampled_from([0, 1]),
            common=5,
            trim=st.floats(0.2, 6.0).map(lambda e: (1 / (1 + math.exp(e / 2)), 1 / (1 + math.exp(-e / 2)))),
        ),
        loss=bernoulli_loss,
        log_prior=lambda c, theta: np.zeros_like(theta),
        grid=trim_grid,
        constants=trimmed_bernoulli_constants,
        replace_one=PARAMETER_FAMILIES,
        add_remove=BOUNDED | {"gaussian-dp"},
    ),
    case(
        "Bernoulli, prior mass at both trim points",  # nearly two parameters: the worst case of every range argument
        drawn(st.sampled_from([0, 1]), common=1, trim=st.floats(0.02, 0.4).map(lambda a: (a, 1 - a))),
        loss=bernoulli_loss,
        log_prior=lambda c, theta: 300 * ((theta - 0.5) / (0.5 - c["trim"][0])) ** 2,
        grid=lambda c: {"edges": panels(*c["trim"], (c["trim"][1] - c["trim"][0]) / 160)},
        constants=lambda c: {
            name: value
            for name, value in trimmed_bernoulli_constants(c).items()
            if name.startswith(("loss_interval", "difference_bound", "difference_range", "metric"))
        },
        replace_one=BOUNDED | {"bounded-difference", "lipschitz-metric"},
        add_remove=BOUNDED,
    ),
    case(
        "exponential, trimmed",
        drawn(
            ends(0.0, 1.0, inside=st.floats(0.0, 1.0)),
            common=4,
            trim=st.tuples(st.floats(0.1, 1.0), st.floats(1.5, 6.0)),
            bound=st.floats(0.1, 2.0),
            rate=st.floats(0.1, 5.0),
        ),
        loss=lambda c, x, theta: theta * c["bound"] * x - np.log(theta),
        log_prior=lambda c, theta: -c["rate"] * theta,
        grid=trim_grid,
        constants=exponential_constants,
        replace_one=PARAMETER_FAMILIES,
        add_remove=BOUNDED | {"gaussian-dp"},
    ),
    case(
        "exponential, trimmed, one record, β = 1",  # the stochastic Lipschitz assumption, with the C of a single record
        drawn(
            ends(0.0, 1.0, inside=st.floats(0.0, 1.0)),
            common=0,
            beta=st.just(1.0),
            trim=st.tuples(st.floats(0.05, 0.2), st.floats(0.25, 0.6)),
            bound=st.floats(0.02, 0.2),
            rate=st.floats(4.0, 40.0),
        ),
        loss=lambda c, x, theta: theta * c["bound"] * x - np.log(theta),
        log_prior=lambda c, theta: -c["rate"] * theta,
        grid=trim_grid,
        constants=lambda c: {
            "stochastic_rate": c["rate"],
            "stochastic_floor": c["trim"][0],
            "likelihood_ratio_bound": c["trim"][1] / min(t * math.exp(-t * c["bound"]) for t in c["trim"]),
            "metric_diameter": c["bound"],
        },
        replace_one={"stochastic-lipschitz"},
        add_remove=set(),
    ),
    case(
        "Beta–Bernoulli, untrimmed, one record, β = 1",  # c = 2^{1−2a}/B(a, a), L₀ = 0, C = B(a, a)/B(a, a+1) = 2
        drawn(st.sampled_from([0, 1]), common=0, beta=st.just(1.0), a=st.floats(30.0, 300.0)),
        loss=bernoulli_loss,
        log_prior=lambda c, theta: (c["a"] - 1) * (np.log(theta) + np.log1p(-theta)),
        grid=lambda c: {"edges": panels(1e-9, 1 - 1e-9, 0.2 / math.sqrt(c["a"]))},
        constants=lambda c: {
            "stochastic_rate": math.exp((1 - 2 * c["a"]) * math.log(2) - betaln(c["a"], c["a"])),
            "stochastic_floor": 0.0,
            "likelihood_ratio_bound": math.exp(betaln(c["a"], c["a"]) - betaln(c["a"], c["a"] + 1)),
            "metric_diameter": 1.0,
        },
        replace_one={"stochastic-lipschitz"},
        add_remove=set(),
    ),
    case(
        "logistic, labels contaminated by a fair coin",  # k_p = (1−p)σ + p/2: not convex, bounded for any feature
        drawn(ends(-20.0, 20.0, inside=st.floats(-20.0, 20.0)), m=st.floats(0.1, 5.0), p=st.floats(0.05, 0.9)),
        loss=lambda c, w, theta: -np.log((1 - c["p"]) * np.exp(log_expit(w * theta)) + c["p"] / 2),
        log_prior=gaussian_prior,
        grid=lambda c: {"edges": panels(-12 / math.sqrt(c["m"]), 12 / math.sqrt(c["m"]), 0.05)},
        constants=lambda c: {
            "contamination": c["p"],
            "density_ratio": 2.0,
            "loss_interval": (-math.log(1 - c["p"] / 2), -math.log(c["p"] / 2)),
        },
        replace_one=BOUNDED | {"contaminated-uniform"},
        add_remove=BOUNDED | {"contaminated-uniform"},
    ),
    case(
        "Gaussian mean",
        drawn(ends(-1.0, 1.0, inside=st.floats(-1.0, 1.0)), common=4, m=st.floats(0.1, 5.0), r=st.floats(0.2, 3.0)),
        loss=lambda c, x, theta: (theta - c["r"] * x) ** 2 / 2,
        log_prior=gaussian_prior,
        grid=lambda c: {
            "edges": panels(
                -c["r"] - 12 / math.sqrt(c["m"]), c["r"] + 12 / math.sqrt(c["m"]), 0.3 / math.sqrt(c["m"] + 5 * c["beta"])
            )
        },
        constants=lambda c: prior_constants(c, record_radius=c["r"], difference_lipschitz=2 * c["r"], loss_strong_convexity=1.0),
        replace_one={"gaussian-mean", "gaussian-mean-paper", "gaussian-dp"},
        add_remove=set(),
    ),
]


# Two dimensions: θ = (slope t, intercept s), rows (z, 1) with |z| ≤ r; the slope is the inner coordinate.


def plane(slope: float, kinks: Callable[[Parameters, Any, Array], list[Array]] | None = None) -> Any:
    def grid(c: Parameters) -> Parameters:
        low = min(c["m"], c["m_intercept"])
        push = c["beta"] * (len(c["common"]) + 1) * slope / low
        axes = []
        for precision in (c["m"], c["m_intercept"]):
            reach = push + 8 / math.sqrt(low)
            axes.append(panels(-reach, reach, 0.8 * min(1.0, 1 / math.sqrt(precision))))
        records = [*c["common"], c["x"], c["other"]]

        def breaks(s: Array) -> Array:
            assert kinks is not None
            lines = [line for record in records for line in kinks(c, record, s)]
            return np.stack(lines or [np.full_like(s, -1e9)], axis=1)

        return {"edges": axes[0], "outer": axes[1], "breaks": breaks if kinks else None}

    return grid


def gaussian_prior_2d(c: Parameters, t: Array, s: Array) -> Array:
    return -(c["m"] * t**2 + c["m_intercept"] * s**2) / 2


PLANE: Parameters = {
    "common": 1,
    "beta": st.floats(0.02, 1.5),
    "m": st.floats(0.7, 5.0),
    "m_intercept": st.floats(0.7, 5.0),
}


def isotropic(c: Parameters, lipschitz: float, **others: float) -> Parameters:
    """Return constants for the smaller of the two precisions (an anisotropic prior is at least that strongly convex)."""
    return {
        "convex": True,
        "n": len(c["common"]) + 1,
        "prior_precision": min(c["m"], c["m_intercept"]),
        "lipschitz": lipschitz,
    } | others


TWO_DIMENSIONS = [
    case(
        "logistic with bias",
        drawn(row(1.5, st.sampled_from([-1.0, 1.0])), **PLANE),
        loss=lambda c, x, t, s: -log_expit(x[1] * (x[0] * t + s)),
        log_prior=gaussian_prior_2d,
        grid=plane(math.hypot(1.5, 1.0)),
        constants=lambda c: isotropic(c, math.hypot(1.5, 1.0)),
        replace_one=CONVEX,
        add_remove=CONVEX,
        relative=1e-6,
    ),
    case(
        "logistic with bias, precisions per block",
        drawn(row(1.5, st.sampled_from([-1.0, 1.0])), **PLANE),
        loss=lambda c, x, t, s: -log_expit(x[1] * (x[0] * t + s)),
        log_prior=gaussian_prior_2d,
        grid=plane(math.hypot(1.5, 1.0)),
        constants=lambda c: {
            "convex": True,
            "n": len(c["common"]) + 1,
            "lipschitz": (1.5, 1.0),
            "prior_precision": (c["m"], c["m_intercept"]),
        },
        replace_one=CONVEX,
        add_remove=CONVEX,
        relative=1e-6,
    ),
    case(
        "Huber regression with intercept",
        drawn(row(1.5, FAR), k=st.floats(0.3, 1.5), **PLANE),
        loss=lambda c, x, t, s: huber(c["k"], x[1] - x[0] * t - s),
        log_prior=gaussian_prior_2d,
        grid=plane(
            1.5 * math.hypot(1.5, 1.0), lambda c, x, s: [(x[1] - s + k) / x[0] for k in (-c["k"], c["k"])] if sloped(x) else []
        ),
        constants=lambda c: isotropic(c, c["k"] * math.hypot(1.5, 1.0)),
        replace_one=CONVEX,
        add_remove=CONVEX,
        relative=1e-6,
    ),
    case(
        "pinball regression with intercept",
        drawn(row(1.5, FAR), tau=st.floats(0.05, 0.95), **PLANE),
        loss=lambda c, x, t, s: pinball(c["tau"], x[1] - x[0] * t - s),
        log_prior=gaussian_prior_2d,
        grid=plane(math.hypot(1.5, 1.0), lambda c, x, s: [(x[1] - s) / x[0]] if sloped(x) else []),
        constants=lambda c: isotropic(
            c,
            max(c["tau"], 1 - c["tau"]) * math.hypot(1.5, 1.0),
            difference_lipschitz=max(2 * max(c["tau"], 1 - c["tau"]) * 1.5, math.hypot(1.5, 1.0)),
        ),
        replace_one=CONVEX,
        add_remove=CONVEX,
        relative=1e-6,
    ),
]
LINE = ONE_DIMENSION + FAMILIES
CASES = LINE + TWO_DIMENSIONS
BY_NAME = {entry.name: entry for entry in CASES}
SWEEP = [
    pytest.param(entry, adjacency, id=f"{entry.name} | {adjacency}")
    for entry in CASES
    for adjacency in (REPLACE, ADD)
    if entry.expected(adjacency)
]


# -- the sweep -----------------------------------------------------------------------------------------------------------


def assert_within(exact: float, claim: float, relative: float, what: str) -> None:
    assert exact <= claim * (1 + relative) + 1e-12, f"{what}: exact δ {exact!r} above the claim {claim!r}"


def claims(entry: Case, c: Parameters, adjacency: Adjacency, draws: int = 1) -> dict[str, Any]:
    """Return the guarantee of every theorem of the registry whose premises hold; the list must be the case's own."""
    constants, found = Constants(**entry.constants(c)), {}
    for name, theorem in THEOREMS.items():
        try:
            found[name] = theorem.guarantee(constants, inverse_temperature=c["beta"], adjacency=adjacency, draws=draws)
        except PremiseError as refusal:
            if name == "stochastic-lipschitz" and "nothing is claimed" in str(refusal):
                return {}  # a bound of 1 or more on the total variation: sound, and vacuous
    assert set(found) == entry.expected(adjacency), f"premises met: {sorted(found)}"
    return found


def check(entry: Case, c: Parameters, adjacency: Adjacency) -> None:
    found = claims(entry, c, adjacency)
    pair = entry.pair(c, adjacency)
    widths = {claim.epsilon(0.0) for claim in found.values() if isinstance(claim, PureDP | BoundedRange)}
    epsilons = {*EPSILONS, *(share * width for width in widths for share in (0.25, 0.5, 0.75, 0.95))}
    for direction, ordered in (("forward", pair), ("backward", pair.reversed())):
        for epsilon in epsilons:
            exact = ordered.delta(epsilon)
            for name, guarantee in found.items():
                assert_within(exact, guarantee.delta(epsilon), entry.relative, f"{name}, {direction}, ε = {epsilon}")


@pytest.mark.parametrize(("entry", "adjacency"), SWEEP)
def test_exact_divergence_never_exceeds_a_claim(entry: Case, adjacency: Adjacency) -> None:
    examples = 10 if entry in TWO_DIMENSIONS else 30

    @run(examples)
    @given(c=entry.parameters)
    def sweep(c: Parameters) -> None:
        check(entry, c, adjacency)

    sweep()


def test_every_theorem_of_the_registry_is_swept() -> None:
    samplers = {"approximate-sampling", "langevin-last-iterate", "langevin-steps"}  # claims about samplers: tests below
    elsewhere = samplers | {"beta-bernoulli", "proximal-last-iterate"}  # tests/privacy/test_beta.py, test_proximal.py
    swept = set().union(*(entry.replace_one for entry in CASES))
    assert swept | elsewhere == set(THEOREMS)


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name) for entry in LINE])
def test_calibrated_posteriors_keep_to_their_budget(entry: Case) -> None:
    """The inverse direction: the posterior at the largest β that a theorem allows satisfies (ε, δ)."""

    @run(12)
    @given(c=entry.parameters, epsilon=st.floats(0.05, 3.0), power=st.floats(-6.0, -1.0))
    def sweep(c: Parameters, epsilon: float, power: float) -> None:
        budget = Budget(epsilon, 10.0**power)
        for adjacency in (REPLACE, ADD):
            constants = Constants(**entry.constants(c))
            for name in entry.expected(adjacency):
                try:
                    beta = get(name).calibrate(constants, budget, adjacency=adjacency)
                except (BudgetError, PremiseError):  # Corollary 8 above ε = 1; a total variation above δ
                    continue
                if beta > 60:  # the grids are laid out for moderate temperatures
                    continue
                pair = entry.pair({**c, "beta": beta}, adjacency)
                for ordered in (pair, pair.reversed()):
                    assert_within(ordered.delta(epsilon), budget.delta, entry.relative, f"{name} at its own β = {beta}")

    sweep()


TWICE = ["absolute loss", "quadratic on an interval", "exponential, trimmed", "logistic, labels contaminated by a fair coin"]


@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
@pytest.mark.parametrize("name", TWICE)
def test_two_draws_are_covered_by_the_composition(name: str, adjacency: Adjacency) -> None:
    """Two draws have a product density, so their exact profile is a two-dimensional integral."""
    entry = BY_NAME[name]

    @run(4)
    @given(c=entry.parameters)
    def sweep(c: Parameters) -> None:
        single = entry.pair(c, adjacency)
        edges = single.edges[:: max(1, single.edges.size // 60)]
        edges = np.unique(np.append(edges, single.edges[-1]))
        kinks = [x for x in [*c["common"], c["x"], c["other"]] if name == "absolute loss" and edges[0] < x < edges[-1]]
        edges = np.unique(np.append(edges, kinks))
        pair = Pair(lambda t, s: single.log_p(t) + single.log_p(s), lambda t, s: single.log_q(t) + single.log_q(s), edges, edges)
        found = claims(entry, c, adjacency, draws=2)
        for ordered in (pair, pair.reversed()):
            for epsilon in (0.0, 0.3, 1.0, 3.0):
                exact = ordered.delta(epsilon)
                for theorem, guarantee in found.items():
                    assert_within(exact, guarantee.delta(epsilon), 1e-5, f"{theorem}, two draws, ε = {epsilon}")

    sweep()


# -- where the claim is attained -------------------------------------------------------------------------------------------


def ratio_to(name: str, entry: Case, c: Parameters, epsilon: float, adjacency: Adjacency = REPLACE) -> float:
    claim = get(name).guarantee(Constants(**entry.constants(c)), inverse_temperature=c["beta"], adjacency=adjacency)
    return entry.pair(c, adjacency).delta(epsilon) / claim.delta(epsilon)


@run(40)
@given(
    beta=st.floats(0.01, 2.0),
    m=st.floats(0.1, 5.0),
    r=st.floats(0.2, 3.0),
    common=st.lists(st.floats(-1.0, 1.0), max_size=4),
    epsilon=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]),
    name=st.sampled_from(["gaussian-mean", "gaussian-dp"]),
)
def test_gaussian_mean_is_exact(beta: float, m: float, r: float, common: list[float], epsilon: float, name: str) -> None:
    """Replacing r by −r shifts the posterior by exactly μ standard deviations: the ratio of exact δ to claim is 1."""
    entry, c = BY_NAME["Gaussian mean"], {"beta": beta, "m": m, "r": r, "common": common, "x": 1.0, "other": -1.0}
    mu = 2 * r * beta / math.sqrt((len(common) + 1) * beta + m)
    claim = get(name).guarantee(Constants(**entry.constants(c)), inverse_temperature=beta, adjacency=REPLACE)
    exact = gdp(epsilon, mu)
    if exact > 1e-6:  # below that the closed form written here cancels; the quadrature does not
        assert exact / claim.delta(epsilon) == pytest.approx(1.0, abs=1e-9)
    if exact > 1e-100:
        assert ratio_to(name, entry, c, epsilon) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize(
    ("name", "c"),
    [
        ("absolute loss", {"x": 50.0, "other": -50.0}),
        ("Huber location", {"x": 50.0, "other": -50.0, "k": 0.8}),
        ("Huber regression", {"x": (2.0, 50.0), "other": (-2.0, 50.0), "k": 0.8}),
        ("pinball location", {"x": 50.0, "other": -50.0, "tau": 0.3}),
        ("pinball regression", {"x": (1.5, 50.0), "other": (-1.5, 50.0), "tau": 0.9}),
    ],
)
def test_far_records_attain_the_separation(name: str, c: Parameters, epsilon: float) -> None:
    """Losses that are linear over the whole mass shift a normal: μ = G/√m cannot be improved for any of these models."""
    c = {"beta": 0.7, "m": 1.7, "common": [], **c}
    assert ratio_to("gaussian-dp", BY_NAME[name], c, epsilon) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("tau", [0.6, 0.9])
def test_far_rows_attain_the_separation_with_an_intercept(tau: float) -> None:
    """Two dimensions: opposite features and one response far away, τ(z, 1) − τ(−z, 1) = 2τ(z, 0)."""
    c = {"beta": 0.7, "m": 1.2, "m_intercept": 1.2, "common": [], "x": (1.5, 50.0), "other": (-1.5, 50.0), "tau": tau}
    for epsilon in (0.0, 0.5, 2.0):
        ratio = ratio_to("gaussian-dp", BY_NAME["pinball regression with intercept"], c, epsilon)
        assert 2 * tau * 1.5 >= math.hypot(1.5, 1.0) or ratio < 1
        assert ratio == pytest.approx(1.0, abs=1e-7) if 2 * tau * 1.5 >= math.hypot(1.5, 1.0) else ratio <= 1


def test_pinball_priced_by_its_response_alone_is_violated() -> None:
    """τ = 0.9, z = +1 against −1, y = 50, β = m = 1, ε = 1: exact δ 0.437; a response change alone would price 0.127."""
    whole = Constants(convex=True, lipschitz=0.9, prior_precision=1.0, n=1)  # rows change: 2 max(τ, 1−τ) r = 1.8
    response = Constants(convex=True, lipschitz=0.9, difference_lipschitz=1.0, prior_precision=1.0, n=1)  # wrong: β only
    entry = BY_NAME["pinball regression"]
    c = {"beta": 1.0, "m": 1.0, "tau": 0.9, "common": [], "x": (1.0, 50.0), "other": (-1.0, 50.0)}
    exact = entry.pair(c, REPLACE).delta(1.0)
    assert exact == pytest.approx(0.437, abs=5e-4)
    right, wrong = (
        get("gaussian-dp").guarantee(k, inverse_temperature=1.0, adjacency=REPLACE).delta(1.0) for k in (whole, response)
    )
    assert wrong < 0.13 < exact
    assert right == pytest.approx(exact, rel=1e-8)


def test_contamination_bound_is_nearly_attained() -> None:
    """Steep features make the likelihood a step; with most prior mass on one side the log ratio fills the claimed range."""
    entry = BY_NAME["logistic, labels contaminated by a fair coin"]
    c = {"beta": 1.0, "m": 0.5, "p": 0.4217, "common": [], "x": 20.0, "other": -20.0}
    pair = entry.pair(c, REPLACE)
    theta = np.array([-3.0, 3.0])
    gap = np.ptp(pair.log_p(theta) - pair.log_q(theta))
    claim = get("contaminated-uniform").guarantee(Constants(**entry.constants(c)), inverse_temperature=1.0, adjacency=REPLACE)
    assert gap == pytest.approx(claim.epsilon(0.0), rel=1e-6)
    assert gap == pytest.approx(2.640, abs=1e-3)
    assert pair.delta(0.5) == pytest.approx(claim.delta(0.5), rel=0.25)


# -- the quadrature itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("order", ["forward", "backward"])
def test_quadrature_agrees_with_the_incomplete_beta_function(epsilon: float, order: str) -> None:
    """Beta(α+1, β) against Beta(α, β+1): the ratio is monotone in θ, so δ is a difference of two incomplete betas."""
    alpha, beta = 3.5, 2.25
    first, second = (
        (lambda t: alpha * np.log(t) + (beta - 1) * np.log1p(-t)),
        (lambda t: (alpha - 1) * np.log(t) + beta * np.log1p(-t)),
    )
    tiny = 1e-9  # the densities vanish at the ends at least like t^1.25
    edges = np.concatenate([np.geomspace(tiny, 0.02, 60), np.linspace(0.02, 0.98, 80)[1:], 1 - np.geomspace(0.02, tiny, 60)[1:]])
    pair = Pair(first, second, edges)
    odds = math.exp(epsilon) * alpha / beta
    t = odds / (1 + odds)
    closed = (1 - betainc(alpha + 1, beta, t)) - math.exp(epsilon) * (1 - betainc(alpha, beta + 1, t))
    if order == "backward":
        odds = math.exp(-epsilon) * alpha / beta
        t = odds / (1 + odds)
        closed = betainc(alpha, beta + 1, t) - math.exp(epsilon) * betainc(alpha + 1, beta, t)
        pair = pair.reversed()
    assert pair.delta(epsilon) == pytest.approx(closed, rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 6.0])
def test_quadrature_agrees_with_the_gaussian_profile(epsilon: float) -> None:
    """Equal normals shifted by μ, in one dimension and obliquely in two."""
    mu = 1.3
    line = Pair(lambda t: -(t**2) / 2, lambda t: -((t - mu) ** 2) / 2, panels(-12, 14, 0.5))
    a, b = mu * math.cos(0.6), mu * math.sin(0.6)
    square = Pair(
        lambda t, s: -(t**2 + s**2) / 2, lambda t, s: -((t - a) ** 2 + (s - b) ** 2) / 2, panels(-9, 10, 0.8), panels(-9, 10, 0.8)
    )
    claim = GaussianDP(mu).delta(epsilon)
    assert line.delta(epsilon) == pytest.approx(claim, rel=1e-11)
    assert line.reversed().delta(epsilon) == pytest.approx(claim, rel=1e-11)
    assert square.delta(epsilon) == pytest.approx(claim, rel=1e-8)
    assert square.reversed().delta(epsilon) == pytest.approx(claim, rel=1e-8)


# -- samplers ----------------------------------------------------------------------------------------------------------------


@run(25)
@given(
    beta=st.floats(0.05, 1.5),
    m=PRECISION,
    gamma=st.floats(-6.0, -2.0).map(lambda power: 10.0**power),
    epsilon=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
    adjacency=st.sampled_from([REPLACE, ADD]),
)
def test_approximate_sampling_covers_the_worst_sampler(
    beta: float, m: float, gamma: float, epsilon: float, adjacency: Adjacency
) -> None:
    """A sampler within TV γ, as bad as can be: on the set S that tells p from q best, γ more for D and γ less for D′.

    Its δ is δ + (1 + e^ε)γ exactly, and the target (a far |θ − x|) attains the claim, so the ratio is 1.
    """
    entry, c = BY_NAME["absolute loss"], {"beta": beta, "m": m, "common": [], "x": 50.0, "other": -50.0}
    separation = (2 if adjacency is REPLACE else 1) * beta / math.sqrt(m)
    # p = N(β/m, 1/m) and q its mirror image (or the prior): S = [cut, ∞)
    mean_p, mean_q = beta / m, (-beta / m if adjacency is REPLACE else 0.0)
    cut = (mean_p + mean_q) / 2 + epsilon / (m * (mean_p - mean_q))
    inside = {name: float(ndtr(math.sqrt(m) * (mean - cut))) for name, mean in (("p", mean_p), ("q", mean_q))}
    if inside["q"] < 2 * gamma or 1 - inside["p"] < 2 * gamma:
        return  # not enough mass to move
    exact_pair = entry.pair(c, adjacency)
    norm = exact_pair._grid()["norm"]

    def moved(density: Callable[[Array], Array], log_norm: float, mass: float, shift: float) -> Callable[[Array], Array]:
        up, down = math.log1p(shift / mass), math.log1p(-shift / (1 - mass))
        return lambda t: density(t) - log_norm + np.where(t >= cut, up, down)

    edges = np.unique(np.append(exact_pair.edges, cut))
    bad = Pair(
        moved(exact_pair.log_p, norm[0], inside["p"], gamma),
        moved(exact_pair.log_q, norm[1], inside["q"], -gamma),
        edges,
        normalised=True,
    )
    constants = Constants(convex=True, lipschitz=1.0, prior_precision=m, slack=gamma, n=1)
    claim = get("approximate-sampling").guarantee(constants, inverse_temperature=beta, adjacency=adjacency)
    exact = bad.delta(epsilon)
    assert_within(exact, claim.delta(epsilon), 1e-8, "approximate-sampling")
    assert exact == pytest.approx(gdp(epsilon, separation) + (1 + math.exp(epsilon)) * gamma, rel=1e-7)
    assert exact / claim.delta(epsilon) == pytest.approx(1.0, abs=1e-7)


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
