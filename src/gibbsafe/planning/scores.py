"""How noisy scores are asked: the loss, the number of scores and the shares of the budget, from public numbers only.

In units of a score's bound L: g = G/L (2 under replace-one), d parameters, n rows, μ the budget, and the signal s = 2nμ/(gd).

- **Loss** of two labels: C = max(1 − ½ min(1, (10g²d/(nμ²))^⅓), 1 − ½ min(1, √(64/s))): cheapest per record where noise rules,
  the logistic loss, which is right for any labels, where data do.
- **Width** of a pseudo-Huber score: the declared one times 1 − ¾ min(1, (10g²d/(nμ²))^⅓, 64/s), for the same reason: a narrow
  score is cheapest, and the declared one is right for skewed errors too (`gibbsafe.losses.narrow`).
- **Length**: T = √(4h̄n/Λ) with Λ = (g/2μ) max(.45 s^{−1/3}, .16), h̄ the largest curvature of a score. Above `LONG` steps go by
  the noisy second moment of rows, and there are `GUIDED` of them: scores of labels say how far a fit is from wherever they are
  asked, and fewer do; scores of responses are alike for all records that are far off.
- **Shares**: the second moment of rows and the facts about slopes, which every fit needs, take `FOR_FIT`; with ``uncertainty``
  u > 0 the last score takes most of u, and the rest goes to these two. Constants were chosen on synthetic problems.
"""

from __future__ import annotations

import math
from dataclasses import replace

from gibbsafe._numerics import down
from gibbsafe._validate import choice, fail, real
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.kinked import KinkedLoss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.narrow import loss_of_scores
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.models.base import GibbsModel, Model
from gibbsafe.models.capabilities import BoundedScores
from gibbsafe.planning.requests import Request
from gibbsafe.posteriors.stage import ScoreRule, Stage
from gibbsafe.privacy import Budget, GaussianDP
from gibbsafe.theorems import Kind, Theorem, get
from gibbsafe.theorems.noisy_scores import STEEPEST, score_gap

__all__ = ["SCORES", "by_scores", "kept_by", "left_for_draws", "loss_asked", "score_stage", "scores_beside", "uses_scores"]

SCORES = "noisy-scores"
#: The longest path that steps of one size make, and how many steps by the second moment do instead: of labels, of responses.
LONG, GUIDED = {True: 120, False: 200}, {True: 60, False: 200}
#: Shares of the second moment and of the facts without uncertainty; the share kept for uncertainty unless one is named, and how
#: much of it these two take.
FOR_FIT = (0.06, 0.01)
UNCERTAINTY, OF_KEPT = 0.35, (0.23, 0.04)
#: Rows that a rule goes by where nobody guesses their number.
UNKNOWN_ROWS = 4**7


def uses_scores(request: Request, mechanism: str, free: bool) -> bool:
    """Whether an estimate is made by noisy scores: where scores are bounded and nothing else is asked for (``free``)."""
    choice("mechanism", mechanism, ("auto", SCORES, "stages"))
    able = _able(request)
    if mechanism == "auto":
        return request.purpose == "estimate" and able and free and request.draws == 1
    if mechanism == SCORES:
        if request.purpose != "estimate":
            fail("mechanism", mechanism, "for purpose='estimate': posterior draws are drawn")
        if not able:
            raise PremiseError(
                f"mechanism = {SCORES!r}: scores of {request.model.name} are not bounded; use 'stages' or its draws"
            )
        if not free:
            fail("mechanism", mechanism, "'stages' with a sampler, theorem, prior or temperature of your own; or leave these out")
    return mechanism == SCORES


def scores_beside(request: Request, uncertainty: float | str, loss: str) -> tuple[Stage, ...]:
    """Return the scores that are asked beside posterior draws: none, unless a share of the budget is named for uncertainty."""
    share = 0.0 if uncertainty == "auto" else real("uncertainty", uncertainty)
    if not 0 <= share < 1:
        fail("uncertainty", uncertainty, "a share of the budget from 0 to below 1, or 'auto'")
    if share == 0:
        if loss != "auto":
            fail("loss", loss, "left out here: it is an option of noisy scores")
        return ()
    if request.purpose != "posterior" or not _able(request):
        raise PremiseError(
            f"uncertainty = {share:g}: kept for noisy scores, beside posterior draws of models whose scores are bounded"
        )
    whole = replace(request, draws=1)
    stage = score_stage(whole, "auto", "pseudo-huber" if _huber(request.model) else loss)  # beside draws of that very loss
    assert stage.scores is not None
    return (replace(stage, inverse_temperature=stage.inverse_temperature * share, scores=replace(stage.scores, of_budget=share)),)


