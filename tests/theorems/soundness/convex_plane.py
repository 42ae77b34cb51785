"""Convex losses of two parameters θ = (slope t, intercept s), rows (z, 1) with |z| ≤ r; the slope is the inner coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.special import log_expit

from ..quadrature import Array, panels
from .cases import (
    Parameters,
    case,
    drawn,
)
from .convex_line import FAR, huber, pinball, row, sloped


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
        replace_one={"convex"},
        add_remove={"convex"},
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
        replace_one={"convex"},
        add_remove={"convex"},
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
        replace_one={"convex"},
        add_remove={"convex"},
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
        replace_one={"convex"},
        add_remove={"convex"},
        relative=1e-6,
    ),
]
