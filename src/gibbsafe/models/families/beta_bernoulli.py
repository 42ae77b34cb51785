"""A proportion with a Beta prior, trimmed or not: the exemplar of a family."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import betaln, expit, logit, xlogy

from gibbsafe._numerics import down, up
from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import count, fail, positive
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_response
from gibbsafe.domains.labels import Labels, check_labels
from gibbsafe.domains.numbers import as_column
from gibbsafe.errors import DomainError
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, LipschitzParameters, StatesLean, StatesSpread
from gibbsafe.models.families.family import Family, check_trim, ranges
from gibbsafe.posteriors.beta import BetaPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Budget, Metric
from gibbsafe.privacy.beta import LARGEST_N
from gibbsafe.theorems import Constants, get

__all__ = ["BetaBernoulli"]


def _log_likelihood_ratio(shape: float, n: int) -> float:
    """Return ln of C = sup over k and θ of θ^k(1 − θ)^{n−k} B(α, α)/B(α + k, α + n − k), the k that is worst included (E16).

    The likelihood is largest at θ = k/n. The ends k = 0 and n are the worst only for large α (Beta(.01, .01), n = 10: 124.9,
    where they have 2.06).
    """
    k = np.arange(n + 1, dtype=np.float64)
    likelihood = xlogy(k, k / n) + xlogy(n - k, (n - k) / n)
    return float(np.max(likelihood + betaln(shape, shape) - betaln(shape + k, shape + n - k)))


@register
@dataclass(frozen=True, kw_only=True)
class BetaBernoulli(Family, IsLikelihood, LipschitzParameters, StatesLean, StatesSpread):
    """Successes with probability θ, prior Beta(alpha, beta) trimmed to [a, b] (Dimitrakakis et al. 2017, Lemma 21 and §3).

    A record is one of two ``labels``, or with ``trials`` m > 1 the number of successes in m trials. The posterior tempered by β
    is Beta(alpha + βs, beta + β(nm − s)) on the trim. The log-likelihoods of two records differ by (x − x′) logit θ up to a
    constant, so its range is m(logit b − logit a), for any number of records: theorem ``bounded-range``. Without ``trim`` no
    range is finite; records of one trial are then priced by the exact profile of Beta posteriors (theorem ``beta-bernoulli``,
    replace-one).

    >>> import gibbsafe as gs
    >>> plan = gs.plan(BetaBernoulli(trim=(0.3, 0.9)), gs.Budget(1.0), n=1000, adjacency="replace-one")
    >>> plan.theorem.name, round(plan.inverse_temperature, 6)
    ('bounded-range', 0.328459)
    """

    name = "BetaBernoulli"
    metric = Metric.hamming()
    prior_fields = ("alpha", "beta", "trim")
    typical_case = "if half of the trials succeed"
    alpha: float = 1.0
    beta: float = 1.0
    trim: tuple[float, float] | None = None
    trials: int = 1
    labels: tuple[Any, Any] = (0, 1)
    target: str = "y"
    _ends: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))
        object.__setattr__(self, "beta", positive("beta", self.beta))
        object.__setattr__(self, "trials", count("trials", self.trials))
        object.__setattr__(self, "labels", check_labels(self.labels))
        if self.trim is not None:
            trim = check_trim("trim", self.trim, 0.0, 1.0)
            if trim[0] == 0 or trim[1] == 1:
                fail("trim", trim, "strictly inside (0, 1): at 0 or 1 the log-likelihood is unbounded")
            object.__setattr__(self, "trim", trim)
        elif self.trials > 1:
            fail("trim", None, "declared where a record has several trials: only single trials have an exact profile")
        object.__setattr__(self, "_ends", self.trim or (0.0, 1.0))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The probability of a success."""
        return ("probability",)

    @property
    def ends(self) -> tuple[float, float]:
        """The trim, or all probabilities."""
        return self._ends

    @property
    def trimmed(self) -> bool:
        """Whether trim points are declared."""
        return self.trim is not None

    @property
    def resolution(self) -> float:
        """The width of the trim."""
        return self._ends[1] - self._ends[0]

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return ranges over the trim; the paper's Lipschitz constant under the Hamming metric; without a trim, the prior."""
        public_n = n if adjacency == Adjacency.REPLACE_ONE else None
        alone = rows_per_person == 1
        if self.trim is None:
            prior = (self.alpha, self.beta) if alone else None
            return Constants(beta_prior=prior, n=public_n, dimension=1, **self._stochastic(public_n, alone))
        a, b = self.trim
        gap = up(b - a)  # log1p of ratios: differences of logarithms would cancel for narrow trims
        single = self.trials * up(up(max(math.log1p(gap / a), math.log1p(gap / (1 - b)))))
        width = self.trials * up(up(math.log1p(gap / a) + math.log1p(gap / (1 - b))))
        largest = self.trials * up(max(abs(float(logit(a))), abs(float(logit(b)))))
        return Constants(
            **ranges(width, single, rows_per_person),
            difference_bound=largest if alone else None,
            metric_lipschitz=largest,
            metric_diameter=1.0 if alone else None,
            n=public_n,
            dimension=1,
        )

    def _stochastic(self, n: int | None, alone: bool) -> JSON:
        """Return c, L₀ and C of Assumption 2 for a symmetric untrimmed prior (Lemma 21 with erratum E16)."""
        if self.alpha != self.beta or n is None or not alone or n > LARGEST_N:
            return {}
        rate = down(math.exp((1 - 2 * self.alpha) * math.log(2) - float(betaln(self.alpha, self.alpha))))
        log_ratio = _log_likelihood_ratio(self.alpha, n)
        if log_ratio > 700:
            return {}  # beyond the floats, and far beyond saying anything
        ratio = math.exp(log_ratio) * (1 + 1e-12 * (n + 100))  # the logarithms grow with n, and their rounding with them
        return {"stochastic_rate": rate, "stochastic_floor": 0.0, "likelihood_ratio_bound": ratio, "metric_diameter": 1.0}

    @classmethod
    def trimmed_for(cls, budget: Budget, *, draws: int = 1, **declaration: Any) -> BetaBernoulli:
        """Return the family with the widest symmetric trim [1 − b, b] that the budget allows at β = 1.

        >>> import gibbsafe as gs
        >>> tuple(round(end, 6) for end in BetaBernoulli.trimmed_for(gs.Budget(1.0)).trim)
        (0.377541, 0.622459)
        """
        width = get("bounded-range").calibrate({"difference_range": 1.0}, budget, adjacency="replace-one", draws=draws)
        high = down(down(float(expit(width / 2 / declaration.get("trials", 1)))))
        return cls(trim=(up(1 - high), high), **declaration)

    def lipschitz_at(self, thetas: Floats) -> Floats:
        """Return |logit θ| (times the number of trials): what replacing one record changes."""
        return np.asarray(self.trials * np.abs(logit(np.atleast_2d(thetas)[:, 0])))

    def prior_mass_below(self, lipschitz: float) -> float:
        """Return the prior mass of |logit θ| ≤ L / trials."""
        reach = lipschitz / self.trials
        low, high = max(self._ends[0], float(expit(-reach))), min(self._ends[1], float(expit(reach)))
        if low >= high:
            return 0.0
        prior = BetaPosterior(self.alpha, self.beta, *self._ends)
        return min(1.0, math.exp(prior.log_mass(low, high) - prior.log_mass(*self._ends)))

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the number of successes of each record."""
        outcomes = read_response(data, self.target)
        if self.trials == 1:
            successes = (Labels(*self.labels).encode(outcomes, options.on_invalid) + 1) / 2
        else:
            successes = self._counts(outcomes, options.on_invalid)
        return Blocks(successes[:, None])

    def _counts(self, outcomes: object, on_invalid: str) -> Floats:
        counts = as_column(outcomes, self.target, on_invalid)
        valid = (counts >= 0) & (counts <= self.trials) & (counts == np.floor(counts))
        if not valid.all() and on_invalid != "replace":
            row = int(np.argmin(valid))
            raise DomainError(
                f"{self.target}: a record is not a whole number from 0 to {self.trials}; clean it or use on_invalid='replace'",
                private=f"row {row} is {counts[row]:g}",
            )
        return np.where(valid, counts, 0.0)

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> BetaPosterior:
        """Return Beta(alpha + βs, beta + β(nm − s)) on the trim."""
        (successes,) = data.reduce(_sum)
        power = stage.inverse_temperature
        failures = data.n_rows * self.trials - successes
        return BetaPosterior(self.alpha + power * successes, self.beta + power * failures, *self._ends)

    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return the standard deviation of a draw if half of the trials succeed, and at most that of the trim."""
        spread = 0.5 / math.sqrt(self.alpha + self.beta + inverse_temperature * n * self.trials)
        return min(spread, self.resolution / math.sqrt(12))

    def lean(self, draws: Floats) -> Floats:
        """Return log θ + log(1 − θ): a mean (a + s)/(a + b + m) is s/m for a = b = 0."""
        return np.log(draws[:, 0]) + np.log1p(-draws[:, 0])

    def corners(self) -> list[object]:
        """Return a success and a failure."""
        return [np.array([label]) for label in (self.labels if self.trials == 1 else (0, self.trials))]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic records."""
        successes = generator.binomial(self.trials, float(np.clip(draw[0], 0, 1)), rows)
        return successes if self.trials > 1 else Labels(*self.labels).decode(successes == 1)

    @classmethod
    def from_columns(cls, features: Sequence[Any], target: Any, options: Document) -> Self:
        """Return the family for the study's target column."""
        labels: JSON = {} if options.get("trials", 1) != 1 else {"labels": tuple(target.levels)}
        return cls(target=target.name, **labels, **options)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return {
            "name": self.name,
            "alpha": self.alpha,
            "beta": self.beta,
            "trim": None if self.trim is None else list(self.trim),
            "trials": self.trials,
            "labels": list(self.labels),
            "target": self.target,
        }


def _sum(rows: Floats, _: object) -> tuple[float]:
    return (float(rows.sum()),)
