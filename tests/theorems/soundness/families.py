"""Likelihoods on trimmed parameters, contaminated labels and the mean: what ranges, metrics and the mean's theorems price."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from scipy.special import betaln, log_expit, logit

from ..quadrature import Array, panels
from .cases import (
    Parameters,
    case,
    drawn,
    ends,
    gaussian_prior,
    prior_constants,
)


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


FAMILIES = [
    case(
        "Beta–Bernoulli, trimmed",
        drawn(st.sampled_from([0, 1]), common=5, trim=TRIM, prior=st.tuples(st.floats(1.0, 4.0), st.floats(1.0, 4.0))),
        loss=bernoulli_loss,
        log_prior=lambda c, theta: (c["prior"][0] - 1) * np.log(theta) + (c["prior"][1] - 1) * np.log1p(-theta),
        grid=trim_grid,
        constants=trimmed_bernoulli_constants,
        replace_one={"range", "strong", "difference"},
        add_remove={"range", "strong"},
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
        replace_one={"range", "strong", "difference"},
        add_remove={"range", "strong"},
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
        replace_one={"range", "difference"},
        add_remove={"range"},
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
        replace_one={"range", "strong", "difference"},
        add_remove={"range", "strong"},
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
        replace_one={"stochastic"},
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
        replace_one={"stochastic"},
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
        replace_one={"range", "contaminated"},
        add_remove={"range", "contaminated"},
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
        replace_one={"mean"},
        add_remove=set(),
    ),
]
