"""A likelihood of the user's own on synthetic records: refused, in one line, before any record is read or budget charged.

Synthetic records are spread over the declared columns, or simulated where the model can simulate; never any of the data. What is
measured on them (how long gradients are, how much they tell) sets defaults, is public, and is written down with the declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import GibbsafeError, PremiseError
from gibbsafe.posteriors.clipped import RecordGradients, clip_gradients
from gibbsafe.posteriors.coordinates import MOST_TURNED
from gibbsafe.posteriors.record_gradients import GivenGradients, JaxGradients, compiled_gradient, sealed

__all__ = ["Code", "Measured", "differences_by_place", "information_of", "measured", "require_pure", "told", "told_of"]

Code: TypeAlias = JaxGradients | GivenGradients
#: Synthetic records of a trial, and points at which they are tried.
RECORDS, POINTS = 24, 4
#: The share of gradients that the default clip leaves as they are: what it shortens is biased, and noise grows with it.
USUAL = 0.9
#: Entries that no measurement counts.
HUGE = 1e100


@dataclass(frozen=True)
class Measured:
    """What synthetic records say: a bound that most gradients keep to, and the information of one record."""

    clip: float
    typical: float
    largest: float


def require_pure(code: Code, rows: Floats, thetas: Floats) -> Floats:
    """Return the gradients of synthetic records; refuse a function that is no log-likelihood of one record alone."""
    if isinstance(code, JaxGradients):
        _require_scalar(code, rows, thetas)
    else:
        _require_number(code, rows, thetas)
    first = _answered(code, rows, thetas)
    if not np.isfinite(first).any():
        raise PremiseError("log_likelihood: its gradient is not a number at any synthetic record")
    if not np.nan_to_num(first).any():
        raise PremiseError("log_likelihood: does not depend on the parameters, its gradient is 0 at every synthetic record")
    for again in _fresh(code):
        if not np.array_equal(first, _answered(again, rows, thetas), equal_nan=True):
            raise PremiseError(
                "log_likelihood: answers differently when asked again; it must be pure, without global state or randomness"
            )
    if any(share > 0 for share in differences_by_place(code, rows, thetas)):
        raise PremiseError("log_likelihood: a record's gradient changes with the other records; it must look at one record")
    return first


def _fresh(code: Code) -> Iterator[Code]:
    """Yield the code as it is, and compiled anew."""
    yield code
    if isinstance(code, JaxGradients):
        compiled_gradient.cache_clear()
        yield code


def differences_by_place(code: RecordGradients, rows: Floats, thetas: Floats, seed: int = 0) -> Iterator[float]:
    """Yield which share of gradients change, to the last bit, as other records are permuted, replaced and left out."""
    rng, whole = np.random.default_rng(seed), _answered(code, rows, thetas)
    order, half = rng.permutation(len(rows)), len(rows) // 2
    yield _changed(whole[:, order], _answered(code, rows[order], thetas))
    others = np.concatenate([rows[:half], rows[rng.integers(0, half, len(rows) - half)]])
    yield _changed(whole[:, :half], _answered(code, others, thetas)[:, :half])
    yield _changed(whole[:, :1], _answered(code, rows[:1], thetas))


def _changed(first: Floats, second: Floats) -> float:
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return 1 - float(same.mean())


def _answered(code: RecordGradients, rows: Floats, thetas: Floats) -> Floats:
    """Return the gradients, whatever the code raises as one line."""
    return np.asarray(told(lambda: code(rows, thetas), "gradient" if isinstance(code, GivenGradients) else "log_likelihood"))


def told(ask: Callable[[], Any], name: str) -> Any:
    """Return what code of the user's answers on something synthetic; what it raises, as one line."""
    try:
        return ask()
    except GibbsafeError:
        raise
    except KeyError as error:
        raise PremiseError(f"{name}: asks for {error}, which is neither a declared parameter nor a declared column") from None
    except Exception as error:
        words = " ".join(str(error).split())[:160]
        raise PremiseError(f"{name}: fails on a synthetic record ({type(error).__name__}: {words})") from None


def _require_scalar(code: JaxGradients, rows: Floats, thetas: Floats) -> None:
    import jax
    import jax.numpy as jnp

    def value() -> Any:
        with jax.enable_x64(True):
            named = code.parameters.named(jnp.asarray(thetas[0])), code.record.named(jnp.asarray(rows[0]), jnp.int32)
            return jax.eval_shape(code.function, *named)

    found = told(value, "log_likelihood")
    if not hasattr(found, "shape") or found.shape != ():
        raise PremiseError(f"log_likelihood: returns shape {getattr(found, 'shape', None)} for one record; must be one number")
    if not jnp.issubdtype(found.dtype, jnp.floating):
        raise PremiseError(f"log_likelihood: returns {found.dtype}; must be one real number")
    _refuse_calls_out(code, rows, thetas)


