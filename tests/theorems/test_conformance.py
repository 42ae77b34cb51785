"""Every guarantee and every theorem's: δ never rises with ε, δ(ε) and ε(δ) agree, over constants from 1e-12 to 1e12."""

import itertools
import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.privacy import (
    ApproximateDP,
    BetaBernoulliDP,
    BlockRanges,
    BoundedRange,
    ConcentratedDP,
    GaussianDP,
    Guarantee,
    PureDP,
    compose,
)
from gibbsafe.theorems import THEOREMS, Constants

GRID = [0.0, *np.geomspace(1e-12, 1e12, 33).tolist()]
#: Profiles are inflated by 2⁻³⁹ for their rounding; on a plateau two neighbouring points may differ by that much.
ROUNDING = 2.0**-37
MAKERS = {
    "PureDP": lambda draw: PureDP(draw()),
    "ApproximateDP": lambda draw: ApproximateDP(draw(), 10.0 ** -(1 + draw.rng.uniform(0, 299))),
    "GaussianDP": lambda draw: GaussianDP(draw()),
    "ConcentratedDP": lambda draw: ConcentratedDP(
        draw(), conversion=str(draw.rng.choice(["optimal", "bun-steinke", "corollary-8"]))
    ),
    "BoundedRange": lambda draw: BoundedRange(draw()),
    "BlockRanges": lambda draw: BlockRanges([draw() for _ in range(int(draw.rng.integers(1, 6)))]),
    "BetaBernoulliDP": lambda draw: BetaBernoulliDP(min(draw(), 1e6), min(draw(), 1e6), int(draw.rng.integers(1, 50)), draw()),
    "Composition": lambda draw: compose(
        [GaussianDP(draw()), BoundedRange(draw()), PureDP(draw())], slack=10.0 ** -draw.rng.uniform(2, 200)
    ),
}


class Draw:
    """Log-uniform constants over the whole declared domain, its ends included."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self):
        return float(self.rng.choice([1e-12, 1e12])) if self.rng.random() < 0.1 else float(10 ** self.rng.uniform(-12, 12))


def check(guarantee):
    values = [guarantee.delta(epsilon) for epsilon in GRID]
    assert all(0 <= value <= 1 for value in values), guarantee
    for (earlier, later), epsilon in zip(itertools.pairwise(values), GRID[1:], strict=True):
        assert later <= earlier * (1 + ROUNDING), (guarantee, epsilon, earlier, later)
    for delta in (1e-12, 1e-6, 0.1):
        epsilon = guarantee.epsilon(delta)
        if epsilon < math.inf:
            assert guarantee.delta(epsilon) <= delta * (1 + ROUNDING)
            assert epsilon == 0 or guarantee.delta(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-4), (guarantee, delta)
    for epsilon in (1e-3, 1.0, 30.0):
        delta = guarantee.delta(epsilon)
        if 0 < delta < 0.999:
            assert guarantee.epsilon(delta) <= epsilon * (1 + 1e-6) + 1e-12


def test_every_guarantee_class_is_covered():
    assert set(MAKERS) == set(Guarantee.registry) - {
        name for name, kind in Guarantee.registry.items() if "tests" in kind.__module__
    }


@pytest.mark.parametrize("name", MAKERS)
def test_profiles_of_guarantees(name):
    draw = Draw(1)
    for _ in range(5 if name == "BetaBernoulliDP" else 16):
        check(MAKERS[name](draw))


def random_constants(draw):
    """One declaration that most theorems can price."""
    precision, smoothness = draw(), draw()
    return {
        "lipschitz": draw(),
        "convex": True,
        "loss_bound": draw(),
        "difference_range": draw() if draw.rng.random() < 0.5 else tuple(draw() for _ in range(4)),
        "difference_bound": draw(),
        "fixed_normaliser": True,
        "prior_precision": precision,
        "prior_smoothness": max(precision, draw()),
        "smoothness": smoothness,
        "n": int(draw.rng.integers(1, 100)),
        "record_radius": draw(),
        "dimension": 2,
        "slack": 10.0 ** -draw.rng.uniform(3, 30),
        "step": draw(),
        "steps": int(draw.rng.integers(1, 10**6)),
        "metric_lipschitz": draw(),
        "metric_diameter": draw(),
        "stochastic_rate": draw(),
        "stochastic_floor": 0.0,
        "likelihood_ratio_bound": 1.0,
        "contamination": float(draw.rng.uniform(1e-6, 1)),
        "density_ratio": draw(),
        "beta_prior": (min(draw(), 1e6), min(draw(), 1e6)),
        "clip": draw(),
    }


@pytest.mark.parametrize("name", THEOREMS)
def test_profiles_of_theorems(name):
    draw, checked = Draw(2), 0
    for _ in range(20):
        constants = Constants(**random_constants(draw))
        beta = 1.0 if name == "stochastic-lipschitz" else draw()
        try:
            claim = THEOREMS[name].guarantee(
                constants, inverse_temperature=beta, adjacency="replace-one", draws=int(draw.rng.choice([1, 7]))
            )
        except gs.GibbsafeError:
            continue
        check(claim)
        checked += 1
        if checked == 6:
            break
    assert checked >= 3


@pytest.mark.parametrize("name", sorted(set(THEOREMS) - {"stochastic-lipschitz"}))
def test_calibrated_claims_never_exceed_their_budget(name):
    draw = Draw(3)
    for _ in range(4):
        constants, budget = Constants(**random_constants(draw)), gs.Budget(10 ** draw.rng.uniform(-3, 0), 1e-6)
        try:
            beta = THEOREMS[name].calibrate(constants, budget, adjacency="replace-one")
        except gs.GibbsafeError:
            continue
        claim = THEOREMS[name].guarantee(constants, inverse_temperature=beta, adjacency="replace-one")
        assert budget.claim(claim) <= budget.epsilon
