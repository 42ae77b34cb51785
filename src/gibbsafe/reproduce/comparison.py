"""Private means on your own problem: the third paper's comparison at equal claims, with the kind of guarantee beside each.

What is equal is the claim (ε, δ). What it means is not: most methods keep it for every data set, the contaminated posterior for
most data sets of a simulated model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from gibbsafe._numerics import greatest
from gibbsafe._plotting import figure
from gibbsafe._types import JSON, Floats
from gibbsafe._validate import choice, count, fail, open_probability, positive, real
from gibbsafe.contamination import ContaminatedNormalMean, choose_rate, sample_posterior
from gibbsafe.errors import PremiseError
from gibbsafe.models import WelschLocation
from gibbsafe.planning import plan
from gibbsafe.privacy import Budget, ConcentratedDP, GaussianDP
from gibbsafe.privacy.profiles import gaussian_mu
from gibbsafe.progress import counting_bar
from gibbsafe.reproduce import baselines

__all__ = ["DataModel", "MeanComparison", "MeanRow", "compare_means"]

KINDS = ("normal", "student-t", "laplace", "uniform", "skewed")
PROVED, ESTIMATED, NONE = "proved for every data set", "estimated, not proved", "none"


@dataclass(frozen=True)
class DataModel:
    """Where simulated records come from: a law by name, around a mean, with a scale (its standard deviation only if normal).

    ``"student-t"`` has ``degrees`` of freedom (above 1), ``"uniform"`` the scale as half its width, ``"skewed"`` is an
    exponential of this scale moved to the mean.

    >>> round(float(DataModel("laplace", mean=3.0).sample(100_000, np.random.default_rng(0)).mean()), 1)
    3.0
    """

    kind: str = "normal"
    mean: float = 0.0
    scale: float = 1.0
    degrees: float = 3.0

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        object.__setattr__(self, "mean", real("mean", self.mean))
        object.__setattr__(self, "scale", positive("scale", self.scale))
        if not positive("degrees", self.degrees) > 1:
            fail("degrees", self.degrees, "above 1: below there is no mean")

    def sample(self, n: int, generator: np.random.Generator) -> Floats:
        """Return n records."""
        draw: dict[str, Callable[[], Floats]] = {
            "normal": lambda: generator.standard_normal(n),
            "student-t": lambda: generator.standard_t(self.degrees, n),
            "laplace": lambda: generator.laplace(size=n),
            "uniform": lambda: generator.uniform(-1, 1, n),
            "skewed": lambda: generator.standard_exponential(n) - 1,
        }
        return self.mean + self.scale * draw[self.kind]()


@dataclass(frozen=True)
class MeanRow:
    """One method: what it claims, of what kind the claim is, and how far it is from the true mean."""

    method: str
    guarantee: str
    kind: str
    mse: float | None
    interval: tuple[float, float] | None
    note: str = ""


@dataclass(frozen=True)
class MeanComparison:
    """Mean squared errors at equal claims, over simulated data sets; ``interval`` is ± 1.96 standard errors over them."""

    n: int
    epsilon: float
    delta: float
    data_model: DataModel
    bounds: tuple[float, float]
    sets: int
    draws: int
    seed: int
    rows: tuple[MeanRow, ...]

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self) | {"bounds": list(self.bounds), "rows": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        said = f"mean of {self.n:,} {self.data_model.kind} records, ε = {self.epsilon:g}, δ = {self.delta:.3g}"
        lines = [f"{said}; mean squared error over {self.sets} data sets"]
        for row in self.rows:
            value = "–" if row.mse is None else f"{row.mse:.3g}"
            lines.append(f"  {row.method:<28}{value:>10}  {row.kind:<26}{row.guarantee}" + (f" ({row.note})" if row.note else ""))
        return "\n".join(lines)

    def draw(self, path: Path, *, force: bool = False) -> None:
        """Draw the errors; what is proved is blue, what is estimated is red."""
        shown = [row for row in self.rows if row.mse is not None and row.interval is not None]
        colours = {PROVED: "#08519c", ESTIMATED: "#a63603", NONE: "#737373"}
        with figure(path, "mean squared error", "", width=8.5, height=0.45 * len(shown) + 1.4, force=force) as axes:
            for place, row in enumerate(reversed(shown)):
                assert row.mse is not None
                assert row.interval is not None
                low = max(row.interval[0], row.mse / 10)
                axes.plot([low, row.interval[1]], [place, place], color=colours[row.kind], linewidth=2)
                axes.plot([row.mse], [place], "o", color=colours[row.kind])
            axes.set_yticks(range(len(shown)), [f"{row.method}\n{row.guarantee}" for row in reversed(shown)], fontsize=7)
            axes.set_xscale("log")
            for kind, colour in colours.items():
                axes.plot([], [], "o-", color=colour, label=kind)
            axes.legend(frameon=False, fontsize=7, title="guarantee", title_fontsize=7)
            axes.set_title(f"{self.n:,} {self.data_model.kind} records, ε = {self.epsilon:g}, δ = {self.delta:.2g}", loc="left")


@dataclass(frozen=True)
class _Method:
    """A method: what it promises, and how it makes estimates of one data set's mean (several, independent)."""

    name: str
    guarantee: str
    kind: str
    run: Callable[[Floats, int, np.random.Generator], Floats] | None
    note: str = ""


