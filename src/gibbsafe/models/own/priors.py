"""Priors of models of one's own: independent normals, or a log density by JAX with a public start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gibbsafe._extras import require_extra
from gibbsafe._types import JSON, Floats
from gibbsafe._validate import fail, non_negative, real
from gibbsafe.errors import GibbsafeError, PremiseError
from gibbsafe.models.prior import GaussianPrior
from gibbsafe.posteriors.coordinates import Coordinates
from gibbsafe.posteriors.own import GaussianPull, PriorFunction
from gibbsafe.posteriors.record_gradients import Form

__all__ = ["OwnPrior", "as_normal", "own_prior"]

#: How far out, and in how many directions, a log density must have fallen for its prior to be taken for proper.
FAR, DIRECTIONS, FALL = 1e4, 24, 4.0


@dataclass(frozen=True)
class OwnPrior:
    """A prior as plans know it: normal precisions and centres, or the name of a function with its steepest curvature."""

    start: tuple[float, ...]
    precision: tuple[float, ...] | None = None
    name: str = "normal"
    stiffness: float = 0.0
    function: Callable[[Mapping[str, Any]], Any] | None = field(default=None, compare=False, repr=False)
    sampler: Callable[[int, int], Floats] | None = field(default=None, compare=False, repr=False)

    def pull(self, parameters: Form, coordinates: Coordinates) -> GaussianPull | PriorFunction:
        """Return it as a chain feels it; refuse one whose function is not there."""
        if self.precision is not None:
            return GaussianPull(coordinates, np.array(self.precision))
        if self.function is None:
            raise PremiseError(f"prior {self.name!r}: a file holds its name, not its code; make the model anew with the function")
        return PriorFunction(self.function, parameters, coordinates)

    def precisions(self, parameters: Form) -> Floats:
        """Return how narrow it is, parameter by parameter: 1 over a squared spread of draws, or by the curvature at the start."""
        if self.precision is not None:
            return np.array(self.precision)
        if self.sampler is not None:
            low, high = np.quantile(self.sampler(500, 1), [0.16, 0.84], axis=0)
            return np.asarray(4 / np.maximum(np.square(high - low), 1e-24))
        pull, size = self.pull(parameters, Coordinates.own(self.start)), len(self.start)
        assert isinstance(pull, PriorFunction)
        found = np.empty(size)
        for part in np.array_split(np.arange(size), -(-size // 128)):
            step = 1e-4 * np.eye(size)[part]
            slopes = [pull.gradients(np.array(self.start) + sign * step) for sign in (1, -1)]
            found[part] = ((slopes[1] - slopes[0]) / 2e-4)[np.arange(len(part)), part]
        return np.maximum(found, max(1e-3 * self.stiffness, 1e-9))

    def in_coordinates(self, coordinates: Coordinates, parameters: Form) -> OwnPrior:
        """Return it with its steepest curvature at the start as chains in these coordinates feel it; normals need none."""
        if self.function is None:
            return self
        function, away = PriorFunction(self.function, parameters, coordinates), _directions(len(self.start))
        slopes = [function.gradients(coordinates.parameters(sign * 1e-4 * away)) for sign in (1, -1)]
        bends = np.linalg.norm(coordinates.against(slopes[0] - slopes[1]), axis=1) / 2e-4
        return replace(self, stiffness=float(f"{bends.max():.1e}"))

    def points(self, count: int, generator: np.random.Generator) -> Floats:
        """Return public points to try things at: draws of the normals, or near the start."""
        spread = 0.3 if self.precision is None else np.minimum(1 / np.sqrt(np.array(self.precision)), 2.0)
        noise = generator.standard_normal((count, len(self.start))) * spread
        noise[0] = 0.0
        return np.asarray(np.array(self.start) + noise)

    def drawn(self, count: int, generator: np.random.Generator) -> Floats:
        """Return draws of the prior; of a function that nobody draws from, points near the start."""
        if self.precision is not None:
            return np.asarray(
                np.array(self.start) + generator.standard_normal((count, len(self.start))) / np.sqrt(self.precision)
            )
        if self.sampler is not None:
            return self.sampler(count, int(generator.integers(2**31)))
        return self.points(count + 1, generator)[1:]

    def to_dict(self) -> JSON:
        """Return plain data."""
        if self.precision is not None:
            return {"precision": list(self.precision), "centre": list(self.start)}
        return {"function": self.name, "stiffness": self.stiffness, "start": list(self.start)}


def own_prior(given: object, parameters: Form, start: object = None, name: str | None = None) -> OwnPrior:
    """Return the prior of a declaration: a `GaussianPrior`, a precision, a function of the parameters, or what a file holds."""
    size = parameters.size
    if isinstance(given, OwnPrior):
        return given
    if isinstance(given, Mapping):
        return _from_file(given, size)
    if callable(given):
        return _of_function(given, parameters, start, name)
    if start is not None:
        fail("start", "given", "left out with a normal prior, whose centre is the start")
    if given is None:
        fail("prior", given, "given", "a GaussianPrior, a precision, or a function of the parameters")
    normal = given if isinstance(given, GaussianPrior) else GaussianPrior(given)  # type: ignore[arg-type]
    return OwnPrior(tuple(normal.centres(size).tolist()), tuple(normal.precisions(size).tolist()))


def as_normal(prior: OwnPrior, parameters: Form, points: Floats) -> OwnPrior | None:
    """Return a function as the independent normals that it is, by its gradient at these points (its draws); None if it is none.

    A step with them is solved exactly, and a file verifies draws without code.
    """
    assert prior.function is not None
    some = points[: 4 * DIRECTIONS]
    slopes = PriorFunction(prior.function, parameters, Coordinates.own(prior.start)).gradients(some)
    ends = np.stack([some.argmin(axis=0), some.argmax(axis=0)])
    (low, high), (up, down) = (np.take_along_axis(each, ends, axis=0) for each in (some, slopes))
    with np.errstate(all="ignore"):
        precision = (up - down) / (high - low)
        centre = low + up / precision
        off = np.abs(slopes + precision * (some - centre)) / (precision * (high - low))
    if not (np.isfinite(off).all() and np.isfinite(centre).all() and (precision > 0).all() and off.max() < 1e-8):
        return None
    told = tuple(
        tuple(float(f"{each:.9g}") for each in part) for part in (np.where(np.abs(centre) < 1e-9, 0.0, centre), precision)
    )
    return OwnPrior(told[0], told[1], sampler=prior.sampler)


def _from_file(given: Mapping[str, Any], size: int) -> OwnPrior:
    if "precision" in given:
        normal = GaussianPrior(tuple(given["precision"]), tuple(given["centre"]))
        return OwnPrior(tuple(normal.centres(size).tolist()), tuple(normal.precisions(size).tolist()))
    start = tuple(real("start", each) for each in given["start"])
    if len(start) != size or not isinstance(given["function"], str):
        fail("prior", given["function"], f"named, with a start of {size} numbers")
    return OwnPrior(start, None, given["function"], non_negative("stiffness", given["stiffness"]))


def _of_function(given: Any, parameters: Form, start: object, name: str | None) -> OwnPrior:
    """Try a log density at public points; refuse one that is improper, or no number."""
    require_extra("jax", "a prior that is a function")
    if start is None:
        begin = np.zeros(parameters.size)
    elif isinstance(start, Mapping):
        begin = _flat_start(start, parameters)
    else:
        begin = np.array([real("start", each) for each in np.ravel(np.asarray(start))])
    if begin.shape != (parameters.size,) or not np.isfinite(begin).all():
        fail("start", f"{begin.size} numbers", f"one per parameter ({parameters.size})")
    prior = PriorFunction(given, parameters, Coordinates.own(tuple(begin.tolist())))
    try:
        away = _directions(parameters.size)
        near, *rest = prior.values(np.concatenate([begin[None], begin + FAR * (1 + np.abs(begin).max()) * away[1:]]))
        far = np.array(rest)
        slopes = [prior.gradients(begin + sign * 1e-4 * away) for sign in (1, -1)]
    except GibbsafeError:
        raise
    except KeyError as error:
        raise PremiseError(f"prior: asks for {error}, which is no declared parameter") from None
    except Exception as error:
        words = " ".join(str(error).split())[:160]
        raise PremiseError(f"prior: fails at the public start ({type(error).__name__}: {words})") from None
    if not np.isfinite(near) or not np.isfinite(slopes[0]).all():
        raise PremiseError("prior: its log density or its gradient is no finite number at the start; give another start")
    if not (np.isnan(far) | (far < near - FALL)).all():
        raise PremiseError("prior: does not fall off in every direction, so it is improper; declare a proper one")
    stiffness = float(np.linalg.norm(slopes[0] - slopes[1], axis=1).max() / 2e-4)
    called = name or getattr(given, "__name__", "prior").strip("<>")
    return OwnPrior(tuple(begin.tolist()), None, called, float(f"{stiffness:.1e}"), given)


def _directions(size: int) -> Floats:
    """Return unit vectors: some in any direction, then axes, as many as there is room for."""
    away = np.random.default_rng(0).standard_normal((DIRECTIONS, size))
    axes = np.eye(min(size, 4 * DIRECTIONS), size)
    away = np.concatenate([away, axes, -axes])[: 4 * DIRECTIONS]
    return np.asarray(away / np.linalg.norm(away, axis=1, keepdims=True))


def _flat_start(start: Mapping[str, Any], parameters: Form) -> Floats:
    if set(start) != {each.name for each in parameters.fields}:
        fail("start", sorted(map(str, start)), "a value for every parameter, and nothing else")
    try:
        return parameters.flat(start)
    except (TypeError, ValueError) as error:
        return fail("start", "of another shape", f"of the parameters' shapes ({error})")
