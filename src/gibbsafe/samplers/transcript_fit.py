"""The estimate that a transcript makes: the path's mean point, or where the law of slopes is known the fit of all answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.domains.row_shape import RowShape
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.stage import ScoreRule
from gibbsafe.samplers.expected_scores import Law, has_law
from gibbsafe.samplers.expected_scores import law_of as one_law_of
from gibbsafe.samplers.joint_laws import JointExpectation, JointLaw, has_joint_law, joint_law_of
from gibbsafe.samplers.pseudo_rows import Unseen, normals, pseudo_rows, second_moment, symmetric
from gibbsafe.samplers.score_fit import Expectation, Fit, Observation, best_fit
from gibbsafe.samplers.score_path import ScorePath
from gibbsafe.theorems.noisy_scores import facts_unit

if TYPE_CHECKING:
    from gibbsafe.samplers.noisy_scores import Answers

__all__ = [
    "NO_FIT",
    "Public",
    "expectation_of",
    "expected_over",
    "fit_of",
    "fitted",
    "minimisers",
    "misfit_of",
    "observed",
    "unseen_share",
]

#: What a fit ends in that does not come out.
NO_FIT = (np.linalg.LinAlgError, ValueError, ArithmeticError)
#: Pseudo-rows of a design, of the estimate's and of the pilot's; rounds in which measured facts and fit are brought together.
ROWS, PILOT_ROWS, ROUNDS = 512, 192, 2
#: The search for minimisers ends when all but few steps are this short beside their points.
CLOSE, FEW = 1e-3, 0.01
#: What the path's mean point weighs beside the fit where the path had all scores, twice that where a misfit's variance is many
#: times this one of noise.
OF_PATH, MISFIT = 0.5, 3.0
#: The seed of the pseudo-rows behind an estimate: public, and the same every time.
SEED = 20_260


@dataclass(frozen=True)
class Public:
    """What a fit may know besides answers: the rule, β, the loss, the shape of rows, the noise of moment and facts, the prior."""

    rule: ScoreRule
    beta: float
    loss: Loss
    shape: RowShape | None
    moment_ratio: float
    unit: float
    private_rows: bool = False
    own: Floats | None = None

    def _scale(self, share: float) -> float:
        return self.moment_ratio / (self.beta * share) ** 0.5 if share > 0 else 0.0

    @property
    def moment_scale(self) -> float:
        """Standard deviation of the second moment's diagonal."""
        return self._scale(self.rule.moment)

    @property
    def facts_scale(self) -> float:
        """Standard deviation of each fact."""
        return self._scale(self.rule.facts)

    @property
    def facts_unit(self) -> float:
        """What a record can add to a fact at most."""
        return facts_unit(self.loss.lipschitz, private_rows=self.private_rows)

    @property
    def fits(self) -> bool:
        """Whether answers can be fitted: the law of slopes is known, and enough about rows."""
        shape = self.shape
        known = has_law(self.loss) if self.loss.predictors == 1 else has_joint_law(self.loss)
        return shape is not None and known and (self.rule.moment > 0 or shape.features == 0)


def rows_behind(public: Public, answers: Answers) -> float:
    """Return the number of records: n where it is public, else as the facts say, or the guess until they are asked."""
    if not public.private_rows or answers.facts is None:
        return float(public.rule.rows)
    return max(float(answers.facts[2]) / public.facts_unit, 1.0)


def expectation_of(public: Public, answers: Answers, normal: Floats, generator: np.random.Generator | None = None) -> Expectation:
    """Return expected scores over one design of pseudo-rows; a generator varies their moment by what its noise leaves open."""
    assert public.shape is not None
    n, bound = rows_behind(public, answers), public.loss.lipschitz
    moment = np.full((1, 1), n * (public.shape.constant or 1.0) ** 2)
    if answers.moment is not None:
        scale = public.moment_scale / bound
        moment = second_moment(answers.moment / bound, scale, public.shape, n)
        if generator is not None:
            moment = second_moment(moment + scale * symmetric(generator, len(moment)), scale, public.shape, n)
            moment = Unseen.of(answers.moment / bound, scale, public.shape, n).drawn(moment, generator)
    rows = pseudo_rows(moment, public.shape, n, normal)
    return expected_over(rows[None], law_of(public.loss, public.rule.clip), n)


