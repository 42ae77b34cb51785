"""Contaminated models: k_p = (1−p)f + p g with a public g, a normal prior, and p = n^(−1/8) unless said otherwise.

Parameters are θ (the mean, or one coefficient per column of w, with |w| ≤ 1), and log s last where the scale is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import special

from gibbsafe._types import Floats
from gibbsafe._validate import count, fail, open_probability, positive, real
from gibbsafe.contamination.model.densities import Density, Envelope, StudentT, Truncated
from gibbsafe.contamination.model.likelihoods import (
    Likelihood,
    NormalNoise,
    log_mixture,
)
from gibbsafe.errors import DomainError, PremiseError

__all__ = ["ContaminatedModel", "ContaminatedNormalMean", "Records", "default_rate"]


#: Where no density is named, the model takes its own.
LEFT_OUT: Any = object()


def default_rate(n: int) -> float:
    """Return p_n = n^(−1/8) (Hu et al. (18) prints n^(1/8), E22).

    >>> round(default_rate(1000), 4)
    0.4217
    """
    return float(count("n", n, least=2) ** -0.125)


@dataclass(frozen=True, eq=False)
class Records:
    """Contaminated records: values x, covariates w, and log g of every record (the same number for every θ)."""

    x: Floats
    w: Floats
    log_g: Floats

    def without_last(self) -> Records:
        """Return all records but the last."""
        return Records(self.x[:-1], self.w[:-1], self.log_g[:-1])

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, kw_only=True)
class ContaminatedModel:
    """What all contaminated models share. ``contamination=None`` is the model without contamination (p = 0).

    Left out, g is a wide public density that each model chooses by itself.
    """

    #: The name under which studies declare the model.
    name: ClassVar[str]
    #: Whether its only parameter is the location of records themselves, so that everything is known on a line.
    on_a_line: ClassVar[bool] = False
    contamination: Density | None = LEFT_OUT
    rate: float | None = None
    prior_mean: float = 0.0
    prior_scale: float = 10.0
    likelihood: Likelihood = field(init=False, default_factory=NormalNoise)

    @property
    def dimension(self) -> int:
        """Number of coefficients."""
        return 1

    @property
    def truncation(self) -> tuple[float, float] | None:
        """The interval to which the likelihood is truncated; None where it is not."""
        return None

    @property
    def unknown_scale(self) -> bool:
        """Whether log s is a parameter."""
        return False

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return self.dimension + self.unknown_scale

    @property
    def noise(self) -> float:
        """The likelihood's scale where it is known, that of simulated data where it is not."""
        return 1.0

    def _settle(self, default: Density | None) -> None:
        """Take the model's own density where none was named."""
        if self.contamination is LEFT_OUT:
            object.__setattr__(self, "contamination", default)

    def _prepare(self) -> None:
        self._settle(None)
        object.__setattr__(self, "prior_mean", real("prior_mean", self.prior_mean))
        object.__setattr__(self, "prior_scale", positive("prior_scale", self.prior_scale))
        if self.rate is not None:
            object.__setattr__(self, "rate", open_probability("rate", self.rate))
        if self.contamination is not None:
            if not isinstance(self.contamination, Density):
                fail("contamination", self.contamination, "a density of gibbsafe.contamination, or None")
            self._check_tails()
        elif self.rate is not None:
            fail("rate", self.rate, "absent where there is no contaminating density")

    def _check_tails(self) -> None:
        assert self.contamination is not None
        self.likelihood.check_tails(self.contamination, unknown_scale=self.unknown_scale, scale=self.noise)

    def p(self, n: int) -> float:
        """Return the contamination rate for n records."""
        if self.contamination is None:
            return 0.0
        return default_rate(n) if self.rate is None else self.rate

    # -- what estimates ask ------------------------------------------------------------------------------------------

    def check_method(self, method: str) -> None:
        """Refuse a method that is not known for this model."""

    def method_name(self, method: str) -> str:
        """Return what an estimate by a method is called."""
        return method

    def method_note(self, method: str, usual: str) -> str:
        """Return what is said of a method."""
        return usual

    def notes(self, method: str) -> tuple[str, ...]:
        """Return what limits an estimate besides its method."""
        return ()

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters: the mean, or the intercept and the covariates in order; log_scale last."""
        columns = ("intercept", *(f"w{k}" for k in range(1, self.dimension)))
        return (*columns, *(("log_scale",) if self.unknown_scale else ()))

    @property
    def covariate_count(self) -> int:
        """Number of covariates of a record, the constant included."""
        return self.dimension

    @property
    def labels(self) -> bool:
        """Whether records are labels 0 and 1."""
        return self.likelihood.labels

    @property
    def density_name(self) -> str:
        """The contaminating density in words."""
        return "none" if self.contamination is None else self.contamination.describe()

    def draw_prior(self, generator: np.random.Generator) -> Floats:
        """Return parameters drawn from the prior."""
        theta = self.prior_mean + self.prior_scale * generator.standard_normal(self.dimension)
        return np.append(theta, generator.standard_normal()) if self.unknown_scale else theta

    # -- records -----------------------------------------------------------------------------------------------------

    def covariates(self, n: int, generator: np.random.Generator) -> Floats:
        """Return covariates as simulated: the constant 1 alone."""
        return np.ones((n, 1))

    def truth(self, value: object) -> Floats:
        """Return the true parameters of simulated data, checked."""
        vector = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if vector.shape != (self.parameters,) or not np.isfinite(vector).all():
            fail("truth", value, f"{self.parameters} finite number{'s' if self.parameters > 1 else ''}, one per parameter")
        return vector

    def simulate(self, n: int, truth: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return clean records (x, w) of the model at the truth."""
        w = self.covariates(n, generator)
        scale = math.exp(truth[-1]) if self.unknown_scale else self.noise
        return self.likelihood.sample(w @ truth[: self.dimension], scale, generator), w

    def read(self, data: object) -> tuple[Floats, Floats]:
        """Return a curator's records as (x, w), refused where they leave the declared space."""
        many = self.covariate_count
        if isinstance(data, tuple) and len(data) != 2:
            raise DomainError(f"data: {len(data)} arrays, but records are x, or a pair (x, w)")
        try:
            x, w = (np.asarray(each, dtype=np.float64) for each in (data if isinstance(data, tuple) else (data, np.nan)))
        except (TypeError, ValueError):
            raise DomainError("data: not arrays of numbers") from None
        if w.ndim == 0 and many == 1:
            w = np.ones((x.size, 1))
        if x.ndim != 1 or w.shape != (len(x), many):
            raise DomainError(f"data: expected x of shape (n,) and covariates of shape (n, {many})")
        if not (np.isfinite(x).all() and np.isfinite(w).all()):
            raise DomainError("data: records must be finite")
        if not (np.abs(w) <= 1).all():
            raise DomainError("data: a covariate lies outside [−1, 1], its declared bound; scale the columns by public bounds")
        if self.labels and not np.isin(x, (0.0, 1.0)).all():
            raise DomainError("data: labels must be 0 or 1")
        return x, w

    def contaminate(self, data: object, generator: np.random.Generator, *, truth: Floats | None = None) -> Records:
        """Replace every record, independently with probability p, by a draw from g; covariates stay.

        This is randomness of the mechanism, but it may **not** be counted by `gibbsafe.privacy.amplify`: only the response is
        replaced, and records (x, w) and (x′, w′) still differ in their covariates. (Without covariates, under replace-one and
        with one row per person, whole records are replaced and keep_probability is 1 − p.)
        """
        x, w = self.read(data)
        if self.contamination is None:
            return Records(x, w, np.zeros(len(x)))
        if self.contamination.follows_truth and truth is None:
            raise PremiseError("contamination: this density follows the unknown truth; it exists for reproduction only")
        centre = np.zeros(len(x)) if truth is None or not self.contamination.follows_truth else w @ truth[: self.dimension]
        replaced = generator.random(len(x)) < self.p(max(len(x), 2))
        x = np.array(x)
        x[replaced] = self.contamination.sample(generator, centre[replaced])
        return self.records(x, w, centre)

    def records(self, x: Floats, w: Floats, centre: Floats | float = 0.0) -> Records:
        """Return records with their log g."""
        log_g = np.zeros(len(x)) if self.contamination is None else self.contamination.log_density(x, centre)
        return Records(x, w, log_g)

    def log_mass(self, u: Floats) -> Floats:
        """Return the log of the mass that the likelihood has inside its truncation: 0 without one."""
        return np.zeros(np.shape(u))

    # -- densities ---------------------------------------------------------------------------------------------------

    def log_f(self, x: Floats, u: Floats, scale: Floats | float | None = None) -> Floats:
        """Return log f(x; u)."""
        return self.likelihood.log_f(x, u, self.noise if scale is None else scale)

    def f(self, x: Floats, u: Floats, scale: Floats | float | None = None) -> Floats:
        """Return f(x; u)."""
        return self.likelihood.f(x, u, self.noise if scale is None else scale)

    def log_f_at(self, x: Floats, w: Floats, thetas: Floats) -> Floats:
        """Return log f of records (rows) at parameter vectors (columns)."""
        coefficients, scales = self.split(thetas)
        return self.log_f(x[:, None], w @ coefficients.T, scales)

    def f_at(self, x: Floats, w: Floats, thetas: Floats) -> Floats:
        """Return f of records (rows) at parameter vectors (columns), a new array."""
        coefficients, scales = self.split(thetas)
        return self.f(x[:, None], w @ coefficients.T, scales)

    def log_k(self, x: Floats, u: Floats, log_g: Floats, p: float, scale: Floats | float | None = None) -> Floats:
        """Return log k_p(x; u)."""
        return log_mixture(self.log_f(x, u, scale), log_g, p)

    def log_prior(self, theta: Floats) -> Floats:
        """Return the log prior of parameter vectors (rows), up to a constant."""
        value: Floats = -0.5 * (((theta[..., : self.dimension] - self.prior_mean) / self.prior_scale) ** 2).sum(axis=-1)
        return value - 0.5 * theta[..., -1] ** 2 if self.unknown_scale else value

    def split(self, theta: Floats) -> tuple[Floats, Floats | float]:
        """Return coefficients and scales of parameter vectors (rows)."""
        if self.unknown_scale:
            return theta[..., :-1], np.exp(theta[..., -1])
        return theta, self.noise

    def describe(self) -> str:
        """Return the data model in words."""
        return f"{self.name}, {self.parameters} parameter(s), contamination: {self.density_name}"


