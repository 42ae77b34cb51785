"""The neighbouring data sets that a plan's posterior tells apart best: structured candidates, then an optimiser."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from gibbsafe._validate import count
from gibbsafe.audit.clock import Clock
from gibbsafe.audit.curves import PrivacyCurve
from gibbsafe.audit.plans import exact_curve, posteriors_of
from gibbsafe.audit.records import blend, corners_of, join
from gibbsafe.errors import DomainError, GibbsafeError, PremiseError
from gibbsafe.planning import Plan
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.posteriors.protocols import ExactCurve, Posterior
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers import can_draw, draw_exactly
from gibbsafe.samplers.newton import find_mode

__all__ = ["Neighbours", "worst_neighbours"]

#: Sizes of the data set that are tried where n is private.
SIZES = (0, 1, 20, 200)
#: Draws at which log density ratios are compared.
LOOKS = 64


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two neighbouring data sets, the exact curve between them where there is one, and how many pairs were looked at."""

    data: object
    neighbour: object
    curve: PrivacyCurve | None
    tried: int


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A person's records, those that replace them (or are added), and the rest of the data, all as repeated records."""

    first: object
    second: object
    rest: tuple[tuple[object, int], ...]
    added: bool
    rows: int

    def pair(self) -> tuple[object, object]:
        return join([(self.first, 0 if self.added else self.rows), *self.rest]), join([(self.second, self.rows), *self.rest])


def worst_neighbours(
    plan: Plan,
    *,
    records: Sequence[object] | None = None,
    epsilon: float | None = None,
    effort: int = 400,
    seconds: float | None = None,
) -> Neighbours:
    """Search for the neighbours that maximise δ(ε).

    Args:
        plan: any plan with one stage.
        records: extreme records, data sets of one; by default the model's own `corners`.
        epsilon: where δ is maximised; by default at half of the plan's claim.
        effort: how many candidates to look at before the optimiser starts, and about as many again by it.
        seconds: go on with the best that was found after this long.

    Candidates are pairs of extreme records (opposite labels and ends of the domain among them) beside a rest that is all of one
    kind or split in halves; a person with several rows brings as many of one record; under add-remove several sizes are tried,
    the empty data set included. They are ranked by an approximation, the distance of the posteriors in standard deviations; the
    best are improved by moving parts of the rest and blending records, and judged by the exact curve. Where no exact curve
    exists the approximation decides alone.
    """
    corners = corners_of(plan.model) if records is None else list(records)
    if len(corners) < 2:
        raise PremiseError("records: at least two different ones are needed to look for neighbours")
    at = epsilon if epsilon is not None else plan.guarantee.epsilon(plan.budget.delta) / 2
    search = _Search(plan, corners, min(at, 300.0), count("effort", effort), Clock.within(seconds))
    return search.run()