def law_of(loss: Loss, clip: float | None) -> Law:
    """Return the law of a loss's slopes, of one predictor or several."""
    return one_law_of(loss, clip) if loss.predictors == 1 else joint_law_of(loss)


def expected_over(rows: Floats, law: Law, n: float) -> Expectation:
    """Return expected scores over designs of rows, of one predictor or several."""
    return JointExpectation(rows, law, n) if isinstance(law, JointLaw) else Expectation(rows, law, n)


def unseen_share(public: Public, answers: Answers) -> Floats | float:
    """Return for each parameter how much of it lies in directions of rows that the noisy moment does not show."""
    if answers.moment is None or public.shape is None:
        return 0.0
    n, bound = rows_behind(public, answers), public.loss.lipschitz
    noisy, scale = answers.moment / bound, public.moment_scale / bound
    of_columns = Unseen.of(noisy, scale, public.shape, n).share(second_moment(noisy, scale, public.shape, n))
    return public.loss.of_columns(of_columns)


def observed(public: Public, answers: Answers, path: ScorePath, misfit: float = 0.0) -> Observation:
    """Return all scores, the last one among them, as one observation.

    ``misfit`` is a variance: by how much the path's mean answer is off what is expected, beyond noise. It counts as noise of the
    path, which then weighs less beside the last score.
    """
    points, shares, scores = np.array(path.points), np.array(path.shares), answers.scores
    shares = shares / (1 + misfit * public.beta * shares.sum())
    if answers.last is not None and answers.asked is not None:
        points, scores = np.vstack([points, answers.asked]), np.vstack([scores, answers.last])
        shares = np.append(shares, public.rule.point)
    total = float(shares.sum())
    return Observation(points, shares, shares @ scores / total, np.eye(points.shape[1]) / (public.beta * total))


def fit_of(public: Public, expectation: Expectation, answers: Answers, path: ScorePath) -> Fit:
    """Return the fit of all answers; a measured steepness and size of slopes are put into the expectation on the way."""
    seen = observed(public, answers, path)
    found = best_fit(expectation, seen, public.unit, path.point, own=public.own)
    for _ in range(ROUNDS):
        if answers.facts is not None:
            _measured(public, expectation, answers.facts, path.point, found.point)
        seen = observed(public, answers, path, misfit_of(public, expectation, answers, path, found.point))
        found = best_fit(expectation, seen, public.unit, found.point, found.deviation, own=public.own)
    return found


def misfit_of(public: Public, expectation: Expectation, answers: Answers, path: ScorePath, truth: Floats) -> float:
    """Return the variance by which the path's mean answer and the last one disagree beyond their noise, where both are there.

    The data's own noise is common to both and cancels nearly; what is left shows a law or rows that are not quite the data's, to
    which a path far from the truth is sensitive and a score at the fit is not. One parameter is enough, an intercept say.
    """
    if answers.last is None or answers.asked is None:
        return 0.0
    shares, size = np.array(path.shares), len(truth)
    total = float(shares.sum())
    at = truth[None, :, None]
    along, _ = expectation.scores(expectation.asked(np.array(path.points), shares), at)
    there, _ = expectation.scores(expectation.asked(answers.asked[None], np.ones(1)), at)
    apart = (shares @ answers.scores / total - along[0, :, 0]) - (answers.last - there[0, :, 0])
    noise = _noise_between(public, path)
    square, largest = float(apart @ apart) / size, float(np.max(apart**2))
    over = square if square > noise * (1 + math.sqrt(2 / size)) else 0.0
    over = max(over, largest if largest > noise * (6 + 2 * math.log(size)) else 0.0)
    return max(over - noise, 0.0)


def _noise_between(public: Public, path: ScorePath) -> float:
    """Return the variance of noise in the difference of the path's mean answer and the last one."""
    return (1 / float(np.sum(path.shares)) + 1 / public.rule.point) / public.beta


def _measured(public: Public, expectation: Expectation, facts: Floats, point: Floats, truth: Floats) -> None:
    """Let the expectation have the steepness and the size of slopes that were measured at the path's end."""
    share = np.clip(facts / (public.facts_unit * expectation.n), 0, 1)
    expectation.take_in(public.loss, share, public.rule.kernel, point, truth)


