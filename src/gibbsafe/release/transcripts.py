"""The transcript of noisy scores as it stands in a release file: the answers alone, from which the points follow."""

from __future__ import annotations

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.errors import CertificateError, PremiseError
from gibbsafe.planning import Plan
from gibbsafe.samplers.noisy_scores import Answers, replay
from gibbsafe.samplers.score_path import MOST_SCORES, ScorePath
from gibbsafe.theorems.noisy_scores import FACTS

__all__ = ["columns_of", "path_of", "transcript_from_dict", "transcript_to_dict"]


def transcript_to_dict(answers: Answers) -> JSON:
    """Return the answers as plain data: the path's scores, and what else was asked."""
    return {
        "scores": answers.scores.tolist(),
        **{name: None if value is None else value.tolist() for name, value in _beside_path(answers).items()},
    }


def _beside_path(answers: Answers) -> dict[str, Floats | None]:
    return {"moment": answers.moment, "facts": answers.facts, "last": answers.last, "asked": answers.asked}


def transcript_from_dict(content: object, plan: Plan) -> Answers:
    """Rebuild the answers, every size checked against the plan, and the path that the rule makes of them."""
    if not isinstance(content, dict) or set(content) != {"scores", "moment", "facts", "last", "asked"}:
        raise CertificateError("transcript: must have scores, moment, facts, last and asked")
    d, rule = plan.model.parameters, plan.scores
    scores = _table(content["scores"], d, "scores")
    if not 1 <= len(scores) <= MOST_SCORES:
        raise CertificateError(f"transcript: {len(scores)} scores, where a path has 1 to {MOST_SCORES}")
    for name, share in (("moment", rule.moment), ("facts", rule.facts), ("last", rule.point), ("asked", rule.point)):
        if (content[name] is None) != (share == 0):
            raise CertificateError(f"transcript: {name} is asked with a share of {share:g} of the budget")
    w = columns_of(plan)
    moment = None if content["moment"] is None else _table(content["moment"], w, "moment")
    if moment is not None and (moment.shape != (w, w) or not np.array_equal(moment, moment.T)):
        raise CertificateError(f"transcript: moment must be a symmetric table of {w} by {w}")
    facts, last, asked = (
        None if content[name] is None else _table([content[name]], width, name)[0]
        for name, width in (("facts", FACTS), ("last", d), ("asked", d))
    )
    answers = Answers(scores, moment, facts, last, asked)
    try:
        path_of(plan, answers)
    except PremiseError as error:
        raise CertificateError(str(error)) from error
    return answers


def columns_of(plan: Plan) -> int:
    """Return the width of encoded rows, of which the second moment is asked."""
    shape = plan.request().gibbs.row_shape
    return plan.model.parameters if shape is None else shape.parameters


def path_of(plan: Plan, answers: Answers) -> ScorePath:
    """Return the path whose answers these are."""
    public = plan.public_of_scores()
    return replay(public.rule, public.loss, answers, public.moment_scale)


def _table(rows: object, width: int, name: str) -> Floats:
    """Return a table of finite numbers, each written as one."""
    listed = isinstance(rows, list) and all(isinstance(row, list) and len(row) == width for row in rows)
    if not listed or not all(type(x) is float or type(x) is int for row in rows for x in row):  # type: ignore[attr-defined]
        raise CertificateError(f"transcript: {name} must have rows of {width} numbers each")
    table = np.array(rows, dtype=np.float64).reshape(-1, width)
    if not np.isfinite(table).all():
        raise CertificateError(f"transcript: {name} must be finite")
    return table