@dataclass(frozen=True, kw_only=True)
class ContaminatedNormalMean(ContaminatedModel):
    """The mean of N(θ, s²), or of a normal truncated to ``space`` (``truncated=True``); prior N(prior_mean, prior_scale²).

    ``space`` is the interval in which records live (default: all numbers). ``parameter_bounds`` trims the prior, which the
    envelope density needs.

    >>> model = ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)
    >>> model.contamination.describe()
    'Student t with 5 degrees of freedom at 40, scale 40'
    """

    name = "NormalMean"
    on_a_line = True
    scale: float = 1.0
    space: tuple[float, float] | None = None
    truncated: bool = False
    parameter_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        for name in ("space", "parameter_bounds"):
            ends = getattr(self, name)
            if ends is not None and not real(name, ends[0]) < real(name, ends[1]):
                fail(name, ends, "two numbers, the lower first")
        if self.truncated and self.space is None:
            fail("space", None, "an interval for a truncated normal")
        # A wide public density of the prior's shape: as good in ε̂ as the paper's, which follows the unknown truth.
        self._settle(StudentT(5.0, self.prior_mean, self.prior_scale))
        self._prepare()
        if isinstance(self.contamination, Envelope) and self.parameter_bounds != (
            self.contamination.low,
            self.contamination.high,
        ):
            raise PremiseError("contamination: the envelope needs parameter_bounds equal to its own interval")
        if self.truncated and isinstance(self.contamination, Density) and not isinstance(self.contamination, Truncated):
            assert self.space is not None
            object.__setattr__(self, "contamination", Truncated(self.contamination, *self.space))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The mean."""
        return ("mean",)

    def draw_prior(self, generator: np.random.Generator) -> Floats:
        """Return a mean from the prior, within the parameter bounds."""
        low, high = self.parameter_bounds or (-math.inf, math.inf)
        ends = special.ndtr((np.array([low, high]) - self.prior_mean) / self.prior_scale)
        quantile = ends[0] + (ends[1] - ends[0]) * generator.random()
        return np.array([np.clip(self.prior_mean + self.prior_scale * special.ndtri(quantile), low, high)])

    @property
    def truncation(self) -> tuple[float, float] | None:
        """The space, for a truncated normal."""
        return self.space if self.truncated else None

    @property
    def noise(self) -> float:
        """The declared scale."""
        return self.scale

    def log_mass(self, u: Floats) -> Floats:
        """Return log P(N(u, s²) in the space)."""
        assert self.space is not None
        a, b = (self.space[0] - u) / self.scale, (self.space[1] - u) / self.scale
        flip = a > 0  # the same mass seen from the side on which differences of Φ keep their digits
        a, b = np.where(flip, -b, a), np.where(flip, -a, b)
        return np.asarray(special.log_ndtr(b) + np.log1p(-np.exp(special.log_ndtr(a) - special.log_ndtr(b))), dtype=np.float64)

    def log_f(self, x: Floats, u: Floats, scale: Floats | float | None = None) -> Floats:
        """Return the (truncated) normal log density."""
        value = super().log_f(x, u, scale)
        if not self.truncated or self.truncation_is_far(u):
            return value
        return value - self.log_mass(np.asarray(u))

    def truncation_is_far(self, u: Floats) -> bool:
        """Whether the space holds all but 1e-18 of the mass at these means, so that truncation changes no digit."""
        assert self.space is not None
        margin = 9 * self.scale
        return bool(np.min(u) - margin > self.space[0] and np.max(u) + margin < self.space[1])

    def simulate(self, n: int, truth: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return clean records; those outside the space are drawn again."""
        x, w = super().simulate(n, truth, generator)
        if self.space is not None:
            outside = (x < self.space[0]) | (x > self.space[1])
            while outside.any():
                x[outside] = truth[0] + self.scale * generator.standard_normal(int(outside.sum()))
                outside = (x < self.space[0]) | (x > self.space[1])
        return x, w

    def read(self, data: object) -> tuple[Floats, Floats]:
        """Return records, refused outside the space."""
        x, w = super().read(data)
        if self.space is not None and not ((x >= self.space[0]) & (x <= self.space[1])).all():
            raise DomainError(f"data: a record lies outside the declared space [{self.space[0]:g}, {self.space[1]:g}]")
        return x, w

    def log_prior(self, theta: Floats) -> Floats:
        """Return the log prior, −∞ outside the parameter bounds."""
        value = super().log_prior(theta)
        if self.parameter_bounds is None:
            return value
        low, high = self.parameter_bounds
        return np.where((theta[..., 0] >= low) & (theta[..., 0] <= high), value, -np.inf)
