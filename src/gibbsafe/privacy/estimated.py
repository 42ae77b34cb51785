"""Privacy estimated by simulation: its own type, never mixed with what is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from gibbsafe._validate import fail, non_negative, open_probability, probability
from gibbsafe.errors import PremiseError

__all__ = ["EstimatedPrivacy"]


@dataclass(frozen=True)
class EstimatedPrivacy:
    """Random differential privacy, estimated: an upper confidence bound ε̂ that holds for most data sets of a model.

    With the stated ``confidence``, a data set drawn from ``data_model`` satisfies (ε̂, δ) with its neighbours except
    with probability ``failure_probability``. It promises nothing for any particular data set, nothing if the data do
    not come from the model, and nothing in the failing fraction.
    """

    epsilon: float
    delta: float
    failure_probability: float
    confidence: float
    data_model: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        object.__setattr__(self, "failure_probability", open_probability("failure_probability", self.failure_probability))
        object.__setattr__(self, "confidence", open_probability("confidence", self.confidence))
        if not isinstance(self.data_model, str) or not self.data_model.strip():
            fail("data_model", self.data_model, "a sentence that says which data distribution was simulated")

    def _refuse(self, what: str) -> NoReturn:
        raise PremiseError(f"an estimated (random-DP) claim cannot be {what}: only proved guarantees can")

    def compose(self, times: int) -> NoReturn:
        """Refuse: failure probabilities of estimates do not compose like δ."""
        self._refuse("composed")

    def group(self, size: int) -> NoReturn:
        """Refuse: an estimate over one neighbour says nothing about groups."""
        self._refuse("extended to groups")

    def amplify(self, keep_probability: float) -> NoReturn:
        """Refuse: averaging over contamination would turn the failure probability into δ."""
        self._refuse("amplified")

    def __str__(self) -> str:
        return (
            f"estimated: (ε̂ = {self.epsilon:.4g}, δ = {self.delta:.3g}) for all but {self.failure_probability:.3g} of the data"
            f" sets of [{self.data_model}], at confidence {self.confidence:.3g}; not a differential-privacy guarantee"
        )
