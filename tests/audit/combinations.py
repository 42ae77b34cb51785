"""Every theorem × model × sampler × adjacency that a plan accepts, and the theorems that no registered model uses, by hand."""

import contextlib
import math

import numpy as np
from scipy.special import expit

import gibbsafe as gs
from gibbsafe.audit.curves import PrivacyCurve
from gibbsafe.privacy.profiles import gaussian_delta
from gibbsafe.theorems import THEOREMS, get

BUDGET = gs.Budget(1.0, 1e-6)
ADJACENCIES = ("replace-one", "add-remove")


def plans(model, adjacency, n=12):
    """Yield the plans of one example: each sampler that the model names, each theorem of the registry that prices it."""
    for sampler in model.samplers:
        for theorem in THEOREMS:
            with contextlib.suppress(gs.GibbsafeError):  # not this combination
                yield gs.plan(model, BUDGET, n=n, adjacency=adjacency, theorem=theorem, sampler=sampler)


# -- theorems beside the registry --------------------------------------------------------------------------------------


def with_atoms(curve, slack):
    """Return the curve of a sampler that with probability ``slack`` tells the data set outright."""
    sides = [lambda e, side=side: ((1 - slack) * side(e)[0] + slack, side(e)[1]) for side in (curve.forward, curve.backward)]
    return PrivacyCurve(*sides, "by hand")


class Atoms:
    """A law on finitely many points."""

    def __init__(self, weights):
        self.weights = np.asarray(weights) / np.sum(weights)

    def hockey_stick(self, other, epsilon):
        return float(np.maximum(self.weights - math.exp(epsilon) * other.weights, 0).sum())


class ContaminatedLabels:
    """Posterior of a logit θ ~ N(0, 25) given labels of which a share p were replaced by fair coins."""

    support = np.full(1, -math.inf), np.full(1, math.inf)
    outlook = np.zeros(1), np.full(1, 5.0)

    def __init__(self, labels, share, beta):
        self.labels, self.share, self.beta = labels, share, beta

    def values(self, thetas):
        likely = [(1 - self.share) * expit(y * thetas[:, 0]) + self.share / 2 for y in self.labels]
        return -self.beta * np.log(likely).sum(axis=0) + 0.02 * thetas[:, 0] ** 2


class SmallRates:
    """Posterior of the rate θ ∈ [0.01, 0.2] of one exponential record x, prior ∝ e^{−50θ} (Lemma 19)."""

    support = np.array([0.01]), np.array([0.2])
    outlook = np.zeros(1), np.ones(1)

    def __init__(self, x):
        self.x = x

    def values(self, thetas):
        return -np.log(thetas[:, 0]) + (50 + self.x) * thetas[:, 0]


SMOOTH = {"lipschitz": 1.0, "convex": True, "smoothness": 1.0, "prior_precision": 1.0, "prior_smoothness": 1.0}


def by_hand():
    """Yield (theorem, claim, exact curve): far |θ − x| losses are Gaussian shifts by 2β, finite families are enumerated."""
    beta, slack = 0.2, 1e-3
    shift = PrivacyCurve(*[lambda e: (gaussian_delta(e, 2 * beta), 1e-12)] * 2, "by hand")
    for name in ("approximate-sampling", "langevin-steps"):
        constants = SMOOTH | {"slack": slack, "dimension": 2, "n": 10}
        yield name, get(name).guarantee(constants, inverse_temperature=beta, adjacency="replace-one"), with_atoms(shift, slack)
    scores = get("noisy-scores").guarantee(SMOOTH | {"dimension": 2, "n": 10}, inverse_temperature=beta, adjacency="replace-one")
    yield "noisy-scores", scores, PrivacyCurve.gaussian(2 * math.sqrt(beta))
    clipped = {"clip": 1.0, "dimension": 2, "n": 10}
    walk = get("langevin-trajectory").guarantee(clipped, inverse_temperature=beta, adjacency="replace-one")
    yield "langevin-trajectory", walk, PrivacyCurve.gaussian(2 * math.sqrt(beta))
    bounded = get("bounded-loss").guarantee({"loss_interval": (0.0, 3.0)}, inverse_temperature=beta, adjacency="replace-one")
    falls = [1.0, math.exp(-3 * beta)]
    yield "bounded-loss", bounded, PrivacyCurve.closed_form(Atoms(falls), Atoms(falls[::-1]))
    rates = {"stochastic_rate": 50.0, "stochastic_floor": 0.01, "metric_diameter": 0.5}
    ratio = 0.2 / min(0.01 * math.exp(-0.005), 0.2 * math.exp(-0.1))
    prior = get("stochastic-lipschitz").guarantee(
        rates | {"likelihood_ratio_bound": ratio}, inverse_temperature=1.0, adjacency="replace-one"
    )
    yield "stochastic-lipschitz", prior, PrivacyCurve.by_quadrature(SmallRates(0.0), SmallRates(0.5))
    constants = {"contamination": 0.4, "density_ratio": 2.0}
    claim = get("contaminated-uniform").guarantee(constants, inverse_temperature=beta, adjacency="replace-one")
    pair = [ContaminatedLabels(labels, 0.4, beta) for labels in ([1], [-1])]
    yield "contaminated-uniform", claim, PrivacyCurve.by_quadrature(*pair)
