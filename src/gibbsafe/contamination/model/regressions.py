"""Contaminated regressions: records x with covariates w, normal, logistic, Cauchy or asymmetric Laplace."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import count, positive
from gibbsafe.contamination.model.densities import Cauchy, StudentT, UniformLabels
from gibbsafe.contamination.model.likelihoods import (
    AsymmetricLaplace,
    CauchyNoise,
    Likelihood,
    LogisticLabel,
)
from gibbsafe.contamination.model.models import ContaminatedModel

__all__ = [
    "ContaminatedCauchyRegression",
    "ContaminatedLinearRegression",
    "ContaminatedLogisticRegression",
    "ContaminatedQuantileRegression",
]


@dataclass(frozen=True, kw_only=True)
class ContaminatedRegression(ContaminatedModel):
    """Records x with covariates w, |w_j| ≤ 1, the first column 1; location u = θᵀw."""

    columns: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", count("columns", self.columns))
        self._prepare()

    @property
    def dimension(self) -> int:
        """One coefficient per column."""
        return self.columns

    def covariates(self, n: int, generator: np.random.Generator) -> Floats:
        """Return an intercept column and uniform ones on [−1, 1], as simulated in the paper."""
        w = generator.uniform(-1, 1, size=(n, self.columns))
        w[:, 0] = 1.0
        return w


@dataclass(frozen=True, kw_only=True)
class _ScaledRegression(ContaminatedRegression):
    """A regression whose noise has a scale: declared, or (``scale=None``) one more parameter, log s with prior N(0, 1)."""

    scale: float | None = 1.0

    def __post_init__(self) -> None:
        if self.scale is not None:
            object.__setattr__(self, "scale", positive("scale", self.scale))
        super().__post_init__()

    @property
    def unknown_scale(self) -> bool:
        """Whether log s is a parameter."""
        return self.scale is None

    @property
    def noise(self) -> float:
        """The declared scale."""
        return 1.0 if self.scale is None else self.scale


@dataclass(frozen=True, kw_only=True)
class ContaminatedLinearRegression(_ScaledRegression):
    """x = θᵀw + normal noise. Default g: Student t with 5 degrees of freedom at 0, five times as wide."""

    name = "LinearRegression"

    def __post_init__(self) -> None:
        self._settle(StudentT(5.0, 0.0, 5.0 * (self.scale or 1.0)))
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ContaminatedLogisticRegression(ContaminatedRegression):
    """Labels 0/1 with logit θᵀw. Default g: a fair coin; ``contaminated=False`` leaves it out."""

    name = "LogisticRegression"
    contaminated: bool = True
    likelihood: Likelihood = field(init=False, default_factory=LogisticLabel)

    def __post_init__(self) -> None:
        self._settle(UniformLabels() if self.contaminated else None)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ContaminatedCauchyRegression(_ScaledRegression):
    """x = θᵀw + Cauchy noise. Default g: a Cauchy density five times as wide; ``contaminated=False`` leaves it out."""

    name = "CauchyRegression"
    contaminated: bool = True
    likelihood: Likelihood = field(init=False, default_factory=CauchyNoise)

    def __post_init__(self) -> None:
        self._settle(Cauchy(0.0, 5.0 * (self.scale or 1.0)) if self.contaminated else None)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ContaminatedQuantileRegression(ContaminatedRegression):
    """The τ-quantile of x given w by the asymmetric Laplace likelihood of scale ``scale``. Default g: Student t, 2 degrees."""

    name = "QuantileRegression"
    tau: float = 0.5
    scale: float = 1.0
    likelihood: Likelihood = field(init=False, default_factory=AsymmetricLaplace)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "likelihood", AsymmetricLaplace(self.tau))
        self._settle(StudentT(2.0, 0.0, 5.0 * self.scale))
        super().__post_init__()

    @property
    def noise(self) -> float:
        """The declared scale."""
        return self.scale
