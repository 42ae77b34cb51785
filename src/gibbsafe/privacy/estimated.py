"""Privacy estimated by simulation: its own type, never mixed with what is proved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NoReturn

from gibbsafe._types import JSON
from gibbsafe._validate import fail, non_negative, open_probability, positive, probability
from gibbsafe.errors import BudgetError, PremiseError

__all__ = ["EstimatedBudget", "EstimatedPrivacy"]


@dataclass(frozen=True)
class EstimatedPrivacy:
    """Random differential privacy, estimated: an upper confidence bound ε̂ that holds for most data sets of a model.

    With the stated ``confidence``, a data set drawn from ``data_model`` satisfies (ε̂, δ) with its neighbours except
    with probability ``failure_probability``. It promises nothing for any particular data set, nothing if the data do
    not come from the model, and nothing in the failing fraction.

    ``interval`` is a two-sided confidence interval for the quantile, ``notes`` say what else limits the claim, and an estimate
    made on a curator's own records is ``sensitive``: it depends on them, and its number must not leave the curator.
    """

    epsilon: float
    delta: float
    failure_probability: float
    confidence: float
    data_model: str
    method: str = ""
    adjacency: str = "replace-one"
    repeats: int | None = None
    interval: tuple[float, float] | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    sensitive: bool = False

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

    @property
    def promise(self) -> str:
        """What is claimed, and what is not."""
        return (
            f"With confidence {self.confidence:.3g}, all but {self.failure_probability:.3g} of the data sets of the simulated "
            f"model satisfy ({self.epsilon:.4g}, {self.delta:.3g}) towards their {self.adjacency} neighbours. It is not "
            "differential privacy: it promises nothing for any particular data set, nothing in the failing fraction, and nothing "
            "if the data do not come from the model."
        )

    def to_dict(self, *, curator: bool = False) -> JSON:
        """Return plain data; refuse to do so with a sensitive estimate unless asked by the ``curator``."""
        if self.sensitive and not curator:
            raise PremiseError("this estimate was made on private records and depends on them; only the curator may see it")
        fields = asdict(self) | {"notes": list(self.notes), "promise": self.promise}
        return fields | {"interval": None if self.interval is None else list(self.interval)}

    def __str__(self) -> str:
        return (
            f"estimated: (ε̂ = {self.epsilon:.4g}, δ = {self.delta:.3g}) for all but {self.failure_probability:.3g} of the data"
            f" sets of [{self.data_model}], at confidence {self.confidence:.3g}; not a differential-privacy guarantee"
            + ("; sensitive: for the curator only" if self.sensitive else "")
        )


@dataclass(frozen=True)
class EstimatedBudget:
    """What a curator asks of an *estimate*: ε̂ at δ for all but ``failure`` of the data sets of a model, at this confidence.

    It is no `Budget`: nothing that meets it is proved, nothing composes with it, and no account with a total takes it.

    >>> EstimatedBudget(1.0, 1e-4)
    EstimatedBudget(epsilon=1.0, delta=0.0001, failure=0.01, confidence=0.95)
    """

    epsilon: float
    delta: float
    failure: float = 0.01
    confidence: float = 0.95

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        for name in ("delta", "failure", "confidence"):
            object.__setattr__(self, name, open_probability(name, getattr(self, name)))

    @property
    def quantile(self) -> float:
        """The quantile of ε̂ over data sets that is bounded: 1 − failure."""
        return round(1 - self.failure, 12)

    def claim(self, estimate: EstimatedPrivacy) -> EstimatedPrivacy:
        """Return an estimate that meets it; refuse one that is above, or was made on private records."""
        if estimate.sensitive:
            raise PremiseError("an estimate made on private records depends on them: no plan may rest on it")
        over = estimate.delta > self.delta or estimate.failure_probability > self.failure or estimate.confidence < self.confidence
        if estimate.epsilon > self.epsilon or over:
            raise BudgetError(
                f"budget {self}: the simulation gives ε̂ = {estimate.epsilon:.4g} at δ = {estimate.delta:.3g}; "
                "contaminate more, use more records, or ask for a larger ε"
            )
        return estimate

    def __str__(self) -> str:
        return f"(ε̂ = {self.epsilon:g}, δ = {self.delta:g}, failure {self.failure:g}, confidence {self.confidence:g}; estimated)"