def left_for_draws(request: Request, beside: tuple[Stage, ...]) -> Request:
    """Return the request with the budget that scores leave to draws: μ√(1 − u), at the same δ."""
    if not beside:
        return request
    (stage,) = beside
    assert stage.scores is not None
    share = stage.scores.of_budget
    mu = score_gap(request.unit_constants, request.adjacency) * math.sqrt(stage.inverse_temperature / share)
    left = GaussianDP(mu * math.sqrt(1 - share) * (1 - 1e-9))
    return replace(request, budget=Budget(down(left.epsilon(request.budget.delta)), request.budget.delta))


def _able(request: Request) -> bool:
    """Whether scores are bounded everywhere."""
    return isinstance(request.model, BoundedScores) and request.model.kind is Kind.GIBBS and request.gibbs.ball is None


def kept_by(rule: ScoreRule) -> float:
    """Return the share that a rule keeps for uncertainty."""
    return rule.moment + rule.facts + rule.point if rule.point > 0 else 0.0


def _logistic(model: Model) -> bool:
    """Whether the calibrated loss is one for this model: that of two labels."""
    return isinstance(model, GibbsModel) and isinstance(model.loss, LogisticLoss)


def _huber(model: Model) -> bool:
    return isinstance(model, GibbsModel) and isinstance(model.loss, PseudoHuberLoss)


def loss_asked(model: Model, rule: ScoreRule) -> str:
    """Return the ``loss`` of which a plan gives this rule."""
    if _logistic(model):
        return "logistic" if rule.clip is None else "auto"
    return "pseudo-huber" if _huber(model) and rule.width is None else "auto"


def by_scores(request: Request, uncertainty: float | str, loss: str) -> tuple[str, Theorem, tuple[Stage, ...]]:
    """Return sampler, theorem and the one stage of an estimate by noisy scores."""
    return SCORES, get(SCORES), (score_stage(request, uncertainty, loss),)


def score_stage(request: Request, uncertainty: float | str, loss: str) -> Stage:
    """Return the one stage of an estimate by noisy scores."""
    if request.draws != 1:
        fail("draws", request.draws, "1 for an estimate by noisy scores, which is one point; or use mechanism='stages'")
    kept = UNCERTAINTY if uncertainty == "auto" else real("uncertainty", uncertainty)
    if not 0 <= kept < 1:
        fail("uncertainty", uncertainty, "a share of the budget from 0 to below 1, or 'auto'")
    theorem, constants = get(SCORES), request.unit_constants
    beta = theorem.calibrate(constants, request.budget, adjacency=request.adjacency)
    model, d = request.gibbs, request.parameters
    bound = model.loss.lipschitz
    rows = UNKNOWN_ROWS if request.n is None else request.n
    gap = score_gap(constants, request.adjacency) / bound
    mu = gap * bound * math.sqrt(beta)
    signal = 2 * rows * mu / (gap * d)
    own = _own(request, loss)
    doubt = min(1.0, (10 * gap**2 * d / (rows * mu**2)) ** (1 / 3))
    clip = float(round(1 - 0.5 * min(doubt, math.sqrt(64 / signal)), 6)) if _logistic(request.model) and not own else None
    width = _width(model.loss, min(doubt, 64 / signal)) if _huber(request.model) and not own else None
    slope = _slope(loss_of_scores(model.loss, width), clip)
    ridge = gap / (2 * mu) * max(0.45 * signal ** (-1 / 3), 0.16) * bound
    length = max(2, math.ceil(math.sqrt(4 * slope * rows / ridge)))
    guided = length > LONG[model.loss.margin] or request.n is None
    scores = min(length, GUIDED[model.loss.margin]) if guided else length
    moment, facts = tuple(share * kept for share in OF_KEPT) if kept > 0 else FOR_FIT
    if model.row_shape is None or model.row_shape.features == 0:
        moment, guided = 0.0, False  # rows without features are known
    point = kept - moment - facts if kept > 0 else 0.0
    kernel = model.parameter_scale / 2 if isinstance(model.loss, KinkedLoss) else None
    rule = ScoreRule(clip, rows, ridge, slope, scores, moment, facts, point, guided, kernel, width=width)
    return Stage(beta, tuple(request.ones().tolist()), request.origin(), 1, scores=rule)


def _own(request: Request, loss: str) -> bool:
    """Whether the model's own loss is asked for by name."""
    names = ("auto", "calibrated", "logistic") if _logistic(request.model) else ("auto",)
    choice("loss", loss, (*names, "pseudo-huber") if _huber(request.model) else names)
    return loss in ("logistic", "pseudo-huber")


def _width(loss: Loss, doubt: float) -> float:
    """Return the width of a pseudo-Huber score."""
    return float(round(loss.lipschitz * (1 - (1 - 1 / STEEPEST) * doubt), 9))


def _slope(loss: Loss, clip: float | None) -> float:
    """Return h̄, the largest slope of a score."""
    if clip is not None:
        return max(0.25, 0.5 * (1 - clip)) / clip
    return float(loss.smoothness if math.isfinite(loss.smoothness) else loss.lipschitz)
