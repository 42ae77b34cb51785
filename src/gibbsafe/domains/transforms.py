"""What a declared number becomes: one number by a curve, or several by declared edges or knots. Nothing is read from data."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail, real

__all__ = ["CURVES", "EXPANSIONS", "bin_names", "bins", "check_degree", "check_points", "polynomials", "spline", "spline_width"]

#: Increasing functions of a number, and above which number each exists.
CURVES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "log1p": (np.log1p, -1.0),
    "signed-log": (lambda values: np.sign(values) * np.log1p(np.abs(values)), -math.inf),
}
#: Transforms that make several columns of a number, and which key has their points.
EXPANSIONS = {"bins": "edges", "spline": "knots", "poly": "nodes"}
#: Splines are cubic.
DEGREE = 3
#: Highest degree of polynomials.
HIGHEST = 10


def check_points(name: str, points: object, bounds: tuple[float, float], *, ends: bool = False) -> tuple[float, ...]:
    """Return edges, knots or (with both ends allowed) nodes that increase strictly between the bounds, or refuse them.

    >>> check_points("column 'age', knots", [40, 130], (0.0, 120.0))
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: column 'age', knots = [40.0, 130.0]: must be inside the bounds (0, 120), ends excluded
    """
    if not isinstance(points, tuple | list) or not points:
        fail(name, points, "a list of at least one number inside the bounds")
    listed = [real(name, point) for point in points]
    if any(after <= before for before, after in pairwise(listed)):
        fail(name, listed, "in increasing order, each once")
    if ends and not bounds[0] <= listed[0] <= listed[-1] <= bounds[1]:
        fail(name, listed, f"inside the bounds [{bounds[0]:g}, {bounds[1]:g}]")
    if not ends and not bounds[0] < listed[0] <= listed[-1] < bounds[1]:
        fail(name, listed, f"inside the bounds ({bounds[0]:g}, {bounds[1]:g}), ends excluded")
    return tuple(listed)


def check_degree(name: str, degree: object, nodes: tuple[float, ...]) -> int:
    """Return the degree of polynomials that these nodes tell apart, or refuse it.

    >>> check_degree("degree", 3, (20.0, 40.0, 60.0))
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: degree = 3: must be a whole number from 1 to 2: 10 at most, and below the number of nodes
    """
    most = min(HIGHEST, len(nodes) - 1)
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= most:
        fail(name, degree, f"a whole number from 1 to {most}: {HIGHEST} at most, and below the number of nodes")
    return degree


def bin_names(edges: tuple[float, ...]) -> tuple[str, ...]:
    """Return a name per bin: up to the first edge, between two, from the last on.

    >>> bin_names((40.0, 60.0))
    ('..40', '40..60', '60..')
    """
    ends = ["", *(f"{edge:.15g}" for edge in edges), ""]
    return tuple(f"{low}..{high}" for low, high in pairwise(ends))


def bins(values: Floats, edges: tuple[float, ...]) -> Floats:
    """Return one column of 0 and 1 per bin; an edge belongs to the bin above it.

    >>> bins(np.array([39.0, 40.0]), (40.0,))
    array([[1., 0.], [0., 1.]])
    """
    return np.asarray(np.eye(len(edges) + 1)[np.searchsorted(edges, values, side="right")])


def spline_width(knots: tuple[float, ...]) -> int:
    """Return how many basis functions a cubic spline with these inner knots has."""
    return len(knots) + DEGREE + 1


def spline(values: Floats, knots: tuple[float, ...], bounds: tuple[float, float]) -> Floats:
    """Return the cubic B-splines with these inner knots between the bounds: none negative, and together 1.

    >>> spline(np.array([0.0, 5.0]), (5.0,), (0.0, 10.0))
    array([[1.  , 0.  , 0.  , 0.  , 0.  ], [0.  , 0.25, 0.5 , 0.25, 0.  ]])
    """
    from scipy.interpolate import BSpline

    ends = np.array([bounds[0]] * (DEGREE + 1) + list(knots) + [bounds[1]] * (DEGREE + 1))
    if not len(values):
        return np.empty((0, spline_width(knots)))
    return np.asarray(BSpline.design_matrix(np.clip(values, *bounds), ends, DEGREE).toarray())


@lru_cache(maxsize=64)
def _coefficients(nodes: tuple[float, ...], degree: int, bounds: tuple[float, float]) -> Floats:
    """Return Legendre coefficients, a column per polynomial: orthogonal over the nodes, and together of length 1 at most.

    The squared length is a polynomial, largest at an end or where its derivative is 0.
    """
    from numpy.polynomial import legendre

    triangle = np.linalg.qr(legendre.legvander(_unit(np.array(nodes), bounds), degree), mode="r")
    orthogonal = np.linalg.inv(triangle * np.sign(np.diag(triangle))[:, None])[:, 1:]
    squared = np.zeros(1)
    for column in orthogonal.T:
        squared = legendre.legadd(squared, legendre.legmul(column, column))
    flat = legendre.legroots(legendre.legder(squared))
    inner = flat.real[(np.abs(flat.imag) < 1e-6) & (np.abs(flat.real) <= 1)]
    longest = math.sqrt(float(legendre.legval(np.array([-1.0, 1.0, *inner]), squared).max()))
    return np.asarray(orthogonal / (longest * (1 + 1e-9)))


def _unit(values: Floats, bounds: tuple[float, float]) -> Floats:
    low, high = bounds
    return (np.clip(values, low, high) - (low / 2 + high / 2)) / (high / 2 - low / 2)


def polynomials(values: Floats, nodes: tuple[float, ...], degree: int, bounds: tuple[float, float]) -> Floats:
    """Return polynomials of degrees 1 to ``degree``, orthogonal over declared nodes, and of a length of at most 1 together.

    >>> polynomials(np.array([0.0, 10.0]), (0.0, 5.0, 10.0), 2, (0.0, 10.0)).round(3)
    array([[-0.866,  0.5  ], [ 0.866,  0.5  ]])
    """
    from numpy.polynomial import legendre

    # Value by value, never as a product of matrices: a row is the same bits whatever rows are beside it.
    return np.asarray(legendre.legval(_unit(values, bounds), _coefficients(nodes, degree, bounds)).T)