def _baselines(budget: Budget, ends: tuple[float, float], scale: float) -> list[_Method]:
    """Return the methods of others, at this budget."""
    (low, high), epsilon, delta = ends, budget.epsilon, budget.delta
    rho = greatest(lambda value: budget.admits(ConcentratedDP(value)), 1e6)
    mu = gaussian_mu(epsilon, delta)
    middle, half = (low + high) / 2, (high - low) / 2

    def repeated(one: Callable[[baselines.SortedRecords, np.random.Generator], baselines.Mean]) -> Callable[..., Floats]:
        def run(records: Floats, draws: int, rng: np.random.Generator) -> Floats:
            ordered = baselines.SortedRecords(records)
            return np.array([one(ordered, rng).value for _ in range(draws)])

        return run

    def gaussian(records: Floats, draws: int, rng: np.random.Generator) -> Floats:
        clipped = float(np.clip(records, low, high).mean())
        return np.asarray(clipped + (high - low) / len(records) / mu * rng.standard_normal(draws))

    concentrated = f"ρ = {rho:.4g} zCDP, hence (ε, δ)"
    pressed = [
        _Method(
            f"CoinPress, {steps} steps",
            concentrated,
            PROVED,
            repeated(lambda x, rng, k=steps: baselines.coinpress(x, k, rho, rng, centre=middle, radius=half, scale=scale)),  # type: ignore[misc]
            "told the scale",
        )
        for steps in (3, 10)
    ]
    return [
        *pressed,
        _Method(
            "clipped mean after quantiles",
            concentrated,
            PROVED,
            repeated(lambda x, rng: baselines.clipped_mean_after_quantiles(x, rho, rng, low=low, high=high, offset=3.0)),
        ),
        _Method("Gaussian noise", f"{GaussianDP(mu)}, hence (ε, δ)", PROVED, gaussian, "on the mean clipped to the bounds"),
        _Method(
            "Laplace noise",
            "pure ε, δ = 0",
            PROVED,
            repeated(lambda x, rng: baselines.laplace_mean(x, low, high, epsilon, rng)),
            "on the mean clipped to the bounds",
        ),
    ]


def _welsch(epsilon: float, n: int, ends: tuple[float, float], scale: float) -> _Method:
    made = plan(WelschLocation(scale=scale, bounds=ends), Budget(epsilon), n=n, adjacency="replace-one")

    def run(records: Floats, draws: int, rng: np.random.Generator) -> Floats:
        return np.array([float(made.release(records, generator=rng, progress=False).draws[0, 0]) for _ in range(min(draws, 5))])

    return _Method("Welsch draw", "pure ε, δ = 0", PROVED, run, "exact draw, records unbounded")


@dataclass(frozen=True)
class _Simulation:
    """How the contaminated posterior's ε̂ is simulated."""

    failure: float
    repeats: int
    seed: int


