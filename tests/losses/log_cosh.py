"""log cosh(y − u) as a user would declare it: 1-Lipschitz, 1-smooth, |f‴| ≤ 2f″ (a softplus of width ½, times constants)."""

import numpy as np

import gibbsafe as gs

#: Ratios of higher derivatives: those of the logistic loss at twice the argument.
RATIOS = {"quartic_deficit": 2.0, "quartic_excess": 4.0, "quintic_ratio": 8.0}


def bell(u, y):
    """sech² = 4e^{−2|x|}/(1 + e^{−2|x|})²."""
    decay = np.exp(-2 * np.abs(u - y))
    return 4 * decay / (1 + decay) ** 2


def value(u, y):
    size = np.abs(u - y)
    return size + np.log1p(np.exp(-2 * size)) - np.log(2.0) if size.size else size


def precise(u, y):
    """log cosh x, without cancellation near 0: ½ log(1 + sinh² x) where |x| is small."""
    size = np.abs(u - y)
    return np.where(size < 1, 0.5 * np.log1p(np.sinh(np.minimum(size, 1.0)) ** 2), value(u, y))


def log_cosh(*, full=True, **changed):
    """Return the loss; ``full`` with everything that makes draws quick."""
    given = {
        "value": precise,
        "slope": lambda u, y: np.tanh(u - y),
        "curvature": bell,
        "third": lambda u, y: -2 * np.tanh(u - y) * bell(u, y),
        "fourth": lambda u, y: bell(u, y) * (4 * np.tanh(u - y) ** 2 - 2 * bell(u, y)),
        "lipschitz": 1.0,
        "smoothness": 1.0,
        "self_concordance": 2.0,
        "name": "log-cosh",
    }
    given |= RATIOS if full else {}
    given |= changed
    return gs.models.own_loss(given.pop("value"), **given)
