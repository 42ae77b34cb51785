"""Lower confidence bounds on a mechanism's privacy loss, from runs of it on two neighbouring data sets.

An attacker looks at an output and guesses which data set made it, by comparing a score with a threshold. Whatever the score, with
p = P(guess first | first) and q = P(guess first | second) every (ε, δ)-DP mechanism has p ≤ e^ε q + δ and
1 − q ≤ e^ε (1 − p) + δ, and every μ-GDP one Φ⁻¹(p) − Φ⁻¹(q) ≤ μ. Score and threshold are chosen on one half of the runs; on the
other half Clopper–Pearson limits p ≥ p₋ and q ≤ q₊ turn this into lower bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import beta as beta_law

from gibbsafe._extras import require_extra
from gibbsafe._types import Floats
from gibbsafe._validate import count, fail, open_probability, positive, probability
from gibbsafe.audit.sampling import Mechanism, Sample, run
from gibbsafe.audit.scores import candidate_scores
from gibbsafe.errors import GibbsafeError
from gibbsafe.privacy import GaussianDP, Guarantee
from gibbsafe.progress import Progress, sampling_bar

__all__ = ["LowerBound", "estimate_lower_bound"]

#: Most runs of a mechanism: their outputs are kept in memory.
MOST_DRAWS = 1_000_000_000

#: How many thresholds are compared on the first half.
THRESHOLDS = 400


@dataclass(frozen=True)
class LowerBound:
    """Lower confidence bounds on ε (at ``delta``) and μ of a mechanism, which hold together with the stated confidence.

    A mechanism that claims less is refuted; one that claims more is *not* thereby proved. ``draws`` is the number of runs on each
    data set that the bounds rest on.
    """

    epsilon: float
    mu: float
    delta: float
    confidence: float
    draws: int
    score: str

    def refutes(self, claim: Guarantee) -> bool:
        """Return whether a guarantee claims less than was shown."""
        if self.epsilon > claim.epsilon(self.delta):
            return True
        return isinstance(claim, GaussianDP) and self.mu > claim.mu

    def __str__(self) -> str:
        return (
            f"epsilon >= {self.epsilon:.4g} at delta = {self.delta:.3g}, mu >= {self.mu:.4g}, "
            f"at confidence {self.confidence:.3g} ({self.draws:,} runs on each data set, scored by {self.score})"
        )


def estimate_lower_bound(
    mechanism: Mechanism,
    data: object,
    neighbour: object,
    *,
    draws: int,
    confidence: float = 0.95,
    delta: float = 0.0,
    score: Callable[[Floats], Floats] | None = None,
    vectorised: bool = False,
    workers: int = 1,
    seconds: float | None = None,
    progress: bool | Progress | None = None,
) -> LowerBound:
    """Return lower confidence bounds on a mechanism's ε and μ from ``draws`` runs on each of two neighbouring data sets.

    Args:
        mechanism: any callable of a data set that returns numbers; with ``vectorised=True`` of a data set and a number of runs,
            returning one row per run. A refusal (`GibbsafeError`, ValueError or ArithmeticError) counts as an output: one that
            depends on a record reveals it.
        data, neighbour: passed to the mechanism as they are.
        draws: runs on each data set; half of them choose score and threshold, half are the test.
        confidence: with which both bounds hold together, whatever the mechanism.
        delta: δ of the ε that is bounded.
        score: outputs (runs, width) → one number each, larger where ``data`` is likelier, best the log density ratio. Without it
            classifiers are trained on the first half (needs the extra ``gibbsafe[sklearn]``).
        workers: processes that run the mechanism.
        seconds: stop sampling after this long and use what there is.
        progress: True, False, or a function; by default a bar if stderr is a terminal.

    Guarantees: valid for any mechanism whose runs are independent, since the tested event does not depend on the tested runs;
    never negative. Bonferroni over the two limits and the two bounds.

    >>> rng = np.random.default_rng(0)
    >>> def shift(data, runs):
    ...     return data + rng.standard_normal((runs, 1))
    >>> bound = estimate_lower_bound(shift, 1.0, 0.0, draws=10_000, score=lambda x: x[:, 0], vectorised=True)
    >>> 0.8 < bound.mu <= 1.0
    True
    """
    draws, delta = count("draws", draws, least=8, most=MOST_DRAWS), probability("delta", delta)
    failure = 1 - open_probability("confidence", confidence)
    workers = count("workers", workers)
    seconds = None if seconds is None else positive("seconds", seconds)
    if score is None:
        require_extra("sklearn", "scores by trained classifiers (or pass score=)")
    if workers > 1:
        require_extra("sklearn", "several workers")
    if not callable(mechanism):
        fail("mechanism", mechanism, "a callable of a data set")
    with sampling_bar(progress, 2 * draws) as report:
        samples = run(mechanism, (data, neighbour), draws, vectorised=vectorised, workers=workers, seconds=seconds, report=report)
    return bound_from_samples(*samples, failure=failure, delta=delta, score=score)


def bound_from_samples(
    first: Sample, second: Sample, *, failure: float, delta: float, score: Callable[[Floats], Floats] | None
) -> LowerBound:
    """Return the bounds from outputs of both data sets."""
    half = len(first) // 2
    if half < 4:
        raise GibbsafeError(f"draws: only {len(first)} runs were made in the time allowed; allow more")
    chosen = first[:half], second[:half]
    tested = first[half:], second[half:]
    level = failure / 4  # two bounds, each from two limits
    candidates = list(candidate_scores(*chosen, score))
    values = [[each.function(part[each.held_out :]) for part in chosen] for each in candidates]
    found: dict[str, tuple[float, str]] = {}
    scored: dict[int, list[Floats]] = {}  # by the candidates that win: what a score costs is paid once
    for name, measure in (("epsilon", _epsilon_of(delta)), ("mu", _mu)):
        events = [_best_event(each, measure, level) for each in values]
        k = max(range(len(events)), key=lambda k: events[k][0])
        event, described = events[k][1], candidates[k].name
        if k not in scored:
            scored[k] = [candidates[k].function(sample) for sample in tested]
        wins = [int(event(value).sum()) for value in scored[k]]
        low, high = lower_limit(wins[0], len(tested[0]), level), upper_limit(wins[1], len(tested[1]), level)
        found[name] = (max(0.0, float(measure(np.array(low), np.array(high)))), described)
    return LowerBound(found["epsilon"][0], found["mu"][0], delta, 1 - failure, len(first), found["mu"][1])


# -- from rates to bounds ----------------------------------------------------------------------------------------------

Measure: TypeAlias = Callable[[Floats, Floats], Floats]


def _epsilon_of(delta: float) -> Measure:
    def measure(p: Floats, q: Floats) -> Floats:
        """ε ≥ log((p − δ)/q) and, for the complement, ε ≥ log((1 − q − δ)/(1 − p))."""
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.log(np.maximum(p - delta, 0.0)) - np.log(q)
            other = np.log(np.maximum(1 - q - delta, 0.0)) - np.log1p(-p)
        return np.asarray(np.nan_to_num(np.maximum(one, other), nan=-math.inf, posinf=math.inf))

    return measure


def _mu(p: Floats, q: Floats) -> Floats:
    """μ ≥ Φ⁻¹(p) − Φ⁻¹(q)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(ndtri(p) - ndtri(q), nan=-math.inf, neginf=-math.inf))


