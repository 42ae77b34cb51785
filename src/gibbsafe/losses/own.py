"""A loss of the user's own: functions of predictor and response, and the constants that are declared of them.

Nothing here proves the constants. A plan prices what was declared, the certificate says who declared it, and
`gibbsafe.audit.refute` looks for a predictor and a response at which it is wrong. From a file come back the name and the
constants alone: enough to compute every price again, and refused where a value is asked for.

Only |f‴| ≤ κf″ has to be declared for the exact sampler. The ratios of higher derivatives, where they are declared too, make it
quicker; where not, they are infinite, and every bound that would use them is left out (`gibbsafe.samplers.shell`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

import numpy as np

from gibbsafe._types import JSON, AnyFloats, Document
from gibbsafe._validate import fail, positive
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss, psi
from gibbsafe.losses.centred import SumOfValues, like_predictor
from gibbsafe.losses.differentiated import derivative_of

__all__ = ["Declared", "Functions", "OwnLoss", "own_loss"]

Function: TypeAlias = Callable[[AnyFloats, AnyFloats], AnyFloats]
#: Constants that may be left open.
OPEN = ("quartic_deficit", "quartic_excess", "quintic_ratio")


@dataclass(frozen=True)
class Declared:
    """What a user declares of a loss: a name, and constants as `Loss` documents them; None for ratios that are left open."""

    name: str
    lipschitz: float
    smoothness: float
    self_concordance: float
    granularity: float = 1.0
    quartic_deficit: float | None = None
    quartic_excess: float | None = None
    quintic_ratio: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable() or len(self.name) > 80:
            fail("loss name", self.name, "a text of 1 to 80 printable characters")
        for name in ("lipschitz", "smoothness", "self_concordance", "granularity", *OPEN):
            value = getattr(self, name)
            if value is not None or name not in OPEN:
                object.__setattr__(self, name, positive(name, value))
        given = [name for name in OPEN if getattr(self, name) is not None]
        if given and len(given) < len(OPEN):
            fail("ratios of higher derivatives", given, f"declared all or not at all ({', '.join(OPEN)})")


@dataclass(frozen=True, eq=False)
class Functions:
    """The loss and its derivatives in the predictor, elementwise on arrays (predictors, responses)."""

    value: Function
    slope: Function
    curvature: Function
    third: Function
    fourth: Function | None = None


@dataclass(frozen=True)
class OwnLoss(SumOfValues):
    """f(u, y) of predictor u and response y with declared constants; made by `own_loss`.

    Two of them are equal if their declarations are: a file holds no more. Values are computed in double precision, whatever
    precision is asked in.
    """

    declared: Declared
    functions: Functions | None = field(default=None, compare=False, repr=False)
    margin = False

    @property
    def lipschitz(self) -> float:
        """Declared."""
        return self.declared.lipschitz

    @property
    def smoothness(self) -> float:
        """Declared."""
        return self.declared.smoothness

    @property
    def self_concordance(self) -> float:
        """Declared."""
        return self.declared.self_concordance

    @property
    def quartic_deficit(self) -> float:
        """Declared, or infinite."""
        return _or_infinite(self.declared.quartic_deficit)

    @property
    def quartic_excess(self) -> float:
        """Declared, or infinite."""
        return _or_infinite(self.declared.quartic_excess)

    @property
    def quintic_ratio(self) -> float:
        """Declared, or infinite."""
        return _or_infinite(self.declared.quintic_ratio)

    @property
    def granularity(self) -> float:
        """Declared: 1 unless said otherwise."""
        return self.declared.granularity

    def require_code(self) -> Functions:
        """Return the functions; refuse a declaration that came from a file, which holds none."""
        if self.functions is None:
            raise PremiseError(
                f"loss {self.declared.name!r}: a file holds its constants, not its code; make the plan anew with the function"
            )
        return self.functions

    def _of(self, function: Function, u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
        wide = u.astype(np.float64, copy=False)
        targets = np.broadcast_to(like_predictor(wide, y), wide.shape)
        return np.asarray(function(wide, targets), dtype=np.float64).astype(u.dtype, copy=False)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self._of(self.require_code().value, u, y)

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self._of(self.require_code().slope, u, y)

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self._of(self.require_code().curvature, u, y)

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return self._of(self.require_code().third, u, y)

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """The fourth derivative, used where the ratios of higher derivatives are declared."""
        function = self.require_code().fourth
        if function is None:
            raise PremiseError(f"loss {self.declared.name!r}: its fourth derivative is not given")
        return self._of(function, u, y)

    def curvature_losses(self, reaches: AnyFloats, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """f″(u)ψ(κ·reach): D(a) ≥ f″(u)(e^{−κ|a|} + κ|a| − 1)/κ² by |f‴| ≤ κf″ alone, and nothing else is known of f″."""
        return np.asarray(self.curvature(u, y) * psi(self.self_concordance * reaches) * (1 + 1e-12))

    def to_dict(self) -> JSON:
        """Return name and constants as plain data."""
        return {name: value for name, value in asdict(self.declared).items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Document) -> OwnLoss:
        """Return the declaration alone."""
        return cls(Declared(**fields))


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def own_loss(
    value: Function,
    *,
    lipschitz: float,
    smoothness: float,
    self_concordance: float,
    slope: Function | None = None,
    curvature: Function | None = None,
    third: Function | None = None,
    fourth: Function | None = None,
    name: str | None = None,
    granularity: float = 1.0,
    quartic_deficit: float | None = None,
    quartic_excess: float | None = None,
    quintic_ratio: float | None = None,
) -> OwnLoss:
    """Return a loss of your own: f(u, y) of the linear predictor u and the response y, convex in u.

    Args:
        value: f, on NumPy arrays elementwise; or on single numbers with ``jax.numpy``, if no derivative is given.
        lipschitz: L with |f′| ≤ L for every u and every response within the declared bounds.
        smoothness: M with 0 ≤ f″ ≤ M.
        self_concordance: κ with |f‴| ≤ κf″.
        slope, curvature, third: f′, f″ and f‴ in u; all of them, or none: JAX then makes them (``gibbsafe[jax]``).
        fourth: f⁗, needed where the next three are declared.
        name: what plans and certificates call it; by default the function's name.
        granularity: g such that a computed value errs by at most 16 roundings of |f| + L|u| + g.
        quartic_deficit, quartic_excess, quintic_ratio: as `gibbsafe.losses.base` has them; all or none. They make draws quicker.

    The constants are yours: a wrong one makes the price wrong. `gibbsafe.audit.refute` searches for a violation.

    >>> loss = own_loss(
    ...     lambda u, y: np.logaddexp(y - u, u - y), slope=lambda u, y: np.tanh(u - y),
    ...     curvature=lambda u, y: np.cosh(np.minimum(abs(u - y), 300)) ** -2.0,
    ...     third=lambda u, y: -2 * np.tanh(u - y) * np.cosh(np.minimum(abs(u - y), 300)) ** -2.0,
    ...     lipschitz=1, smoothness=1, self_concordance=2, name="log-cosh",
    ... )
    >>> loss.slope(np.zeros(1), np.zeros(1))
    array([0.])
    """
    for function in (value, slope, curvature, third, fourth):
        if function is not None and not callable(function):
            fail("loss", function, "a function of predictor and response")
    derivatives = (slope, curvature, third)
    if any(each is None for each in derivatives) != all(each is None for each in derivatives):
        fail("derivatives", "some", "slope, curvature and third, or none of them", "JAX makes all of them from the value")
    called = name if name is not None else getattr(value, "__name__", "").strip("<>")
    constants = (lipschitz, smoothness, self_concordance, granularity, quartic_deficit, quartic_excess, quintic_ratio)
    declared = Declared(called, *constants)
    if slope is None or curvature is None or third is None:
        made = Functions(*(derivative_of(value, order) for order in range(5)))
    else:
        made = Functions(value, slope, curvature, third, fourth)
    if made.fourth is None and declared.quartic_deficit is not None:
        fail("fourth", None, "given where ratios of higher derivatives are declared")
    loss = OwnLoss(declared, made)
    _check_form(loss)
    return loss


def _check_form(loss: Loss) -> None:
    """Refuse functions that do not answer elementwise with finite numbers."""
    u, y = np.array([[-1.0, 0.5], [0.25, 1.0], [0.0, 2.0]]), np.array([0.0, 1.0, -1.0])
    for what in ("value", "slope", "curvature", "third"):
        try:
            found = getattr(loss, what)(u, y)
        except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError, KeyError) as error:
            raise PremiseError(f"loss: its {what} fails on arrays of predictors ({type(error).__name__}: {error})") from error
        if found.shape != u.shape:
            raise PremiseError(f"loss: its {what} has shape {found.shape} for predictors of shape {u.shape}; must be elementwise")
        if not np.isfinite(found).all():
            raise PremiseError(f"loss: its {what} is not finite at ordinary predictors and responses")
        if not np.array_equal(found, getattr(loss, what)(u, y)):
            raise PremiseError(f"loss: its {what} answers differently when asked again; it must be a pure function")
