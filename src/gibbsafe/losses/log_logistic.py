"""The log-logistic loss of a time that may be censored: −log-likelihood of a median time e^u with a known scale.

A log-logistic time t with median e^u and scale s has log t = u + s·(logistic noise). With v = (u − log t)/s its −log-likelihood
is softplus(v) + softplus(−v) up to a constant of t, and that of a time that was only survived, right-censored, softplus(−v):

    f(u, t) = softplus(−v) + d·softplus(v),    d = 1 for an event, 0 for a censored time.

**Lemma.** For every time t > 0 and s > 0, with σ the logistic function:

1. f′ = (dσ(v) − σ(−v))/s lies in [−1/s, d/s]: |f′| ≤ 1/s **whatever the time is**; both ends are approached.
2. f″ = (1 + d)σ(v)σ(−v)/s² ≤ (1 + d)/(4s²) ≤ 1/(2s²), attained by an event at v = 0.
3. f − (1 + d)·softplus(v) is a line, so ratios of higher derivatives to f″ are those of a softplus of width s: |f‴| ≤ f″/s,
   f″(u+x) ≥ f″(u) + f‴(u)x − f″(u)x²/(4s²), f'''' ≤ f″/s², |f'''''| ≤ f″/s³ (`gibbsafe.losses.base`).

A record's response is one number: log t for an event, log t + `CENSORED` for a censored time; logarithms of positive doubles lie
between −745 and 710, so the two never meet. Values are measured from u = 0, as those of every unbounded response
(`gibbsafe.losses.centred`): softplus(a) − softplus(b) is at most |a − b|, however large both are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import AnyFloats, Floats
from gibbsafe.losses.bregman import bregman
from gibbsafe.losses.centred import SumOfValues, like_predictor
from gibbsafe.losses.kernels import logistic_slope
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.softplus import bell, bell_bend

__all__ = ["CENSORED", "LogLogisticLoss", "packed_times"]

#: What is added to the logarithm of a censored time.
CENSORED = 2048.0


def packed_times(times: Floats, events: Floats) -> Floats:
    """Return the responses of times above 0, with 1 for an event and 0 for a censored time."""
    return np.asarray(np.log(times) + np.where(events > 0, 0.0, CENSORED))


@dataclass(frozen=True)
class LogLogisticLoss(SumOfValues):
    """softplus(−v) + d·softplus(v), v = (u − log t)/s, less its value at u = 0, for responses that `packed_times` made."""

    scale: float = 1.0
    margin = False

    def __post_init__(self) -> None:
        _validate.positive("scale", self.scale)

    @property
    def lipschitz(self) -> float:
        """1/s."""
        return 1 / self.scale

    @property
    def smoothness(self) -> float:
        """1/(2s²)."""
        return 0.5 / self.scale**2

    @property
    def self_concordance(self) -> float:
        """1/s."""
        return 1 / self.scale

    @property
    def quartic_deficit(self) -> float:
        """1/(2s²)."""
        return 0.5 / self.scale**2

    @property
    def quartic_excess(self) -> float:
        """1/s²."""
        return 1 / self.scale**2

    @property
    def quintic_ratio(self) -> float:
        """1/s³."""
        return 1 / self.scale**3

    @property
    def granularity(self) -> float:
        """Lip times the largest response, of which log t is a part and rounded with it; 2, the size of the curved parts."""
        return 2 + 2 * CENSORED / self.scale

    def _apart(self, u: AnyFloats, y: AnyFloats | None) -> tuple[AnyFloats, AnyFloats, AnyFloats]:
        """Return v, its value at u = 0, and d."""
        assert y is not None
        censored = y > CENSORED / 2
        start = like_predictor(u, -(y - np.where(censored, CENSORED, 0.0)) / self.scale)
        return np.asarray(u / np.asarray(self.scale, dtype=u.dtype) + start), start, like_predictor(u, 1.0 - censored)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """softplus(−v) + d·softplus(v) as (1 + d)·softplus(v) − v, each part less its value at u = 0."""
        v, start, event = self._apart(u, y)
        bent = np.maximum(v, 0) - np.maximum(start, 0) + (np.log1p(np.exp(-np.abs(v))) - np.log1p(np.exp(-np.abs(start))))
        return np.asarray((1 + event) * bent - u / np.asarray(self.scale, dtype=u.dtype))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """(dσ(v) − σ(−v))/s."""
        v, _, event = self._apart(u, y)
        return np.asarray((logistic_slope(v) - event * logistic_slope(-v)) / np.asarray(self.scale, dtype=u.dtype))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """(1 + d) bells of width s."""
        v, _, event = self._apart(u, y)
        return np.asarray((1 + event) * bell(v)[0] / np.asarray(self.scale**2, dtype=u.dtype))

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """(1 + d) bells of width s."""
        v, _, event = self._apart(u, y)
        return np.asarray((1 + event) * bell(v)[1] / np.asarray(self.scale**3, dtype=u.dtype))

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """(1 + d) bells of width s."""
        v, _, event = self._apart(u, y)
        return np.asarray((1 + event) * bell_bend(v) / np.asarray(self.scale**4, dtype=u.dtype))


@bregman.register
def _(loss: LogLogisticLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    v, _, event = loss._apart(u, y)
    return np.asarray((1 + event) * bregman(LogisticLoss(), v, step / loss.scale))