def lower_limit(wins: npt.ArrayLike, runs: int, failure: float) -> Floats:
    """Clopper–Pearson lower limit of a probability: below it with probability at most ``failure``."""
    wins = np.asarray(wins, dtype=np.float64)
    return np.where(wins > 0, beta_law.ppf(failure, np.maximum(wins, 0.5), runs - wins + 1), 0.0)


def upper_limit(wins: npt.ArrayLike, runs: int, failure: float) -> Floats:
    """Clopper–Pearson upper limit."""
    return 1 - lower_limit(runs - np.asarray(wins, dtype=np.float64), runs, failure)


# -- choosing the event ------------------------------------------------------------------------------------------------

Event: TypeAlias = Callable[[Floats], npt.NDArray[np.bool_]]


def _best_event(values: list[Floats], measure: Measure, level: float) -> tuple[float, Event]:
    """Return the threshold (either side) whose own limits on the runs that choose would give the largest bound."""
    runs = len(values[0])
    together = np.unique(np.concatenate(values))
    steps = np.unique(np.linspace(0, len(together) - 1, THRESHOLDS).astype(int))
    thresholds = together[steps]
    best: tuple[float, Event] = (-math.inf, lambda value: np.zeros(len(value), bool))
    ordered = [np.sort(value) for value in values]
    for above in (True, False):
        counts = [np.searchsorted(each, thresholds, side="left" if above else "right") for each in ordered]
        wins = [runs - tally if above else tally for tally in counts]
        # Stricter than the test: events whose rates are known badly would win by luck.
        bounds = measure(lower_limit(wins[0], runs, level / 100), upper_limit(wins[1], runs, level / 100))
        k = int(np.argmax(bounds))
        if bounds[k] > best[0]:
            best = (float(bounds[k]), _event(float(thresholds[k]), above))
    return best


def _event(threshold: float, above: bool) -> Event:
    def event(value: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(value >= threshold if above else value <= threshold)

    return event
