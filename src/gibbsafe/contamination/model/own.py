"""A model of your own: f, g and prior as functions, and what you assert or declare of them.

Nothing is known of a function but its values. Suprema over records and parameters are therefore *searched, not bounded*, unless
you declare a bound: `lipschitz` or `spread_bound`. With one, the sound method rests on your declaration and on nothing that was
searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import integrate

from gibbsafe._types import Floats
from gibbsafe._validate import count, fail, non_negative, positive
from gibbsafe.contamination.model.densities import Density
from gibbsafe.contamination.model.likelihoods import Likelihood
from gibbsafe.contamination.model.models import LEFT_OUT, ContaminatedModel
from gibbsafe.errors import ParameterError, PremiseError

__all__ = ["OwnModel", "SpreadBound"]

#: (centre, φ, p) ↦ (up, down): up ≥ sup and down ≤ inf of log k_p(x; θ)/k_p(x; centre) over records and |θ − centre|_∞ ≤ φ.
SpreadBound = Callable[[Floats, float, float], tuple[float, float]]
#: What Theorem 4 of the paper assumes, by number.
ASSUMPTIONS = {
    1: "the entropy of the model is small", 2: "the prior has mass near the truth", 3: "the prior's tails are thin",
    4: "g is as heavy as the derivative of f", 5: "the parameters are identifiable",
}  # fmt: skip
SEARCHED = "searched, not bounded: suprema over records and parameters are the largest values found, and ε̂ may be too small"
DECLARED = "δ is the supremum over all neighbours; bounds for the suprema are declared by the user, not checked"
KNOWN = ("paper", "sound", "tight")


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnModel(ContaminatedModel):
    """Contaminated records of a likelihood of your own.

    Args:
        log_f: log f(x; w, θ) for x of shape (n, 1), w of shape (n, k) and rows θ (m, d): an array (n, m).
        sample: (θ, w, generator) ↦ one record per row of w, with θ of shape (d,).
        count: d, the number of parameters.
        contamination: g, a density of `gibbsafe.contamination` (or `Asserted`, one of your own).
        log_prior_of: rows θ ↦ their log prior (m,); by default normal with ``prior_mean`` and ``prior_scale``.
        sample_prior: generator ↦ θ; needed with ``log_prior_of`` if data sets are simulated at ``truth="prior"``.
        columns: k, the covariates of a record, the constant 1 first; they lie in [−1, 1].
        values: the values that a record can take, where they are few (labels, counts up to a bound); None for all numbers.
        asserted: which of the paper's Assumptions 1 to 5 you assert. Assumption 4 must be, unless ``lipschitz`` is declared.
        lipschitz: L with |log f(x; w, θ) − log f(x; w, θ′)| ≤ L |θ − θ′|_∞ for all records; what you declare, not checked.
        spread_bound: a bound on sup and inf of log k_p(x; θ)/k_p(x; c) of your own (`SpreadBound`).
        names: the parameters' names.
        title: what the model is called in certificates.

    That f integrates to one at the prior's centre is checked.

    >>> from gibbsafe.contamination import Cauchy
    >>> laplace = OwnModel(
    ...     log_f=lambda x, w, theta: -np.abs(x - theta[:, 0]) - np.log(2),
    ...     sample=lambda theta, w, rng: theta[0] + rng.laplace(size=len(w)),
    ...     count=1, contamination=Cauchy(0.0, 10.0), lipschitz=1.0, title="Laplace location",
    ... )
    >>> laplace.method_name("sound"), laplace.method_name("tight")
    ('sound', 'searched')
    """

    name = "OwnModel"
    log_f: Callable[[Floats, Floats, Floats], Floats]  # type: ignore[assignment]
    sample: Callable[[Floats, Floats, np.random.Generator], Floats]
    count: int
    contamination: Density | None = LEFT_OUT
    log_prior_of: Callable[[Floats], Floats] | None = None
    sample_prior: Callable[[np.random.Generator], Floats] | None = None
    columns: int = 1
    values: Sequence[float] | None = None
    asserted: Sequence[int] = ()
    lipschitz: float | None = None
    spread_bound: SpreadBound | None = None
    names: Sequence[str] | None = None
    title: str = "a model of the user's own"

    def __post_init__(self) -> None:
        for name in ("count", "columns"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        if self.contamination is LEFT_OUT or not isinstance(self.contamination, Density):
            fail("contamination", None, "a density of gibbsafe.contamination", "use Asserted for one of your own")
        for number in self.asserted:
            if number not in ASSUMPTIONS:
                fail("asserted", number, "numbers of the paper's Assumptions, 1 to 5")
        if self.lipschitz is not None:
            object.__setattr__(self, "lipschitz", non_negative("lipschitz", self.lipschitz))
        elif 4 not in self.asserted and self.spread_bound is None:
            raise PremiseError(
                "asserted: whether g is as heavy as the derivative of f (Assumption 4) is not known; assert it with "
                "asserted=(4,), or declare lipschitz or spread_bound"
            )
        if self.names is not None and (len(self.names) != self.count or len(set(self.names)) != self.count):
            fail("names", list(self.names), f"{self.count} different names")
        self._prepare()
        self._check_functions()

    @classmethod
    def with_likelihood(cls, likelihood: Likelihood, *, columns: int = 1, scale: float = 1.0, **options: Any) -> OwnModel:
        """Return a model of a `Likelihood` (of ours, or a class of your own) of u = θᵀw, with prior and bounds of your own.

        >>> from gibbsafe.contamination import Cauchy, CauchyNoise
        >>> flat = OwnModel.with_likelihood(
        ...     CauchyNoise(), columns=2, contamination=Cauchy(0.0, 5.0), asserted=(4,),
        ...     log_prior_of=lambda theta: -np.abs(theta).sum(axis=1),
        ... )
        >>> flat.parameter_names, flat.title
        (('theta0', 'theta1'), 'Cauchy')
        """
        spread = positive("scale", scale)
        stated = {"values": (0.0, 1.0) if likelihood.labels else None, "title": likelihood.name, **options}
        return cls(
            log_f=lambda x, w, theta: likelihood.log_f(x, w @ theta.T, spread),
            sample=lambda theta, w, generator: likelihood.sample(w @ theta, spread, generator),
            count=columns,
            columns=columns,
            **stated,
        )

    # -- what is checked ---------------------------------------------------------------------------------------------

    def _check_tails(self) -> None:
        """What a likelihood of ours would be asked, is asserted or declared here."""

    def _check_functions(self) -> None:
        """Refuse functions of another shape, and a density that does not integrate to one at the prior's centre."""
        theta = np.full((3, self.count), self.prior_mean)
        x = np.array([0.0, 1.0]) if self.values is None else np.asarray(self.values, dtype=np.float64)
        try:
            found = np.shape(self.log_f(x[:, None], np.ones((len(x), self.columns)), theta))
        except (ValueError, IndexError, TypeError) as error:
            raise ParameterError(f"log_f: fails on x (n, 1), w (n, {self.columns}), theta (m, {self.count}): {error}") from error
        if found != (len(x), 3):
            fail("log_f", f"of shape {found}", f"an array of shape (n, m), here ({len(x)}, 3)", "see its documentation")
        if np.shape(self.log_prior(theta)) != (3,):
            fail("log_prior_of", np.shape(self.log_prior(theta)), "one number per row of parameters")
        w = np.ones((1, self.columns))

        def f(value: float) -> float:
            return float(np.exp(self.log_f(np.array([[value]]), w, theta[:1])[0, 0]))

        if self.values is not None:
            total = math.fsum(f(float(value)) for value in self.values)
        else:
            drawn = np.median(self.sample(theta[0], np.ones((101, self.columns)), np.random.default_rng(0)))
            ends = ((-math.inf, float(drawn)), (float(drawn), math.inf))
            total = math.fsum(integrate.quad(f, *end, limit=400)[0] for end in ends)
        if not abs(total - 1) < 1e-5:
            raise PremiseError(f"log_f: f integrates to {total:.6g} at the prior's centre, not to 1; normalise it")

    # -- what a contaminated model says ------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return self.count

    @property
    def covariate_count(self) -> int:
        """Number of covariates, the constant included."""
        return self.columns

    @property
    def labels(self) -> bool:
        """Whether records are labels 0 and 1."""
        return self.values is not None and set(self.values) == {0.0, 1.0}

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """As declared, or numbered."""
        return tuple(self.names) if self.names is not None else tuple(f"theta{k}" for k in range(self.count))

    @property
    def bounded(self) -> bool:
        """Whether a bound for the suprema is declared."""
        return self.lipschitz is not None or self.spread_bound is not None

    def covariates(self, n: int, generator: np.random.Generator) -> Floats:
        """Return a constant and uniform covariates on [−1, 1]."""
        w = generator.uniform(-1, 1, size=(n, self.columns))
        w[:, 0] = 1.0
        return w

    def simulate(self, n: int, truth: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Return clean records (x, w) of the model at the truth."""
        w = self.covariates(n, generator)
        x = np.asarray(self.sample(truth, w, generator), dtype=np.float64)
        if x.shape != (n,):
            fail("sample", x.shape, f"one record per row of w, here ({n},)")
        return x, w

    def draw_prior(self, generator: np.random.Generator) -> Floats:
        """Return parameters drawn from the prior."""
        if self.sample_prior is not None:
            return np.atleast_1d(np.asarray(self.sample_prior(generator), dtype=np.float64))
        if self.log_prior_of is not None:
            raise PremiseError("sample_prior: missing beside log_prior_of; pass it, or name the true parameters (truth=…)")
        return super().draw_prior(generator)

    def log_prior(self, theta: Floats) -> Floats:
        """Return the log prior of parameter vectors (rows)."""
        if self.log_prior_of is None:
            return super().log_prior(theta)
        return np.asarray(self.log_prior_of(theta), dtype=np.float64)

    def log_f_at(self, x: Floats, w: Floats, thetas: Floats) -> Floats:
        """Return log f of records (rows) at parameter vectors (columns)."""
        return np.array(self.log_f(x[:, None], w, thetas), dtype=np.float64)

    def f_at(self, x: Floats, w: Floats, thetas: Floats) -> Floats:
        """Return f of records (rows) at parameter vectors (columns)."""
        with np.errstate(under="ignore"):
            return np.exp(self.log_f_at(x, w, thetas))

    def spread(self, centre: Floats, radius: float, p: float) -> tuple[float, float]:
        """Return the declared bounds on log k_p(x; θ)/k_p(x; centre): mixing with g only flattens a Lipschitz log f."""
        reach = math.inf if self.lipschitz is None else self.lipschitz * radius
        if self.spread_bound is None:
            return reach, -reach
        up, down = self.spread_bound(centre, radius, p)
        return min(reach, float(up)), max(-reach, float(down))

    def check_method(self, method: str) -> None:
        """Refuse methods that need more than values of functions."""
        if method not in KNOWN:
            raise PremiseError(f"method = {method!r}: not for a model of your own; use one of {', '.join(KNOWN)}")

    def method_name(self, method: str) -> str:
        """Return *sound* where the suprema are declared, *searched* where they are not."""
        return method if method == "paper" or (method == "sound" and self.bounded) else "searched"

    def notes(self, method: str) -> tuple[str, ...]:
        """Return what is asserted, checked, declared or searched."""
        told = [f"Assumption {k} asserted: {ASSUMPTIONS[k]}" for k in sorted(set(self.asserted))]
        left = [str(k) for k in ASSUMPTIONS if k not in self.asserted]
        told += [f"Assumptions neither asserted nor checked: {', '.join(left)}"] if left else []
        told.append("checked: f integrates to one at the prior's centre")
        if method == "paper":
            told.append(SEARCHED)
        return tuple(told)

    def method_note(self, method: str, usual: str) -> str:
        """Return where the suprema come from."""
        if method == "paper":
            return usual
        return DECLARED if self.method_name(method) == "sound" else SEARCHED

    def describe(self) -> str:
        """Return the data model in words."""
        return f"{self.title}, {self.parameters} parameter(s), contamination: {self.density_name}"
