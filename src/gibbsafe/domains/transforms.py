"""What a declared number becomes: one number by a curve, or several by declared edges or knots. Nothing is read from data."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail, real

__all__ = ["CURVES", "EXPANSIONS", "bin_names", "bins", "check_points", "spline", "spline_width"]

#: Increasing functions of a number, and above which number each exists.
CURVES: dict[str, tuple[Callable[[Floats], Floats], float]] = {
    "log1p": (np.log1p, -1.0),
    "signed-log": (lambda values: np.sign(values) * np.log1p(np.abs(values)), -math.inf),
}
#: Transforms that make several columns of a number, and which key has their points.
EXPANSIONS = {"bins": "edges", "spline": "knots"}
#: Splines are cubic.
DEGREE = 3


def check_points(name: str, points: object, bounds: tuple[float, float]) -> tuple[float, ...]:
    """Return edges or knots that increase strictly between the bounds, or refuse them.

    >>> check_points("column 'age', knots", [40, 130], (0.0, 120.0))
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: column 'age', knots = [40.0, 130.0]: must be inside the bounds (0, 120), ends excluded
    """
    if not isinstance(points, tuple | list) or not points:
        fail(name, points, "a list of at least one number inside the bounds")
    listed = [real(name, point) for point in points]
    if any(after <= before for before, after in pairwise(listed)):
        fail(name, listed, "in increasing order, each once")
    if not bounds[0] < listed[0] or not listed[-1] < bounds[1]:
        fail(name, listed, f"inside the bounds ({bounds[0]:g}, {bounds[1]:g}), ends excluded")
    return tuple(listed)


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
