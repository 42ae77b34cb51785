"""Linear models with a loss of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import fail, positive
from gibbsafe.domains.interval import Interval
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.own import OwnLoss
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import HoldsCode
from gibbsafe.models.linear.regressor import LinearRegressor
from gibbsafe.models.searched import SearchRecord, as_record, declaration_digest, search_statement

__all__ = ["OwnLossRegression"]

#: Largest loss at predictor 0, in units of the declared granularity: rounding of a sum of larger ones would hide a record.
LARGEST_VALUE = 1e6


def _check_size(loss: OwnLoss, ends: Interval) -> None:
    """Refuse a loss that is huge at responses within the bounds; of a declaration without code nothing is asked."""
    if loss.functions is None:
        return
    responses = np.linspace(ends.low, ends.high, 33)
    values = loss.value(np.zeros(33), responses)
    if not np.isfinite(values).all() or np.abs(values).max() > LARGEST_VALUE * loss.granularity:
        limit = f"at most {LARGEST_VALUE:g} times the granularity at predictor 0"
        fail("loss", loss.declared.name, f"finite and {limit} for responses within the bounds", "narrow response_bounds")


@register
@dataclass(frozen=True, kw_only=True)
class OwnLossRegression(LinearRegressor, HoldsCode):
    """A numeric response with a loss of your own, made by `LinearModel.with_loss`: everything else is as for other linear models.

    Args:
        own_loss: made by `gibbsafe.models.own_loss`.
        response_bounds: public ends of the response; what lies outside is clipped to them. The loss's constants are declared for
            responses between them.
        scale: the public unit of the response, by which the default prior is set.
        record: what `gibbsafe.audit.refute` found; see `with_record`.

    A draw is as private as the declared constants say, if they are true: the price is computed from them, and nothing here proves
    them. Certificates say so.
    """

    name = "OwnLossRegression"
    own_loss: Any
    response_bounds: tuple[float, float]
    scale: float = 1.0
    record: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = OwnLoss.from_dict(self.own_loss) if isinstance(self.own_loss, Mapping) else self.own_loss
        if not isinstance(given, OwnLoss):
            fail("loss", type(given).__name__, "made by gibbsafe.models.own_loss")
        if not isinstance(self.response_bounds, tuple | list) or len(self.response_bounds) != 2:
            fail("response_bounds", self.response_bounds, "a pair (low, high)")
        ends = Interval(*self.response_bounds)
        object.__setattr__(self, "own_loss", given)
        object.__setattr__(self, "response_bounds", (ends.low, ends.high))
        object.__setattr__(self, "scale", positive("scale", self.scale))
        _check_size(given, ends)
        record = as_record(self.record)
        if record is not None and record.declaration != declaration_digest(self.to_dict()):
            raise PremiseError("record: of another declaration than this one; search this model")
        object.__setattr__(self, "record", record)

    @property
    def loss(self) -> Loss:
        """The user's."""
        assert isinstance(self.own_loss, OwnLoss)
        return self.own_loss

    @property
    def parameter_scale(self) -> float:
        """The declared unit of the response."""
        return self.scale

    def with_record(self, record: object) -> Self:
        """Return the model with what `gibbsafe.audit.refute` found: a plan says it, and the certificate.

        Refused where a counterexample was found, and where another declaration was searched.
        """
        return replace(self, record=as_record(record))

    def require_code(self) -> None:
        """Refuse a declaration whose functions are not there."""
        self.own_loss.require_code()

    @property
    def declared_by_user(self) -> tuple[str, ...]:
        """The constants, and that the functions are pure."""
        record = self.record
        assert record is None or isinstance(record, SearchRecord)
        named = f"the loss {self.own_loss.declared.name!r}"
        return (
            f"convexity, Lipschitz constant, smoothness and self-concordance of {named}: {search_statement(record)}",
            f"{named} and its derivatives are pure functions of predictor and response, and closed over nothing private",
            "a computed value of it errs by at most 16 roundings of its size and of the predictor's",
        )

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        return np.clip(super()._encode_response(response, on_invalid), *self.response_bounds)

    def _extreme_responses(self) -> tuple[object, ...]:
        low, high = self.response_bounds
        return low, high, 0.5 * (low + high)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data: of the loss its name and constants."""
        held = self.record.to_dict() if isinstance(self.record, SearchRecord) else None
        more = {"own_loss": self.own_loss.to_dict(), "response_bounds": list(self.response_bounds), "scale": self.scale}
        return self._declaration(**more) | ({} if held is None else {"record": held})
