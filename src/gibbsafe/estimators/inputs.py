"""What comes in from scikit-learn's world: arrays, bounds, seeds and accounts, checked once and refused in one line."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import count, fail
from gibbsafe.errors import DomainError, ParameterError
from gibbsafe.ledger import FreshKeys
from gibbsafe.ledger import account as find_account
from gibbsafe.release import Ledger

__all__ = [
    "DomainTypeError",
    "Floats",
    "as_generator",
    "check_input",
    "open_ledger",
    "pair",
    "pairs",
    "refuse_more",
    "refused_in_one_line",
]


class DomainTypeError(DomainError, TypeError):
    """Data of the wrong type, which scikit-learn reports as a `TypeError`."""


def check_input(estimator: BaseEstimator, *arrays: object, **options: object) -> Any:
    """Run scikit-learn's `validate_data` on training rows, or on new ones with ``reset=False``."""
    with refused_in_one_line():
        form: JSON = {} if options.get("skip_check_array") else {"dtype": np.float64}
        return validate_data(estimator, *arrays, **form, **options)


def refuse_more(estimator: BaseEstimator, refused: Document) -> None:
    """Refuse arguments of `fit` that have no private meaning, weights of records by name and with the reason."""
    if "sample_weight" in refused:
        raise ParameterError(
            "sample_weight: refused, since a weight multiplies what one record reveals and the guarantee is proved for records "
            "that count once; leave it out"
        )
    for name in refused:
        raise TypeError(f"{type(estimator).__name__}.fit() got an unexpected keyword argument {name!r}")


@contextmanager
def refused_in_one_line() -> Iterator[None]:
    """Turn what scikit-learn raises into the house's errors, of one line each.

    Only a mismatch of feature names keeps scikit-learn's own lines, one per name.
    """
    try:
        yield
    except TypeError as error:
        raise DomainTypeError(_public(error), private=str(error)) from None
    except ValueError as error:
        raise DomainError(_public(error), private=str(error)) from None


#: What scikit-learn says without quoting an entry, each up to where a count or a value may follow.
_PUBLIC = (
    r"The feature names(.|\n)*",
    r"Expected 2D array, got \w+ array instead",
    r"Found array with (dim \d+|0 \w+\(s\) \(shape=\(\d*, *\d*\)\)).*",
    r"Input \w+ contains (NaN|infinity).*",
    r"X has \d+ features, but \w+ is expecting \d+ features as input",
    r"(Sparse data was passed|Complex data not supported).*",
    r".*argument must be a string or a (real )?number.*",
    r"(This|Estimator) .*requires y to be passed.*",
    r"Found input variables with inconsistent numbers of samples",
    r"y should be a 1d array",
    r"could not convert string to float",
    r"dtype='numeric' is not compatible with arrays of bytes/strings",
)


def _public(error: Exception) -> str:
    """Return what scikit-learn says as far as it is about the form of the input: no entries, no numbers of rows."""
    text = str(error)
    if text.startswith("The feature names"):
        return text
    first, *others = text.splitlines() or [""]
    known = next((match.group(0) for pattern in _PUBLIC if (match := re.match(pattern, first))), None)
    if known is None:
        return "X, y: not arrays of numbers as scikit-learn takes them"
    without_rows = re.sub(r"shape=\(\d*, *(\d*)\)", r"shape=(, \1)", known)
    return " ".join([without_rows, *(line for line in others if line.startswith("Reshape"))])


def pairs(bounds: object, columns: int) -> tuple[tuple[float, float], ...]:
    """Return one (low, high) per column from a list of pairs, an array of two columns, or one pair that serves them all.

    >>> pairs((0, 1), 2)
    ((0, 1), (0, 1))
    >>> pairs(np.array([[0.0, 1.0], [0.0, 5.0]]), 2)
    ((0.0, 1.0), (0.0, 5.0))
    """
    listed = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    condition = "a (low, high) pair, or one pair per feature"
    if not isinstance(listed, list | tuple):
        fail("bounds", bounds, condition)
    if len(listed) == 2 and all(isinstance(end, numbers.Real) for end in listed):
        return ((listed[0], listed[1]),) * columns
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in listed):
        fail("bounds", bounds, condition)
    if len(listed) != columns:
        fail("bounds", f"{len(listed)} pairs", f"one pair per feature ({columns}), or one pair for all")
    return tuple((low, high) for low, high in listed)


def pair(name: str, bounds: object) -> tuple[float, float]:
    """Return the two ends of one public interval.

    >>> pair("response_bounds", [0, 10])
    (0, 10)
    """
    listed = bounds.tolist() if isinstance(bounds, np.ndarray) else bounds
    if not isinstance(listed, list | tuple) or len(listed) != 2:
        fail(name, bounds, "a (low, high) pair")
    return listed[0], listed[1]


def as_generator(random_state: object) -> np.random.Generator | None:
    """Return None for secure randomness, or the seeded generator that a seed stands for.

    >>> as_generator(None) is None, as_generator(7).random() == as_generator(7).random()
    (True, True)
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(count("random_state", random_state, least=0))


def open_ledger(account: object) -> Ledger | None:
    """Return the ledger that an account string names (``ledger.db#clinic``); every fit is a charge under a key of its own.

    Objects are refused for good: scikit-learn copies parameters when it clones an estimator or sends it to another process,
    and a copied ledger would not charge the same account. A string does.
    """
    if account is None:
        return None
    if not isinstance(account, str):
        fail("ledger", account, "None or a string (a URL or an account), since clones copy objects and must charge one account")
    return FreshKeys(find_account(account))