def _refuse_calls_out(code: JaxGradients, rows: Floats, thetas: Floats) -> None:
    """Refuse calls out of JAX, of the function or its gradient: what they raise, write and take at some record would be seen."""
    import jax

    named = code.parameters.named(thetas[0]), code.record.named(rows[0], int)
    with jax.enable_x64(True):
        asked = code.function, jax.grad(code.function)
        traced = [told(lambda each=each: jax.make_jaxpr(each)(*named), "log_likelihood") for each in asked]  # type: ignore[misc]
    found = (name for each in traced for name in _primitives(each.jaxpr) if "callback" in name or "print" in name)
    called = next(found, "an effect" if any(each.effects for each in traced) else None)
    if called is not None:
        remedy = "write it in JAX, or as a NumPy function with gradient="
        raise PremiseError(f"log_likelihood: calls out of JAX ({called}); {remedy}")


def _primitives(jaxpr: Any) -> Iterator[str]:
    """Yield the names of all operations of a traced function, those inside loops and branches too."""
    for equation in jaxpr.eqns:
        yield str(equation.primitive.name)
        for given in equation.params.values():
            for each in given if isinstance(given, tuple | list) else (given,):
                inner = getattr(each, "jaxpr", each)
                if hasattr(inner, "eqns"):
                    yield from _primitives(inner)


def _require_number(code: GivenGradients, rows: Floats, thetas: Floats) -> None:
    rows, point = sealed(rows), code.parameters.named(sealed(thetas[0]))
    record = code.record.named(rows[0], np.int64)
    found = np.asarray(told(lambda: code.function(point, record), "log_likelihood"))
    if found.shape != () or found.dtype.kind != "f":
        raise PremiseError(f"log_likelihood: returns shape {found.shape} for one record; must be one real number")
    answer = told(lambda: code.gradient(point, code.record.named(rows[:1] if code.batched else rows[0], np.int64)), "gradient")
    leading = (1,) if code.batched else ()
    for field in code.parameters.fields:
        part = told(lambda field=field: np.asarray(answer[field.name]), "gradient")  # type: ignore[misc]
        if part.shape != (*leading, *field.shape):
            raise PremiseError(f"gradient: {field.name!r} has shape {part.shape}, must be {(*leading, *field.shape)}")
        if part.dtype.kind not in "fiu":
            raise PremiseError(f"gradient: {field.name!r} is of {part.dtype}; must be of real numbers")


def told_of(gradients: Floats) -> Floats:
    """Return gradients (…, d) as they count in measurements: those that are no numbers, or beyond all others, as 0."""
    odd = ~(np.abs(gradients) < HUGE).all(axis=-1, keepdims=True)
    return np.where(odd, 0.0, gradients)


def information_of(gradients: Floats) -> Floats:
    """Return the information (d, d) of one record: mean products of gradients (points, records, d), every point's as telling.

    Long gradients are shortened to their usual length, so that no few of them say it all; of many parameters the diagonal alone
    is found.
    """
    lengths = np.linalg.norm(gradients, axis=-1)
    usual = np.quantile(lengths, USUAL, axis=1)
    some = usual > 0
    if not some.any():
        return np.eye(gradients.shape[-1])
    kept = gradients[some] * np.minimum(1.0, usual[some, None] / np.maximum(lengths[some], 1e-300))[..., None]
    sizes = np.square(kept).sum(axis=-1).mean(axis=1)
    even = kept * np.sqrt(np.median(sizes) / np.maximum(sizes, 1e-300))[:, None, None]
    terms = even.reshape(-1, gradients.shape[-1])
    if terms.shape[1] > MOST_TURNED:
        return np.diag(np.square(terms).mean(axis=0))
    return np.asarray(terms.T @ terms / len(terms))


def measured(gradients: Floats, clip: float | None) -> Measured:
    """Return what gradients (points, records, d) of synthetic records tell, clipped at the bound or at their usual length."""
    lengths = np.linalg.norm(gradients, axis=-1)
    seen = lengths[lengths > 0]
    bound = clip if clip is not None else float(f"{np.quantile(seen, USUAL) if len(seen) else 1.0:.2g}")
    terms = clip_gradients(gradients, bound).reshape(-1, gradients.shape[-1])
    product = terms.T @ terms if terms.shape[1] <= len(terms) else terms @ terms.T
    values = np.linalg.eigvalsh(product / len(terms))
    largest = max(float(values[-1]), 1e-12 * bound**2)
    return Measured(bound, _two(max(float(np.median(values)), 1e-3 * largest)), _two(largest))


def _two(value: float) -> float:
    """Return the number to two digits, as a declaration holds it."""
    return float(f"{value:.1e}") if math.isfinite(value) else value
