"""Scores that tell the outputs on two data sets apart: the known log density ratio, or classifiers trained on some runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.audit.sampling import Sample
from gibbsafe.errors import GibbsafeError

__all__ = ["Score", "candidate_scores"]

#: Finite, so that ranks exist: a refusal is further out than any score.
FARTHEST = 1e300
#: Share of the first half that trains classifiers; the rest of it chooses the threshold.
TRAINING = 0.6
#: More runs than this teach a classifier little.
MOST_TRAINED = 20_000


@dataclass(frozen=True, eq=False)
class Score:
    """A score of outputs, and how many runs of the first half were used up in making it."""

    name: str
    function: Callable[[Sample], Floats]
    held_out: int = 0


def candidate_scores(first: Sample, second: Sample, known: Callable[[Floats], Floats] | None) -> Iterator[Score]:
    """Yield the scores to compare on the first half of the runs."""
    if first.refused.any() or second.refused.any():
        sign = 1.0 if first.refused.mean() >= second.refused.mean() else -1.0
        yield Score("whether it refuses", lambda sample: np.asarray(sign * sample.refused, dtype=np.float64))
        if first.refused.all() or second.refused.all():
            return
    if known is not None:
        yield Score("the given score", lambda sample: _finite(known, sample))
        return
    yield from _trained(first, second)


def _finite(known: Callable[[Floats], Floats], sample: Sample) -> Floats:
    value = np.asarray(known(sample.outputs), dtype=np.float64)
    if value.shape != (len(sample),):
        raise GibbsafeError(f"score: returned shape {value.shape} for {len(sample)} outputs; must be one number each")
    return np.where(sample.refused, -FARTHEST, np.nan_to_num(value, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST))


def _trained(first: Sample, second: Sample) -> Iterator[Score]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    held_out = max(2, min(int(TRAINING * len(first)), MOST_TRAINED))
    rows = np.concatenate([_features(first[:held_out]), _features(second[:held_out])])
    labels = np.repeat([1, 0], held_out)
    models: JSON = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=500)),
        "gradient boosting": HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=15, min_samples_leaf=min(20, max(1, held_out // 20)), early_stopping=False, random_state=0
        ),
    }
    for name, model in models.items():
        yield Score(name, _decision(model.fit(rows, labels)), held_out)


def _decision(fitted: Any) -> Callable[[Sample], Floats]:
    return lambda sample: np.asarray(fitted.decision_function(_features(sample)))


def _features(sample: Sample) -> Floats:
    """Outputs, their squares (a change of scale is linear there) and whether the mechanism refused."""
    bounded = np.clip(sample.outputs, -1e100, 1e100)
    return np.column_stack([bounded, np.square(bounded), sample.refused])
