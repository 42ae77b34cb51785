"""A Gaussian mean as a likelihood of one's own, in NumPy: small enough for audits, and without JAX."""

import numpy as np

import gibbsafe as gs


def log_likelihood(parameters, record):
    return -0.5 * float(((record["x"] - parameters["mean"]) ** 2).sum())


def gradient(parameters, records):
    """Of a block of records."""
    return {"mean": records["x"] - parameters["mean"]}


def one_gradient(parameters, record):
    return {"mean": record["x"] - parameters["mean"]}


def gaussian(dimension=2, *, batched=True, **options):
    """Return the model; records are vectors in [-50, 50]."""
    given = {"prior": 1.0, "clip": 1.0, "information": (0.5, 1.0)} | options
    return gs.models.Custom(
        log_likelihood=given.pop("log_likelihood", log_likelihood),
        gradient=given.pop("gradient", gradient if batched else one_gradient),
        batched=batched,
        parameters={"mean": dimension},
        columns={"x": [(-50, 50)] * dimension},
        **given,
    )


N = 16
#: The first record from one end to the other: it moves every score by all that is claimed.
DATA = (np.vstack([[50.0, 0.0], np.zeros((N - 1, 2))]),)
NEIGHBOUR = (np.vstack([[-50.0, 0.0], np.zeros((N - 1, 2))]),)