class _Search:
    def __init__(self, plan: Plan, corners: list[object], epsilon: float, effort: int, clock: Clock) -> None:
        self.plan, self.corners, self.epsilon, self.effort, self.clock = plan, corners, epsilon, effort, clock
        self.added = plan.adjacency == Adjacency.ADD_REMOVE
        self.rows = plan.rows_per_person
        self.tried = 0

    def run(self) -> Neighbours:
        ranked = self._ranked(self._first_candidates())
        ranked = self._ranked([*(c for _, c in ranked[:8]), *self._more_rests(ranked[:4])])
        best = self._climb(*ranked[0])
        finalists = [best, *(candidate for _, candidate in ranked[:3])]
        judged = [(self._exact(candidate), candidate) for candidate in self._while_time(finalists)]
        exact = [(curve.delta(self.epsilon), curve, candidate) for curve, candidate in judged if curve is not None]
        if exact:
            _, curve, candidate = max(exact, key=lambda entry: entry[0])
            return Neighbours(*candidate.pair(), curve, self.tried)
        return Neighbours(*best.pair(), None, self.tried)

    # -- candidates ----------------------------------------------------------------------------------------------

    def _first_candidates(self) -> list[_Candidate]:
        zero = self.corners[-1]
        candidates = []
        for first, second in combinations(self.corners, 2):
            for size in self._sizes():
                half = size // 2
                rests: list[tuple[tuple[object, int], ...]] = [((zero, size),)]
                if size:
                    rests += [((first, size),), ((second, size),), ((first, half), (second, size - half))]
                for rest in rests:
                    candidates.append(_Candidate(first, second, rest, self.added, self.rows))
                    if self.added:
                        candidates.append(_Candidate(second, first, rest, self.added, self.rows))
        return self._thinned(candidates)

    def _sizes(self) -> tuple[int, ...]:
        if not self.added:
            assert self.plan.n is not None
            return (self.plan.n - 1,)  # n counts persons: the others have one row each
        return SIZES

    def _more_rests(self, ranked: list[tuple[float, _Candidate]]) -> list[_Candidate]:
        candidates = []
        for _, candidate in ranked:
            size = sum(times for _, times in candidate.rest)
            alone = [((corner, size),) for corner in self.corners]
            halves = [((a, size // 2), (b, size - size // 2)) for a, b in combinations(self.corners, 2)]
            candidates += [replace(candidate, rest=rest) for rest in (*alone, *halves)]
        return self._thinned(candidates)

    def _thinned(self, candidates: list[_Candidate]) -> list[_Candidate]:
        most = max(1, self.effort // 2)
        if len(candidates) <= most:
            return candidates
        chosen = np.random.default_rng(0).choice(len(candidates), most, replace=False)
        return [candidates[k] for k in sorted(chosen)]

    # -- judging -------------------------------------------------------------------------------------------------

    def _ranked(self, candidates: list[_Candidate]) -> list[tuple[float, _Candidate]]:
        scored = ((self._score(candidate), candidate) for candidate in self._while_time(candidates))
        return sorted(scored, key=lambda entry: -entry[0])

    def _while_time(self, candidates: Sequence[_Candidate]) -> Iterator[_Candidate]:
        """Yield the first candidate, and the others as long as there is time."""
        for position, candidate in enumerate(candidates):
            if position and self.clock.is_over():
                return
            yield candidate

    def _score(self, candidate: _Candidate) -> float:
        """Return a cheap measure of how well the pair can be told apart: higher is better."""
        self.tried += 1
        first, second = posteriors_of(self.plan, *candidate.pair())
        rough = separation(first, second)
        if rough is not None:
            return rough
        curve = self._exact(candidate)
        return -math.inf if curve is None else curve.delta(self.epsilon)

    def _exact(self, candidate: _Candidate) -> PrivacyCurve | None:
        try:
            return exact_curve(self.plan, *candidate.pair())
        except PremiseError:  # more parameters, stages or steps than an exact curve covers
            return None

    def _climb(self, score: float, candidate: _Candidate) -> _Candidate:
        """Move parts of the rest to other records and blend the two records, as long as that helps."""
        for _ in range(3):
            start = score
            for move in self._moves():
                if self.tried >= 2 * self.effort or self.clock.is_over():
                    return candidate
                changed = move(candidate)
                try:
                    reached = self._score(changed)
                except DomainError:  # a blend of two records may be none: a fraction of a count
                    continue
                if reached > score * (1 + 1e-6):
                    score, candidate = reached, changed
            if score <= start * 1.001:
                break
        return candidate

    def _moves(self) -> Iterator[Callable[[_Candidate], _Candidate]]:
        for corner in self.corners:
            for share in (0.5, 0.1):
                yield partial(_with_moved_rest, corner=corner, share=share)
                yield partial(_with_blended, field="first", corner=corner, share=share)
                yield partial(_with_blended, field="second", corner=corner, share=share)


def _with_moved_rest(candidate: _Candidate, corner: object, share: float) -> _Candidate:
    return replace(candidate, rest=_moved(candidate.rest, corner, share))


def _with_blended(candidate: _Candidate, field: str, corner: object, share: float) -> _Candidate:
    if field == "first":
        return replace(candidate, first=blend(candidate.first, corner, share))
    return replace(candidate, second=blend(candidate.second, corner, share))


def _moved(rest: tuple[tuple[object, int], ...], corner: object, share: float) -> tuple[tuple[object, int], ...]:
    """Return the rest with a share of every group turned into one record; groups stay few."""
    kept = [(record, times - math.ceil(times * share)) for record, times in rest]
    gone = sum(times for _, times in rest) - sum(times for _, times in kept)
    return (*[(record, times) for record, times in kept if times], (corner, gone))


def separation(first: Posterior, second: Posterior) -> float | None:
    """Return about how many standard deviations apart two posteriors are; None if that is not known cheaply.

    For potentials U and U + g this is the standard deviation of g: over a few draws where the posterior can be drawn from, or
    |∇g| at the mode in the metric of the inverse curvature. Exact for Gaussian shifts.
    """
    if isinstance(first, NormalPosterior) and isinstance(second, NormalPosterior):
        return float(np.linalg.norm((first.mean - second.mean) * np.sqrt(first.precision)))
    if can_draw(first) and not isinstance(first, ExactCurve):  # whose closed form is as cheap
        thetas = draw_exactly(first, LOOKS, np.random.default_rng(0))
        return float(np.std(second.values(thetas) - first.values(thetas)))
    if not isinstance(first, GibbsPosterior) or not isinstance(second, GibbsPosterior):
        return None
    if not math.isfinite(first.loss.smoothness):
        return None
    try:
        mode = find_mode(first)
    except GibbsafeError:
        return None
    change = second.gradient(mode.centre) - first.gradient(mode.centre)
    return math.sqrt(max(0.0, float(change @ np.linalg.solve(mode.hessian, change))))
