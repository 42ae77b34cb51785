"""Privacy estimated by simulation: Algorithm 1 of Hu et al. (2026) literally, soundly and tightly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import Document, Floats
from gibbsafe._validate import choice, count, fail, open_probability
from gibbsafe.contamination.epsilon.quantiles import coverage, interval_orders, percentile_order, upper_order
from gibbsafe.contamination.epsilon.repeats import METHODS, Task, run
from gibbsafe.contamination.model import declare
from gibbsafe.contamination.model.models import ContaminatedModel
from gibbsafe.errors import PremiseError
from gibbsafe.privacy import Adjacency, EstimatedPrivacy

__all__ = [
    "OF_THE_PRIOR",
    "Simulated",
    "estimate_epsilon",
    "estimate_from_dict",
    "notes_of",
    "simulate",
    "simulated_model",
    "summarise",
]

#: Particles of the literal method where none are asked for: the number with which the paper's Table 1 comes out best.
PAPER_PARTICLES = 1000

_NOTES = {
    "paper": "Algorithm 1 as printed: unsound, δ is taken at the observed records only (E21)",
    "sound": "δ is the supremum over all neighbours; suprema by global search",
    "tight": "coupled bound: both records' ratios at the same parameter",
    "exact": "hockey-stick divergence by quadrature, worst pair of records by search",
    "gaussian": "normal approximation of the posterior: an approximation, not a bound",
}


#: What is said of true parameters that are drawn anew in every repeat.
OF_THE_PRIOR = "true parameters drawn from the prior in every repeat"


def estimate_epsilon(  # noqa: PLR0917 - the algorithm's own inputs, in its order
    model: ContaminatedModel,
    n: int | None = None,
    delta: float | None = None,
    repeats: int = 1000,
    quantile: float = 0.99,
    method: str = "sound",
    adjacency: str = "replace-one",
    *,
    truth: object = None,
    data: object = None,
    confidence: float = 0.95,
    particles: int | None = None,
    accept_invalid: bool = False,
    draws: int = 1,
    seed: int = 0,
    workers: int = 1,
    progress: bool | None = None,
) -> EstimatedPrivacy:
    """Estimate the ε that most data sets of a model satisfy at δ (default 1/(10n)), by simulating ``repeats`` of them.

    ``method``: ``"paper"`` (Algorithm 1 literally, with ``particles``, box at the truth), ``"sound"`` (δ over all neighbours,
    deterministic masses, upper confidence bound of the quantile), ``"tight"`` (coupled bound on the L1 ball at the mode),
    ``"exact"`` (hockey stick; one parameter) or ``"gaussian"`` (a labelled approximation).

    ``truth``: the true parameters of simulated data; several rows simulate each and report the worst; ``"prior"`` draws them
    from the prior, anew in every repeat. With ``data`` (the paper's "data set present" branch) a curator's own records are
    contaminated instead: the result is sensitive. ``draws``: of how many draws together (m·ε̂ at δ/m each).
    ``adjacency="add-remove"`` is the paper's strict adjacency (Remark 20, Corollary 30, with E26).

    The result is `EstimatedPrivacy`: random differential privacy, never composed with or amplified like a proved guarantee.

    >>> from gibbsafe.contamination import ContaminatedNormalMean
    >>> model = ContaminatedNormalMean(scale=8.0, prior_mean=40.0, prior_scale=40.0)
    >>> estimate = estimate_epsilon(model, 1000, repeats=30, quantile=0.9, truth=30.0)
    >>> 0.3 < estimate.epsilon < 0.7, estimate.confidence >= 0.95
    (True, True)
    """
    options: Any = {"method": method, "adjacency": adjacency, "truth": truth, "data": data, "confidence": confidence}
    shown: Any = {
        "seed": seed,
        "workers": workers,
        "progress": progress,
        "particles": particles,
        "accept_invalid": accept_invalid,
    }
    return simulate(model, n, delta, repeats, quantile, draws=draws, **options, **shown).estimate


@dataclass(frozen=True, eq=False)
class Simulated:
    """An estimate, the ε̂ of every repeat of the worst true parameters, and those."""

    estimate: EstimatedPrivacy
    values: Floats
    truth: Floats | None


def simulate(
    model: ContaminatedModel,
    n: int | None,
    delta: float | None,
    repeats: int,
    quantile: float,
    *,
    method: str = "sound",
    adjacency: str = "replace-one",
    truth: object = None,
    data: object = None,
    confidence: float = 0.95,
    particles: int | None = None,
    accept_invalid: bool = False,
    draws: int = 1,
    seed: int = 0,
    workers: int = 1,
    progress: bool | None = None,
) -> Simulated:
    """Return what `estimate_epsilon` returns, with every repeat behind it."""
    rows = None if data is None else model.read(data)
    size = _size(n, rows)
    level = open_probability("delta", 1 / (10 * size) if delta is None else delta)
    name, relation = choice("method", method, METHODS), Adjacency.of(adjacency).value
    _check_method(name, model, particles, level, accept_invalid)
    order = percentile_order(count("repeats", repeats), open_probability("quantile", quantile))
    if name != "paper":
        order = upper_order(repeats, quantile, confidence)
    used = (particles or PAPER_PARTICLES) if name == "paper" else None
    truths, many = _truths(model, truth, rows), count("draws", draws)
    columns = []
    for value in truths:
        task = Task(model, size, value, level, name, relation, used, rows, many)
        columns.append(run(task, repeats, count("seed", seed, least=0), workers=count("workers", workers), progress=progress))
    worst = max(range(len(columns)), key=lambda k: float(np.sort(columns[k])[order - 1]))
    estimate = summarise(
        columns[worst], order, quantile, confidence, delta=level, method=model.method_name(name), adjacency=relation, seed=seed,
        notes=notes_of(model, name, used, level, many), sensitive=rows is not None,
        data_model=_describe(model, size, truth, rows is not None, len(columns)),
    )  # fmt: skip
    return Simulated(estimate, columns[worst], truths[worst])


def notes_of(model: ContaminatedModel, method: str, particles: int | None, delta: float, draws: int) -> tuple[str, ...]:
    """Return what limits an estimate."""
    notes = [model.method_note(method, _NOTES[method]), *model.notes(method)]
    if particles is not None:
        notes.append(f"m·δ = {particles * delta:.3g}" + (": invalid below 10" if particles * delta < 10 else ""))
    if draws > 1:
        notes.append(f"of {draws} draws together, each at δ/{draws}: the products of two fixed laws, not a sum of estimates")
    return tuple(notes)


def summarise(values: Floats, order: int, quantile: float, confidence: float, **fields: Any) -> EstimatedPrivacy:
    """Return the estimate that an order statistic of simulated values gives."""
    ordered = np.sort(values)
    ends = interval_orders(len(ordered), quantile, confidence)
    return EstimatedPrivacy(
        epsilon=float(ordered[order - 1]),
        failure_probability=round(1 - quantile, 12),
        confidence=min(coverage(len(ordered), quantile, order), 1 - 1e-12),
        repeats=len(ordered),
        interval=None if ends is None else (float(ordered[ends[0] - 1]), float(ordered[ends[1] - 1])),
        **fields,
    )


def _size(n: int | None, rows: tuple[Floats, Floats] | None) -> int:
    if rows is not None:
        if n is not None and n != len(rows[0]):
            fail("n", n, f"absent, or the number of records, {len(rows[0])}")
        return count("number of records", len(rows[0]), least=2)
    return count("n", n, least=2)


def _check_method(name: str, model: ContaminatedModel, particles: int | None, delta: float, accept_invalid: bool) -> None:
    model.check_method(name)
    if name == "exact" and not model.on_a_line:
        raise PremiseError("method = 'exact': the exact privacy curve is for one parameter; use method='tight' or 'gaussian'")
    if name != "paper" and particles is not None:
        fail("particles", particles, "absent except for method='paper'; the other methods use none")
    if model.contamination is None and model.likelihood.name in {"normal", "asymmetric Laplace"}:
        raise PremiseError("contamination: without it one record can change the posterior without limit, and ε̂ is infinite")
    if particles is not None and count("particles", particles) * delta < 1 and not accept_invalid:
        raise PremiseError(
            f"particles = {particles}: with δ = {delta:g} fewer than one particle lies in the tail, "
            f"m·δ = {particles * delta:.2g}; use more, a larger delta, method='sound', or accept_invalid=True for reproduction"
        )


def _truths(model: ContaminatedModel, truth: Any, rows: Any) -> list[Floats | None]:
    if truth is None:
        if rows is None:
            fail("truth", truth, "the true parameters of the simulated data (several rows: the worst is reported)")
        return [None]
    if rows is not None:
        fail("truth", truth, "absent where data are given: nobody knows it")
    if isinstance(truth, str):
        choice("truth", truth, ("prior",))
        return [None]
    return [model.truth(row) for row in (truth if np.ndim(truth) == 2 else [truth])]


def _describe(model: ContaminatedModel, n: int, truth: Any, present: bool, several: int) -> str:
    if present:
        return f"{model.describe()}; a curator's own {n} records, contaminated anew in every repeat"
    where = f"the worst of {several} true parameters" if several > 1 else OF_THE_PRIOR
    if several == 1 and not isinstance(truth, str):
        where = f"true parameters {np.round(truth, 6).tolist()}"
    return f"{simulated_model(model, n)}{where}"


def simulated_model(model: ContaminatedModel, n: int) -> str:
    """Return how the words for simulated data begin; which true parameters they have comes after."""
    return f"{model.describe()}; n = {n}, p = {model.p(n):.4g}, "


def estimate_from_dict(table: Document, *, progress: bool | None = None) -> EstimatedPrivacy:
    """Estimate as a study's ``[contamination]`` table says: model and density by name, n, truth, and the options above.

    >>> table = {"model": "NormalMean", "scale": 8.0, "prior_mean": 40.0, "prior_scale": 40.0, "n": 500, "truth": 30.0,
    ...          "repeats": 30, "quantile": 0.9}
    >>> estimate_from_dict(table).repeats
    30
    """
    model, options = declare.model_from_table(table)
    return estimate_epsilon(model, **options, progress=progress)