def _contaminated(budget: Budget, n: int, law: DataModel, model: ContaminatedNormalMean, simulation: _Simulation) -> _Method:
    """Return the contaminated posterior at the least rate whose ε̂ is within the budget."""
    name, promised = "contaminated posterior", f"all but {simulation.failure:g} of the model's data sets keep (ε̂, δ)"
    try:
        rate, estimate = choose_rate(
            model,
            n,
            budget.epsilon,
            steps=3,
            delta=budget.delta,
            repeats=simulation.repeats,
            quantile=1 - simulation.failure,
            method="tight",
            truth=law.mean,
            seed=simulation.seed,
            progress=False,
        )
    except PremiseError:
        return _Method(
            name, promised, ESTIMATED, None, f"no rate up to 0.9 reaches ε̂ = {budget.epsilon:g}; it needs more records"
        )
    used = replace(model, rate=rate)

    def run(records: Floats, draws: int, rng: np.random.Generator) -> Floats:
        each, times = max(1, draws // 5), min(5, draws)
        kept = [sample_posterior(used, used.contaminate(records, rng), each, generator=rng).draws[:, 0] for _ in range(times)]
        return np.concatenate(kept)

    note = f"p = {rate:.3g}, ε̂ = {estimate.epsilon:.3g} at confidence {estimate.confidence:.2g}"
    if law.kind != "normal":
        note += "; simulated with normal records, which yours are not"
    return _Method(name, promised, ESTIMATED, run, note)


def compare_means(
    *,
    n: int,
    epsilon: float,
    data_model: DataModel | str = "normal",
    delta: float | None = None,
    bounds: tuple[float, float] = (-300.0, 300.0),
    scale: float | None = None,
    prior: tuple[float, float] | None = None,
    sets: int = 40,
    draws: int = 10,
    failure: float = 0.05,
    repeats: int = 60,
    seed: int = 0,
    progress: bool | None = None,
) -> MeanComparison:
    """Compare private means of n records at one claim (ε, δ), for replacing one: errors by simulation, and kinds of guarantee.

    Args:
        n: number of records.
        epsilon: ε.
        data_model: where simulated records come from, a `DataModel` or its name with mean 0 and scale 1.
        delta: δ, 1/(10n) unless given. The Laplace noise and the Welsch draw have δ = 0 and do not use it.
        bounds: public bounds of the mean: generous ones cost the Laplace and Gaussian noise, hardly the others.
        scale: public guess of the records' scale, the data model's unless given.
        prior: mean and scale of the contaminated posterior's prior and contamination; unless given, from the bounds.
        sets: simulated data sets.
        draws: runs of each method on every one.
        failure: share of data sets for which the contaminated posterior's ε̂ may fail.
        repeats: data sets simulated for ε̂ at every contamination that is tried.
        seed: of all simulations.
        progress: show a bar (None: at a terminal).

    >>> found = compare_means(n=100, epsilon=9.0, data_model=DataModel("normal", 30.0, 8.0), sets=2, draws=1,
    ...                       failure=0.1, repeats=29)
    >>> {row.kind for row in found.rows} == {"proved for every data set", "estimated, not proved", "none"}
    True
    """
    size, law = count("n", n, least=10), data_model if isinstance(data_model, DataModel) else DataModel(data_model)
    budget = Budget(positive("epsilon", epsilon), open_probability("delta", 1 / (10 * size) if delta is None else delta))
    low, high = (real("bounds", end) for end in bounds)
    if not low < law.mean < high:
        fail("bounds", bounds, f"two numbers around the data model's mean {law.mean:g}, the lower first")
    known = law.scale if scale is None else positive("scale", scale)
    centre, spread = ((low + high) / 2, (high - low) / 2) if prior is None else prior
    model = ContaminatedNormalMean(scale=known, prior_mean=centre, prior_scale=spread)
    simulation = _Simulation(open_probability("failure", failure), count("repeats", repeats), count("seed", seed, least=0))
    methods = [
        _Method("mean", "no privacy", NONE, lambda records, draws, rng: np.array([records.mean()])),
        _contaminated(budget, size, law, model, simulation),
        _welsch(budget.epsilon, size, (low, high), known),
        *_baselines(budget, (low, high), known),
    ]
    found = []
    with counting_bar(progress, count("sets", sets), "data sets") as advance:
        for index in range(sets):
            found.append(_errors(methods, law, size, count("draws", draws), [simulation.seed, index]))
            advance(1)
    rows = tuple(_row(method, [errors[k] for errors in found]) for k, method in enumerate(methods))
    return MeanComparison(size, budget.epsilon, budget.delta, law, (low, high), sets, draws, simulation.seed, rows)


def _errors(methods: list[_Method], law: DataModel, n: int, draws: int, seed: list[int]) -> list[float]:
    """Return every method's mean squared error on one data set."""
    rng = np.random.default_rng(seed)
    records = law.sample(n, rng)
    made = [np.array([math.nan]) if method.run is None else method.run(records, draws, rng) for method in methods]
    return [float(np.mean((values - law.mean) ** 2)) for values in made]


def _row(method: _Method, errors: list[float]) -> MeanRow:
    if method.run is None:
        return MeanRow(method.name, method.guarantee, method.kind, None, None, method.note)
    mean = float(np.mean(errors))
    half = 1.96 * float(np.std(errors, ddof=1)) / math.sqrt(len(errors)) if len(errors) > 1 else math.inf
    return MeanRow(method.name, method.guarantee, method.kind, mean, (max(0.0, mean - half), mean + half), method.note)
