"""Searching for a violation of what a likelihood of the user's own asserts: that it is pure, and looks at one record.

That clipping keeps to its bound is tried with it: at hostile records, infinities and points far out. Of one that declares itself
convex and smooth, lengths, changes and directions of unclipped gradients are tried. What code closes over cannot be seen from
outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.audit.clock import Clock
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.own.custom import Custom
from gibbsafe.models.own.trial import Code, differences_by_place
from gibbsafe.posteriors.clipped import RecordGradients, clip_gradients
from gibbsafe.posteriors.coordinates import InCoordinates
from gibbsafe.posteriors.record_gradients import compiled_gradient

__all__ = ["Tried", "tried"]

#: Rounding of a search.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Tried:
    """One thing that was tried: how much of what is asserted was reached, above 1 for a counterexample, and how often."""

    constant: str
    statement: str
    share: float
    evaluations: int


def tried(model: Custom, effort: int, seed: int, clock: Clock) -> Iterator[Tried]:
    """Yield what was tried, the purity of the code first."""
    model.require_code()
    assert model.clip is not None
    rng, code = np.random.default_rng(seed), InCoordinates(model.code, model.coordinates, model.clip)
    for _ in range(max(1, effort // 20)):
        rows, thetas = model.columns.synthetic(96, rng), _points(model, rng)
        yield from _purity(code, rows, thetas, int(rng.integers(2**31)))
        yield _clipping(model, code, rows, thetas)
        if model.convex:
            yield from _geometry(model, model.code, rows, model.coordinates.parameters(thetas), rng)
        if clock.is_over():
            return


def _points(model: Custom, rng: np.random.Generator) -> Floats:
    """Return points in a chain's coordinates, near the start and far out."""
    size = model.form.size
    near = (
        rng.standard_normal((6, size))
        * np.minimum(1 / np.sqrt(model.prior.precisions(model.form)), 2.0)
        / model.coordinates.reach
    )
    near[0] = 0.0
    return np.concatenate([near, 10 ** rng.uniform(0, 3, (4, 1)) * rng.standard_normal((4, size))])


def _purity(code: RecordGradients, rows: Floats, thetas: Floats, seed: int) -> Iterator[Tried]:
    """Permute, replace and leave out other records; ask again; ask a function that was compiled anew."""
    size = len(rows) * len(thetas)
    names = ("permuted", "replaced", "left out")
    for name, share in zip(names, differences_by_place(code, rows, thetas, seed), strict=True):
        yield Tried("one record", f"a record's gradient changes as other records are {name}", 2.0 if share else 0.0, size)
    before = code(rows, thetas)
    compiled_gradient.cache_clear()
    same = np.array_equal(before, code(rows, thetas), equal_nan=True)
    yield Tried("purity", "a gradient is another one when it is asked again", 0.0 if same else 2.0, size)


def _clipping(model: Custom, code: RecordGradients, rows: Floats, thetas: Floats) -> Tried:
    """Clip gradients as they are, and as hostile code could make them."""
    assert model.clip is not None
    hostile = np.array([[1e300], [-1e308], [np.nan], [np.inf], [5e-324]]) * np.ones(model.form.size)
    with np.errstate(all="ignore"):
        hostile = model.coordinates.turned(hostile, model.clip)
        found = np.concatenate([code(rows, thetas).reshape(-1, model.form.size), hostile])
        lengths = np.linalg.norm(clip_gradients(found, model.clip), axis=1)
    share = 2.0 if not np.isfinite(lengths).all() else float(lengths.max() / model.clip)
    return Tried("clip", "length of a clipped gradient", share, len(found))


def _geometry(model: Custom, code: Code, rows: Floats, thetas: Floats, rng: np.random.Generator) -> Iterator[Tried]:
    """Lengths, changes and directions of the gradient of −log-likelihood, unclipped."""
    assert model.clip is not None
    assert model.smoothness is not None
    step = rng.standard_normal(thetas.shape)
    step *= 10 ** rng.uniform(-3, 0, (len(step), 1)) / np.linalg.norm(step, axis=1, keepdims=True)
    here, there = (-code(rows, points) for points in (thetas, thetas + step))
    if not (np.isfinite(here).all() and np.isfinite(there).all()):
        raise GibbsafeError("gradient: is no number at a synthetic record, and nothing convex and smooth is like that")
    change, size = there - here, np.linalg.norm(step, axis=1)[:, None]
    longest = float(np.linalg.norm(here, axis=-1).max())
    steepest = float((np.linalg.norm(change, axis=-1) / size).max())
    along = np.einsum("krd,kd->kr", change, step)
    bend = float((-along - 1e-9 * (1 + np.linalg.norm(here, axis=-1)) * size).max())
    count = here.shape[0] * here.shape[1]
    yield Tried("clip", "length of a gradient, of a likelihood that is declared to need no clipping", longest / model.clip, count)
    yield Tried("smoothness", "change of the gradient per distance", steepest / model.smoothness, count)
    yield Tried("convex", "the gradient turns back along a line", 2.0 if bend > 0 else 0.0, count)
