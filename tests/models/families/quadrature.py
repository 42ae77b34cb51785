"""Quadrature that knows nothing of conjugacy: grids over the parameters, and likelihoods as they are defined."""

import itertools
import math

import numpy as np

import gibbsafe as gs

M = gs.models


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
