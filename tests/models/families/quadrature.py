"""An example of every conjugate family with records of its form, hostile records, and naive log-likelihoods for quadrature."""

import itertools
import math

import numpy as np

import gibbsafe as gs
from gibbsafe.data.options import EncodingOptions

M = gs.models
RAIN = {
    "states": {"rain": ("no", "yes"), "wet": ("dry", "wet"), "slip": 3},
    "parents": {"wet": ["rain"], "slip": ["rain", "wet"]},
}

#: One family of each name, as a curator would declare it.
FAMILIES = {
    "BetaBernoulli": M.BetaBernoulli(trim=(0.3, 0.9)),
    "ExponentialRate": M.ExponentialRate(trim=(0.2, 2.0), bound=1.0),
    "LaplaceScale": M.LaplaceScale(trim=(0.5, 0.9), bound=3.0, location=0.5, shape=2.0),
    "NormalPrecision": M.NormalPrecision(trim=(0.5, 1.5), bound=2.0, location=-0.3, rate=0.0),
    "MultivariateNormalPrecision": M.MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5), mean=(0.1, -0.2)),
    "Categorical": M.Categorical(states=("a", "b", "c"), smallest_probability=0.05, concentration=0.7),
    "BayesianNetwork": M.BayesianNetwork(**RAIN, smallest_probability={"rain": 0.1, "wet": 0.2, "slip": 0.05}),
    "MarkovChain": M.MarkovChain(states=("s", "w"), length=4, smallest_probability=0.1),
    "FiniteFamily": M.FiniteFamily.bernoulli(0.1),
}
RATES = ("ExponentialRate", "LaplaceScale", "NormalPrecision")
REPLACE, ADD = "replace-one", "add-remove"


def records(name, n, seed=0):
    """Return n ordinary records in the form that the family reads."""
    model, rng = FAMILIES[name], np.random.default_rng(seed)
    if name == "MultivariateNormalPrecision":
        return rng.normal(0, 0.5, (n, 2))
    if name in RATES:
        return rng.exponential(0.4, n) if name == "ExponentialRate" else rng.normal(0, 1, n)
    if name == "BayesianNetwork":
        columns = [np.array(states, dtype=object)[rng.integers(len(states), size=n)] for states in model.states.values()]
        return np.array(columns, dtype=object).T.reshape(n, 3)
    if name == "MarkovChain":
        return np.array(model.states)[rng.integers(2, size=(n, model.length))]
    states = {"BetaBernoulli": (0, 1), "FiniteFamily": (0, 1)}.get(name) or model.states
    return np.array(states)[rng.integers(len(states), size=n)]


def planned(model, adjacency=REPLACE, n=40, budget=None, **options):
    return gs.plan(model, budget or gs.Budget(1.0, 1e-6), n=n, adjacency=adjacency, **options)


def posterior_of(plan, data):
    """Return the posterior of a plan on data."""
    return plan.model.posterior(plan.model.encode(data, EncodingOptions()), plan.stages[-1], np.empty(0))


def stacked(*data):
    return np.concatenate(data)


# -- quadrature that knows nothing of conjugacy: a grid over the parameters and the likelihood as it is defined ------------


def gauss(low, high, count):
    points, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (low + high) + 0.5 * (high - low) * points, 0.5 * (high - low) * weights


def tensor(*axes):
    """Return points (k, d) and weights (k,) of a product grid."""
    points = np.stack([axis.ravel() for axis in np.meshgrid(*(a[0] for a in axes), indexing="ij")], axis=1)
    weights = np.prod(np.stack([axis.ravel() for axis in np.meshgrid(*(a[1] for a in axes), indexing="ij")]), axis=0)
    return points, weights


def rate_grid(model):
    return tensor(gauss(*model.trim, 400))


def rate_log_likelihood(model, thetas, record):
    theta, x = thetas[:, 0], float(record)
    if model.name == "ExponentialRate":
        return np.log(theta) - theta * x
    if model.name == "LaplaceScale":
        return np.log(theta / 2) - theta * abs(x - model.location)
    return 0.5 * np.log(theta / (2 * math.pi)) - 0.5 * theta * (x - model.location) ** 2


def log_gamma_prior(model, thetas):
    return (model.shape - 1) * np.log(thetas[:, 0]) - model.rate * thetas[:, 0]


def binary_tables_grid(count, smallest, tables):
    """Points with both probabilities of every binary table, from a grid over the first."""
    points, weights = tensor(*(gauss(smallest, 1 - smallest, count) for _ in range(tables)))
    return np.stack([points, 1 - points], axis=2).reshape(len(points), -1), weights


def simplex_grid(count, smallest):
    """Points (θ₁, θ₂, θ₃) of a truncated simplex: the first, and then the second's share of what is left."""
    (first, outer), (share, inner) = gauss(smallest, 1 - 2 * smallest, count), gauss(0, 1, count)
    theta1 = np.repeat(first, count)
    room = 1 - theta1 - 2 * smallest
    theta2 = smallest + np.tile(share, count) * room
    weights = np.repeat(outer, count) * np.tile(inner, count) * room
    return np.column_stack([theta1, theta2, 1 - theta1 - theta2]), weights


def precision_grid(model, count):
    """Points (a, y, b) of the 2 × 2 matrices between the trim points, y running over its interval given a and b."""
    low, high = model.trim
    points, weights = tensor(gauss(low, high, count), gauss(-1, 1, count), gauss(low, high, count))
    a, share, b = points.T
    reach = np.sqrt(np.minimum((high - a) * (high - b), (a - low) * (b - low)))
    return np.column_stack([a, share * reach, b]), weights * reach


def normal_log_likelihood(model, thetas, record):
    a, y, b = thetas.T
    u, v = np.asarray(record, dtype=float) - np.asarray(model.mean)
    return 0.5 * np.log(a * b - y * y) - 0.5 * (a * u * u + 2 * y * u * v + b * v * v)


def small_network():
    return M.BayesianNetwork(states={"a": 2, "b": 2}, parents={"b": ["a"]}, smallest_probability=0.1)


def network_log_likelihood(model, thetas, record):
    a, b = (int(state) for state in record)
    return np.log(thetas[:, a]) + np.log(thetas[:, 2 + 2 * a + b])


def small_chain():
    return M.MarkovChain(states=2, length=3, smallest_probability=0.1)


def chain_log_likelihood(model, thetas, record):
    total = np.log(thetas[:, int(record[0])])
    for before, after in itertools.pairwise(int(state) for state in record):
        total = total + np.log(thetas[:, 2 + 2 * before + after])
    return total


def categorical_log_likelihood(model, thetas, record):
    return np.log(thetas[:, model.states.index(record)])


def densities(grid, log_prior, log_likelihood, data_sets, power):
    """Return the posterior masses of every data set on the grid's points."""
    points, weights = grid
    made = []
    for data in data_sets:
        log_density = log_prior(points) + power * sum((log_likelihood(points, x) for x in data), np.zeros(len(points)))
        mass = np.exp(log_density - log_density.max()) * weights
        made.append(mass / mass.sum())
    return made


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
