"""The profile of Beta posteriors over every shape that the model accepts, against quadrature in log-odds."""

import itertools
import math

import numpy as np
import pytest

import gibbsafe as gs
from gibbsafe.privacy import BetaBernoulliDP
from gibbsafe.privacy.beta import SHAPES, beta_bernoulli_delta

from .beta_oracle import exact_delta

#: The oracle sums 300,000 terms of densities whose logarithms reach 1e7: its own relative error.
ORACLE = 2e-9


@pytest.mark.parametrize(
    ("shapes", "n", "epsilon", "power", "exact", "counts"),
    [
        ((0.001, 0.001), 20, 1.0, 0.0008781442631195772, 0.0732396, (19,)),
        ((0.001, 1.0), 5, 0.1, 0.00013383690770829533, 0.0218746, (0, 4)),
    ],
)
def test_the_two_published_counterexamples(shapes, n, epsilon, power, exact, counts):
    assert exact_delta(epsilon, *shapes, n, power, counts) == pytest.approx(exact, rel=1e-3)
    claimed = BetaBernoulliDP(*shapes, n, power).delta(epsilon)
    assert exact <= claimed * (1 + 1e-3)
    assert claimed == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(("shapes", "n", "epsilon"), [((0.001, 0.001), 20, 1.0), ((0.001, 1.0), 5, 0.1)])
def test_their_plans_keep_to_the_budget(shapes, n, epsilon):
    made = gs.plan(
        gs.models.BetaBernoulli(alpha=shapes[0], beta=shapes[1]), gs.Budget(epsilon, 1e-6), n=n, adjacency="replace-one"
    )
    assert exact_delta(epsilon, *shapes, n, made.inverse_temperature, (0, n - 1)) <= 1e-6
    certificate = made.release(np.zeros(n), generator=np.random.default_rng(0)).certificate
    assert certificate["claim"]["epsilon"] <= epsilon


def test_shapes_over_the_whole_declared_range():
    """Log-uniform shapes, temperatures and ε: never below the exact value, and tight. Seeded; nothing random is compared."""
    rng = np.random.default_rng(20)
    for _ in range(25):
        a, b = (float(10**x) for x in rng.uniform(math.log10(SHAPES[0]), math.log10(SHAPES[1]), 2))
        power, epsilon, n = float(10 ** rng.uniform(-9, 3)), float(10 ** rng.uniform(-2, 1.5)), int(rng.integers(1, 3))
        exact = exact_delta(epsilon, a, b, n, power)
        claimed = beta_bernoulli_delta(epsilon, a=a, b=b, n=n, inverse_temperature=power)
        assert exact <= claimed * (1 + ORACLE), (a, b, n, power, epsilon)
        assert claimed <= exact * (1 + 1e-6) + 1e-12 * (1 + math.exp(epsilon)), (a, b, n, power, epsilon)


@pytest.mark.parametrize("shapes", [(1e-12, 1e-12), (1e-12, 1e6), (1e-3, 1e-3), (0.5, 0.5), (1.0, 1.0), (1e6, 1e6)])
@pytest.mark.parametrize("n", [1, 7, 500])
@pytest.mark.parametrize("power", [1e-12, 1e-4, 1.0, 1e3, 1e12])
def test_the_profile_never_rises(shapes, n, power):
    guarantee = BetaBernoulliDP(*shapes, n, power)
    values = [guarantee.delta(epsilon) for epsilon in [0.0, *np.geomspace(1e-6, 1e6, 49)]]
    assert all(later <= earlier * (1 + 1e-8) for earlier, later in itertools.pairwise(values))
    assert all(0 < value <= 1 for value in values)


@pytest.mark.parametrize("shape", [1e-13, 1e7])
def test_shapes_that_the_numerics_do_not_carry_are_refused(shape):
    with pytest.raises(gs.PremiseError, match="shapes from"):
        BetaBernoulliDP(1.0, shape, 3, 1.0)
    with pytest.raises(gs.GibbsafeError, match="shapes from"):
        gs.plan(gs.models.BetaBernoulli(alpha=shape), gs.Budget(1.0, 1e-6), n=10, adjacency="replace-one")
