"""Convex losses of one parameter with a normal prior: what Gaussian DP and the log-Sobolev theorems price."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.special import log_expit

from ..quadrature import Array, panels
from .cases import (
    PRECISION,
    Parameters,
    case,
    drawn,
    ends,
    gaussian_prior,
    prior_constants,
)


def real_line(slope: Callable[[Parameters], float], kinks: Callable[[Parameters, Any], list[float]] = lambda c, x: []) -> Any:
    """Cover 12 standard deviations beyond every mode that losses with this slope can reach (mass left out < 1e-31)."""

    def grid(c: Parameters) -> Parameters:
        reach = c["beta"] * (len(c["common"]) + 1) * slope(c) / c["m"] + 12 / math.sqrt(c["m"])
        breaks = [k for record in [*c["common"], c["x"], c["other"]] for k in kinks(c, record)]
        return {"edges": panels(-reach, reach, 0.5 * min(1.0, 1 / math.sqrt(c["m"])), breaks)}

    return grid


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
        replace_one={"convex"},
        add_remove={"convex"},
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
        replace_one={"convex", "range", "difference"},
        add_remove={"convex", "range"},
    ),
    case(
        "Bernoulli in logits",  # the loss difference is exactly linear: G = β, not 2β
        drawn(st.sampled_from([0.0, 1.0]), common=4, m=PRECISION),
        loss=lambda c, x, theta: -x * theta - log_expit(-theta),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.0),
        constants=lambda c: prior_constants(c, lipschitz=1.0, difference_lipschitz=1.0),
        replace_one={"convex"},
        add_remove={"convex"},
    ),
    case(
        "Huber location",
        drawn(FAR, m=PRECISION, k=st.floats(0.3, 2.0)),
        loss=lambda c, x, theta: huber(c["k"], theta - x),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: c["k"], lambda c, x: [x - c["k"], x + c["k"]]),
        constants=lambda c: prior_constants(c, lipschitz=c["k"]),
        replace_one={"convex"},
        add_remove={"convex"},
    ),
    case(
        "Huber regression",
        drawn(row(2.0, FAR), m=PRECISION, k=st.floats(0.3, 1.5)),
        loss=lambda c, x, theta: huber(c["k"], x[1] - theta * x[0]),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 2 * c["k"], lambda c, x: [(x[1] + s * c["k"]) / x[0] for s in (-1, 1)] if sloped(x) else []),
        constants=lambda c: prior_constants(c, lipschitz=2 * c["k"]),
        replace_one={"convex"},
        add_remove={"convex"},
    ),
    case(
        "pinball location",
        drawn(FAR, m=PRECISION, tau=st.floats(0.05, 0.95)),
        loss=lambda c, x, theta: pinball(c["tau"], x - theta),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.0, lambda c, x: [x]),
        constants=lambda c: prior_constants(c, lipschitz=max(c["tau"], 1 - c["tau"]), difference_lipschitz=1.0),
        replace_one={"convex"},
        add_remove={"convex"},
    ),
    case(
        "pinball regression",
        drawn(row(1.5, FAR), m=PRECISION, tau=st.floats(0.05, 0.95)),
        loss=lambda c, x, theta: pinball(c["tau"], x[1] - theta * x[0]),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.5, lambda c, x: [x[1] / x[0]] if sloped(x) else []),
        constants=lambda c: prior_constants(c, lipschitz=1.5 * max(c["tau"], 1 - c["tau"])),  # difference: 2 max(τ, 1−τ) r
        replace_one={"convex"},
        add_remove={"convex"},
    ),
    case(
        "absolute loss",
        drawn(FAR, m=PRECISION),
        loss=lambda c, x, theta: np.abs(theta - x),
        log_prior=gaussian_prior,
        grid=real_line(lambda c: 1.0, lambda c, x: [x]),
        constants=lambda c: prior_constants(c, lipschitz=1.0),
        replace_one={"convex"},
        add_remove={"convex"},
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
        replace_one={"convex", "range", "difference"},
        add_remove={"convex", "range"},
    ),
]