def fitted(public: Public, answers: Answers, path: ScorePath, *, pilot: bool = False) -> Floats:
    """Return the estimate; or a pilot, in a quarter of the time, at which one more score is asked.

    The fit knows how scores bend and trusts rows made of a noisy moment; the path's mean point trusts nothing and is noisier.
    Their errors have little in common, so the estimate is a mean of both, the path weighing less where it had less of the budget.
    A path knows of no priors of groups, and weighs nothing where there are some. Answers are paid for: where no fit of them
    comes out, the path's mean point is the estimate.
    """
    if not public.fits:
        return path.point
    try:
        point, misfit = _fit_point(public, answers, path, pilot)
    except NO_FIT:
        return path.point
    if not np.isfinite(point).all():
        return path.point
    weight = 0.0 if pilot or public.own is not None else _weight_of_path(public, path, len(point), misfit)
    return np.asarray((1 - weight) * point + weight * path.point)


def _weight_of_path(public: Public, path: ScorePath, parameters: int, misfit: float) -> float:
    """Return what the path's mean point weighs: nothing below a signal of 2, where it is noise, all it may from 4 on.

    A misfit says that the rows or the law behind the fit are not quite the data's; the path needs neither.
    """
    rule, signal = public.rule, 2 * public.rule.rows * public.loss.lipschitz * math.sqrt(public.beta) / parameters
    doubt = misfit / (misfit + MISFIT * _noise_between(public, path)) if misfit > 0 else 0.0
    return OF_PATH * (1 + doubt) * rule.path / (rule.path + rule.point) * min(max(signal / 2 - 1, 0.0), 1.0)


def _fit_point(public: Public, answers: Answers, path: ScorePath, pilot: bool) -> tuple[Floats, float]:
    """Return the loss's minimiser where the truth is the fit, and the fit's misfit."""
    assert public.shape is not None
    rows = PILOT_ROWS if pilot else ROWS
    normal = normals(np.random.RandomState(SEED), rows, public.shape.features)  # whose stream never changes
    expectation = expectation_of(public, answers, normal)
    if pilot:
        if answers.facts is not None:
            _measured(public, expectation, answers.facts, path.point, path.point)
        found = best_fit(expectation, observed(public, answers, path), public.unit, path.point, own=public.own)
    else:
        found = fit_of(public, expectation, answers, path)
    misfit = misfit_of(public, expectation, answers, path, found.point)
    return minimisers(expectation, public.loss, found.point[None, :, None])[0, :, 0], misfit


def minimisers(expectation: Expectation, loss: Loss, truth: Floats, steps: int = 20) -> Floats:
    """Return the loss's minimisers (designs, parameters, chains) where labels follow the law at ``truth``.

    The truth itself where the loss is consistent; else Newton steps on the expected loss of the pseudo-rows.
    """
    law = expectation.law
    if law.consistent:
        return truth
    rows, back = expectation.rows, expectation.transposed
    p = 1 / (1 + np.exp(-np.clip(np.matmul(rows, truth), -700, 700)))
    at = truth.copy()
    for _ in range(steps):
        u = np.matmul(rows, at)
        gradient = np.matmul(back, p * loss.slope(u) - (1 - p) * loss.slope(-u))
        bend = p * loss.curvature(u) + (1 - p) * loss.curvature(-u)
        curved = np.stack([np.matmul(back * bend[:, None, :, chain], rows) for chain in range(truth.shape[2])], axis=1)
        curved += np.eye(curved.shape[2]) * (1e-6 * np.trace(curved, axis1=2, axis2=3)[..., None, None] + 1e-12)
        move = np.linalg.solve(curved, gradient.transpose(0, 2, 1)[..., None])[..., 0].transpose(0, 2, 1)
        length, reach = np.linalg.norm(move, axis=1, keepdims=True), 1 + np.linalg.norm(at, axis=1, keepdims=True)
        at = at - move * np.minimum(1, reach / np.maximum(length, 1e-300))
        if np.mean(length > CLOSE * reach) < FEW:
            break
    return np.asarray(at)
