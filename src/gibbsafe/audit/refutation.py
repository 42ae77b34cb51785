"""Searching data and parameters for a violation of what a model declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import count, fail
from gibbsafe.audit.checks import Attack, attacks
from gibbsafe.audit.clock import Clock
from gibbsafe.audit.own_likelihoods import tried
from gibbsafe.audit.premises import attacks_on_premises
from gibbsafe.audit.record_losses import RecordLosses
from gibbsafe.models.base import Model
from gibbsafe.models.own.custom import Custom
from gibbsafe.models.searched import NOT_REFUTED, SearchRecord, declaration_digest

__all__ = ["Counterexample", "Refutation", "refute"]

#: A found value must exceed the declared one by more than rounding of the search explains.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A violation: what was declared, what was found, at which records (data sets of one) and scaled parameter."""

    constant: str
    declared: float
    found: float
    records: tuple[object, ...]
    parameter: Floats | None
    statement: str

    def __str__(self) -> str:
        return f"{self.constant}: {self.statement}; declared {self.declared:.6g}, found {self.found:.6g}"


@dataclass(frozen=True, eq=False)
class Refutation:
    """The outcome of `refute`: a counterexample or None, what was checked and how near each check came, and the effort."""

    model: str
    counterexample: Counterexample | None
    checked: tuple[tuple[str, float], ...]
    evaluations: int
    seed: int = 0
    declaration: str = ""

    @property
    def refuted(self) -> bool:
        """Whether a counterexample was found."""
        return self.counterexample is not None

    @property
    def record(self) -> SearchRecord:
        """What a model of the user's own carries (`with_record`); refused where a counterexample was found."""
        result = NOT_REFUTED if self.counterexample is None else f"refuted by {self.counterexample}"
        return SearchRecord(self.evaluations, self.seed, result, self.declaration)

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"{self.model}: refuted by {self.counterexample}"
        reached = ", ".join(f"{name} {share:.3g}" for name, share in self.checked)
        return f"{self.model}: not refuted by {self.evaluations:,} evaluations (largest share of each constant: {reached})"


def refute(
    model: Model,
    *,
    records: Sequence[object] | None = None,
    effort: int = 60,
    seed: int = 0,
    seconds: float | None = None,
) -> Refutation:
    """Search for a violation of the constants that a model declares, and return the first one found.

    Looked at: Lipschitz constants of the loss and of the difference of losses under replacement of a whole record (weighted by
    prior precisions, as theorems use them), smoothness, (strong) convexity, ranges of losses and differences, self-concordance
    and derivatives of the scalar loss, gradients against numerical derivatives, and clipping: records with entries like 1e300
    or, replaced, NaN count like any other. The numbers that premises
    print are attacked as they are printed. Random search over records and parameters, then ascent from the best.

    Args:
        model: any model, also one of your own.
        records: extreme records, data sets of one; by default the model's own `corners`.
        effort: pairs of records per check.
        seed: of the search.
        seconds: stop after this long; `checked` says what was looked at.

    Not being refuted proves nothing; it says that this much effort found nothing.

    >>> import gibbsafe as gs
    >>> gs.audit.refute(gs.models.LogisticRegression(dimension=2)).refuted
    False
    """
    if not isinstance(model, Model):
        fail("model", model, "a model of gibbsafe.models")
    clock, done = Clock.within(seconds), (seed, declaration_digest(model.to_dict()))
    if isinstance(model, Custom):
        return _of_code(model, count("effort", effort), done, clock)
    losses = RecordLosses(model, records, np.random.default_rng(seed))
    if losses.broken:
        record, reason = losses.broken[0]
        return Refutation(model.name, _broken(record, reason), (("clipping", math.inf),), losses.evaluations, *done)
    checked: dict[str, float] = {"clipping": 0.0}
    for attack in (*attacks(losses), *attacks_on_premises(losses)):
        if clock.is_over():
            break
        share, found = _carry_out(attack, losses, count("effort", effort), clock)
        checked[attack.constant] = max(share, checked.get(attack.constant, -math.inf))
        if found is not None:
            return Refutation(model.name, found, tuple(checked.items()), losses.evaluations, *done)
    return Refutation(model.name, None, tuple(checked.items()), losses.evaluations, *done)


def _of_code(model: Custom, effort: int, done: tuple[int, str], clock: Clock) -> Refutation:
    """Return the outcome for a likelihood of the user's own."""
    shares: dict[str, float] = {}
    evaluations, found = 0, None
    for attack in tried(model, effort, done[0], clock):
        evaluations += attack.evaluations
        shares[attack.constant] = max(attack.share, shares.get(attack.constant, 0.0))
        if attack.share > 1 + ROUNDING:
            found = Counterexample(attack.constant, 1.0, attack.share, (), None, attack.statement)
            break
    return Refutation(model.name, found, tuple(shares.items()), evaluations, *done)


def _broken(record: object, reason: str) -> Counterexample:
    return Counterexample("clipping", 0.0, math.inf, (record,), None, f"a record inside the machine's numbers ended in {reason}")


def _carry_out(attack: Attack, losses: RecordLosses, effort: int, clock: Clock) -> tuple[float, Counterexample | None]:
    """Return the largest share of the declared value that was reached, and a counterexample if it is above 1."""
    best_share, best = -math.inf, None
    for chosen in _choices(len(losses.posteriors), attack.arity, effort, losses.generator):
        share, theta = attack.best([losses.posteriors[k] for k in chosen], losses.thetas)
        if share > best_share:
            best_share, best = share, (chosen, theta)
        if clock.is_over():
            break
    if best is None:
        return best_share, None
    chosen, theta = best
    posteriors = [losses.posteriors[k] for k in chosen]
    share, theta = _ascend(lambda point: attack.share(posteriors, losses.admitted(point)), theta, best_share)
    best_share = max(best_share, share)
    if best_share <= 1 + ROUNDING:
        return best_share, None
    found = attack.declared * best_share
    records = tuple(losses.records[k] for k in chosen)
    return best_share, Counterexample(attack.constant, attack.declared, found, records, losses.admitted(theta), attack.statement)


def _choices(records: int, arity: int, effort: int, generator: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Yield which records to attack with: the first ones, corners among them, alone or in all pairs, and random ones."""
    if arity == 1:
        order = [*range(min(records, 12)), *(12 + generator.permutation(max(0, records - 12))).tolist()]
        yield from ((k,) for k in order[: max(12, 2 * effort)])
        return
    near = min(records, max(4, math.isqrt(2 * effort)))
    yield from ((i, j) for i in range(near) for j in range(near) if i != j)
    yield from ((int(i), int(j)) for i, j in generator.integers(0, records, (4 * effort, 2)) if i != j)


def _ascend(objective: Callable[[Floats], float], start: Floats, value: float, rounds: int = 40) -> tuple[float, Floats]:
    """Climb from a starting point by growing and shrinking random and axis steps: losses may have kinks."""
    rng = np.random.default_rng(1)
    point, step = np.array(start), 0.1 * max(1.0, float(np.abs(start).max(initial=0.0)))
    for _ in range(rounds):
        directions = np.concatenate([np.eye(len(point)), -np.eye(len(point)), rng.standard_normal((4, len(point)))])
        values = [objective(point + step * direction) for direction in directions]
        k = int(np.argmax(values))
        if values[k] > value:
            point, value, step = point + step * directions[k], values[k], 2 * step
        else:
            step /= 2
    return value, point
