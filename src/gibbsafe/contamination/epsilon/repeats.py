"""Repeats of Algorithm 1: one seed each, in as many processes as wanted, with the same numbers whatever their number."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.contamination.epsilon import instance_line, instance_regression
from gibbsafe.contamination.epsilon.instance_line import LineInstance
from gibbsafe.contamination.epsilon.instance_own import OwnInstance
from gibbsafe.contamination.epsilon.instance_regression import RegressionInstance
from gibbsafe.contamination.epsilon.suprema import setting
from gibbsafe.contamination.model.models import ContaminatedModel, ContaminatedNormalMean, Records
from gibbsafe.contamination.model.own import OwnModel
from gibbsafe.contamination.model.regressions import ContaminatedRegression
from gibbsafe.contamination.posterior.line import line_posterior
from gibbsafe.contamination.posterior.posterior import laplace
from gibbsafe.errors import ParameterError, PremiseError
from gibbsafe.progress import counting_bar

__all__ = ["METHODS", "Task", "epsilon_of", "run"]

#: paper: as printed; sound; tight: coupled bound; exact: hockey stick (one parameter); gaussian: normal approximation.
METHODS = ("paper", "sound", "tight", "exact", "gaussian")


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that one repeat needs besides its seed."""

    model: ContaminatedModel
    n: int
    truth: Floats | None
    delta: float
    method: str
    adjacency: str
    particles: int | None = None
    data: tuple[Floats, Floats] | None = None
    draws: int = 1

    def one(self, seed: np.random.SeedSequence) -> float:
        """Simulate (or take) a data set, contaminate it, and return its ε̂; without truth and data, of parameters of the prior.

        Several draws of one posterior differ between two fixed data sets by the product of what one does: m·ε̂ at δ = m·δ̂.
        """
        generator = np.random.default_rng(seed)
        clean: object = self.data
        truth = self.truth
        if clean is None:
            truth = self.model.draw_prior(generator) if truth is None else truth
            clean = self.model.simulate(self.n, truth, generator)
        records = self.model.contaminate(clean, generator, truth=truth)
        return self.draws * epsilon_of(
            self.model,
            records,
            self.delta / self.draws,
            self.method,
            adjacency=self.adjacency,
            truth=truth,
            particles=self.particles,
            generator=generator,
        )


def epsilon_of(
    model: ContaminatedModel,
    records: Records,
    delta: float,
    method: str = "sound",
    *,
    adjacency: str = "replace-one",
    truth: Floats | None = None,
    particles: int | None = None,
    generator: np.random.Generator | None = None,
) -> float:
    """Return ε̂ of one contaminated data set: its last record is the one that a neighbour changes.

    The number depends on the records: it is the curator's, unless they were simulated.
    """
    rng = np.random.default_rng(0) if generator is None else generator
    case = _Case(records, delta, adjacency, truth, particles, rng)
    return _epsilon(model, case, method)


@dataclass(frozen=True, eq=False)
class _Case:
    """One data set and what is asked of it."""

    records: Records
    delta: float
    adjacency: str
    truth: Floats | None
    particles: int | None
    generator: np.random.Generator

    def line(self, model: ContaminatedNormalMean, method: str) -> float:
        p = model.p(len(self.records))
        line = line_posterior(model, self.records, p)
        if method == "paper":
            at = np.array([line.mode]) if self.truth is None else self.truth
            return instance_line.literal_epsilon(model, self.records, line, p, at, **self._literal())
        instance = LineInstance.of(model, line.without(model, self.records, p), p, line.mode, self.truth)
        if method in {"exact", "gaussian"}:
            return (instance.exact if method == "exact" else instance.gaussian)(self.delta, self.adjacency)
        phi = instance.radius(self.delta, worst=True)
        return (instance.separate if method == "sound" else instance.coupled)(phi, self.adjacency)

    def regression(self, model: ContaminatedModel, method: str) -> float:
        p = model.p(len(self.records))
        if method == "paper":
            posterior = laplace(model, self.records, p, self.truth)
            at = posterior.mode if self.truth is None else self.truth
            return instance_regression.literal_epsilon(model, self.records, posterior, p, at, **self._literal())
        posterior = laplace(model, self.records.without_last(), p, self.truth)
        instance = RegressionInstance(posterior, setting(model, p, posterior.mode, self.truth), self.generator)
        if method == "gaussian":
            return instance.gaussian(self.delta, self.adjacency)
        return instance.bound(self.delta, self.adjacency, coupled=method == "tight")

    def own(self, model: OwnModel, method: str) -> float:
        p, literal = model.p(len(self.records)), method == "paper"
        records = self.records if literal else self.records.without_last()
        posterior = laplace(model, records, p, self.truth)
        centre = self.truth if literal and self.truth is not None else posterior.mode
        instance = OwnInstance(model, posterior, p, centre, self.generator)
        if literal:
            return instance.literal(self.delta, self.particles or 1000, self.adjacency)
        phi = instance.radius(self.delta)
        return instance.coupled(phi, self.adjacency) if method == "tight" else instance.separate(phi, self.delta, self.adjacency)

    def _literal(self) -> JSON:
        return {"delta": self.delta, "particles": self.particles, "generator": self.generator, "adjacency": self.adjacency}


@singledispatch
def _epsilon(model: ContaminatedModel, case: _Case, method: str) -> float:
    raise PremiseError(f"{type(model).__name__}: neither a mean nor a regression, and ε̂ is known of no other")


@_epsilon.register
def _(model: ContaminatedNormalMean, case: _Case, method: str) -> float:
    return case.line(model, method)


@_epsilon.register
def _(model: ContaminatedRegression, case: _Case, method: str) -> float:
    return case.regression(model, method)


@_epsilon.register
def _(model: OwnModel, case: _Case, method: str) -> float:
    return case.own(model, method)


def _chunk(task: Task, seeds: list[np.random.SeedSequence]) -> list[float]:
    return [task.one(seed) for seed in seeds]


def run(task: Task, repeats: int, seed: int, *, workers: int = 1, progress: bool | None = None) -> Floats:
    """Return ε̂ of every repeat, in order; repeat k has the k-th child of the seed, in whichever process it runs."""
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    values: list[float] = []
    with counting_bar(progress, repeats, "data sets") as advance:
        if workers == 1:
            for child in seeds:
                values.append(task.one(child))
                advance(1)
            return np.array(values)
        _require_importable(task)
        size = max(1, min(50, repeats // (4 * workers)))
        chunks = [seeds[start : start + size] for start in range(0, repeats, size)]
        # A fresh interpreter per worker: forking a process that holds threads may hang.
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            for part in pool.map(_chunk, [task] * len(chunks), chunks):
                values.extend(part)
                advance(len(part))
    return np.array(values)


def _require_importable(task: Task) -> None:
    """Refuse functions that another process cannot find."""
    try:
        pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError("workers: other processes find functions of a module only, no lambdas; use workers=1") from error
