"""Repeats of Algorithm 1: one seed each, in as many processes as wanted, with the same numbers whatever their number."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe.contamination import instance_line, instance_regression
from gibbsafe.contamination.densities import Array
from gibbsafe.contamination.instance_line import LineInstance
from gibbsafe.contamination.instance_regression import RegressionInstance
from gibbsafe.contamination.line import line_posterior
from gibbsafe.contamination.models import ContaminatedModel, NormalMean, Records
from gibbsafe.contamination.posterior import laplace
from gibbsafe.contamination.suprema import setting

__all__ = ["METHODS", "Task", "epsilon_of", "run"]

#: paper: as printed; sound; tight: coupled bound; exact: hockey stick (one parameter); gaussian: normal approximation.
METHODS = ("paper", "sound", "tight", "exact", "gaussian")


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that one repeat needs besides its seed."""

    model: ContaminatedModel
    n: int
    truth: Array | None
    delta: float
    method: str
    adjacency: str
    particles: int | None = None
    data: tuple[Array, Array] | None = None

    def one(self, seed: np.random.SeedSequence) -> float:
        """Simulate (or take) a data set, contaminate it, and return its ε̂."""
        generator = np.random.default_rng(seed)
        clean: Any = self.data
        if clean is None:
            assert self.truth is not None
            clean = self.model.simulate(self.n, self.truth, generator)
        records = self.model.contaminate(clean, generator, truth=self.truth)
        return epsilon_of(
            self.model,
            records,
            self.delta,
            self.method,
            adjacency=self.adjacency,
            truth=self.truth,
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
    truth: Array | None = None,
    particles: int | None = None,
    generator: np.random.Generator | None = None,
) -> float:
    """Return ε̂ of one contaminated data set: its last record is the one that a neighbour changes.

    The number depends on the records: it is the curator's, unless they were simulated.
    """
    rng = np.random.default_rng(0) if generator is None else generator
    p = model.p(len(records))
    if isinstance(model, NormalMean):
        line = line_posterior(model, records, p)
        at = np.array([line.mode]) if truth is None else truth
        if method == "paper":
            return instance_line.literal_epsilon(model, records, line, p, at, delta, particles, rng, adjacency)
        smaller = line.without(model, records, p)
        instance = LineInstance.of(model, smaller, p, line.mode, truth)
        if method == "exact":
            return instance.exact(delta, adjacency)
        if method == "gaussian":
            return instance.gaussian(delta, adjacency)
        phi = instance.radius(delta, worst=True)
        return instance.separate(phi, adjacency) if method == "sound" else instance.coupled(phi, adjacency)
    if method == "paper":
        posterior = laplace(model, records, p, truth)
        at = posterior.mode if truth is None else truth
        return instance_regression.literal_epsilon(model, records, posterior, p, at, delta, particles, rng, adjacency)
    posterior = laplace(model, records.without_last(), p, truth)
    regression = RegressionInstance(posterior, setting(model, p, posterior.mode, truth), rng)
    if method == "gaussian":
        return regression.gaussian(delta, adjacency)
    return regression.bound(delta, adjacency, coupled=method == "tight")


def _chunk(task: Task, seeds: list[np.random.SeedSequence]) -> list[float]:
    return [task.one(seed) for seed in seeds]


def run(task: Task, repeats: int, seed: int, *, workers: int = 1, progress: bool | None = None) -> Array:
    """Return ε̂ of every repeat, in order; repeat k has the k-th child of the seed, in whichever process it runs."""
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    values: list[float] = []
    with _bar(progress, repeats) as advance:
        if workers == 1:
            for child in seeds:
                values.append(task.one(child))
                advance(1)
            return np.array(values)
        size = max(1, min(50, repeats // (4 * workers)))
        chunks = [seeds[start : start + size] for start in range(0, repeats, size)]
        # A fresh interpreter per worker: forking a process that holds threads may hang.
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            for part in pool.map(_chunk, [task] * len(chunks), chunks):
                values.extend(part)
                advance(len(part))
    return np.array(values)


@contextmanager
def _bar(progress: bool | None, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances a bar on stderr (``True``, or ``None`` at a terminal), or does nothing."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("data sets"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("data sets", total=total)
        yield lambda steps: bar.advance(task, steps)
